// SPDX-License-Identifier: BSD-3-Clause
// Damaged checkpoints: each is refused with a message and changes nothing, or the run goes on.
#ifndef SAP_TESTS_SUPPORT_MUTATE_CHECKPOINTS_H
#define SAP_TESTS_SUPPORT_MUTATE_CHECKPOINTS_H

#include <sapstep/base.h>

#include "support/mutate.h"

// A run that reads checkpoints.
typedef struct mutate_run {
  void* context;
  sap_status (*read)(void* context, const char* path, int64_t* steps, sap_error* error);
  // Steps from what was read, whatever comes of it, and begins anew.
  void (*go_on)(void* context);
  // All numbers of the state; returns how many (MUTATE_STATE at the most).
  int (*state)(void* context, double* out);
} mutate_run;
enum { MUTATE_STATE = 64 };

// Two checkpoints are what `whole` and `other` name. The test fails unless some damage is refused
// and some is harmless: bits of numbers are.
void mutate_checkpoints(const mutate_run* run, const char* whole, const char* other, int cases,
                        uint64_t seed);

#endif
