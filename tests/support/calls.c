// SPDX-License-Identifier: BSD-3-Clause
#include "support/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap_count.h"

call_breakage call_broken;

bool call_breaks(int argument, int kind) {
  const bool hit = call_broken.argument == argument && call_broken.kind == kind;
  call_broken.done = call_broken.done || hit;
  return hit;
}

const double* call_bad_numbers(const double* numbers, int n) {
  enum { MOST = 256 };
  static double bad[MOST];
  assert_true(n > 0 && n <= MOST);
  memcpy(bad, numbers, (size_t)n * sizeof *bad);
  bad[n - 1] = call_broken.kind == 1 ? (double)NAN : (double)INFINITY;
  return bad;
}

// Checks that the status in the error object is the returned one; success leaves the object
// unchanged.
static void check_error(const call* c, sap_status status, const sap_error* error) {
  if (error->status != status || (error->message[0] != '\0') != (status != SAP_STATUS_OK)) {
    fail_msg("%s: %s, but its error says %s '%s'", c->name, sap_status_text(status),
             sap_status_text(error->status), error->message);
  }
}

// Argument 0: none is.
static void check_broken(const call* c, int argument, int kind, void (*cleanup)(void)) {
  sap_error error = {0};
  call_broken = (call_breakage){argument, kind, false};
  const sap_status status = c->function(&error);
  const bool done = call_broken.done;
  cleanup();
  check_error(c, status, &error);
  if (!done) {  // no such way to break it: nothing was broken
    if (status != SAP_STATUS_OK) {
      fail_msg("%s: %s: %s", c->name, sap_status_text(status), error.message);
    }
    return;
  }
  if (status == SAP_STATUS_OK) {
    fail_msg("%s, argument %d broken in way %d: ok", c->name, argument, kind);
  }
  const sap_status again = c->function(NULL);
  cleanup();
  if (again != status) {
    fail_msg("%s: %s, without an error object %s", c->name, sap_status_text(status),
             sap_status_text(again));
  }
}

static void check_arguments(const calls_table* table) {
  for (size_t i = 0; i < table->count; ++i) {
    const call* c = &table->calls[i];
    for (int argument = 1; argument <= c->arguments; ++argument) {
      bool any = false;
      for (int kind = 0; kind < CALL_KINDS; ++kind) {
        check_broken(c, argument, kind, table->cleanup);
        any = any || call_broken.done;
      }
      if (!any) {
        fail_msg("%s has no argument %d", c->name, argument);
      }
    }
    check_broken(c, 0, 0, table->cleanup);
  }
}

static void check_allocations(const calls_table* table) {
  call_broken = (call_breakage){0};
  for (size_t i = 0; i < table->count; ++i) {
    const call* c = &table->calls[i];
    bool failed = true;
    for (int64_t n = 0; failed; ++n) {
      sap_error error = {0};
      heap_fail_at(n);
      const sap_status status = c->function(&error);
      failed = heap_failed();
      heap_fail_at(-1);
      table->cleanup();
      check_error(c, status, &error);
      // what runs short within a function of a system is that function's failure
      const bool told = status == SAP_STATUS_MEMORY || status == SAP_STATUS_CALLBACK;
      if (failed ? !told : status != SAP_STATUS_OK) {
        fail_msg("%s, allocation %ld %s: %s: %s", c->name, (long)n,
                 failed ? "failed" : "not needed", sap_status_text(status), error.message);
      }
    }
  }
}

static void test_arguments(void** state) {
  const calls_file* file = *state;
  for (int i = 0; i < CALLS_TABLES; ++i) {
    check_arguments(&file->tables[i]);
  }
}

static void test_allocations(void** state) {
  const calls_file* file = *state;
  for (int i = 0; i < CALLS_TABLES; ++i) {
    check_allocations(&file->tables[i]);
  }
}

static void test_plain(void** state) {
  ((const calls_file*)*state)->plain();
}

int calls_run(const calls_file* file) {
  void* state = (void*)file;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate_setup_teardown(test_arguments, file->setup, file->teardown, state),
      cmocka_unit_test_prestate_setup_teardown(test_allocations, file->setup, file->teardown,
                                               state),
      cmocka_unit_test_prestate_setup_teardown(test_plain, file->setup, file->teardown, state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
