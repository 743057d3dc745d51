// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files that differentiate the impulses of a step.
#ifndef SAP_MULTIBODY_ENGINE_IMPULSE_SLOPES_H
#define SAP_MULTIBODY_ENGINE_IMPULSE_SLOPES_H

#include "contact/contact_law.h"
#include "multibody/engine/contact_slopes.h"
#include "multibody/engine/multibody_data.h"

// Steps of differences of the law, a function of few numbers: relative, and least [m], [m/s].
#define SAP_LAW_STEP 3e-7
#define SAP_LAW_LEAST 1e-3

typedef struct sap_slopes_call {
  sap_multibody* multibody;
  sap_contact_slopes* w;
  const sap_step_context* step;
  const sap_problem* problem;
  sap_impulse_derivatives* out;
  const sap_kinematics *kin, *kin_A;  // at q0 and q_A
  sap_law_settings law;
  const double* y;       // v_near - v*; NULL: zero
  const double* scales;  // of a contact's rows; NULL: 1
} sap_slopes_call;

// Takes a block's rows, for what follows.
void sap_slopes_set_rows(const sap_slopes_call* call, const sap_block* block);
// out = J v.
void sap_slopes_multiply_rows(const sap_slopes_call* call, const double* v, double* out);
// Adds dp = J' x to column k of a matrix, or lambda' dp to its entry k of a vector.
void sap_slopes_add_rows(const sap_slopes_call* call, const double* x, double* out, int32_t k);
// Adds scale J' M J, or lambda' of it; M nrows x nrows with leading dimension ld.
void sap_slopes_add_square(const sap_slopes_call* call, double scale, const double* M, int32_t ld,
                           double* out);
// a' b of the block's rows.
double sap_slopes_dot(const sap_contact_slopes* w, const double* a, const double* b);
// X = A^-1 J' of the first rows, unscaled, on the block's trees.
sap_status sap_slopes_solve_rows(const sap_slopes_call* call, const sap_block* block,
                                 sap_error* error);
// u' dgamma, as of W = X' A X, symmetric, and of X' A y; y of the call.
typedef struct sap_mass_pull {
  double W[9], y[3];
} sap_mass_pull;
// Adds what A gives to dq_A, and to w->A_bar: pulls of u = J lambda or, for matrices, of each row.
// Drag and the stiffness of elements in A count as constant.
void sap_slopes_add_mass(const sap_slopes_call* call, const sap_block* block,
                         const sap_mass_pull* pulls);
// Adds scale times the gradients to q of x_r' K x_s, K of all joint springs; x NULL: 0.
void sap_multibody_add_spring_products(const sap_dynamics* dynamics, const double* q, double scale,
                                       const double* const x[SAP_MASS_FIELDS],
                                       double (*out)[SAP_MASS_PAIRS]);
// Adds the derivatives of the impulse of a row but -J' G J; bound: -1, 1 at a bound of a box.
sap_status sap_slopes_add_row(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                              int bound, sap_error* error);
// Adds what A_bar gives to the gradients to parameters.
void sap_slopes_add_A_parameters(const sap_slopes_call* call);

// Adds the part by a change of J of such a row; by: dgamma to its length, w and rate at the start.
void sap_slopes_add_moving(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                           const double by[3]);
// Adds the derivatives of the impulses of an equality but -J' G J; of its diagonal G.
void sap_slopes_add_equality(sap_slopes_call* call, const sap_block* block, const double* gamma,
                             const double* G);

#endif
