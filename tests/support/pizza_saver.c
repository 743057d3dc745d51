// SPDX-License-Identifier: BSD-3-Clause
#include "support/pizza_saver.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double MASS = 3.0, RADIUS = 1.5, INERTIA = 6.75, GRAVITY = 10.0;

void pizza_saver_fill(const pizza_saver* pizza, sap_problem* problem) {
  const int32_t sizes[1] = {4}, trees[1] = {0};
  const double A[16] = {MASS, 0, 0, 0, 0, MASS, 0, 0, 0, 0, MASS, 0, 0, 0, 0, INERTIA};
  const double v_star[4] = {pizza->v[0] + pizza->dt * pizza->fx / MASS, pizza->v[1],
                            pizza->v[2] - pizza->dt * GRAVITY,
                            pizza->v[3] + pizza->dt * pizza->Mz / INERTIA};
  const double guess[4] = {1, 2, 3, 4};
  assert_int_equal(sap_problem_reset(problem, pizza->dt, 1, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A, 4, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(problem, v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_guess(problem, guess, NULL), SAP_STATUS_OK);
  const double corners[3][2] = {{-sqrt(3.0) / 2, -0.5}, {sqrt(3.0) / 2, -0.5}, {0, 1}};
  const double c = cos(pizza->theta), s = sin(pizza->theta);
  const sap_regularization regularization = {pizza->beta, 1e-3, 0.0};
  for (int i = 0; i < 3; ++i) {
    const double x = RADIUS * (c * corners[i][0] - s * corners[i][1]);
    const double y = RADIUS * (s * corners[i][0] + c * corners[i][1]);
    const double J[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, -y, x, 0};
    const double* jacobians[1] = {J};
    const sap_contact_block contact = {.ntrees = 1,
                                       .trees = trees,
                                       .jacobians = jacobians,
                                       .material = {.stiffness = pizza->stiffness,
                                                    .relaxation_time = pizza->relaxation_time,
                                                    .friction = pizza->mu},
                                       .phi0 = pizza->z};
    assert_int_equal(sap_problem_add_contact(problem, &contact, &regularization, NULL),
                     SAP_STATUS_OK);
  }
}

void pizza_saver_advance(pizza_saver* pizza, const double* v) {
  for (int i = 0; i < 4; ++i) {
    pizza->v[i] = v[i];
  }
  pizza->z += pizza->dt * v[2];
  pizza->theta += pizza->dt * v[3];
}
