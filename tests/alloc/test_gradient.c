// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of problems of shapes seen before make no heap call, and have the same bits again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/gradient.h>

#include "support/heap_count.h"
#include "support/pile.h"
#include "support/solve.h"

enum { ROUNDS = 3, MOST = 4096 };

static double v_bar[MOST], gamma_bar[MOST], bars[9][MOST];

// Differentiates two problems in turn; the first round may allocate.
static void check(bool coulomb) {
  sap_gradient_options options = sap_gradient_options_default();
  options.coulomb = coulomb;
  options.accepted_error = 1.0;
  sap_gradient* g = NULL;
  assert_int_equal(sap_gradient_create(&options, &g, NULL), SAP_STATUS_OK);
  pile_options pile = pile_options_default();
  sap_problem* p = pile_problem(&pile);
  sap_solution solution = {0};
  (void)solve_problem("sap", NULL, p, &solution, NULL);
  const sap_gradient_counts n = sap_gradient_count(p);
  assert_true(n.momentum <= MOST && n.jacobian <= MOST);
  for (int i = 0; i < MOST; ++i) {
    v_bar[i] = gamma_bar[i] = 1.0 / (1.0 + i);
  }
  const sap_problem_cotangent out = {.v_star = bars[0],
                                     .A = bars[1],
                                     .J = bars[2],
                                     .v_hat = bars[3],
                                     .R = bars[4],
                                     .friction = bars[5],
                                     .lagged_impulse = bars[6],
                                     .lower = bars[7],
                                     .upper = bars[8]};
  static double first[9][MOST];
  for (int round = 0; round < ROUNDS; ++round) {
    const int64_t calls = heap_calls();
    assert_int_equal(sap_gradient_problem(g, p, &solution, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_gradient_vjp(g, v_bar, gamma_bar, &out, NULL), SAP_STATUS_OK);
    assert_int_equal(
        sap_gradient_jvp(g, &(sap_problem_tangent){.v_hat = gamma_bar}, NULL, NULL, NULL),
        SAP_STATUS_OK);
    if (round == 0) {
      memcpy(first, bars, sizeof first);
      continue;
    }
    assert_int_equal(heap_calls() - calls, 0);
    assert_memory_equal(first, bars, sizeof first);
  }
  sap_gradient_destroy(g);
  sap_solution_clear(&solution);
  sap_problem_destroy(p);
}

static void test_no_heap_calls(void** unused) {
  (void)unused;
  const int64_t live = heap_live();
  check(false);
  check(true);
  assert_int_equal(heap_live(), live);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_heap_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
