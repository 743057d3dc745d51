// SPDX-License-Identifier: BSD-3-Clause
// `sapstep converge` on the examples' scenes.
#ifndef SAP_TESTS_CLI_CONVERGE_COMMAND_H
#define SAP_TESTS_CLI_CONVERGE_COMMAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/command.h"

#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"
#define CYLINDER "'" SCENES "spring_cylinder.xml'"
// The motion of that cylinder on its spring.
#define EXACT " --exact 'x=0.1*cos(sqrt(100/0.75)*t)' "

static inline command_result converge(scratch* s, const char* arguments, int exit_code) {
  char line[2048];
  (void)snprintf(line, sizeof line, "converge %s", arguments);
  return command_exits(s, SAPSTEP_PROGRAM, line, exit_code);
}

#endif
