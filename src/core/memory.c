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

sap_status sap_new(void* array, size_t count, size_t size, const char* what, sap_error* error) {
  void* const memory = sap_allocate(count, size);
  memcpy(array, &memory, sizeof memory);
  return memory != NULL ? SAP_STATUS_OK
                        : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %s", what);
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

sap_status sap_grow(void* array, int32_t* capacity, int64_t needed, size_t size, sap_error* error) {
  SAP_FAIL_IF(needed < 0 || needed > INT32_MAX, error, SAP_STATUS_MEMORY,
              "array too large: %lld elements", (long long)needed);
  void* old;
  memcpy(&old, array, sizeof old);
  if (old != NULL && needed <= *capacity) {
    return SAP_STATUS_OK;
  }
  int32_t wanted = (int32_t)needed;
  if (*capacity <= INT32_MAX / 2 && *capacity + *capacity / 2 > wanted) {
    wanted = *capacity + *capacity / 2;
  }
  void* grown = sap_allocate((size_t)wanted, size);
  SAP_FAIL_IF(grown == NULL, error, SAP_STATUS_MEMORY, "out of memory: %lld elements of %zu bytes",
              (long long)wanted, size);
  if (old != NULL) {
    memcpy(grown, old, (size_t)*capacity * size);
    sap_free(old);
  }
  memcpy(array, &grown, sizeof grown);
  *capacity = wanted;
  return SAP_STATUS_OK;
}

_Static_assert(sizeof(sap_pool_block) <= SAP_POOL_HEADER, "a block's header fits");

sap_status sap_pool_add(sap_pool* pool, void* array, size_t count, size_t size, sap_error* error) {
  const bool fits = size == 0 || count <= (SIZE_MAX - SAP_POOL_HEADER) / size;
  sap_pool_block* block = fits ? sap_allocate(SAP_POOL_HEADER + count * size, 1) : NULL;
  SAP_FAIL_IF(block == NULL, error, SAP_STATUS_MEMORY, "out of memory: %s",
              pool->owner != NULL ? pool->owner : "an array");
  *block = (sap_pool_block){.older = pool->newest, .room = (int64_t)count};
  if (block->older != NULL) {
    block->older->newer = block;
  }
  pool->newest = block;
  void* const start = (char*)block + SAP_POOL_HEADER;
  memcpy(array, &start, sizeof start);
  return SAP_STATUS_OK;
}

static void free_block(sap_pool* pool, sap_pool_block* block) {
  if (block->older != NULL) {
    block->older->newer = block->newer;
  }
  if (block->newer != NULL) {
    block->newer->older = block->older;
  } else {
    pool->newest = block->older;
  }
  sap_free(block);
}

sap_status sap_pool_grow(sap_pool* pool, void* array, int64_t needed, size_t size,
                         sap_error* error) {
  void* old;
  memcpy(&old, array, sizeof old);
  const int64_t room = old != NULL ? sap_pool_block_of(old)->room : 0;
  SAP_FAIL_IF(needed < 0 || needed > INT32_MAX, error, SAP_STATUS_MEMORY,
              "array too large: %lld elements", (long long)needed);
  if (old != NULL && needed <= room) {
    return SAP_STATUS_OK;
  }
  const int64_t more = room + room / 2;
  void* grown = NULL;
  SAP_TRY(sap_pool_add(pool, &grown, (size_t)(more > needed ? more : needed), size, error));
  if (old != NULL) {
    memcpy(grown, old, (size_t)room * size);
    free_block(pool, sap_pool_block_of(old));
  }
  memcpy(array, &grown, sizeof grown);
  return SAP_STATUS_OK;
}

sap_status sap_pool_add_all(sap_pool* pool, const sap_array* list, size_t count, sap_error* error) {
  for (size_t i = 0; i < count; ++i) {
    SAP_TRY(sap_pool_add(pool, list[i].array, (size_t)list[i].count, list[i].size, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_pool_grow_all(sap_pool* pool, const sap_array* list, size_t count,
                             sap_error* error) {
  for (size_t i = 0; i < count; ++i) {
    SAP_TRY(sap_pool_grow(pool, list[i].array, list[i].count, list[i].size, error));
  }
  return SAP_STATUS_OK;
}

// Rounded up, so that every part is aligned for doubles.
static inline int64_t count_doubles(const sap_array* part) {
  return (part->count * (int64_t)part->size + (int64_t)sizeof(double) - 1) /
         (int64_t)sizeof(double);
}

sap_status sap_pool_carve(sap_pool* pool, double** memory, const sap_array* list, size_t count,
                          sap_error* error) {
  int64_t needed = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {
    needed += count_doubles(&list[i]);
    largest |= list[i].count;
  }
  SAP_FAIL_IF(largest < 0 || largest > UINT32_MAX, error, SAP_STATUS_MEMORY,
              "array too large: %lld elements", (long long)largest);
  SAP_TRY(SAP_ROOM(pool, memory, needed, error));
  double* next = *memory;
  for (size_t i = 0; i < count; ++i) {
    memcpy(list[i].array, &next, sizeof next);
    next += count_doubles(&list[i]);
  }
  return SAP_STATUS_OK;
}

void sap_pool_free(sap_pool* pool) {
  while (pool->newest != NULL) {
    free_block(pool, pool->newest);
  }
}
