// SPDX-License-Identifier: BSD-3-Clause
// Totals of a solve, and the way of its results to the caller, the same for all solvers. A solve
// collects its results in its workspace, reserves room in the caller's solution and report as its
// last call that can fail, and then writes them.
#ifndef SAP_SOLVERS_REPORT_H
#define SAP_SOLVERS_REPORT_H

#include <sapstep/solver.h>

#include "solvers/history.h"
#include "solvers/registry.h"

// Counts of one island, or of several added up.
typedef struct sap_totals {
  sap_outcome outcome;  // the worst
  int32_t iterations;   // the most of any island
  int32_t total_iterations, factorizations, evaluations, analyses;
  int32_t islands, largest;  // velocities of the largest
  double cost;               // l(v) [J]
} sap_totals;

// Adds an island's totals.
void sap_totals_add(sap_totals* sum, const sap_totals* island);

// Arrays to be copied into a solution.
typedef struct sap_answer {
  const double* v;        // (nv)
  const double* gamma;    // (nrows)
  const double* vc;       // (nrows)
  const double* impulse;  // J' gamma (nv); NULL: computed from gamma
  double momentum_error;
} sap_answer;

// Makes room for the solution and, if there is a report, for history_rows of history. The values of
// both stay as they are.
sap_status sap_report_reserve(const sap_solve_call* call, int32_t history_rows, sap_error* error);
// Writes solution and report. Needs the room.
void sap_report_write(const sap_solve_call* call, const sap_answer* answer, const sap_totals* sum,
                      const sap_history* history);

#endif
