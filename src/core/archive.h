// SPDX-License-Identifier: BSD-3-Clause
// Saves and loads memory that goes from step to step. An object has one function that lists its
// fields; the mode of the archive selects whether they are measured, saved, loaded or cleared.
// Loading takes two passes, RESERVE and then LOAD, so that the second cannot fail. The byte order
// is the machine's; callers that store the bytes add a checksum.
#pragma once

#include <stddef.h>

#include "core/error.h"

typedef enum sap_archive_mode {
  SAP_ARCHIVE_SIZE,     // `at` counts the bytes
  SAP_ARCHIVE_SAVE,     // memory to bytes
  SAP_ARCHIVE_RESERVE,  // arrays grow to the sizes in the bytes
  SAP_ARCHIVE_LOAD,     // bytes to memory
  SAP_ARCHIVE_FORGET,   // numbers become zero, arrays empty
} sap_archive_mode;

typedef struct sap_archive {
  sap_archive_mode mode;
  unsigned char* bytes;  // (size); NULL in SIZE and FORGET
  size_t size, at;
} sap_archive;

// Archives `size` bytes at `value`. fails: ARGUMENT if the archive is too short.
sap_status sap_archive_value(sap_archive* archive, void* value, size_t size, sap_error* error);
// The same of a number that decides what follows: RESERVE reads it, too.
sap_status sap_archive_number(sap_archive* archive, void* value, size_t size, sap_error* error);
// Archives the first *count elements of a growing array; `array` is the address of its pointer.
sap_status sap_archive_array(sap_archive* archive, void* array, int32_t* count, int32_t* capacity,
                             size_t element_size, sap_error* error);
#define SAP_ARCHIVE_ARRAY(archive, array, count, capacity, error) \
  sap_archive_array((archive), (array), (count), (capacity), sizeof(**(array)), (error))

// Archives all fields of an object.
typedef sap_status (*sap_archive_function)(void* object, sap_archive* archive, sap_error* error);
// Sets *size and, unless `bytes` is NULL, writes the object. fails: ARGUMENT if the capacity is too
// small.
sap_status sap_archive_to_bytes(sap_archive_function function, void* object, void* bytes,
                                size_t capacity, size_t* size, sap_error* error);
// Loads the object. fails: ARGUMENT (too few or too many bytes), MEMORY; the object is unchanged
// then.
sap_status sap_archive_from_bytes(sap_archive_function function, void* object, const void* bytes,
                                  size_t size, sap_error* error);

// Returns the 64-bit FNV-1a hash of the bytes, continued from `hash`; start with SAP_HASH_START.
#define SAP_HASH_START UINT64_C(14695981039346656037)
uint64_t sap_hash(uint64_t hash, const void* bytes, size_t size);
