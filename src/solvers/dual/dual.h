// SPDX-License-Identifier: BSD-3-Clause
// What solvers in impulse space share: islands one after the other, scaled impulses z, one stopping
// test, one way back to velocities.
//   convex (CCP)   C contains z _|_ g in C*,   g = D z + q
//   NCP            the same with g^ = g + mu |g_t| n (De Saxce)
// Stopping test: the natural map of every block with the step that suits it,
//   |gamma - P_C(gamma - rho g)| <= eps_r |gamma|,  rho_i = 1/lambda_max(D_ii)   tsounis
//   (163)-(164)
// and, in scaled impulses, <= sqrt(eps_r) |q|; or, in scaled impulses, <= eps_a [sqrt(J)].
#ifndef SAP_SOLVERS_DUAL_DUAL_H
#define SAP_SOLVERS_DUAL_DUAL_H

#include <sapstep/solver.h>

#include "core/archive.h"
#include "linalg/block_lu.h"
#include "problem/delassus_operator.h"
#include "problem/delassus_sparse.h"
#include "solvers/history.h"

typedef struct sap_dual {
  const sap_solver_options* options;
  sap_delassus op;   // the island
  bool ncp;          // which stopping test
  double* z;         // iterate; at the start the guess      (n)
  double* g;         // D z + q                              (n)
  double* v;         // v* + Y z                             (nv)
  double* z_best;    // of the smallest natural map in scaled impulses, which huge ones do not
                     // make small as they do the relative one        (n)
  double* map;       // z - P(z - g)                         (n)
  double residual;   // relative natural map of z
  double best;       // of z_best
  double best_2;     // |map|^2 of z_best, scaled
  double q_2;        // |q|^2
  bool fixed_point;  // the method's model is neither: stop when `change` falls below eps_r
  double change;     // relative, of the impulses in the last iteration
  double mark;       // residual when it last halved
  int32_t idle;      // iterations since then
  double deadline;   // clock at which to give up [s]

  // what happened; methods count factorizations, evaluations
  sap_outcome outcome;
  int32_t iterations, factorizations, evaluations;

  sap_history* history;  // NULL: not wanted
  double *vectors, *work;
  int32_t* integers;
  sap_delassus_sparse sparse;  // of methods that factorize D
  sap_block_lu lu;             // of a part of it
  size_t* reduced_start;       // where that part's entries start in sparse's values
  int32_t vectors_capacity, work_capacity, integers_capacity, reduced_start_capacity;
} sap_dual;

// Runs a method on the gathered island from d->z, which holds the guess.
typedef sap_status (*sap_dual_method)(sap_dual* d, sap_error* error);

sap_status sap_dual_create(void** workspace, sap_error* error);
void sap_dual_destroy(void* workspace);
sap_status sap_dual_archive(void* workspace, sap_archive* archive, sap_error* error);

typedef struct sap_dual_call {
  const sap_solver_options* options;
  const sap_problem* problem;
  sap_solution* solution;
  sap_report* report;         // NULL allowed
  const double* gamma_guess;  // (nrows); NULL: the last impulses of the same blocks
} sap_dual_call;
// All islands by `method`; solution and report are written on success only.
sap_status sap_dual_solve(void* workspace, const sap_dual_call* call, bool ncp,
                          sap_dual_method method, sap_error* error);

// The function of a table row that runs `method`.
#define SAP_DUAL_ROW(name, is_ncp, method)                                                        \
  sap_status name(void* workspace, const sap_solver_options* options, const sap_problem* problem, \
                  sap_solution* solution, sap_report* report, sap_error* error) {                 \
    return sap_dual_solve(workspace, &(sap_dual_call){options, problem, solution, report, NULL},  \
                          (is_ncp), (method), error);                                             \
  }

// Memory of a method, undefined contents; one request of each kind per island.
sap_status sap_dual_reals(sap_dual* d, int64_t count, double** out, sap_error* error);
sap_status sap_dual_integers(sap_dual* d, int64_t count, int32_t** out, sap_error* error);

// Euclidean projection of one item's z on its set.
void sap_dual_project(const sap_delassus_item* item, const double* x, double* out);
// The same for all rows; x and out may be the same.
void sap_dual_project_all(const sap_dual* d, const double* x, double* out);

// d->z is a new iterate (the guess at first): computes d->v, d->g, the natural map, keeps the best,
// records it. *done when the test holds or a limit is reached; the outcome says which.
// limit: iterations allowed.
sap_status sap_dual_check(sap_dual* d, int32_t limit, double step_length, bool* done,
                          sap_error* error);

#endif
