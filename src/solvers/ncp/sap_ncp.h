// SPDX-License-Identifier: BSD-3-Clause
// Exact compliant Coulomb contact by a fixed point around SAP: functions of a solver_row.
#ifndef SAP_SOLVERS_NCP_SAP_NCP_H
#define SAP_SOLVERS_NCP_SAP_NCP_H

#include "solvers/registry.h"

sap_status sap_ncp_create(void** workspace, sap_error* error);
void sap_ncp_destroy(void* workspace);
sap_status sap_ncp_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_ncp_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                         sap_error* error);

#endif
