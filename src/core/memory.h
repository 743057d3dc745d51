// SPDX-License-Identifier: BSD-3-Clause
// Heap memory with overflow-checked sizes, and arrays that grow and keep their memory.
#ifndef SAP_CORE_MEMORY_H
#define SAP_CORE_MEMORY_H

#include "core/error.h"

// Zeroed array of `count` elements, 64-byte aligned; NULL on overflow or lack of memory. count 0
// gives a non-NULL pointer. Freed by sap_free.
void* sap_allocate(size_t count, size_t size);
void sap_free(void* memory);
char* sap_duplicate_string(const char* text);  // NULL for NULL and for lack of memory

// Makes room for `needed` elements of `size` bytes in the array whose pointer stands at the address
// `array` and whose capacity is *capacity; grows by at least a half, keeps the contents, zeroes
// what is new. On failure all stays as it was.
sap_status sap_grow(void* array, int32_t* capacity, int32_t needed, size_t size, sap_error* error);
// The same, sized by the pointer: SAP_GROW(&p->blocks, &p->block_capacity, n, error)
// It is asked for every block of every step, mostly in vain: the common answer costs no call.
// `needed` is evaluated twice.
#define SAP_GROW(array, capacity, needed, error)                \
  (*(array) != NULL && (needed) >= 0 && (needed) <= *(capacity) \
       ? SAP_STATUS_OK                                          \
       : sap_grow((array), (capacity), (needed), sizeof(**(array)), (error)))

// Tests wrap the allocator to count calls and to make the n-th one fail: all heap calls of the
// library itself go through malloc, calloc, realloc, aligned_alloc and free, nothing else.

#endif
