// SPDX-License-Identifier: BSD-3-Clause
// Performance profiles: the share of problems that a solver solves within tau times the time of the
// fastest.                                                                     Dolan, More 2002
#ifndef SAP_TESTS_BENCH_PROFILE_H
#define SAP_TESTS_BENCH_PROFILE_H

#include <sapstep/sapstep.h>

typedef struct profile {
  int nsolvers;
  int64_t nproblems;
  int32_t capacity;
  double* times;  // of problem p by solver s at p nsolvers + s [s]; NaN: not solved
} profile;

// Adds a problem that no solver has solved yet; false: out of memory.
bool profile_add_problem(profile* p, int nsolvers);
void profile_set(profile* p, int solver, double time);  // of the last problem
void profile_clear(profile* p);
// Writes the chart to `path`, and CSV (solver, tau, share) to the same name with .csv.
sap_status profile_write(const profile* p, const char* const* names, double tolerance,
                         const char* path, sap_error* error);

#endif
