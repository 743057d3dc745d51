// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "support/skip.h"

#include <unistd.h>

bool skip_finds(const char* path) {
  return access(path, R_OK) == 0;
}

static void nothing(void** state) {
  SKIP("%s", (const char*)*state);
}

int skip_program(const char* reason) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(nothing, (void*)reason)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
