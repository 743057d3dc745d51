// SPDX-License-Identifier: BSD-3-Clause
// Solvers in impulse space: one island after the other, scaled impulses z, one stopping test.
//   CCP   C contains z _|_ g in C*,  g = D z + q
//   NCP   the same with g_n + mu |g_t| in place of g_n (De Saxce)
// Stopping test: the natural map of every block, each with its own step rho,
//   |gamma - P_C(gamma - rho g)| <= eps_r |gamma|,  rho_i = 1/lambda_max(D_ii)  tsounis (163)-(164)
// and, in scaled impulses, |map| <= sqrt(eps_r) |q|. A map <= eps_a [sqrt(J)] passes as well.
#ifndef SAP_SOLVERS_DUAL_DUAL_H
#define SAP_SOLVERS_DUAL_DUAL_H

#include <sapstep/solver.h>

#include "linalg/sparse_lu.h"
#include "problem/delassus.h"
#include "problem/delassus_sparse.h"
#include "solvers/history.h"
#include "solvers/registry.h"

typedef struct sap_dual {
  const sap_solver_options* options;
  sap_delassus op;   // the island
  bool ncp;          // stopping test: NCP, else CCP
  double* z;         // iterate; at the start the guess           (n)
  double* g;         // D z + q                                   (n)
  double* v;         // v* + Y z                                  (nv)
  double* z_best;    // iterate with the least best_2             (n)
  double* map;       // z - P(z - g)                              (n)
  double residual;   // |map|/|gamma| of z, in impulses
  double best;       // the same of z_best
  double best_2;     // |map|^2 of z_best in scaled impulses: large impulses do not hide it
  double q_2;        // |q|^2
  bool fixed_point;  // neither NCP nor CCP is the model: stop when `change` falls below eps_r
  double change;     // relative change of the impulses in the last iteration
  double mark;       // residual when it last halved
  int32_t idle;      // iterations since `mark`
  double deadline;   // clock of the time limit [s]

  sap_outcome outcome;
  int32_t iterations, factorizations, evaluations;

  sap_history* history;  // NULL: not recorded
  double *vectors, *work;
  int32_t* integers;
  sap_delassus_sparse sparse;  // D of methods that factorize it sparsely
  sap_sparse_lu lu;            // factors of a part of D
  size_t* reduced_start;       // start of that part's entries in sparse's values
  int32_t vectors_capacity, work_capacity, integers_capacity, reduced_start_capacity;
} sap_dual;

typedef sap_status (*sap_dual_method)(sap_dual* d, sap_error* error);

// Functions of a solver_row (registry.h).
sap_status sap_dual_create(void** workspace, sap_error* error);
void sap_dual_destroy(void* workspace);
sap_status sap_dual_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_dual_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                          sap_error* error);
// Solves all islands by `method`. fails: NOT_FINITE, NOT_SPD, MEMORY; nothing is written then.
sap_status sap_dual_run(void* workspace, const sap_solve_call* call, bool ncp,
                        sap_dual_method method, sap_error* error);

// Borrow memory of undefined contents for a method; one request of each kind per island.
sap_status sap_dual_reals(sap_dual* d, int64_t count, double** out, sap_error* error);
sap_status sap_dual_integers(sap_dual* d, int64_t count, int32_t** out, sap_error* error);

// Projects one item's x on its set (Euclidean); x and out may be the same.
void sap_dual_project(const sap_delassus_item* item, const double* x, double* out);
// Projects all rows; x and out may be the same.
void sap_dual_project_all(const sap_dual* d, const double* x, double* out);
// Projects x on the regular polygon of `sides` >= 3 facets at the distance `radius` >= 0, the first
// facet normal to the first axis: the section of a friction pyramid that touches the cone.
//   e_k . x <= radius,  k = 0 .. sides - 1                                lelidec Sec. III
void sap_dual_project_polygon(double radius, int32_t sides, const double x[2], double out[2]);

// Computes d->v and d->g of d->z.
void sap_dual_evaluate(sap_dual* d);
// Takes d->z as the next iterate (the guess at first): computes d->v, d->g and the natural map,
// keeps the best iterate, adds a row to the history. *done: the test holds or a limit is reached,
// d->outcome says which. limit: iterations allowed.
sap_status sap_dual_check(sap_dual* d, int32_t limit, double step_length, bool* done,
                          sap_error* error);

#endif
