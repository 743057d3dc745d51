// SPDX-License-Identifier: BSD-3-Clause
// One solve by a fresh solver.
#ifndef SAP_TEST_SUPPORT_SOLVE_H
#define SAP_TEST_SUPPORT_SOLVE_H

#include <sapstep/solver.h>

// The test fails where the call does; whether it converged is for the caller to judge. report may
// be NULL.
sap_outcome solve_problem(const char* solver, const sap_solver_options* options,
                          const sap_problem* problem, sap_solution* solution, sap_report* report);

#endif
