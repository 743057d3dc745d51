// SPDX-License-Identifier: BSD-3-Clause
// SAP, the semi-analytic primal solver (Castro, Permenter, Han 2022): functions of a solver_row.
// Islands are dealt out to batches, several per thread, in runs of about equal size. Sums over
// islands are formed afterwards in their order: the bits do not depend on the number of threads.
#pragma once

#include "core/threads.h"
#include "problem/warm_start.h"
#include "solvers/cholesky_pool.h"
#include "solvers/primal/newton.h"
#include "solvers/report.h"

enum {
  SAP_HISTORY_RESERVE = 512,  // rows, so that a longer solve allocates nothing
  SAP_ITERATES_RESERVE = 4    // rows per tree, so that new islands allocate nothing
};

// Result of one island.
typedef struct sap_island_result {
  sap_report result;
  sap_history_row last;        // at the end
  double error;                // of the island or its worst tree, if keeps_errors
  int32_t first_row, end_row;  // in its batch's iterates
} sap_island_result;

// A run of islands solved one after the other.
typedef struct sap_island_batch {
  sap_cholesky_pool pool;
  sap_history iterates;  // of all its islands, not summed
  int32_t first, end;    // islands
  sap_status status;
  sap_error error;
} sap_island_batch;

typedef struct sap_primal {
  sap_islands islands;
  sap_island_batch* batches;  // (nbatches)
  int32_t nbatches;
  sap_newton* newtons;   // of each of the first islands, then one for the others of each batch
  sap_threads* threads;  // NULL: one
  sap_island_result* results;  // of each island; room for one per tree
  sap_history history;
  sap_warm_start warm;  // multipliers of the previous solve
  sap_solution answer;  // of the whole problem
  sap_pool pool;        // of results and of the arrays below
  double* lambda;       // multipliers (linearise.c)
  double tolerance;     // of the last solve, as the two below
  double *v_star, *v_hat;
  bool keeps_errors;
} sap_primal;

sap_status sap_primal_create(void** workspace, sap_error* error);
void sap_primal_destroy(void* workspace);
sap_status sap_primal_archive(void* workspace, sap_archive* archive, sap_error* error);
// Returns the largest error of an island or tree after a solve, relative as in the stopping test.
// Only of a workspace that keeps errors: they cost a pass over the velocities.
double sap_primal_worst_error(const sap_primal* primal);
sap_status sap_primal_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                            sap_error* error);
