// SPDX-License-Identifier: BSD-3-Clause
// SAP, the semi-analytic primal solver (Castro, Permenter, Han 2022): functions of a solver_row.
#ifndef SAP_SOLVERS_PRIMAL_SAP_H
#define SAP_SOLVERS_PRIMAL_SAP_H

#include "solvers/registry.h"

sap_status sap_primal_create(void** workspace, sap_error* error);
void sap_primal_destroy(void* workspace);
sap_status sap_primal_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_primal_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                            sap_error* error);

#endif
