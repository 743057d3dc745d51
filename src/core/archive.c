// SPDX-License-Identifier: BSD-3-Clause
#include "core/archive.h"

#include <stdint.h>
#include <string.h>

#include "core/memory.h"

static sap_status too_short(sap_error* error) {
  return sap_fail(error, SAP_STATUS_ARGUMENT, "saved memory is too short");
}

static bool has_room(const sap_archive* a, size_t size) {
  return size <= a->size - a->at;
}

sap_status sap_archive_value(sap_archive* a, void* value, size_t size, sap_error* error) {
  if (size == 0) {  // value may be NULL
    return SAP_STATUS_OK;
  }
  if (a->mode == SAP_ARCHIVE_FORGET) {
    memset(value, 0, size);
    return SAP_STATUS_OK;
  }
  if (a->mode != SAP_ARCHIVE_SIZE) {
    if (!has_room(a, size)) {
      return too_short(error);
    }
    if (a->mode == SAP_ARCHIVE_SAVE) {
      memcpy(a->bytes + a->at, value, size);
    } else if (a->mode == SAP_ARCHIVE_LOAD) {
      memcpy(value, a->bytes + a->at, size);
    }
  }
  a->at += size;
  return SAP_STATUS_OK;
}

sap_status sap_archive_number(sap_archive* a, void* value, size_t size, sap_error* error) {
  const sap_archive_mode mode = a->mode;
  a->mode = mode == SAP_ARCHIVE_RESERVE ? SAP_ARCHIVE_LOAD : mode;
  const sap_status status = sap_archive_value(a, value, size, error);
  a->mode = mode;
  return status;
}

sap_status sap_archive_array(sap_archive* a, void* array, int32_t* count, int32_t* capacity,
                             size_t element_size, sap_error* error) {
  int32_t n = *count;
  SAP_TRY(sap_archive_number(a, &n, sizeof n, error));
  const bool loads = a->mode == SAP_ARCHIVE_RESERVE || a->mode == SAP_ARCHIVE_LOAD;
  if (n < 0 || (loads && !has_room(a, (size_t)n * element_size))) {
    return too_short(error);
  }
  sap_status status = SAP_STATUS_OK;
  if (a->mode == SAP_ARCHIVE_RESERVE) {
    status = sap_grow(array, capacity, n, element_size, error);
    a->at += (size_t)n * element_size;
    return status;
  }
  if (a->mode == SAP_ARCHIVE_LOAD || a->mode == SAP_ARCHIVE_FORGET) {
    *count = n;
  }
  void* elements;
  memcpy(&elements, array, sizeof elements);
  return sap_archive_value(a, elements, (size_t)n * element_size, error);
}

sap_status sap_archive_to_bytes(sap_archive_function function, void* object, void* bytes,
                                size_t capacity, size_t* size, sap_error* error) {
  sap_archive measure = {.mode = SAP_ARCHIVE_SIZE};
  SAP_TRY(function(object, &measure, error));
  *size = measure.at;
  SAP_FAIL_IF(bytes != NULL && capacity < measure.at, error, SAP_STATUS_ARGUMENT,
              "capacity = %zu must be >= %zu bytes", capacity, measure.at);
  sap_archive save = {.mode = SAP_ARCHIVE_SAVE, .bytes = bytes, .size = capacity};
  return bytes != NULL ? function(object, &save, error) : SAP_STATUS_OK;
}

sap_status sap_archive_from_bytes(sap_archive_function function, void* object, const void* bytes,
                                  size_t size, sap_error* error) {
  // Loading only reads the bytes; the cast drops const because all modes share one pointer.
  unsigned char* from = (unsigned char*)(uintptr_t)bytes;
  sap_archive reserve = {.mode = SAP_ARCHIVE_RESERVE, .bytes = from, .size = size};
  SAP_TRY(function(object, &reserve, error));
  SAP_FAIL_IF(reserve.at != size, error, SAP_STATUS_ARGUMENT, "saved memory has %zu bytes too many",
              size - reserve.at);
  sap_archive load = {.mode = SAP_ARCHIVE_LOAD, .bytes = from, .size = size};
  return function(object, &load, error);
}

uint64_t sap_hash(uint64_t hash, const void* bytes, size_t size) {
  const unsigned char* at = bytes;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  }
  return hash;
}
