// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the solution (v, gamma) of a contact problem with respect to all its data.
//
// At the solution, with y = R^-1 (v_hat - J v):
//   A (v - v*) = J' gamma,  gamma = P_C(y)                                  castro (21), (23)
//   H   = A + J' G J,  G = P_C'(y) R^-1 = -d gamma/d(J v)                   castro (37)
// The implicit function theorem gives, with e the change of gamma at fixed v,
//   e   = G (dv_hat - dJ v) + P_R dR + P_mu dmu + [dlower, dupper of rows at their bound]
//   H dv   = A dv* - dA (v - v*) + dJ' gamma + J' e
//   dgamma = e - G J dv
// and the transpose, for cotangents (v_bar, gamma_bar):
//   H' lambda = v_bar - J' G' gamma_bar,  u = J lambda + gamma_bar,  g = G' u
//   v*_bar = A lambda              A_bar  = -lambda (v - v*)'
//   J_bar  = gamma lambda' - g v'  v_hat_bar = g   R_bar = P_R' u   mu_bar = P_mu' u
// H is factored once; each product costs a solve and a pass over the blocks.
//
// Where a contact or row is between two modes, the derivative is one-sided: sticking at the edge of
// the cone, else open or at the bound; the report counts contacts near such kinks. It is as exact
// as the solution: an error of 1e-6 in the momentum balance gives errors of about 1e-4. Solve to
// 1e-12, or set `polish`. An object serves one thread at a time; several objects may share a
// problem.
#pragma once

#include <sapstep/base.h>
#include <sapstep/problem.h>
#include <sapstep/solver.h>

SAP_C_BEGIN

// coulomb    The law is exact Coulomb friction: gamma_n = (v_hat_n - v_n)/R_n and |gamma_t| <=
//            mu gamma_n, for solutions of sap-ncp and other NCP solvers, and of steps whose v_hat
//            is shifted against gliding. Similar and lagged contacts have the friction of their own
//            normal impulse. H is unsymmetric. Not together with smoothing and polish.
// smoothing  G of cones and interval rows is softened near kinks, so that an open contact has a
//            slope. A heuristic, no derivative of a smoothed solution: mu and bounds stay exact.
// polish     Newton steps on (v, gamma) first, so that solutions at loose tolerances will do.
// The one list, as SAP_SOLVER_OPTIONS.
#define SAP_GRADIENT_OPTIONS(X)                                                                  \
  X(boolean, coulomb, false, 0, 1, "the solution obeys exact Coulomb friction")                  \
  X(real, smoothing, 0, 0, 1e300, "kappa of softened modes, 0: exact [sqrt(J)]")                 \
  X(real, kink_margin, 1e-8, 0, 1e300, "impulse by which a contact counts as near a kink [N s]") \
  X(integer, polish, 0, 0, 100, "Newton steps that improve the solution first [-]")              \
  X(real, accepted_error, 0.01, 0, 1e300, "relative error of a solution that is not refused [-]")

// Start with sap_gradient_options_default(), which sets the cookie.
typedef struct sap_gradient_options {
  uint32_t cookie;
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_GRADIENT_OPTIONS(SAP_X)
#undef SAP_X
} sap_gradient_options;

SAP_API sap_gradient_options sap_gradient_options_default(void);

typedef struct sap_gradient sap_gradient;

// Creates an object without a problem. options NULL: defaults.  fails: ARGUMENT, NOT_FINITE, MEMORY
SAP_API sap_status sap_gradient_create(const sap_gradient_options* options, sap_gradient** out,
                                       sap_error* error);
SAP_API void sap_gradient_destroy(sap_gradient* gradient);  // NULL allowed

// Modes of a solution.
typedef struct sap_gradient_report {
  int32_t open, sticking,
      sliding;               // contacts; similar and lagged stick where they slip less than v_s
  int32_t inside, at_bound;  // rows of other blocks
  int32_t kinks;             // contacts and rows within kink_margin of another mode
  double error;  // of the solution, relative, in the metric of energy: momentum balance and, unless
                 // coulomb, gamma less P_C(y) [-]
} sap_gradient_report;

// Factors H at the solution, whose v and gamma are copied. The problem is borrowed: it must not
// change until the last product. report may be NULL. Makes no heap call if blocks, sizes and, with
// coulomb, pivots are as the last time. The same problem gives the same bits; with coulomb, if the
// problems before were the same, too.
// fails: ARGUMENT: the solution has other sizes, or an error above accepted_error; UNSUPPORTED: a
// mobility, or R = 0; NOT_FINITE; NOT_SPD; MEMORY. Then there is no problem to take products of.
SAP_API sap_status sap_gradient_problem(sap_gradient* gradient, const sap_problem* problem,
                                        const sap_solution* solution, sap_gradient_report* report,
                                        sap_error* error);

// The data of a problem, by which products are taken. All arrays are the caller's.
//   v_star          v* (nv)
//   A               diagonal blocks, tree by tree (full squares, column-major, ld their size), then
//                   coupling blocks A_ab in the order in which they were set (n_a x n_b). A stays
//                   symmetric: squares are symmetrised, and a coupling is also its transposed A_ba.
//   J               by block, within a block by tree (nrows x tree size, column-major), as in
//                   sap_block
//   v_hat, R        (nrows). R_t of a contact is that of its first row: R of other tangents has no
//                   effect. Similar and lagged contacts depend on R_n only.
//   friction        mu of contacts, else without effect (blocks)
//   lagged_impulse  n0 of lagged contacts, unless coulomb (blocks)
//   lower, upper    bounds of boxes (nrows)
// X(name, count)
#define SAP_GRADIENT_FIELDS(X) \
  X(v_star, nv)                \
  X(A, momentum)               \
  X(J, jacobian)               \
  X(v_hat, nrows)              \
  X(R, nrows)                  \
  X(friction, nblocks)         \
  X(lagged_impulse, nblocks)   \
  X(lower, nrows)              \
  X(upper, nrows)

// Lengths of these arrays.
typedef struct sap_gradient_counts {
  int64_t nv, nrows, nblocks, momentum, jacobian;
} sap_gradient_counts;
SAP_API sap_gradient_counts sap_gradient_count(const sap_problem* problem);

// A change of the data; NULL: 0.
typedef struct sap_problem_tangent {
#define SAP_X(name, count) const double* name;
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
} sap_problem_tangent;

// Derivatives by the data; NULL: not wanted.
typedef struct sap_problem_cotangent {
#define SAP_X(name, count) double* name;
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
} sap_problem_cotangent;

// Sets `out` to the derivatives of  v_bar . v + gamma_bar . gamma;  v_bar (nv), gamma_bar (nrows),
// NULL: 0.
// fails: ARGUMENT where no problem has been factored; NOT_FINITE. `out` is unchanged then.
SAP_API sap_status sap_gradient_vjp(sap_gradient* gradient, const double* v_bar,
                                    const double* gamma_bar, const sap_problem_cotangent* out,
                                    sap_error* error);
// Sets dv (nv) and dgamma (nrows) to the change of the solution along `tangent`; NULL: not wanted.
// fails: as sap_gradient_vjp.
SAP_API sap_status sap_gradient_jvp(sap_gradient* gradient, const sap_problem_tangent* tangent,
                                    double* dv, double* dgamma, sap_error* error);

SAP_C_END
