// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/answer.h"

#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/residuals.h"
#include "solvers/solver_table.h"

void sap_totals_add(sap_totals* sum, const sap_totals* island) {
  sum->outcome = island->outcome > sum->outcome ? island->outcome : sum->outcome;
  sum->iterations = island->iterations > sum->iterations ? island->iterations : sum->iterations;
  sum->total_iterations += island->total_iterations;
  sum->factorizations += island->factorizations;
  sum->evaluations += island->evaluations;
  sum->analyses += island->analyses;
  sum->islands += island->islands;
  sum->largest = island->largest > sum->largest ? island->largest : sum->largest;
  sum->cost += island->cost;
}

sap_status sap_answer_reserve(const sap_problem* problem, int32_t history_rows,
                              sap_solution* solution, sap_report* report, sap_error* error) {
  const sap_status status = sap_solution_reserve(solution, problem->nv, problem->nrows, error);
  return status == SAP_STATUS_OK && report != NULL
             ? SAP_GROW(&report->history, &report->history_capacity, history_rows, error)
             : status;
}

static void copy(double* to, const double* from, int32_t count) {
  if (count > 0) {
    memcpy(to, from, (size_t)count * sizeof(double));
  }
}

void sap_answer_hand_over(const sap_answer* answer, const sap_totals* sum, sap_solution* solution,
                          sap_report* report) {
  const sap_problem* p = answer->problem;
  solution->nv = p->nv;
  solution->nrows = p->nrows;
  solution->cost = sum->cost;
  copy(solution->v, answer->v, p->nv);
  copy(solution->gamma, answer->gamma, p->nrows);
  copy(solution->vc, answer->vc, p->nrows);
  if (answer->impulse != NULL) {
    copy(solution->impulse, answer->impulse, p->nv);
  } else {
    sap_generalized_impulse(p, answer->gamma, solution->impulse);
  }
  if (report == NULL) {
    return;
  }
  report->outcome = sum->outcome;
  report->iterations = sum->iterations;
  report->total_iterations = sum->total_iterations;
  report->factorizations = sum->factorizations;
  report->symbolic_analyses = sum->analyses;
  report->evaluations = sum->evaluations;
  report->islands = sum->islands;
  report->largest_island = sum->largest;
  report->cost = sum->cost;
  report->momentum_error = answer->momentum_error;
}

void sap_answer_history(const sap_history* history, sap_report* report) {
  report->history_count = history->count;
  for (int32_t i = 0; i < history->count; ++i) {
    report->history[i] = sap_history_iteration(history, i);
  }
}
