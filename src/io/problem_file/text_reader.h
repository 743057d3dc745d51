// SPDX-License-Identifier: BSD-3-Clause
// Reads text files of headers and lines of numbers, for problems and solutions.
#ifndef SAP_IO_PROBLEM_FILE_TEXT_READER_H
#define SAP_IO_PROBLEM_FILE_TEXT_READER_H

#include <stdio.h>

#include "core/memory.h"

typedef struct sap_text_reader {
  sap_pool pool;  // of all arrays, also those of the readers of problems and solutions
  FILE* file;
  char* path;
  char* text;  // the current line, without its end, zero-terminated
  int32_t text_length;
  int64_t line;      // number of the current line, from 1; 0 before the first
  int64_t sections;  // headers seen
  bool failed;       // an error ended the reading
  bool ended;        // the current line ended with '\n', not with the file
  double* values;    // numbers of the current line                       (value_count)
  int32_t value_count;
  sap_error* error;  // of the call that reads
} sap_text_reader;

sap_status sap_text_open(sap_text_reader* text, const char* path, sap_error* error);
void sap_text_close(sap_text_reader* text);

// Expects `header` ("sapstep_problem 1") or, but not before the first, the end of the file.
sap_status sap_text_header(sap_text_reader* text, const char* header, bool* found);
// Reads the numbers of the next non-blank line into text->values. The line must begin with
// `keyword` (NULL: none) and hold `expected` numbers (negative: any count). `what` names the line
// in messages.
sap_status sap_text_numbers(sap_text_reader* text, const char* keyword, int64_t expected,
                            const char* what);
// Converts values[index] of the current line to an integer >= low.
sap_status sap_text_integer(const sap_text_reader* text, int32_t index, int32_t low,
                            const char* what, int32_t* out);

// Returns the status of a callee; prefixes its message with "path:line" if it failed.
sap_status sap_text_pass(const sap_text_reader* text, sap_status status);
// Fails with "path:line: ..." for the current line.
#define sap_text_fail(text, status, ...) \
  sap_text_pass((text), sap_fail((text)->error, (status), __VA_ARGS__))

#endif
