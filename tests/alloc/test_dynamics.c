// SPDX-License-Identifier: BSD-3-Clause
// The dynamics make no heap call once their workspace exists.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/dynamics/dynamics.h"
#include "support/heap_count.h"
#include "support/mixed_model.h"

static void no_heap_calls(void** state) {
  (void)state;
  sap_model* model = mixed_model();
  sap_dynamics* dynamics = NULL;
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  double M[3][49], k1[MIXED_NV], k2[MIXED_NV], q[MIXED_NQ], J[3 * MIXED_NV] = {0.0};
  const double R_WC[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  double* const blocks[] = {M[0], M[1], M[2]};
  sap_diagnostics diagnostics;
  const int64_t before = heap_calls();
  sap_dynamics_integrate(model, mixed_q, mixed_v, 0.01, q);
  sap_dynamics_difference(model, mixed_q, q, k1);
  sap_dynamics_set_positions(dynamics, q);
  sap_dynamics_mass_matrix(dynamics, blocks);
  sap_dynamics_stiffness_damping(dynamics, q, mixed_v, blocks, blocks);
  sap_dynamics_forces(dynamics, q, mixed_v, mixed_control, k1, k2);
  sap_dynamics_inverse(dynamics, q, mixed_v, mixed_control, mixed_a, k1);
  sap_dynamics_add_point_jacobian(dynamics, 5, mixed_q, R_WC, 1.0, J);
  sap_dynamics_diagnose(dynamics, q, mixed_v, &diagnostics);
  assert_int_equal(heap_calls(), before);
  assert_true(before > 0);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_heap_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
