// SPDX-License-Identifier: BSD-3-Clause
// The pizza saver: a rigid triangle on three supports, v = (vx, vy, vz, wz), A = diag(3, 3,
// 3, 6.75).
#ifndef SAP_TESTS_SUPPORT_PIZZA_SAVER_H
#define SAP_TESTS_SUPPORT_PIZZA_SAVER_H

#include <sapstep/problem.h>

typedef struct pizza_saver {
  double dt, mu, stiffness, relaxation_time, beta;
  double Mz, fx;  // applied moment and force
  double z, theta, v[4];
} pizza_saver;

// Fills `problem` for the pizza's next step; the guess is (1, 2, 3, 4).
void pizza_saver_fill(const pizza_saver* pizza, sap_problem* problem);
// Takes over the velocities of the solution.
void pizza_saver_advance(pizza_saver* pizza, const double* v);

#endif
