// SPDX-License-Identifier: BSD-3-Clause
// The dynamics make no heap call once their workspace exists.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/forces.h"
#include "support/heap_count.h"
#include "support/mixed_model.h"

static void no_heap_calls(void** state) {
  (void)state;
  sap_model* model = mixed_model();
  sap_dynamics* dynamics = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  double M[3][49] = {{0.0}}, k1[MIXED_NV], k2[MIXED_NV], q[MIXED_NQ], J[3 * MIXED_NV] = {0.0};
  const double R_WC[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  double* const blocks[] = {M[0], M[1], M[2]};
  sap_diagnostics diagnostics;
  const int64_t before = heap_calls();
  sap_manifold_integrate(model, mixed_q, mixed_v, 0.01, q);
  sap_manifold_difference(model, mixed_q, q, k1);
  sap_kinematics_set(&kin, q);
  sap_dynamics_mass_matrix(dynamics, &kin, blocks);
  sap_dynamics_add_joint_matrices(dynamics, q, 1.0, 1.0, blocks, blocks);
  sap_dynamics_forces(dynamics, &(sap_dynamics_state){&kin, mixed_v, mixed_control}, k1, k2);
  sap_dynamics_inverse(dynamics, &(sap_dynamics_state){&kin, mixed_v, mixed_control}, mixed_a, k1);
  sap_kinematics_add_point_jacobian(&kin, 5, mixed_q, R_WC, 1.0, J);
  sap_dynamics_diagnose(dynamics, &kin, mixed_v, &diagnostics);
  assert_int_equal(heap_calls(), before);
  assert_true(before > 0);
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_heap_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
