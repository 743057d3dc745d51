// SPDX-License-Identifier: BSD-3-Clause
// Problems of the library for the independent judge.
#ifndef SAP_TESTS_SUPPORT_PRECISE_OF_H
#define SAP_TESTS_SUPPORT_PRECISE_OF_H

#include <sapstep/problem.h>
#include <sapstep/solver.h>

#include "support/precise.h"

// Copies a problem without contact potentials, through the public functions. false: no memory, or a
// set or a matrix that the judge does not know.
bool precise_of(const sap_problem* problem, precise_problem* out);
// Makes the library's problem of a judge's problem; intervals become boxes. Fails the test.
sap_problem* precise_to(const precise_problem* p);
// Returns the law that a solver claims to solve.
precise_law precise_law_of(const sap_solver_info* solver);

#endif
