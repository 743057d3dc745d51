// SPDX-License-Identifier: BSD-3-Clause
// Alternating direction method of multipliers for the CCP and, with De Saxce's shift, the NCP; and
// the proximal method for bilateral problems. Rows of the solver table.
#ifndef SAP_SOLVERS_DUAL_ADMM_H
#define SAP_SOLVERS_DUAL_ADMM_H

#include "solvers/dual/dual.h"

sap_status sap_admm_ccp_solve(void* workspace, const sap_solver_options* options,
                              const sap_problem* problem, sap_solution* solution,
                              sap_report* report, sap_error* error);
sap_status sap_admm_ncp_solve(void* workspace, const sap_solver_options* options,
                              const sap_problem* problem, sap_solution* solution,
                              sap_report* report, sap_error* error);

#endif
