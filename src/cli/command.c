// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

sap_status cli_no_memory(sap_error* error) {
  return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
}

sap_status cli_prefix_error(sap_error* error, const char* prefix) {
  char text[SAP_ERROR_MESSAGE_SIZE];
  (void)snprintf(text, sizeof text, "%.32s: %.*s", prefix, SAP_ERROR_MESSAGE_SIZE - 48,
                 error->message);
  (void)snprintf(error->message, sizeof error->message, "%s", text);
  return error->status;
}

int cli_out_of_memory(void) {
  sap_error error;
  (void)cli_no_memory(&error);
  return cli_report(&error);
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
