// SPDX-License-Identifier: BSD-3-Clause
// One solver, ours or Siconos', on one problem, in a process of its own: a library that gives up
// may end the process.
#ifndef SAP_TESTS_BENCH_SICONOS_TRIAL_H
#define SAP_TESTS_BENCH_SICONOS_TRIAL_H

#include <sapstep/sapstep.h>

#include "siconos_peer.h"

enum { TRIAL_ROWS_MAX = 1 << 20 };
#define TRIAL_SOLVED 1e-8  // block-scaled natural map of what is solved

typedef struct trial {
  const char* name;
  const siconos_solver* theirs;  // NULL: ours
  double limit;                  // of processor time [s]
} trial;

// Ends the process with a message.
void trial_fail(const char* what, const sap_error* error);
// Time of the first tolerance whose answer sap_residuals accepts [s], NaN where none is; *map: the
// least natural map found.
double trial_run(const trial* t, const sap_problem* problem, double* map);

#endif
