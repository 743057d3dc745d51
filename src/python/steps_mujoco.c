// SPDX-License-Identifier: BSD-3-Clause
// Many steps of the MuJoCo adapter in one call, for Python.
#include "core/platform.h"
#include "python/steps.h"

sap_status sap_python_mj_step(sap_mj* adapter, mjData* data, sap_mj_report* report, int64_t count,
                              int64_t* made, sap_error* error) {
  const double end = sap_clock_seconds() + SAP_PYTHON_SLICE;
  *made = 0;
  do {
    const sap_status status = sap_mj_step(adapter, data, report, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    *made += 1;
  } while (*made < count && sap_clock_seconds() < end);
  return SAP_STATUS_OK;
}
