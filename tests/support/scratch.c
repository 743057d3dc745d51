// SPDX-License-Identifier: BSD-3-Clause
#define _XOPEN_SOURCE 700
#include "support/scratch.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void scratch_begin(scratch* s) {
  const char* base = getenv("TMPDIR");
  (void)snprintf(s->folder, sizeof s->folder, "%s/sapstep-test-XXXXXX",
                 base != NULL && base[0] != '\0' ? base : "/tmp");
  assert_non_null(mkdtemp(s->folder));
}

// Counts, and deletes if so told, every entry but . and ..
static int for_each(const scratch* s, bool delete) {
  DIR* folder = opendir(s->folder);
  assert_non_null(folder);
  int count = 0;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    ++count;
    if (delete) {
      char path[SCRATCH_PATH_SIZE + 256];
      (void)snprintf(path, sizeof path, "%s/%s", s->folder, entry->d_name);
      assert_int_equal(remove(path), 0);
    }
  }
  (void)closedir(folder);
  return count;
}

void scratch_end(scratch* s) {
  (void)for_each(s, true);
  assert_int_equal(rmdir(s->folder), 0);
}

int scratch_setup(void** state) {
  static scratch s;
  scratch_begin(&s);
  *state = &s;
  return 0;
}

int scratch_teardown(void** state) {
  scratch_end(*state);
  return 0;
}

int scratch_count(const scratch* s) {
  return for_each(s, false);
}

const char* scratch_path(scratch* s, const char* name, char out[SCRATCH_PATH_SIZE]) {
  const int n = snprintf(out, SCRATCH_PATH_SIZE, "%s/%s", s->folder, name);
  assert_true(n > 0 && n < SCRATCH_PATH_SIZE);
  return out;
}

const char* scratch_write(scratch* s, const char* name, const void* bytes, size_t count,
                          char out[SCRATCH_PATH_SIZE]) {
  (void)remove(scratch_path(s, name, out));  // file systems wait for the disk where one is replaced
  FILE* file = fopen(out, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
  return out;
}

char* scratch_read(const char* path, size_t* count) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    return NULL;
  }
  size_t size = 0, capacity = 1 << 16;
  char* bytes = malloc(capacity);
  assert_non_null(bytes);
  for (;;) {
    size += fread(bytes + size, 1, capacity - 1 - size, file);
    if (size + 1 < capacity) {
      break;
    }
    capacity *= 2;
    bytes = realloc(bytes, capacity);
    assert_non_null(bytes);
  }
  (void)fclose(file);
  bytes[size] = '\0';
  if (count != NULL) {
    *count = size;
  }
  return bytes;
}

char* scratch_text(scratch* s, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  char* text = scratch_read(scratch_path(s, name, path), NULL);
  if (text == NULL) {
    fail_msg("there is no %s", name);
  }
  return text;
}
