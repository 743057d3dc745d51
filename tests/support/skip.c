// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "support/skip.h"

#include <stdlib.h>
#include <unistd.h>

bool skip_finds(const char* path) {
  return access(path, R_OK) == 0;
}

void skip_needs_package(void) {
  if (getenv("SAPSTEP_NO_SKIPS") != NULL) {
    fail_msg("SAPSTEP_NO_SKIPS is set, but a package is missing:");
  }
}

static void nothing(void** state) {
  SKIP("%s", (const char*)*state);
}

static void lacking(void** state) {
  SKIP_LACKING("%s", (const char*)*state);
}

int skip_program(const char* reason) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(nothing, (void*)reason)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int skip_program_lacking(const char* reason) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(lacking, (void*)reason)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// Functions of cmocka that --wrap sends here: the end of a skipped test, and a program's tests.

static size_t skipped;

void __real__skip(const char* file, int line);
void __wrap__skip(const char* file, int line);
int __real__cmocka_run_group_tests(const char* name, const struct CMUnitTest* tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char* name, const struct CMUnitTest* tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

void __wrap__skip(const char* file, int line) {
  skipped += 1;
  __real__skip(file, line);
}

int __wrap__cmocka_run_group_tests(const char* name, const struct CMUnitTest* tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown) {
  skipped = 0;
  const int failed = __real__cmocka_run_group_tests(name, tests, count, setup, teardown);
  return failed == 0 && count > 0 && skipped == count ? SKIP_CODE : failed;
}
