// SPDX-License-Identifier: BSD-3-Clause
// Memory of solutions and reports.
#include <sapstep/solver.h>

#include "core/memory.h"
#include "solvers/solver_table.h"

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

sap_status sap_solution_reserve(sap_solution* solution, int32_t nv, int32_t nrows,
                                sap_error* error) {
  // v and impulse share a capacity, as gamma and vc do: the smaller of the two after a failure
  int32_t v_capacity = solution->v == NULL ? 0 : solution->v_capacity;
  int32_t impulse_capacity = solution->impulse == NULL ? 0 : solution->v_capacity;
  sap_status status = SAP_GROW(&solution->v, &v_capacity, nv, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&solution->impulse, &impulse_capacity, nv, error);
  }
  solution->v_capacity = v_capacity < impulse_capacity ? v_capacity : impulse_capacity;
  int32_t gamma_capacity = solution->gamma == NULL ? 0 : solution->rows_capacity;
  int32_t vc_capacity = solution->vc == NULL ? 0 : solution->rows_capacity;
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&solution->gamma, &gamma_capacity, nrows, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&solution->vc, &vc_capacity, nrows, error);
  }
  solution->rows_capacity = gamma_capacity < vc_capacity ? gamma_capacity : vc_capacity;
  return status;
}

sap_status sap_solution_resize(sap_solution* solution, int32_t nv, int32_t nrows,
                               sap_error* error) {
  if (solution == NULL || nv < 0 || nrows < 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "sap_solution_resize: solution must be given, nv = %d and nrows = %d >= 0", nv,
                    nrows);
  }
  const sap_status status = sap_solution_reserve(solution, nv, nrows, error);
  if (status == SAP_STATUS_OK) {
    solution->nv = nv;
    solution->nrows = nrows;
  }
  return status;
}
