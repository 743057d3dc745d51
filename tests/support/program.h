// SPDX-License-Identifier: BSD-3-Clause
// Runs a program and keeps what it printed.
#ifndef SAP_TESTS_SUPPORT_PROGRAM_H
#define SAP_TESTS_SUPPORT_PROGRAM_H

typedef struct program_result {
  int exit_code;    // 128 + the signal's number when a signal ended it
  char *out, *err;  // standard output and error, zero-terminated
} program_result;

// Arguments after `path` are strings, ended by NULL: program_run(&r, SAPSTEP_PROGRAM, "run", NULL).
// Standard input is empty. What an earlier call left in `result` is freed; start with {0}.
void program_run(program_result* result, const char* path, ...);
void program_clear(program_result* result);

#endif
