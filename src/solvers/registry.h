// SPDX-License-Identifier: BSD-3-Clause
// The table of solvers. A solver is one row of the table in registry.c.
#pragma once

#include <sapstep/solver.h>

#include "core/archive.h"

enum {  // bits of sap_solver_row.sets
  SAP_TAKES_CONES = 1 << SAP_SET_FRICTION_CONE,
  SAP_TAKES_NONNEGATIVE = 1 << SAP_SET_NONNEGATIVE,
  SAP_TAKES_BOXES = 1 << SAP_SET_BOX,
  SAP_TAKES_FREE = 1 << SAP_SET_FREE,
  SAP_TAKES_CONES_N = 1 << 8,  // friction cones of 4 and 6 rows
  SAP_TAKES_POTENTIALS = 1 << SAP_SET_SIMILAR | 1 << SAP_SET_LAGGED,
  SAP_TAKES_ALL = SAP_TAKES_CONES | SAP_TAKES_NONNEGATIVE | SAP_TAKES_BOXES | SAP_TAKES_FREE,
};

struct sap_dual;

// Arguments of one solve. `solution` and `report` are written only when the solve succeeds.
typedef struct sap_solve_call {
  const sap_solver_options* options;
  const sap_problem* problem;
  sap_solution* solution;
  sap_report* report;         // NULL allowed; its time is not set
  const double* gamma_guess;  // (nrows); NULL: the solver's own guess
} sap_solve_call;

typedef struct sap_solver_row {
  sap_solver_info info;
  int sets;  // accepted sets; a problem with any other set is refused before `solve` is called
  sap_status (*create)(void** workspace, sap_error* error);
  void (*destroy)(void* workspace);
  sap_status (*solve)(void* workspace, const struct sap_solver_row* row, const sap_solve_call* call,
                      sap_error* error);
  // Saves, loads or forgets the memory between solves.
  sap_status (*archive)(void* workspace, sap_archive* archive, sap_error* error);
  // For sap_dual_solve: the method, and its stopping test: true: NCP, false: CCP.
  sap_status (*method)(struct sap_dual* dual);
  bool ncp;
} sap_solver_row;

// Sets relative_tolerance of the next solves, in its range.
void sap_solver_set_tolerance(sap_solver* solver, double relative);
// Solves again from the last solution; the report adds the work of both.
sap_status sap_solver_solve_again(sap_solver* solver, sap_problem* problem, sap_solution* solution,
                                  sap_report* report, sap_error* error);
// Does so until n0 of lagged contacts is their gamma_n: that of the step before is a guess.
SAP_API sap_status sap_solver_settle_lags(sap_solver* solver, sap_problem* problem,
                                          sap_solution* solution, sap_report* report,
                                          sap_error* error);
// Saves, loads or forgets the memory between solves of any solver; sap_archive_function.
sap_status sap_solver_archive(void* solver, sap_archive* archive, sap_error* error);
