// SPDX-License-Identifier: BSD-3-Clause
// SAP, the semi-analytic primal solver (Castro, Permenter, Han 2022): a row of the solver table.
#ifndef SAP_SOLVERS_PRIMAL_SAP_H
#define SAP_SOLVERS_PRIMAL_SAP_H

#include <sapstep/solver.h>

#include "core/archive.h"

sap_status sap_primal_create(void** workspace, sap_error* error);
void sap_primal_destroy(void* workspace);
sap_status sap_primal_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_primal_solve(void* workspace, const sap_solver_options* options,
                            const sap_problem* problem, sap_solution* solution, sap_report* report,
                            sap_error* error);

#endif
