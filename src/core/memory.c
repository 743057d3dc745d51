// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SAP_ALIGNMENT = 64 };  // a cache line, and the widest vector register

void* sap_allocate(size_t count, size_t size) {
  if (size != 0 && count > (SIZE_MAX - SAP_ALIGNMENT) / size) {
    return NULL;
  }
  size_t bytes = count * size;
  bytes = (bytes / SAP_ALIGNMENT + 1) * SAP_ALIGNMENT;
  void* memory = aligned_alloc(SAP_ALIGNMENT, bytes);
  if (memory != NULL) {
    memset(memory, 0, bytes);
  }
  return memory;
}

void sap_free(void* memory) {
  free(memory);
}

char* sap_duplicate_string(const char* text) {
  if (text == NULL) {
    return NULL;
  }
  const size_t bytes = strlen(text) + 1;
  char* copy = sap_allocate(bytes, 1);
  if (copy != NULL) {
    memcpy(copy, text, bytes);
  }
  return copy;
}

sap_status sap_grow(void* array, int32_t* capacity, int32_t needed, size_t size, sap_error* error) {
  if (needed < 0) {
    return sap_fail(error, SAP_STATUS_MEMORY, "array size overflows");
  }
  void* old;
  memcpy(&old, array, sizeof old);
  if (old != NULL && needed <= *capacity) {
    return SAP_STATUS_OK;
  }
  int32_t wanted = needed;
  if (*capacity <= INT32_MAX / 2 && *capacity + *capacity / 2 > wanted) {
    wanted = *capacity + *capacity / 2;
  }
  void* grown = sap_allocate((size_t)wanted, size);
  if (grown == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %lld elements of %zu bytes",
                    (long long)wanted, size);
  }
  if (old != NULL) {
    memcpy(grown, old, (size_t)*capacity * size);
    sap_free(old);
  }
  memcpy(array, &grown, sizeof grown);
  *capacity = wanted;
  return SAP_STATUS_OK;
}
