// SPDX-License-Identifier: BSD-3-Clause
#include "support/one_contact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

sap_problem* one_contact_problem(const double A[9], double mu, const double R[3],
                                 const double v_hat[3]) {
  static const double J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const double* const jacobian = J;
  static const int32_t size = 3, tree = 0;
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = 3,
                           .ntrees = 1,
                           .trees = &tree,
                           .jacobians = &jacobian,
                           .R = R,
                           .v_hat = v_hat,
                           .friction = mu};
  sap_problem* p = NULL;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  return p;
}
