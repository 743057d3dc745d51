// SPDX-License-Identifier: BSD-3-Clause
// Staggered projections: rows of the solver table.
#ifndef SAP_SOLVERS_NCP_STAGGERED_H
#define SAP_SOLVERS_NCP_STAGGERED_H

#include "solvers/dual/dual.h"

sap_status sap_staggered_solve(void* workspace, const sap_solver_options* options,
                               const sap_problem* problem, sap_solution* solution,
                               sap_report* report, sap_error* error);
sap_status sap_staggered_lcp_solve(void* workspace, const sap_solver_options* options,
                                   const sap_problem* problem, sap_solution* solution,
                                   sap_report* report, sap_error* error);

#endif
