// SPDX-License-Identifier: BSD-3-Clause
// Runs the program as a user would and keeps what it said.
#ifndef SAP_TESTS_SUPPORT_COMMAND_H
#define SAP_TESTS_SUPPORT_COMMAND_H

#include <stdbool.h>

#include "support/scratch.h"

typedef struct command_result {
  int exit_code;  // -1: it was killed
  char* out;      // standard output
  char* err;      // standard error
} command_result;

// Runs `program arguments` by the shell, inside the scratch folder; `before` is shell text that
// comes first ("ulimit -f 1;"). `arguments` may redirect standard output: then out is "".
command_result command_run(scratch* s, const char* program, const char* before,
                           const char* arguments);
void command_clear(command_result* result);
// The same without `before`; the test fails unless it ends with this exit code.
command_result command_exits(scratch* s, const char* program, const char* arguments, int exit_code);

// Runs the program and checks its exit code and that `message` (NULL: nothing at all) is on
// standard error; after a failure standard output must be empty.
void command_expect(scratch* s, const char* program, const char* arguments, int exit_code,
                    const char* message);

// The same with shell text that comes first, as in command_run.
void command_expect_after(scratch* s, const char* program, const char* before,
                          const char* arguments, int exit_code, const char* message);
// Fails the test unless the text contains `part`.
void command_says(const char* text, const char* part);

// Returns true if the text is one valid JSON value (RFC 8259).
bool json_valid(const char* text);
// The number after "name": in a JSON object; the test fails without one.
double json_member(const char* object, const char* name);

#endif
