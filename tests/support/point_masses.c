// SPDX-License-Identifier: BSD-3-Clause
#include "support/point_masses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MASSES_MAX = 8 };

sap_problem* point_masses_create(const double* mass, const double (*v_star)[3], int32_t n) {
  int32_t sizes[MASSES_MAX];
  sap_problem* p;
  assert_true(n <= MASSES_MAX);
  for (int32_t i = 0; i < n; ++i) {
    sizes[i] = 3;
  }
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 1e-3, n, sizes, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < n; ++i) {
    const double A[9] = {mass[i], 0, 0, 0, mass[i], 0, 0, 0, mass[i]};
    assert_int_equal(sap_problem_set_momentum_block(p, i, i, A, 3, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_set_v_star(p, v_star[0], NULL), SAP_STATUS_OK);
  return p;
}

void point_masses_add_contact(sap_problem* problem, int32_t a, int32_t b, double mu, double R,
                              uint64_t key) {
  static const double I3[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                      MINUS_I3[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1}, ZERO[3] = {0, 0, 0};
  const int32_t trees[2] = {a, b};
  const double* const jacobians[2] = {I3, MINUS_I3};
  const double compliance[3] = {R, R, R};
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = 3,
                           .ntrees = b < 0 ? 1 : 2,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = compliance,
                           .v_hat = ZERO,
                           .friction = mu,
                           .key = key};
  assert_int_equal(sap_problem_add_block(problem, &block, NULL), SAP_STATUS_OK);
}
