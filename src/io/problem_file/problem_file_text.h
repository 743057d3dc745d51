// SPDX-License-Identifier: BSD-3-Clause
// Lines of numbers: what the readers of problems and solutions share.
#ifndef SAP_IO_PROBLEM_FILE_PROBLEM_FILE_TEXT_H
#define SAP_IO_PROBLEM_FILE_PROBLEM_FILE_TEXT_H

#include <stdio.h>

#include "core/error.h"

typedef struct sap_text_reader {
  FILE* file;
  char* path;
  char* chunk;  // bytes read ahead
  size_t chunk_position, chunk_count;
  char* text;  // the current line, without its end, zero-terminated
  int32_t text_length, text_capacity;
  int64_t line;      // its number, from 1; 0 before the first
  int64_t sections;  // headers seen
  bool failed;       // an error ended the reading
  bool ended;        // the current line ended with '\n', not with the file
  double* values;    // numbers of the current line                       (value_count)
  int32_t value_count, value_capacity;
} sap_text_reader;

sap_status sap_text_open(sap_text_reader* text, const char* path, sap_error* error);
void sap_text_close(sap_text_reader* text);

// Expects `header` ("sapstep_problem 1") or, but not before the first, the end of the file.
sap_status sap_text_header(sap_text_reader* text, const char* header, bool* found,
                           sap_error* error);
// Reads the numbers of the next line that is not blank into text->values. `keyword` (NULL: none)
// must come before them; `expected` numbers must be there (negative: any count). `what` names the
// line in messages.
sap_status sap_text_numbers(sap_text_reader* text, const char* keyword, int64_t expected,
                            const char* what, sap_error* error);
// values[index] of the current line as an integer >= low.
sap_status sap_text_integer(const sap_text_reader* text, int32_t index, int32_t low,
                            const char* what, int32_t* out, sap_error* error);

// Fails with "path:line: ...", an error in the current line.
sap_status sap_text_fail(const sap_text_reader* text, sap_error* error, sap_status status,
                         const char* format, ...) SAP_PRINTF(4, 5);
// Puts "path:line" before a callee's message and returns its status.
sap_status sap_text_pass(const sap_text_reader* text, sap_error* error, sap_status status);

// Fails with NOT_SPD unless the n x n matrix in values[1 ...] is symmetric and positive definite.
// scratch: memory that is kept and grows.
sap_status sap_text_check_spd(const sap_text_reader* text, const char* name, int32_t n,
                              double** scratch, int32_t* capacity, sap_error* error);

#endif
