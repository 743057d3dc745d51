// SPDX-License-Identifier: BSD-3-Clause
// The exit codes of programs that skip: this program runs itself with other tests.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "support/skip.h"

static const char* self;

static void passes(void** state) {
  (void)state;
}

static void absent(void** state) {
  (void)state;
  SKIP_WITHOUT("/no/such/file");
}

static void lacking(void** state) {
  (void)state;
  SKIP_LACKING("no such package");
}

static int exit_code(const char* environment, const char* which) {
  char line[4096];
  (void)snprintf(line, sizeof line, "%s '%s' %s > /dev/null 2>&1", environment, self, which);
  const int status = system(line);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_exit_codes(void** state) {
  (void)state;
  const char *free_to_skip = "unset SAPSTEP_NO_SKIPS;", *must_not = "SAPSTEP_NO_SKIPS=1";
  assert_int_equal(exit_code(free_to_skip, "none"), 0);
  assert_int_equal(exit_code(free_to_skip, "some"), 0);
  assert_int_equal(exit_code(free_to_skip, "all"), SKIP_CODE);
  assert_int_equal(exit_code(free_to_skip, "lacking"), SKIP_CODE);
  assert_int_equal(exit_code(must_not, "all"), SKIP_CODE);  // data, no package
  assert_int_equal(exit_code(must_not, "lacking"), 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest none[] = {cmocka_unit_test(passes)};
  const struct CMUnitTest some[] = {cmocka_unit_test(passes), cmocka_unit_test(absent)};
  const struct CMUnitTest all[] = {cmocka_unit_test(absent), cmocka_unit_test(absent)};
  const struct CMUnitTest lack[] = {cmocka_unit_test(lacking)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exit_codes)};
  const char* which = argc > 1 ? argv[1] : "";
  self = argv[0];
  return strcmp(which, "none") == 0      ? cmocka_run_group_tests(none, NULL, NULL)
         : strcmp(which, "some") == 0    ? cmocka_run_group_tests(some, NULL, NULL)
         : strcmp(which, "all") == 0     ? cmocka_run_group_tests(all, NULL, NULL)
         : strcmp(which, "lacking") == 0 ? cmocka_run_group_tests(lack, NULL, NULL)
                                         : cmocka_run_group_tests(tests, NULL, NULL);
}
