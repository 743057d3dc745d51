// SPDX-License-Identifier: BSD-3-Clause
// What a solve came to, and how the caller gets it: one way for all families of solvers.
#ifndef SAP_SOLVERS_ANSWER_H
#define SAP_SOLVERS_ANSWER_H

#include <sapstep/solver.h>

#include "solvers/history.h"

// Of one island, or of those added up so far.
typedef struct sap_totals {
  sap_outcome outcome;  // the worst
  int32_t iterations;   // the most of any island
  int32_t total_iterations, factorizations, evaluations, analyses;
  int32_t islands, largest;  // velocities of the largest
  double cost;               // l(v) [J]
} sap_totals;

void sap_totals_add(sap_totals* sum, const sap_totals* island);

typedef struct sap_answer {
  const sap_problem* problem;
  const double* v;        // (nv)
  const double* gamma;    // (nrows)
  const double* vc;       // (nrows)
  const double* impulse;  // J' gamma (nv); NULL: found from gamma
  double momentum_error;
} sap_answer;

// Room for the answer and for history_rows of history, without touching what solution and report
// (NULL allowed) show: the last call of a solve that can fail.
sap_status sap_answer_reserve(const sap_problem* problem, int32_t history_rows,
                              sap_solution* solution, sap_report* report, sap_error* error);
// All but the report's history.
void sap_answer_hand_over(const sap_answer* answer, const sap_totals* sum, sap_solution* solution,
                          sap_report* report);
// The report's history.
void sap_answer_history(const sap_history* history, sap_report* report);

#endif
