// SPDX-License-Identifier: BSD-3-Clause
// Totals of a solve, and the way of its results to the caller, the same for all solvers. A solve
// collects its results in its workspace, reserves room in the caller's solution and report as its
// last call that can fail, and then writes them.
#pragma once

#include <sapstep/solver.h>

#include "problem/warm_start.h"
#include "solvers/registry.h"

// History of a solve, iteration by iteration, summed over islands that are solved one after the
// other. An island that has ended keeps adding its last values.
typedef struct sap_history_row {
  double cost;
  double gradient_2, momentum_2, impulse_2;  // squares of the D-norms
  double step_length;
  int32_t evaluations;
} sap_history_row;

typedef struct sap_history {
  sap_history_row* rows;
  sap_history_row ended;  // sum of the last rows of ended islands
  sap_history_row last;   // last row of the current island
  int32_t count, capacity;
  int32_t next;  // the current island's next row
} sap_history;

// Starts a history with row 0: |D A v|^2 = momentum_2 of the trees in no island. Makes room for
// `reserve` >= 1 rows.
sap_status sap_history_begin(sap_history* history, int32_t reserve, double momentum_2,
                             sap_error* error);
// Adds the current island's next iterate.
sap_status sap_history_add(sap_history* history, const sap_history_row* row, sap_error* error);
// Ends the current island.
void sap_history_end_island(sap_history* history);
// Returns the momentum error of a row.                                               castro (32)
double sap_history_error(const sap_history_row* row);
void sap_history_clear(sap_history* history);

// Adds the outcome, counts and cost of an island, or of one solve, to those of several.
void sap_report_add(sap_report* sum, const sap_report* island);
// Adds the work of a solve before.
void sap_report_add_work(sap_report* report, const sap_report* before);

// Fails with STEP_FAILED unless a step may use the solve: it converged, ended early as its caller
// wanted, or is within accepted_error.
static inline sap_status sap_report_check(const sap_report* report, double accepted_error,
                                          sap_error* error) {
  // With a time limit, or a method that ends early, the caller accepts what is found.
  const bool accepted =
      report->outcome == SAP_OUTCOME_CONVERGED || report->outcome == SAP_OUTCOME_ROUNDOFF ||
      report->outcome == SAP_OUTCOME_EARLY_STOP || report->outcome == SAP_OUTCOME_TIME_LIMIT;
  SAP_FAIL_IF(!accepted && !(report->island_error <= accepted_error), error, SAP_STATUS_STEP_FAILED,
              "contact solver: %s after %d iterations, error %g of an island must be <= "
              "accepted_error %g",
              sap_outcome_text(report->outcome), report->iterations, report->island_error,
              accepted_error);
  return SAP_STATUS_OK;
}

// Makes room for the solution and, if there is a report, for history_rows of history. The values of
// both stay as they are.
sap_status sap_report_reserve(const sap_solve_call* call, int32_t history_rows, sap_error* error);
// Copies all but capacities. Needs the room.
void sap_solution_copy(sap_solution* to, const sap_solution* from);
// Writes solution and report; the report's time stays. Needs the room.
void sap_report_write(const sap_solve_call* call, const sap_solution* answer, const sap_report* sum,
                      const sap_history* history);
// The same after judging the answer: sets its impulse, and error and cost of `sum`; keeps `values`
// of the rows for the next solve. Fails before it writes any of them.
sap_status sap_report_hand_over(const sap_solve_call* call, sap_warm_start* warm,
                                const double* values, sap_solution* answer, sap_report* sum,
                                const sap_history* history, sap_error* error);
