// SPDX-License-Identifier: BSD-3-Clause
// Tests that cannot be done here say why. A program all of whose tests are skipped returns
// SKIP_CODE, which CTest shows as skipped: tests/CMakeLists.txt links each program with --wrap.
#ifndef SAP_TESTS_SUPPORT_SKIP_H
#define SAP_TESTS_SUPPORT_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SKIP_CODE = 77 };

// SKIP(format, ...): the test ends here and counts as skipped.
#define SKIP(...)               \
  do {                          \
    print_message("skipped: "); \
    print_message(__VA_ARGS__); \
    print_message("\n");        \
    skip();                     \
  } while (0)

// The same where a package is missing. The test fails if SAPSTEP_NO_SKIPS is set: continuous
// integration installs the packages.
#define SKIP_LACKING(...) \
  do {                    \
    skip_needs_package(); \
    SKIP(__VA_ARGS__);    \
  } while (0)

// Where a file or folder is missing.
#define SKIP_WITHOUT(path)        \
  do {                            \
    if (!skip_finds(path)) {      \
      SKIP("%s is absent", path); \
    }                             \
  } while (0)

bool skip_finds(const char* path);
// For main: a program none of whose tests can be done in this build.
int skip_program(const char* reason);
// The same where a package is missing, as SKIP_LACKING.
int skip_program_lacking(const char* reason);
void skip_needs_package(void);

#endif
