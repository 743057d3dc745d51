// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel solvers of the NCP: rows of the solver table, and the exact solution of one contact.
#ifndef SAP_SOLVERS_NCP_LOCAL_NCP_H
#define SAP_SOLVERS_NCP_LOCAL_NCP_H

#include "solvers/dual/dual.h"

// Exact Coulomb contact alone, of a cone with n = 4 or 6 rows: gamma with  g = D gamma + b,  K_mu
// contains gamma _|_ g + mu |g_t| n. D (n x n) symmetric positive definite. Any solution where
// there are several.
void sap_local_ncp_wide(const double* D, const double* b, int32_t n, double mu, double* gamma);
// Its projection alone: the normal first, then the tangents against the new ball (lelidec Alg. 6).
void sap_project_ncp_wide(const sap_delassus_item* item, const double* z, const double* g,
                          double* next);

// Sweeps of exact contacts from d->z, for methods that converge near a solution only; leaves d->v
// and d->g of the new d->z.
void sap_nbgs_sweeps(sap_dual* d, int32_t count);

sap_status sap_pgs_ncp_solve(void* workspace, const sap_solver_options* options,
                             const sap_problem* problem, sap_solution* solution, sap_report* report,
                             sap_error* error);
sap_status sap_nbgs_solve(void* workspace, const sap_solver_options* options,
                          const sap_problem* problem, sap_solution* solution, sap_report* report,
                          sap_error* error);

#endif
