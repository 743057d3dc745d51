// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel solvers of the NCP: rows of the solver table, and the exact solution of one contact.
#ifndef SAP_SOLVERS_NCP_LOCAL_NCP_H
#define SAP_SOLVERS_NCP_LOCAL_NCP_H

#include "solvers/dual/dual.h"

// Exact Coulomb contact alone: gamma with  g = D gamma + b,  K_mu contains gamma _|_ g + mu |g_t|
// n. D (3 x 3) symmetric positive definite. Any solution where there are several.
void sap_local_ncp(const double D[9], const double b[3], double mu, double gamma[3]);

sap_status sap_pgs_ncp_solve(void* workspace, const sap_solver_options* options,
                             const sap_problem* problem, sap_solution* solution, sap_report* report,
                             sap_error* error);
sap_status sap_nbgs_solve(void* workspace, const sap_solver_options* options,
                          const sap_problem* problem, sap_solution* solution, sap_report* report,
                          sap_error* error);

#endif
