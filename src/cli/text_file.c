// SPDX-License-Identifier: BSD-3-Clause
#include "cli/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/file.h"

enum { FIRST_SIZE = 1 << 16, MOST_SIZE = 1 << 30 };

typedef struct text {
  char* bytes;
  size_t size, capacity;
} text;

static sap_status grow(text* t, const char* path, sap_error* error) {
  if (t->capacity == MOST_SIZE) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: longer than 1 GiB", path);
  }
  const size_t capacity = t->capacity == 0 ? FIRST_SIZE : 2 * t->capacity;
  char* bytes = realloc(t->bytes, capacity);
  if (bytes == NULL) {
    return cli_no_memory(error);
  }
  t->bytes = bytes;
  t->capacity = capacity;
  return SAP_STATUS_OK;
}

// As much as there is room for beside the end; *more: that was not all.
static sap_status read_piece(FILE* file, text* t, const char* path, bool* more, sap_error* error) {
  const size_t room = t->capacity - t->size - 1;
  errno = 0;
  const size_t got = fread(t->bytes + t->size, 1, room, file);
  if (got < room && ferror(file)) {
    return sap_fail_io(error, errno, "read", path);
  }
  if (memchr(t->bytes + t->size, '\0', got) != NULL) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: this is no text: it has bytes of 0", path);
  }
  t->size += got;
  *more = got == room;
  return SAP_STATUS_OK;
}

char* cli_read_text(const char* path, sap_error* error) {
  static const char mark[] = "\xef\xbb\xbf";
  text t = {0};
  errno = 0;
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    (void)sap_fail_io(error, errno, "read", path);
    return NULL;
  }
  sap_status status = SAP_STATUS_OK;
  for (bool more = true; more && status == SAP_STATUS_OK;) {
    status = grow(&t, path, error);
    if (status == SAP_STATUS_OK) {
      status = read_piece(file, &t, path, &more, error);
    }
  }
  (void)fclose(file);
  if (status != SAP_STATUS_OK) {
    free(t.bytes);
    return NULL;
  }
  t.bytes[t.size] = '\0';
  if (strncmp(t.bytes, mark, strlen(mark)) == 0) {
    memmove(t.bytes, t.bytes + strlen(mark), t.size - strlen(mark) + 1);
  }
  return t.bytes;
}

char* cli_next_line(char** rest) {
  char* line = *rest;
  if (line == NULL || *line == '\0') {
    return NULL;
  }
  const size_t length = strcspn(line, "\n");
  *rest = line + length + (line[length] == '\n' ? 1 : 0);
  line[length] = '\0';
  return line;
}
