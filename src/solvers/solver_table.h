// SPDX-License-Identifier: BSD-3-Clause
// A solver is a row of the table in registry.c.
#ifndef SAP_SOLVERS_SOLVER_TABLE_H
#define SAP_SOLVERS_SOLVER_TABLE_H

#include <sapstep/solver.h>

#include "core/archive.h"

enum {  // bits of sap_solver_row.sets
  SAP_TAKES_CONES = 1 << SAP_SET_FRICTION_CONE,
  SAP_TAKES_NONNEGATIVE = 1 << SAP_SET_NONNEGATIVE,
  SAP_TAKES_BOXES = 1 << SAP_SET_BOX,
  SAP_TAKES_FREE = 1 << SAP_SET_FREE,
  SAP_TAKES_WIDE_CONES = 1 << 8,  // friction cones of 4 and 6 rows
  SAP_TAKES_POTENTIALS = 1 << SAP_SET_SIMILAR | 1 << SAP_SET_LAGGED,
  SAP_TAKES_ALL = SAP_TAKES_CONES | SAP_TAKES_NONNEGATIVE | SAP_TAKES_BOXES | SAP_TAKES_FREE,
};

typedef struct sap_solver_row {
  sap_solver_info info;
  int sets;  // which sets of blocks it takes; others are refused before it is called
  sap_status (*create)(void** workspace, sap_error* error);
  void (*destroy)(void* workspace);
  // Writes solution and report (NULL allowed) only on success; outcome and history, times aside.
  sap_status (*solve)(void* workspace, const sap_solver_options* options,
                      const sap_problem* problem, sap_solution* solution, sap_report* report,
                      sap_error* error);
  // What goes from one solve to the next.
  sap_status (*archive)(void* workspace, sap_archive* archive, sap_error* error);
} sap_solver_row;

// What goes from one solve to the next, whatever the solver.
sap_status sap_solver_archive(sap_solver* solver, sap_archive* archive, sap_error* error);

// Grows the arrays of a solution without touching what it shows.
sap_status sap_solution_reserve(sap_solution* solution, int32_t nv, int32_t nrows,
                                sap_error* error);

#endif
