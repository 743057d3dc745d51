// SPDX-License-Identifier: BSD-3-Clause
// Todorov's implicit complementarity: a row of the solver table.
#ifndef SAP_SOLVERS_NCP_IMPLICIT_COMPLEMENTARITY_H
#define SAP_SOLVERS_NCP_IMPLICIT_COMPLEMENTARITY_H

#include "solvers/dual/dual.h"

sap_status sap_implicit_complementarity_solve(void* workspace, const sap_solver_options* options,
                                              const sap_problem* problem, sap_solution* solution,
                                              sap_report* report, sap_error* error);

#endif
