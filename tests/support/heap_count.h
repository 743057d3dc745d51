// SPDX-License-Identifier: BSD-3-Clause
// Counts the heap calls of the library's own objects and of the test, and makes them fail. Works by
// the linker's --wrap: what shared libraries allocate for themselves is neither counted nor failed.
// For tests/alloc/test_*.c and tests/*/test_allocation_*.c, which are linked that way.
#ifndef SAP_TEST_SUPPORT_HEAP_COUNT_H
#define SAP_TEST_SUPPORT_HEAP_COUNT_H

#include <stdbool.h>
#include <stdint.h>

// Calls of malloc, calloc, realloc, aligned_alloc and free (not of NULL) so far.
int64_t heap_calls(void);
// Blocks obtained and not yet freed.
int64_t heap_live(void);
// The count-th allocation from now (0 is the next) returns NULL; a negative count: none does. Only
// that one fails.
void heap_fail_at(int64_t count);
// Returns true if that allocation was requested.
bool heap_failed(void);

#endif
