// SPDX-License-Identifier: BSD-3-Clause
#include "support/solve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

sap_outcome solve_problem(const char* name, const sap_solver_options* options,
                          const sap_problem* problem, sap_solution* solution, sap_report* report) {
  sap_solver* solver;
  sap_error error = {0};
  sap_report own = {0};
  sap_report* told = report != NULL ? report : &own;
  if (sap_solver_create(name, options, &solver, &error) != SAP_STATUS_OK ||
      sap_solver_solve(solver, problem, solution, told, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  const sap_outcome outcome = told->outcome;
  sap_solver_destroy(solver);
  sap_report_clear(&own);
  return outcome;
}
