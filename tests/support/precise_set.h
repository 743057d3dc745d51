// SPDX-License-Identifier: BSD-3-Clause
// The problems of tests/data with their solutions by the independent solver.
#ifndef SAP_TESTS_SUPPORT_PRECISE_SET_H
#define SAP_TESTS_SUPPORT_PRECISE_SET_H

#include "support/precise.h"

extern const char* const precise_set_names[];  // ends with NULL

typedef struct precise_case {
  precise_problem problem;
  double *v, *gamma;
} precise_case;

// Reads a problem and its solution, v* and zero where that is NULL. false: nothing is left open.
bool precise_case_open(const char* problem, const char* solution, precise_case* out);
void precise_case_close(precise_case* one);

#endif
