// SPDX-License-Identifier: BSD-3-Clause
// The judge's residuals by name, as tables and studies show them.
#pragma once

#include <sapstep/solver.h>

enum { CLI_RESIDUALS = 18 };
typedef struct cli_residual {
  const char* name;  // with unit
  size_t offset;     // in sap_residual
  bool narrow;       // in tables for the eye as well
} cli_residual;
extern const cli_residual cli_residuals[CLI_RESIDUALS];

// Returns the scaled natural map of the nonlinear or the convex problem.
double cli_residual_map(const sap_residual* residual, bool nonlinear);
// Returns a residual of the list.
double cli_residual_value(const sap_residual* residual, int index);
// Returns the index of a name in the list; -1: it is not there.
int cli_residual_find(const char* name);
