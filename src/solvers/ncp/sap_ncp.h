// SPDX-License-Identifier: BSD-3-Clause
// Exact compliant Coulomb contact by a fixed point around SAP: a row of the solver table.
#ifndef SAP_SOLVERS_NCP_SAP_NCP_H
#define SAP_SOLVERS_NCP_SAP_NCP_H

#include <sapstep/solver.h>

#include "core/archive.h"

sap_status sap_ncp_create(void** workspace, sap_error* error);
void sap_ncp_destroy(void* workspace);
sap_status sap_ncp_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_ncp_solve(void* workspace, const sap_solver_options* options,
                         const sap_problem* problem, sap_solution* solution, sap_report* report,
                         sap_error* error);

#endif
