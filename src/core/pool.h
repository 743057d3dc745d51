// SPDX-License-Identifier: BSD-3-Clause
// Arrays of fixed size that are freed together.
#ifndef SAP_CORE_POOL_H
#define SAP_CORE_POOL_H

#include "core/memory.h"

// Start with {.owner = "model"}; sap_pool_free frees.
typedef struct sap_pool {
  const char* owner;  // named in messages: "out of memory: model"
  void* newest;       // block; each begins with the address of the one before
} sap_pool;

// Stores a zeroed array of `count` elements of `size` bytes, 64-byte aligned, in the pointer at the
// address `array`. Fails with MEMORY on overflow or lack of memory.
sap_status sap_pool_add(sap_pool* pool, void* array, size_t count, size_t size, sap_error* error);
// Adds an array sized by its pointer: SAP_POOL_ADD(&p->pool, &p->blocks, n, error)
#define SAP_POOL_ADD(pool, array, count, error) \
  sap_pool_add((pool), (array), (size_t)(count), sizeof(**(array)), (error))
void sap_pool_free(sap_pool* pool);

#endif
