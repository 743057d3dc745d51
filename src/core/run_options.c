// SPDX-License-Identifier: BSD-3-Clause
#include "core/run_options.h"

#include <string.h>

void sap_run_list_solver(const sap_solver_options* options, sap_run_option* out) {
#define SAP_X(type, name, value, low, high, meaning) \
  *out++ = (sap_run_option){#name, (double)options->name};
  SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
}

void sap_run_put_options(const sap_run_option* options, int32_t count, unsigned char* to) {
  for (int32_t i = 0; i < count; ++i) {
    memcpy(to + (size_t)i * sizeof(double), &options[i].value, sizeof(double));
  }
}

static bool is_free(const char* option) {
  return strcmp(option, "time_limit") == 0 || strcmp(option, "threads") == 0 ||
         strcmp(option, "check_input") == 0;
}

sap_status sap_run_compare_options(const char* path, const sap_run_option* now, int32_t count,
                                   const unsigned char* then, sap_error* error) {
  for (int32_t i = 0; i < count; ++i) {
    double value;
    memcpy(&value, then + (size_t)i * sizeof value, sizeof value);
    if (value != now[i].value && !is_free(now[i].name)) {
      return sap_fail(error, SAP_STATUS_ARGUMENT,
                      "%s: checkpoint was made with %s = %.17g, now it is %.17g", path, now[i].name,
                      value, now[i].value);
    }
  }
  return SAP_STATUS_OK;
}
