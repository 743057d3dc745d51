// SPDX-License-Identifier: BSD-3-Clause
#include "core/pool.h"

#include <string.h>

enum { HEADER = 64 };  // keeps the alignment of the array behind it

sap_status sap_pool_add(sap_pool* pool, void* array, size_t count, size_t size, sap_error* error) {
  const bool fits = size == 0 || count <= (SIZE_MAX - HEADER) / size;
  char* block = fits ? sap_allocate(HEADER + count * size, 1) : NULL;
  if (block == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %s", pool->owner);
  }
  void* const start = block + HEADER;
  memcpy(block, &pool->newest, sizeof pool->newest);
  pool->newest = block;
  memcpy(array, &start, sizeof start);
  return SAP_STATUS_OK;
}

void sap_pool_free(sap_pool* pool) {
  while (pool->newest != NULL) {
    void* const block = pool->newest;
    memcpy(&pool->newest, block, sizeof pool->newest);
    sap_free(block);
  }
}
