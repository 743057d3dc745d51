// SPDX-License-Identifier: BSD-3-Clause
// The table of solvers, their options, and the calls that go through the table.
#include <math.h>
#include <string.h>

#include <sapstep/solver.h>

#include "core/clock.h"
#include "core/memory.h"
#include "solvers/primal/sap.h"
#include "solvers/solver_table.h"

static const sap_solver_row TABLE[] = {
    {{"sap", "convex (SAP)", "Castro, Permenter, Han 2022"},
     sap_primal_create,
     sap_primal_destroy,
     sap_primal_solve},
};

struct sap_solver {
  const sap_solver_row* row;
  sap_solver_options options;
  void* workspace;
};

const char* sap_outcome_text(sap_outcome outcome) {
  static const char* const texts[] = {
#define SAP_X(name, text) text,
      SAP_OUTCOME_LIST(SAP_X)
#undef SAP_X
  };
  const int index = (int)outcome;
  return index >= 0 && index < (int)SAP_OUTCOME_COUNT ? texts[index] : "unknown outcome";
}

sap_solver_options sap_solver_options_default(void) {
  return (sap_solver_options){
#define SAP_X(type, name, value, low, high, meaning) .name = value,
      SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
  };
}

static sap_status check_option(const char* name, double value, double low, double high,
                               sap_error* error) {
  if (!isfinite(value)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "%s = %g must be in [%g, %g]", name, value, low,
                    high);
  }
  if (!(value >= low && value <= high)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %g must be in [%g, %g]", name, value, low,
                    high);
  }
  return SAP_STATUS_OK;
}

sap_status sap_solver_options_check(const sap_solver_options* options, sap_error* error) {
  if (options == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_options_check: options is NULL");
  }
  sap_status status = SAP_STATUS_OK;
#define SAP_X(type, name, value, low, high, meaning)                           \
  if (status == SAP_STATUS_OK) {                                               \
    status = check_option(#name, (double)options->name, (low), (high), error); \
  }
  SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
  return status;
}

int32_t sap_solver_count(void) {
  return (int32_t)(sizeof TABLE / sizeof TABLE[0]);
}

const sap_solver_info* sap_solver_get_info(int32_t index) {
  return index >= 0 && index < sap_solver_count() ? &TABLE[index].info : NULL;
}

static const sap_solver_row* find_row(const char* name) {
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    if (strcmp(TABLE[i].info.name, name) == 0) {
      return &TABLE[i];
    }
  }
  return NULL;
}

sap_status sap_solver_create(const char* name, const sap_solver_options* options, sap_solver** out,
                             sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_create: out is NULL");
  }
  *out = NULL;
  const sap_solver_row* row = name == NULL ? NULL : find_row(name);
  if (row == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "solver '%s' is not known; there is: sap",
                    name == NULL ? "(NULL)" : name);
  }
  const sap_solver_options chosen = options == NULL ? sap_solver_options_default() : *options;
  sap_status status = sap_solver_options_check(&chosen, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_solver* solver = sap_allocate(1, sizeof *solver);
  if (solver == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for solver '%s'", name);
  }
  solver->row = row;
  solver->options = chosen;
  status = row->create(&solver->workspace, error);
  if (status != SAP_STATUS_OK) {
    sap_free(solver);
    return status;
  }
  *out = solver;
  return SAP_STATUS_OK;
}

void sap_solver_destroy(sap_solver* solver) {
  if (solver == NULL) {
    return;
  }
  solver->row->destroy(solver->workspace);
  sap_free(solver);
}

sap_status sap_solver_solve(sap_solver* solver, const sap_problem* problem, sap_solution* solution,
                            sap_report* report, sap_error* error) {
  const double start = sap_clock_seconds();
  if (solver == NULL || problem == NULL || solution == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_solve: %s is NULL",
                    solver == NULL    ? "solver"
                    : problem == NULL ? "problem"
                                      : "solution");
  }
  if (solver->options.check_input) {
    const sap_status status = sap_problem_check(problem, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  const sap_status status =
      solver->row->solve(solver->workspace, &solver->options, problem, solution, report, error);
  if (status == SAP_STATUS_OK && report != NULL) {
    report->time = sap_clock_seconds() - start;
  }
  return status;
}
