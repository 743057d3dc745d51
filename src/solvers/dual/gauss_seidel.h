// SPDX-License-Identifier: BSD-3-Clause
// Sweeps over items: each local rule sees only its own block of D and its own g.
#ifndef SAP_SOLVERS_DUAL_GAUSS_SEIDEL_H
#define SAP_SOLVERS_DUAL_GAUSS_SEIDEL_H

#include "solvers/dual/dual.h"

// New impulses of a friction cone. z: the present ones; g: D z + q of its rows. Interval rows are
// solved exactly.
typedef void (*sap_local_rule)(const sap_dual* d, const sap_delassus_item* item, const double* z,
                               const double* g, double* next);

// One pass over all items; d->change is the relative change of the impulses. Returns how much the
// dual cost 1/2 z' D z + q' z rose [J].
double sap_gauss_seidel_sweep(sap_dual* d, sap_local_rule rule);
// Sweeps until the stopping test of d holds. options->over_relaxation scales each change.
sap_status sap_gauss_seidel(sap_dual* d, sap_local_rule rule, sap_error* error);

sap_status sap_pgs_ccp_solve(void* workspace, const sap_solver_options* options,
                             const sap_problem* problem, sap_solution* solution, sap_report* report,
                             sap_error* error);
sap_status sap_pgs_lcp_solve(void* workspace, const sap_solver_options* options,
                             const sap_problem* problem, sap_solution* solution, sap_report* report,
                             sap_error* error);

#endif
