// SPDX-License-Identifier: BSD-3-Clause
// Performance profiles: the share of problems that a solver solves within tau times the time of the
// fastest.                                                                     Dolan, More 2002
#ifndef SAP_CLI_PROFILE_H
#define SAP_CLI_PROFILE_H

#include <sapstep/base.h>

typedef struct profile {
  int nsolvers;
  int64_t nproblems, capacity;
  double* times;  // of problem p by solver s at p nsolvers + s [s]; NaN: not solved
} profile;

// Room for one more problem, none of whose solvers has solved it; false: out of memory.
bool profile_add_problem(profile* p, int nsolvers);
void profile_set(profile* p, int solver, double time);  // of the last problem
void profile_clear(profile* p);
// The chart to `path`, and the same as CSV (solver, tau, share) to the path with .csv for its
// ending.
sap_status profile_write(const profile* p, const char* const* names, double tolerance,
                         const char* path, sap_error* error);

#endif
