// SPDX-License-Identifier: BSD-3-Clause
// Accelerated projected gradient descent: a row of the solver table.
#ifndef SAP_SOLVERS_DUAL_APGD_H
#define SAP_SOLVERS_DUAL_APGD_H

#include "solvers/dual/dual.h"

sap_status sap_apgd_solve(void* workspace, const sap_solver_options* options,
                          const sap_problem* problem, sap_solution* solution, sap_report* report,
                          sap_error* error);

#endif
