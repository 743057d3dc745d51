// SPDX-License-Identifier: BSD-3-Clause
#include "support/one_contact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

sap_problem* one_contact_problem_of(const sap_block* law, const double A[9], const double R[3],
                                    const double v_hat[3]) {
  static const double J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const double* const jacobian = J;
  static const int32_t size = 3, tree = 0;
  sap_block block = *law;
  block.nrows = 3;
  block.ntrees = 1;
  block.trees = &tree;
  block.jacobians = &jacobian;
  block.R = R;
  block.v_hat = v_hat;
  sap_problem* p = NULL;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  return p;
}

sap_problem* one_contact_problem(const double A[9], double mu, const double R[3],
                                 const double v_hat[3]) {
  return one_contact_problem_of(&(sap_block){.set = SAP_SET_FRICTION_CONE, .friction = mu}, A, R,
                                v_hat);
}
