// SPDX-License-Identifier: BSD-3-Clause
// The options that the steps of a run depend on, as named numbers that checkpoints keep.
#ifndef SAP_CORE_RUN_OPTIONS_H
#define SAP_CORE_RUN_OPTIONS_H

#include <sapstep/solver.h>

#include "core/error.h"

typedef struct sap_run_option {
  const char* name;
  double value;
} sap_run_option;

enum {
#define SAP_X(type, name, value, low, high, meaning) +1
  SAP_RUN_SOLVER_OPTIONS = 0 SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
};

// All options of a solver                                            (SAP_RUN_SOLVER_OPTIONS)
void sap_run_list_solver(const sap_solver_options* options, sap_run_option* out);
// Their values as bytes                                                        (8 count)
void sap_run_put_options(const sap_run_option* options, int32_t count, unsigned char* to);
// ARGUMENT: one is not as the bytes of the file `path` say; the message has both values. What
// changes no bits may differ: the user's patience, how many threads there are, checks of the input.
sap_status sap_run_compare_options(const char* path, const sap_run_option* now, int32_t count,
                                   const unsigned char* then, sap_error* error);

#endif
