// SPDX-License-Identifier: BSD-3-Clause
// Parts of the judge that solvers share: natural map and complementarity of blocks, products with
// J.
#pragma once

#include <sapstep/solver.h>

// Violation of  C contains gamma _|_ g in C*  by (gamma, g) of blocks, for CCP and NCP.
typedef struct sap_model_sums {
  double map_2, scaled_map_2;  // sums of squares [(N s)^2 in SI numbers]
  double speed;                // largest scaled map over rho of a cone or row [m/s, rad/s]
  double dual, complementarity;
} sap_model_sums;

typedef struct sap_complementarity {
  sap_model_sums ccp, ncp;
  double gamma_2;
  double signorini;
  double dissipation;
} sap_complementarity;

// Returns the numbers of work of sap_complementarity_steps: 6 times the velocities of the largest
// tree.
int64_t sap_complementarity_work(const sap_problem* problem);
// Sets the steps of the natural map: rho = 1/lambda_max(W_ii + R_ii) in each row of a friction
// cone, 1/(W_rr + R_r) in the rows of an interval set. W by the diagonal tree blocks of A.
// row_rho: 1/(W_rr + R_r) of all rows, NULL allowed.
// fails: NOT_SPD names a tree.
sap_status sap_complementarity_steps(const sap_problem* problem, int32_t index, double* work,
                                     double* rho, double* row_rho, sap_error* error);
// Adds one block. vc, gamma, rho: its rows.
void sap_complementarity_add(const sap_problem* problem, int32_t index, const double* vc,
                             const double* gamma, const double* rho, sap_complementarity* sums);
// Projects x on |x_t| <= mu x_n (Euclidean): x inside, 0 in the polar cone mu |x_t| <= -x_n, else
// the nearest point of the surface. x and out may be the same.
void sap_project_cone(double mu, int32_t nrows, const double* x, double* out);
// Returns |map|/|gamma| from sums of squares; 0 if the map is 0.
double sap_relative_map(double map_2, double gamma_2);

// sap_residuals without the rows and trees of sap_violation, which take longer.
sap_status sap_residuals_of_blocks(const sap_problem* problem, const double* v, const double* gamma,
                                   sap_residual* out, sap_error* error);

// Sets impulse = J' gamma (nv).
void sap_generalized_impulse(const sap_problem* problem, const double* gamma, double* impulse);
// Sets vc = J v of all blocks (nrows).
void sap_contact_velocity(const sap_problem* problem, const double* v, double* vc);
