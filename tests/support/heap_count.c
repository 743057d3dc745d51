// SPDX-License-Identifier: BSD-3-Clause
#include "support/heap_count.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void* memory);
void* __wrap_malloc(size_t size);
void* __wrap_calloc(size_t count, size_t size);
void* __wrap_realloc(void* memory, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void* memory);

static atomic_llong calls;
static atomic_llong live;
static atomic_llong until_failure = -1;
static atomic_llong failed;

int64_t heap_calls(void) {
  return atomic_load(&calls);
}

int64_t heap_live(void) {
  return atomic_load(&live);
}

void heap_fail_at(int64_t count) {
  atomic_store(&failed, 0);
  atomic_store(&until_failure, count);
}

bool heap_failed(void) {
  return atomic_load(&failed) > 0;
}

static bool must_fail(void) {
  atomic_fetch_add(&calls, 1);
  if (atomic_load(&until_failure) < 0 || atomic_fetch_sub(&until_failure, 1) != 0) {
    return false;
  }
  atomic_fetch_add(&failed, 1);
  errno = ENOMEM;
  return true;
}

static void* obtained(void* memory) {
  atomic_fetch_add(&live, memory != NULL);
  return memory;
}

void* __wrap_malloc(size_t size) {
  return must_fail() ? NULL : obtained(__real_malloc(size));
}

void* __wrap_calloc(size_t count, size_t size) {
  return must_fail() ? NULL : obtained(__real_calloc(count, size));
}

void* __wrap_realloc(void* memory, size_t size) {
  if (must_fail()) {
    return NULL;
  }
  void* grown = __real_realloc(memory, size);
  return memory == NULL ? obtained(grown) : grown;
}

void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return must_fail() ? NULL : obtained(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void* memory) {
  if (memory != NULL) {
    atomic_fetch_add(&calls, 1);
    atomic_fetch_sub(&live, 1);
  }
  __real_free(memory);
}
