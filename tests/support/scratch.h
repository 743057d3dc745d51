// SPDX-License-Identifier: BSD-3-Clause
// Files that a test writes: in a folder of its own, which scratch_end removes.
#ifndef SAP_TESTS_SUPPORT_SCRATCH_H
#define SAP_TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_PATH_SIZE = 1024 };

typedef struct scratch {
  char folder[SCRATCH_PATH_SIZE];
} scratch;

void scratch_begin(scratch* s);
void scratch_end(scratch* s);  // fails the test unless the folder can be removed with what is in it
// The same as fixtures of cmocka: *state is the scratch, one per program.
int scratch_setup(void** state);
int scratch_teardown(void** state);
// The path of `name` in the folder, valid until the next call.
const char* scratch_path(scratch* s, const char* name, char out[SCRATCH_PATH_SIZE]);
// Writes a file and returns its path.
const char* scratch_write(scratch* s, const char* name, const void* bytes, size_t count,
                          char out[SCRATCH_PATH_SIZE]);
// The number of files in the folder.
int scratch_count(const scratch* s);
// A file's bytes, zero-terminated; to be freed by free(). NULL: it cannot be read.
char* scratch_read(const char* path, size_t* count);
// The same of a file in the folder; the test fails without it.
char* scratch_text(scratch* s, const char* name);

#endif
