// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

enum { MESSAGE_SIZE = 8192 };  // longer ones are cut

// Replaces control characters by '?': names in files may contain escape sequences.
static void disarm(char* text) {
  for (char* c = text; *c != '\0'; ++c) {
    const unsigned char byte = (unsigned char)*c;
    *c = (byte < 0x20 && byte != '\n') || byte == 0x7f ? '?' : *c;
  }
}

SAP_PRINTF(2, 0)
static void print(const char* speaker, const char* format, va_list arguments) {
  char text[MESSAGE_SIZE];
  (void)vsnprintf(text, sizeof text, format, arguments);
  disarm(text);
  (void)fprintf(stderr, "%s: %s\n", speaker, text);
}

void cli_message(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print("sapstep", format, arguments);
  va_end(arguments);
}

int cli_usage_error(const cli_command* command, const char* format, ...) {
  char speaker[64];
  va_list arguments;
  (void)snprintf(speaker, sizeof speaker, "sapstep %s", command->name);
  va_start(arguments, format);
  print(speaker, format, arguments);
  va_end(arguments);
  (void)fprintf(stderr, "Try '%s --help'.\n", speaker);
  return CLI_USAGE;
}

int cli_exit_code(sap_status status) {
  switch (status) {
    case SAP_STATUS_OK:
      return CLI_OK;
    case SAP_STATUS_ARGUMENT:
    case SAP_STATUS_NOT_FINITE:
    case SAP_STATUS_NOT_SPD:
    case SAP_STATUS_SYNTAX:
    case SAP_STATUS_UNSUPPORTED:
    case SAP_STATUS_IO:
      return CLI_FILE;
    case SAP_STATUS_STEP_FAILED:
      return CLI_UNCONVERGED;
    default:
      return CLI_INTERNAL;
  }
}

int cli_report(const sap_error* error) {
  cli_message("%s", error->message);
  return cli_exit_code(error->status);
}

void* cli_allocate(size_t count, size_t size) {
  void* memory = calloc(count + 1, size);  // not NULL for nothing
  if (memory == NULL) {
    cli_message("out of memory");
    _Exit(CLI_INTERNAL);  // other threads may run, and what is not complete must not be written
  }
  return memory;
}

// Blocks are never freed; the list keeps them reachable for tools that look for leaks.
typedef struct block {
  struct block* older;
  max_align_t memory[];
} block;

void* cli_new(size_t count, size_t size) {
  static _Atomic(block*) newest;
  const size_t most = SIZE_MAX - sizeof(block) - 1;
  block* b = cli_allocate(sizeof *b + (size > 0 && count > most / size ? most : count * size), 1);
  b->older = atomic_exchange(&newest, b);
  return b->memory;
}

char* cli_copy(const char* text) {
  return strcpy(cli_new(strlen(text) + 1, 1), text);
}

void cli_grow(void* array, int32_t* room, int64_t needed, size_t size) {
  if (needed > *room) {
    const int64_t more = needed + needed / 2 + 16;
    void *old, *grown = cli_new((size_t)more, size);
    memcpy(&old, array, sizeof old);
    if (old != NULL) {
      memcpy(grown, old, (size_t)*room * size);
    }
    memcpy(array, &grown, sizeof grown);
    *room = more < INT32_MAX ? (int32_t)more : INT32_MAX;
  }
}

int cli_flush(void) {
  static bool told;  // commands flush their tables, and the program what is left
  errno = 0;
  const bool failed = fflush(stdout) != 0 || ferror(stdout);
  if (failed && !told) {
    cli_message("cannot write to standard output: %s",
                errno != 0 ? strerror(errno) : "a write failed");
  }
  told = told || failed;
  return failed ? CLI_FILE : CLI_OK;
}

enum { WORD_SIZE = 64 };  // longer words are no misspellings of ours

// Returns Levenshtein's distance: insertions, deletions and replacements that turn a into b.
static int distance(const char* a, const char* b) {
  const size_t na = strlen(a), nb = strlen(b);
  if (na >= WORD_SIZE || nb >= WORD_SIZE) {
    return WORD_SIZE;
  }
  int row[WORD_SIZE + 1];
  for (size_t j = 0; j <= nb; ++j) {
    row[j] = (int)j;
  }
  for (size_t i = 1; i <= na; ++i) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; ++j) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      const int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[nb];
}

const char* cli_suggest(const char* word, const char* const* candidates, int count) {
  const char* best = NULL;
  int nearest = 1 + (int)strlen(word) / 3;  // a third of the letters may be wrong
  for (int i = 0; i < count; ++i) {
    const int d = distance(word, candidates[i]);
    if (d <= nearest) {
      nearest = d - 1;  // the first of equals
      best = candidates[i];
    }
  }
  return best;
}

int cli_start_python(char** arguments, const char* needed) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0) {
    self[length] = '\0';
    (void)setenv("SAPSTEP_PROGRAM", self, 0);
  }
  const char* python = getenv("SAPSTEP_PYTHON");
  arguments[0] = (char*)(python != NULL ? python : "python3");
  (void)execvp(arguments[0], arguments);
  cli_message("%s cannot be started: %s", arguments[0], needed);
  return CLI_INTERNAL;
}
