// SPDX-License-Identifier: BSD-3-Clause
// Violation of a block's law row by row, each row measured with its own step.
//   The pair (gamma, g) is moved to the pair (gamma', g') that satisfies the law exactly:
//     gamma' - rho g' = gamma - rho g,  rho_r = 1/D_rr of each row, D = W + R
//   change = gamma' - gamma [N s], change/rho = g' - g [m/s]: both are 0 at a solution only.
// A natural map with one rho per cone does not see rows that are far below the block's largest
// D_rr: there rho g is round-off.
#pragma once

#include <math.h>

#include <sapstep/solver.h>

#include "problem/problem_data.h"

typedef enum sap_violation_law {
  SAP_VIOLATION_CCP,
  SAP_VIOLATION_NCP,
  SAP_VIOLATION_BOX  // NCP with |gamma_t1|, |gamma_t2| <= mu gamma_n
} sap_violation_law;

// Where every row is within this part of its scale, the scale being
//   sum_i |J_ri| (|v_i| + |v*_i|) + |v_hat_r| + R_r |gamma|_max  [m/s]
// with the largest impulse of a cone, or the row's own,
// no row is blind to the tolerance eps_r of a solve.
static inline double sap_row_tolerance(double relative_tolerance) {
  return sqrt(relative_tolerance);
}

// Sets `change` of a cone's rows. gamma, g, rho: its rows, rho > 0.
void sap_cone_change(sap_violation_law law, double mu, int32_t nrows, const double* gamma,
                     const double* g, const double* rho, double* change);
// Returns the change of a row of an interval set.
double sap_interval_change(double lower, double upper, double gamma, double g, double rho);

// The judge's largest violations: |g' - g|, |gamma' - gamma|, and the former relative to the scale.
typedef struct sap_violation {
  double velocity, impulse, relative;
} sap_violation;

typedef struct sap_worst {
  sap_violation ccp, ncp, tree;
} sap_worst;

// The arguments of sap_judge_rows for one block.
typedef struct sap_judged_rows {
  const double* v;                       // (nv)
  const double *vc, *gamma, *rho, *law;  // rows of the block; law: impulses of a potential
  double resting;                        // velocities that are round-off [m/s]
} sap_judged_rows;

// Returns the velocity that counts as rest: RESTING of the fastest, or of the one that a v_hat asks
// for.
double sap_resting_velocity(const sap_problem* problem, const double* v);
void sap_judge_rows(const sap_problem* problem, const sap_block_data* block,
                    const sap_judged_rows* rows, sap_worst* worst);
// left (nv): what is left of the momentum balance over diag(A) [m/s]; behind it nv numbers of work.
// resting: as in sap_judged_rows.
void sap_judge_trees(const sap_problem* problem, const double* v, const double* gamma,
                     double resting, double* left, sap_violation* worst);
