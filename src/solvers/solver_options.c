// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/solver_options.h"

sap_option_table sap_solver_option_table(void) {
  static const sap_option OPTIONS[] = {
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_solver_options, name, type, name, value, low, high, meaning)
      SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
  };
  return (sap_option_table){OPTIONS, (int32_t)(sizeof OPTIONS / sizeof OPTIONS[0])};
}

sap_solver_options sap_solver_options_default(void) {
  sap_solver_options options = {.cookie = SAP_OPTIONS_COOKIE};
  sap_options_reset(sap_solver_option_table(), &options);
  return options;
}

sap_status sap_solver_options_check(const sap_solver_options* options, sap_error* error) {
  SAP_TRY(sap_options_check_cookie("sap_solver_options", options != NULL ? &options->cookie : NULL,
                                   error));
  return sap_options_check(sap_solver_option_table(), options, error);
}
