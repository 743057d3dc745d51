// SPDX-License-Identifier: BSD-3-Clause
#include "cli/residual_list.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(sap_residual, name)
const cli_residual cli_residuals[CLI_RESIDUALS] = {
    {"ccp_map", FIELD(ccp_natural_map_scaled), true},
    {"ncp_map", FIELD(ncp_natural_map_scaled), true},
    {"momentum", FIELD(momentum), true},
    {"set_violation_Ns", FIELD(set_violation), false},
    {"ccp_map_unscaled", FIELD(ccp_natural_map), false},
    {"ncp_map_unscaled", FIELD(ncp_natural_map), false},
    {"ccp_dual_mps", FIELD(ccp_dual), false},
    {"ccp_complementarity_J", FIELD(ccp_complementarity), false},
    {"ncp_dual_mps", FIELD(ncp_dual), true},
    {"ncp_complementarity_J", FIELD(ncp_complementarity), true},
    {"ncp_absolute", FIELD(ncp_absolute), true},
    {"signorini_J", FIELD(signorini), true},
    {"ccp_row", FIELD(ccp_row), true},
    {"ncp_row", FIELD(ncp_row), true},
    {"tree", FIELD(tree), true},
    {"ccp_row_mps", FIELD(ccp_row_velocity), false},
    {"ncp_row_mps", FIELD(ncp_row_velocity), false},
    {"tree_mps", FIELD(tree_velocity), false},
};

// A map relative to vanishing impulses is meaningless: a problem whose absolute residuals are
// round-off counts as solved.
double cli_residual_map(const sap_residual* r, bool nonlinear) {
  static const double ROUNDOFF = 1e-12;  // [m/s], [N s], [J]
  const double dual = nonlinear ? r->ncp_dual : r->ccp_dual;
  const double product = nonlinear ? r->ncp_complementarity : r->ccp_complementarity;
  const double absolute = fmax(r->set_violation, fmax(dual, product));
  const double map = nonlinear ? r->ncp_natural_map_scaled : r->ccp_natural_map_scaled;
  return absolute <= ROUNDOFF ? fmin(map, absolute) : map;
}

double cli_residual_value(const sap_residual* residual, int index) {
  if (index < 2) {
    return cli_residual_map(residual, index == 1);
  }
  double value;
  memcpy(&value, (const char*)residual + cli_residuals[index].offset, sizeof value);
  return value;
}

int cli_residual_find(const char* name) {
  int i = 0;
  while (i < CLI_RESIDUALS && strcmp(name, cli_residuals[i].name) != 0) {
    ++i;
  }
  return i < CLI_RESIDUALS ? i : -1;
}
