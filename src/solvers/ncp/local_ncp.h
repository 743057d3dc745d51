// SPDX-License-Identifier: BSD-3-Clause
// One friction cone of the NCP alone: its exact solution and its projection.
#ifndef SAP_SOLVERS_NCP_LOCAL_NCP_H
#define SAP_SOLVERS_NCP_LOCAL_NCP_H

#include "solvers/dual/dual.h"

// Solves Coulomb contact exactly for a cone of n = 3, 4 or 6 rows:
//   g = D gamma + b,  K_mu contains gamma _|_ g + mu |g_t| n
// D (n x n) symmetric positive definite. Returns any solution if there are several.
void sap_local_ncp_solve(const double* D, const double* b, int32_t n, double mu, double* gamma);
// Projects one item: the normal first, then the tangents on the new disk.       lelidec Alg. 6
void sap_local_ncp_project(const sap_delassus_item* item, const double* z, const double* g,
                           double* next);

// Does `count` Gauss-Seidel sweeps of exact contacts from d->z, for methods that converge only near
// a solution. Afterwards d->v and d->g are those of the new d->z.
void sap_nbgs_sweeps(sap_dual* d, int32_t count);

#endif
