// SPDX-License-Identifier: BSD-3-Clause
// Memory that goes from step to step, as bytes: one function for each thing that has such memory
// names its fields once, and the mode of the archive says whether they are measured, saved, loaded
// or forgotten. Loading takes two passes, RESERVE and then LOAD, so that the second cannot fail.
// The bytes are those of the machine that wrote them; whoever keeps them guards them by a checksum.
#ifndef SAP_CORE_ARCHIVE_H
#define SAP_CORE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

typedef enum sap_archive_mode {
  SAP_ARCHIVE_SIZE,     // `at` counts the bytes
  SAP_ARCHIVE_SAVE,     // memory to bytes
  SAP_ARCHIVE_RESERVE,  // arrays get room for what the bytes hold
  SAP_ARCHIVE_LOAD,     // bytes to memory
  SAP_ARCHIVE_FORGET,   // numbers become zero, arrays empty
} sap_archive_mode;

typedef struct sap_archive {
  sap_archive_mode mode;
  unsigned char* bytes;  // (size); NULL in SIZE and FORGET
  size_t size, at;
} sap_archive;

// `size` bytes at `value`. ARGUMENT when the archive is too short.
sap_status sap_archive_value(sap_archive* archive, void* value, size_t size, sap_error* error);
// The first *count elements of an array that grows; `array` is the address of its pointer.
sap_status sap_archive_array(sap_archive* archive, void* array, int32_t* count, int32_t* capacity,
                             size_t element_size, sap_error* error);
#define SAP_ARCHIVE_ARRAY(archive, array, count, capacity, error) \
  sap_archive_array((archive), (array), (count), (capacity), sizeof(**(array)), (error))

// All of an object, by the function that names its fields.
typedef sap_status (*sap_archive_function)(void* object, sap_archive* archive, sap_error* error);
// *size is what is needed; bytes NULL: no more than that. ARGUMENT: the capacity is too small.
sap_status sap_archive_to_bytes(sap_archive_function function, void* object, void* bytes,
                                size_t capacity, size_t* size, sap_error* error);
// ARGUMENT: too few bytes or too many; MEMORY. On failure the object is as it was.
sap_status sap_archive_from_bytes(sap_archive_function function, void* object, const void* bytes,
                                  size_t size, sap_error* error);

// 64-bit FNV-1a of the bytes, going on from `hash`; start from SAP_HASH_START.
#define SAP_HASH_START UINT64_C(14695981039346656037)
uint64_t sap_hash(uint64_t hash, const void* bytes, size_t size);

#endif
