// SPDX-License-Identifier: BSD-3-Clause
// Proximal bilateral solver: a row of the solver table.
#ifndef SAP_SOLVERS_DUAL_PROXIMAL_H
#define SAP_SOLVERS_DUAL_PROXIMAL_H

#include "solvers/dual/dual.h"

sap_status sap_proximal_solve(void* workspace, const sap_solver_options* options,
                              const sap_problem* problem, sap_solution* solution,
                              sap_report* report, sap_error* error);

#endif
