// SPDX-License-Identifier: BSD-3-Clause
// Memory of solutions and reports, and the way from a solver's workspace into them.
#include "solvers/report.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/residuals.h"

void sap_report_clear(sap_report* report) {
  if (report != NULL) {
    sap_free(report->history);
    *report = (sap_report){0};
  }
}

void sap_solution_clear(sap_solution* solution) {
  if (solution != NULL) {
    sap_free(solution->v);
    sap_free(solution->gamma);
    sap_free(solution->vc);
    sap_free(solution->impulse);
    *solution = (sap_solution){0};
  }
}

// Grows two arrays of one capacity. After a failure the capacity is that of the smaller array.
static sap_status grow_pair(double** a, double** b, int32_t* capacity, int32_t count,
                            sap_error* error) {
  int32_t capacity_a = *a == NULL ? 0 : *capacity, capacity_b = *b == NULL ? 0 : *capacity;
  sap_status status = SAP_GROW(a, &capacity_a, count, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(b, &capacity_b, count, error);
  }
  *capacity = capacity_a < capacity_b ? capacity_a : capacity_b;
  return status;
}

static sap_status reserve_solution(sap_solution* s, int32_t nv, int32_t nrows, sap_error* error) {
  SAP_TRY(grow_pair(&s->v, &s->impulse, &s->v_capacity, nv, error));
  return grow_pair(&s->gamma, &s->vc, &s->rows_capacity, nrows, error);
}

sap_status sap_solution_resize(sap_solution* solution, int32_t nv, int32_t nrows,
                               sap_error* error) {
  SAP_FAIL_IF(solution == NULL || nv < 0 || nrows < 0, error, SAP_STATUS_ARGUMENT,
              "sap_solution_resize: solution must be given, nv = %d and nrows = %d >= 0", nv,
              nrows);
  SAP_TRY(reserve_solution(solution, nv, nrows, error));
  solution->nv = nv;
  solution->nrows = nrows;
  return SAP_STATUS_OK;
}

void sap_report_add_work(sap_report* report, const sap_report* before) {
  report->iterations += before->iterations;
  report->total_iterations += before->total_iterations;
  report->factorizations += before->factorizations;
  report->symbolic_analyses += before->symbolic_analyses;
  report->evaluations += before->evaluations;
  report->time += before->time;
}

void sap_report_add(sap_report* sum, const sap_report* island) {
  sum->outcome = island->outcome > sum->outcome ? island->outcome : sum->outcome;
  sum->iterations = island->iterations > sum->iterations ? island->iterations : sum->iterations;
  sum->total_iterations += island->total_iterations;
  sum->factorizations += island->factorizations;
  sum->evaluations += island->evaluations;
  sum->symbolic_analyses += island->symbolic_analyses;
  sum->islands += island->islands;
  sum->largest_island =
      island->largest_island > sum->largest_island ? island->largest_island : sum->largest_island;
  sum->cost += island->cost;
  sum->island_error = fmax(sum->island_error, island->island_error);
}

sap_status sap_report_reserve(const sap_solve_call* call, int32_t history_rows, sap_error* error) {
  sap_report* report = call->report;
  SAP_TRY(reserve_solution(call->solution, call->problem->nv, call->problem->nrows, error));
  return report == NULL
             ? SAP_STATUS_OK
             : SAP_GROW(&report->history, &report->history_capacity, history_rows, error);
}

static void copy_numbers(double* to, const double* from, int32_t count) {
  if (count > 0) {
    memcpy(to, from, (size_t)count * sizeof(double));
  }
}

void sap_solution_copy(sap_solution* to, const sap_solution* from) {
  to->nv = from->nv;
  to->nrows = from->nrows;
  to->cost = from->cost;
  copy_numbers(to->v, from->v, from->nv);
  copy_numbers(to->impulse, from->impulse, from->nv);
  copy_numbers(to->gamma, from->gamma, from->nrows);
  copy_numbers(to->vc, from->vc, from->nrows);
}

void sap_report_write(const sap_solve_call* call, const sap_solution* answer, const sap_report* sum,
                      const sap_history* history) {
  sap_report* report = call->report;
  sap_solution_copy(call->solution, answer);
  call->solution->cost = sum->cost;
  if (report == NULL) {
    return;
  }
  const sap_report room = *report;
  *report = *sum;
  report->time = room.time;
  report->history = room.history;
  report->history_capacity = room.history_capacity;
  report->history_count = history->count;
  for (int32_t i = 0; i < history->count; ++i) {
    const sap_history_row* row = &history->rows[i];
    report->history[i] = (sap_iteration){.cost = row->cost,
                                         .momentum_error = sap_history_error(row),
                                         .step_length = row->step_length,
                                         .evaluations = row->evaluations};
  }
}

sap_status sap_report_hand_over(const sap_solve_call* call, sap_warm_start* warm,
                                const double* values, sap_solution* answer, sap_report* sum,
                                const sap_history* history, sap_error* error) {
  const sap_problem* p = call->problem;
  sap_residual residual;
  SAP_TRY(sap_residuals_of_blocks(p, answer->v, answer->gamma, &residual, error));
  SAP_TRY(sap_warm_start_reserve(warm, p, error));
  SAP_TRY(sap_report_reserve(call, history->capacity, error));
  sap_warm_start_store(warm, p, values);
  sap_generalized_impulse(p, answer->gamma, answer->impulse);
  sum->momentum_error = residual.momentum;
  sum->cost = residual.cost;
  sap_report_write(call, answer, sum, history);
  return SAP_STATUS_OK;
}

// into += row, but for the step length: the largest counts.
static void add_row(sap_history_row* into, const sap_history_row* row) {
  into->cost += row->cost;
  into->gradient_2 += row->gradient_2;
  into->momentum_2 += row->momentum_2;
  into->impulse_2 += row->impulse_2;
  into->evaluations += row->evaluations;
  into->step_length = fmax(into->step_length, row->step_length);
}

sap_status sap_history_begin(sap_history* history, int32_t reserve, double momentum_2,
                             sap_error* error) {
  SAP_TRY(SAP_GROW(&history->rows, &history->capacity, reserve, error));
  history->ended = (sap_history_row){.momentum_2 = momentum_2};
  history->rows[0] = history->ended;
  history->count = 1;
  history->next = 0;
  return SAP_STATUS_OK;
}

sap_status sap_history_add(sap_history* history, const sap_history_row* row, sap_error* error) {
  if (history->next == history->count) {
    SAP_TRY(SAP_GROW(&history->rows, &history->capacity, history->count + 1, error));
    history->rows[history->count++] = history->ended;
  }
  add_row(&history->rows[history->next++], row);
  history->last = *row;
  return SAP_STATUS_OK;
}

void sap_history_end_island(sap_history* history) {
  sap_history_row last = history->last;  // its values count on, its step and evaluations do not
  last.step_length = 0.0;
  last.evaluations = 0;
  for (int32_t i = history->next; i < history->count; ++i) {
    add_row(&history->rows[i], &last);
  }
  add_row(&history->ended, &last);
  history->next = 0;
}

double sap_history_error(const sap_history_row* row) {
  const double scale = sqrt(fmax(row->momentum_2, row->impulse_2));
  return row->gradient_2 > 0.0 ? sqrt(row->gradient_2) / scale : 0.0;
}

void sap_history_clear(sap_history* history) {
  sap_free(history->rows);
  *history = (sap_history){0};
}
