// SPDX-License-Identifier: BSD-3-Clause
// Every public function called as it should be, then with one argument broken at a time, then with
// each of its allocations failing. For tests/abuse/test_allocation_calls_*.c, whose tables together
// must name every public function (tests/structure/calls.sh).
#ifndef SAP_TESTS_SUPPORT_CALLS_H
#define SAP_TESTS_SUPPORT_CALLS_H

#include <math.h>
#include <stddef.h>

#include <sapstep/base.h>

// The defect of a call: argument `argument` (0: none) broken in the way `kind`.
typedef struct call_breakage {
  int argument, kind;
  bool done;  // the call has such an argument
} call_breakage;
extern call_breakage call_broken;
enum { CALL_KINDS = 3 };

bool call_breaks(int argument, int kind);
// A copy of n numbers with NaN for the last one, or as `kind` says infinity.
const double* call_bad_numbers(const double* numbers, int n);

// Arguments of a call, numbered from 1. A pointer: NULL. A number: NaN, infinity. A count or id:
// -1, the largest. Numbers (n): NULL, a NaN, an infinity; with NULL allowed: the latter two.
#define P(k, x) (call_breaks(k, 0) ? NULL : (x))
#define D(k, x) (call_breaks(k, 0) ? (double)NAN : call_breaks(k, 1) ? (double)INFINITY : (x))
#define N(k, x) (call_breaks(k, 0) ? -1 : (x))
#define I(k, x) (call_breaks(k, 0) ? -1 : call_breaks(k, 1) ? INT32_MAX : (x))
#define V(k, x, n) (call_breaks(k, 0) ? NULL : W(k, x, n))
#define W(k, x, n) (call_breaks(k, 1) || call_breaks(k, 2) ? call_bad_numbers(x, n) : (x))

// A function that returns a status.
typedef struct call {
  const char* name;
  int arguments;  // of which each is broken in turn
  sap_status (*function)(sap_error* error);
} call;

// Functions with a status: X(name, arguments, the call, which hands on `error`).
#define CALL_FUNCTION(name, arguments, expression)  \
  static sap_status call_##name(sap_error* error) { \
    return expression;                              \
  }
#define CALL_ROW(name, arguments, expression) {#name, arguments, call_##name},

// Functions without: X(name, what must hold).
#define CALL_HOLDS(name, condition) assert_true(condition);

// `cleanup` follows each call and frees what it made.
typedef struct calls_table {
  const call* calls;
  size_t count;
  void (*cleanup)(void);
} calls_table;
#define CALLS_TABLE(calls, cleanup) \
  { calls, sizeof calls / sizeof *calls, cleanup }

// A test program; `plain` has the functions without a status.
enum { CALLS_TABLES = 4 };
typedef struct calls_file {
  int (*setup)(void** unused);
  int (*teardown)(void** unused);
  void (*plain)(void);
  calls_table tables[CALLS_TABLES];  // those without calls are none
} calls_file;

// Three tests, for main to return. A broken call gives a status and a message, one without
// anything broken SAP_STATUS_OK. With each of its allocations failing in turn a call gives MEMORY,
// or CALLBACK, until there is none left to fail.
int calls_run(const calls_file* file);

#endif
