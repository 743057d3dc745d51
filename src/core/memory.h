// SPDX-License-Identifier: BSD-3-Clause
// Heap memory with overflow-checked sizes: single arrays, arrays that grow and keep their memory,
// and pools of arrays that are freed together.
#pragma once

#include "core/error.h"

// Returns a zeroed array of `count` elements, 64-byte aligned, or NULL on overflow or lack of
// memory; not NULL for count 0. Free it with sap_free.
void* sap_allocate(size_t count, size_t size);
void sap_free(void* memory);
// The same, stored in the pointer at the address `array`: SAP_NEW(&model, 1, "model", error)
// Fails with MEMORY: "out of memory: model"; the pointer is NULL then.
#define SAP_NEW(array, count, what, error) \
  sap_new((array), (size_t)(count), sizeof(**(array)), (what), (error))
sap_status sap_new(void* array, size_t count, size_t size, const char* what, sap_error* error);
char* sap_duplicate_string(const char* text);  // NULL if text is NULL or memory is lacking

// Makes room for `needed` elements of `size` bytes in an array; `array` is the address of its
// pointer. Grows by at least a half, keeps the contents, zeroes the new elements. Fails with
// MEMORY, also for counts beyond int32_t; nothing changes then.
sap_status sap_grow(void* array, int32_t* capacity, int64_t needed, size_t size, sap_error* error);
// The same, sized by the pointer: SAP_GROW(&p->blocks, &p->block_capacity, n, error)
// Hot path: usually there is room already, which costs no call. `needed` is evaluated twice.
#define SAP_GROW(array, capacity, needed, error)                \
  (*(array) != NULL && (needed) >= 0 && (needed) <= *(capacity) \
       ? SAP_STATUS_OK                                          \
       : sap_grow((array), (capacity), (needed), sizeof(**(array)), (error)))

// Tests wrap the allocator to count calls and to make the n-th one fail. All heap calls of the
// library itself go through malloc, calloc, realloc, aligned_alloc and free.

// Start with {.owner = "model"}; sap_pool_free frees.
typedef struct sap_pool {
  const char* owner;  // named in messages: "out of memory: model"
  void* newest;       // sap_pool_block
} sap_pool;

// Stores a zeroed array of `count` elements of `size` bytes, 64-byte aligned, in the pointer at the
// address `array`. Fails with MEMORY on overflow or lack of memory.
sap_status sap_pool_add(sap_pool* pool, void* array, size_t count, size_t size, sap_error* error);
// Adds an array sized by its pointer: SAP_POOL_ADD(&p->pool, &p->blocks, n, error)
#define SAP_POOL_ADD(pool, array, count, error) \
  sap_pool_add((pool), (array), (size_t)(count), sizeof(**(array)), (error))
void sap_pool_free(sap_pool* pool);

// Defines NAME_clear(type* x), which frees the pool of an object and makes the object {0}.
#define SAP_DEFINE_CLEAR(name, type)         \
  static inline void name##_clear(type* x) { \
    sap_pool_free(&x->pool);                 \
    *x = (type){0};                          \
  }

// An array of a pool begins this many bytes behind its block, which keeps it aligned.
enum { SAP_POOL_HEADER = 64 };
typedef struct sap_pool_block {
  struct sap_pool_block *older, *newer;
  int64_t room;  // elements that the array has
} sap_pool_block;

static inline sap_pool_block* sap_pool_block_of(const void* array) {
  return (sap_pool_block*)((uintptr_t)array - SAP_POOL_HEADER);
}

// Grows an array of the pool as sap_grow does; its pointer is NULL at first.
sap_status sap_pool_grow(sap_pool* pool, void* array, int64_t needed, size_t size,
                         sap_error* error);
// The same, sized by the pointer: SAP_ROOM(&p->pool, &p->blocks, n, error)
// Hot path as that of SAP_GROW.
#define SAP_ROOM(pool, array, needed, error)                                                   \
  (*(array) != NULL && (needed) >= 0 && (int64_t)(needed) <= sap_pool_block_of(*(array))->room \
       ? SAP_STATUS_OK                                                                         \
       : sap_pool_grow((pool), (array), (needed), sizeof(**(array)), (error)))

// Several arrays in one call, each by the address of its pointer and its number of elements:
//   SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&p->q, nq), SAP_ARRAY(&p->v, nv)));
typedef struct sap_array {
  void* array;
  int64_t count;
  size_t size;  // of an element [bytes]
} sap_array;
#define SAP_ARRAY(array, count) \
  { (array), (int64_t)(count), sizeof(**(array)) }
#define SAP_ARRAY_LIST_(...) \
  (const sap_array[]){__VA_ARGS__}, sizeof((const sap_array[]){__VA_ARGS__}) / sizeof(sap_array)

// SAP_POOL_ADD of each.
#define SAP_POOL_ADD_ALL(pool, error, ...) \
  sap_pool_add_all((pool), SAP_ARRAY_LIST_(__VA_ARGS__), (error))
sap_status sap_pool_add_all(sap_pool* pool, const sap_array* list, size_t count, sap_error* error);
// SAP_ROOM of each.
#define SAP_ROOM_ALL(pool, error, ...) \
  sap_pool_grow_all((pool), SAP_ARRAY_LIST_(__VA_ARGS__), (error))
sap_status sap_pool_grow_all(sap_pool* pool, const sap_array* list, size_t count, sap_error* error);
// Makes the arrays parts of one, *memory, which grows as by SAP_ROOM; their contents are undefined:
//   SAP_TRY(SAP_CARVE(&d->pool, &d->work, error, SAP_ARRAY(&m->D, n * n), SAP_ARRAY(&m->x, n)));
#define SAP_CARVE(pool, memory, error, ...) \
  sap_pool_carve((pool), (memory), SAP_ARRAY_LIST_(__VA_ARGS__), (error))
sap_status sap_pool_carve(sap_pool* pool, double** memory, const sap_array* list, size_t count,
                          sap_error* error);
