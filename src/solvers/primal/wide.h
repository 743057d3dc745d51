// SPDX-License-Identifier: BSD-3-Clause
// Friction cones of 4 and 6 rows in the Newton iterations: what newton.h's functions do for cones
// of 3 rows, one cone at a time with loops over its rows. See dual.c for the formulas of the steps.
#ifndef SAP_SOLVERS_PRIMAL_WIDE_H
#define SAP_SOLVERS_PRIMAL_WIDE_H

#include "contact/cone.h"
#include "solvers/primal/newton.h"

struct sap_wide_cone {
  sap_cone cone;
  int32_t nrows;
  int32_t row;  // the problem's row of its first row
  double v_hat[SAP_CONE_ROWS_MAX], vc[SAP_CONE_ROWS_MAX], u[SAP_CONE_ROWS_MAX];
  double d[SAP_CONE_ROWS_MAX];  // J dv
  double gamma[SAP_CONE_ROWS_MAX];
  double dual[SAP_CONE_ROWS_MAX], target[SAP_CONE_ROWS_MAX];
  double rho;
  double G[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX];  // nrows x nrows
};

void sap_wide_gather(sap_newton* newton, const sap_block_data* block, int32_t index);
// Cost of a patch at x (ncols); y += J' gamma.
double sap_wide_evaluate(sap_newton* newton, const sap_patch* patch, const double* x, double* y);
double sap_wide_contact_cost(const sap_newton* newton, const sap_patch* patch, const double* x);
// d = J x
void sap_wide_apply(sap_newton* newton, const sap_patch* patch, const double* x);
// y += J' target
void sap_wide_add_target(const sap_newton* newton, const sap_patch* patch, double* y);
// S (ncols x ncols, lower triangle) = J' G J of the patch; W: 6 ncols of scratch. Whether any cone
// is active; S is not touched otherwise.
bool sap_wide_square(const sap_newton* newton, const sap_patch* patch, double* S, double* W);

void sap_wide_linearise(sap_newton* newton, sap_step_kind kind);
void sap_wide_move_dual(sap_newton* newton, sap_step_kind kind, double alpha);
void sap_wide_start_dual(sap_newton* newton, bool recall);

// gamma . d at u - alpha d; adds d' G d.
double sap_wide_slope(const sap_wide_cone* wide, double alpha, double* curvature);
// Cost at u - alpha d.
double sap_wide_cost(const sap_wide_cone* wide, double alpha);

#endif
