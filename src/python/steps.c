// SPDX-License-Identifier: BSD-3-Clause
#include "python/steps.h"

#include "core/clock.h"

sap_status sap_python_step(sap_stepper* stepper, sap_state* state, sap_step_report* report,
                           int64_t count, int64_t* made, sap_error* error) {
  const double end = sap_clock_seconds() + SAP_PYTHON_SLICE;
  *made = 0;
  do {
    const sap_status status = sap_stepper_step(stepper, state, report, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    *made += 1;
  } while (*made < count && sap_clock_seconds() < end);
  return SAP_STATUS_OK;
}
