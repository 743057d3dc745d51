// SPDX-License-Identifier: BSD-3-Clause
// A library to preload: the FAIL_AT-th allocation of the process, by whichever library, returns NULL.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

void* memalign(size_t alignment, size_t size);

static int fails(void) {
  static _Atomic long count, at = -2;
  if (atomic_load(&at) == -2) {
    const char* text = getenv("FAIL_AT");
    atomic_store(&at, text != NULL ? strtol(text, NULL, 10) : -1);
  }
  const int failed = atomic_fetch_add(&count, 1) == atomic_load(&at);
  errno = failed ? ENOMEM : errno;
  return failed;
}

void* malloc(size_t size) {
  return fails() ? NULL : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return fails() ? NULL : __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  return fails() ? NULL : __libc_realloc(memory, size);
}

void* memalign(size_t alignment, size_t size) {
  return fails() ? NULL : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
