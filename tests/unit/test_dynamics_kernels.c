// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the dynamics give the same bits in all instruction sets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/kernels.h"
#include "support/mixed_model.h"

typedef struct results {
  double p[3 * MIXED_BODIES], R[9 * MIXED_BODIES], q[4 * MIXED_BODIES];
  double J[3 * MIXED_NV], M[MIXED_NV * MIXED_NV], tau[MIXED_NV];
  double start[MIXED_BODIES][6], end[MIXED_BODIES][6];
  double D[7][MIXED_NV * MIXED_NV], gradient[MIXED_NV];
} results;

// Derivatives at kin.
static void differentiate(sap_dynamics* d, const sap_kinematics* kin, results* out) {
  sap_pool pool = {.owner = "test"};
  sap_derivatives* work;
  sap_mass_work* masses;
  const sap_dynamics_kernels* kernels = d->kernels;
  assert_int_equal(sap_derivatives_create(d, &pool, &work, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_mass_work_create(d, &pool, &masses, NULL), SAP_STATUS_OK);
  work->dynamics->kernels->inverse_derivatives(
      work, kin, mixed_v, mixed_v, &(sap_inverse_derivatives){out->D[0], out->D[1], out->D[2]});
  sap_momentum_derivatives step = {.kin0 = kin,
                                   .kin = kin,
                                   .v0 = mixed_v,
                                   .v = mixed_v,
                                   .dt = 0.01,
                                   .dq = out->D[3],
                                   .dv = out->D[4]};
  work->dynamics->kernels->momentum_derivatives(work, &step);
  step.dq = step.dv = NULL;
  step.dq0 = out->D[5];
  step.dv0 = out->D[6];
  work->dynamics->kernels->momentum_derivatives(work, &step);
  double v[MIXED_NV + 4] = {0.0};
  memcpy(v, mixed_v, sizeof mixed_v);
  const sap_mass_form form = {.x = {v, out->D[0], NULL, out->D[2]},
                              .C = {{1.0, -2.0, 1.0, 0.5}, {-2.0, 0.3}, {1.0}, {0.5}}};
  for (int32_t t = 0; t < d->model->sizes.trees; ++t) {
    kernels->add_mass(masses, t, &form);
    kernels->mass_gradient(masses, kin, t, out->gradient);
  }
  sap_pool_free(&pool);
}

static void evaluate(const sap_model* model, const sap_dynamics_kernels* kernels, results* out) {
  sap_dynamics* d = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(model, &d, NULL), SAP_STATUS_OK);
  d->kernels = kernels;
  assert_int_equal(sap_kinematics_create(&kin, d, NULL), SAP_STATUS_OK);
  const sap_dynamics_state at = {.kin = &kin, .v = mixed_v};
  const double* v = mixed_v;
  double q_end[MIXED_NQ], *blocks[MIXED_TREES], *block = out->M;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    blocks[t] = block;
    block += model->tree_sizes[t] * model->tree_sizes[t];
  }
  memset(out, 0, sizeof *out);
  kernels->set_positions(&kin, mixed_q);
  kernels->momenta(d, &at, NULL, out->start);
  sap_manifold_integrate(model, mixed_q, v, 0.01, q_end);
  kernels->set_positions(&kin, q_end);
  kernels->mass_matrix(d, &kin, blocks);
  const sap_momentum_step step = {.dt = 0.01, .v0 = v, .start = out->start, .end = out->end};
  kernels->momentum_forces(d, &at, &step, out->tau);
  sap_dynamics_gather_forces(d, &kin, NULL, out->tau);
  const double p[3] = {0.1, -0.2, 0.3};
  for (int32_t b = 1; b < MIXED_BODIES; ++b) {
    kernels->add_point_jacobian(&kin, b, p, kin.R_WB + 9 * b, 1.0, out->J);
  }
  differentiate(d, &kin, out);
  memcpy(out->p, kin.p_WB, sizeof out->p);
  memcpy(out->R, kin.R_WB, sizeof out->R);
  memcpy(out->q, kin.q_WB, sizeof out->q);
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(d);
}

// The last set that a processor can run.
static const sap_dynamics_kernels* baseline(void) {
  int32_t last = 0;
  while (sap_dynamics_kernels_get(last + 1) != NULL) {
    ++last;
  }
  assert_string_equal(sap_dynamics_kernels_get(last)->name, "baseline");
  return sap_dynamics_kernels_get(last);
}

static void test_sets_agree(void** state) {
  (void)state;
  sap_model* model = mixed_model();
  assert_non_null(model);
  results expected, found;
  evaluate(model, baseline(), &expected);
  assert_true(expected.tau[MIXED_NV - 1] != 0.0 && expected.J[0] != 0.0 && expected.M[0] > 0.0);
  assert_true(expected.D[5][0] != 0.0 && expected.gradient[MIXED_NV - 1] != 0.0);
  int32_t sets = 0;
  for (const sap_dynamics_kernels* k; (k = sap_dynamics_kernels_get(sets)) != NULL; ++sets) {
    evaluate(model, k, &found);
    assert_memory_equal(&found, &expected, sizeof expected);
  }
  assert_true(sets > 0);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sets_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
