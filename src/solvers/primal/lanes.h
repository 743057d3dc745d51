// SPDX-License-Identifier: BSD-3-Clause
// Islands dealt out to lanes, some for each thread, in runs of about equal size; what is summed
// over islands is summed afterwards, in their order. So all bits are those of one thread.
#ifndef SAP_SOLVERS_PRIMAL_LANES_H
#define SAP_SOLVERS_PRIMAL_LANES_H

#include "core/threads.h"
#include "solvers/cholesky_pool.h"
#include "solvers/primal/iterate.h"
#include "solvers/report.h"
#include "solvers/warm_start.h"

enum {
  SAP_HISTORY_RESERVE = 512,  // rows kept ready, so that a longer solve allocates nothing
  SAP_ITERATES_RESERVE = 4    // for each tree, so that neither do islands that appear
};

// What one island came to.
typedef struct sap_island_result {
  sap_iterate_result result;
  sap_newton_state state;  // where it ended
  int32_t nv;
  int32_t first_row, end_row;  // of its lane's iterates
  bool analysed;
} sap_island_result;

// What solves a run of islands, one after the other.
typedef struct sap_lane {
  sap_newton newton;
  sap_cholesky_pool pool;
  sap_history iterates;  // of all its islands, not summed
  int32_t first, end;    // its islands
  int32_t nth;           // unlike the rest not this lane's: lanes[k].nth is the lane of rank k, the
                         // longest has rank 0
  sap_status status;
  sap_error error;
} sap_lane;

typedef struct sap_primal {
  sap_islands islands;
  sap_lane* lanes;  // (nlanes)
  int32_t nlanes;
  sap_threads* threads;        // own ones, for problems that have none; NULL: one
  sap_island_result* results;  // of each island; room for one per tree
  sap_history history;
  sap_warm_start last;     // duals of the solve before
  double *v, *gamma, *vc;  // of the whole problem
  double* impulse;         // J' gamma
  double* dual;            // impulses that the primal-dual steps carry along
  int32_t v_capacity, impulse_capacity, gamma_capacity, vc_capacity, dual_capacity;
  int32_t result_capacity;
} sap_primal;

// A solve that is under way.
typedef struct sap_primal_call {
  sap_primal* primal;
  const sap_solver_options* options;
  const sap_problem* problem;
  bool keep_history;
  double deadline;  // of the clock
} sap_primal_call;

// Lanes for the threads that are asked for; the memory of one is there from the beginning. Not
// own: the problem has threads, which are used as long as it is solved.
sap_status sap_lanes_set(sap_primal* primal, int32_t threads, bool own, sap_error* error);
void sap_lanes_clear(sap_primal* primal);
// Solves all islands: v, gamma, vc and dual of the workspace, its history, and the totals.
sap_status sap_lanes_solve(const sap_primal_call* of, sap_totals* sum, sap_error* error);

#endif
