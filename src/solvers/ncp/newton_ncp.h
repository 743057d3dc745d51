// SPDX-License-Identifier: BSD-3-Clause
// Nonsmooth Newton on the Alart-Curnier equations, alone and inside a proximal point method: rows
// of the solver table.
#ifndef SAP_SOLVERS_NCP_NEWTON_NCP_H
#define SAP_SOLVERS_NCP_NEWTON_NCP_H

#include "solvers/dual/dual.h"

sap_status sap_newton_ncp_solve(void* workspace, const sap_solver_options* options,
                                const sap_problem* problem, sap_solution* solution,
                                sap_report* report, sap_error* error);
sap_status sap_proximal_newton_solve(void* workspace, const sap_solver_options* options,
                                     const sap_problem* problem, sap_solution* solution,
                                     sap_report* report, sap_error* error);
// The method of sap_proximal_newton_solve, for those who bring a guess.
sap_status sap_proximal_newton_method(sap_dual* d, sap_error* error);

#endif
