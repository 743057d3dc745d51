// SPDX-License-Identifier: BSD-3-Clause
// RaiSim's per-contact bisection: a row of the solver table.
#ifndef SAP_SOLVERS_NCP_RAISIM_H
#define SAP_SOLVERS_NCP_RAISIM_H

#include "solvers/dual/dual.h"

sap_status sap_raisim_solve(void* workspace, const sap_solver_options* options,
                            const sap_problem* problem, sap_solution* solution, sap_report* report,
                            sap_error* error);
sap_status sap_raisim_ds_solve(void* workspace, const sap_solver_options* options,
                               const sap_problem* problem, sap_solution* solution,
                               sap_report* report, sap_error* error);
sap_status sap_raisim_ds_es_solve(void* workspace, const sap_solver_options* options,
                                  const sap_problem* problem, sap_solution* solution,
                                  sap_report* report, sap_error* error);

#endif
