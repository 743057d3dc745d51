// SPDX-License-Identifier: BSD-3-Clause
// Tests that cannot be done here say why.
#ifndef SAP_TESTS_SUPPORT_SKIP_H
#define SAP_TESTS_SUPPORT_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// SKIP(format, ...): the test ends here and counts as skipped.
#define SKIP(...)               \
  do {                          \
    print_message("skipped: "); \
    print_message(__VA_ARGS__); \
    print_message("\n");        \
    skip();                     \
  } while (0)

// Where a file or folder, or recordings, are missing.
#define SKIP_WITHOUT(path)        \
  do {                            \
    if (!skip_finds(path)) {      \
      SKIP("%s is absent", path); \
    }                             \
  } while (0)
#define SKIP_WITHOUT_HDF5()           \
  do {                                \
    if (!sap_recorder_available()) {  \
      SKIP("this build has no HDF5"); \
    }                                 \
  } while (0)

bool skip_finds(const char* path);
// For main: a program none of whose tests can be done in this build.
int skip_program(const char* reason);

#endif
