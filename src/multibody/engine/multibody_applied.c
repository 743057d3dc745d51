// SPDX-License-Identifier: BSD-3-Clause
// Forces from outside on the built-in engine.
#include <sapstep/multibody.h>

#include "core/error.h"
#include "math/vector3.h"
#include "multibody/dynamics/applied.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

sap_status sap_multibody_set_applied_forces(sap_multibody* multibody, const double* tau,
                                            sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  const sap_status status = tau == NULL
                                ? SAP_STATUS_OK
                                : sap_check_numbers("tau", tau, multibody->model->sizes.nv, error);
  if (status == SAP_STATUS_OK) {
    sap_dynamics_set_applied_forces(multibody->dynamics, tau);
  }
  return status;
}

// A vector that may be NULL: zero.
static sap_status take(const char* what, const double* from, double out[3], sap_error* error) {
  const sap_status status = from == NULL ? SAP_STATUS_OK : sap_check_numbers(what, from, 3, error);
  for (int i = 0; i < 3; ++i) {
    out[i] = from != NULL ? from[i] : 0.0;
  }
  return status;
}

sap_status sap_multibody_set_applied_wrench(sap_multibody* multibody, int32_t body,
                                            const double p_BP[3], const double force[3],
                                            const double moment[3], sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  const int32_t bodies = multibody->model->sizes.bodies;
  if (body < 0 || body >= bodies) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "body = %d must be 0 to %d", body, bodies - 1);
  }
  sap_applied_wrench wrench = {.used = force != NULL || moment != NULL};
  sap_status status = take("p_BP", p_BP, wrench.p_BP, error);
  if (status == SAP_STATUS_OK) {
    status = take("force", force, wrench.force, error);
  }
  if (status == SAP_STATUS_OK) {
    status = take("moment", moment, wrench.moment, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_dynamics_set_applied_wrench(multibody->dynamics, body, &wrench);
  }
  return status;
}
