// SPDX-License-Identifier: BSD-3-Clause
#include <sapstep/diagnostics.h>

#include "core/error.h"
#include "multibody/engine/multibody_data.h"

sap_status sap_multibody_diagnose(sap_multibody* multibody, const sap_state* state,
                                  sap_diagnostics* out, sap_error* error) {
  if (multibody == NULL || state == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody, state or out is NULL");
  }
  const sap_model_sizes sizes = sap_model_get_sizes(multibody->model);
  if (state->nq != sizes.nq || state->nv != sizes.nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "state has nq = %d, nv = %d, the model nq = %d, nv = %d", state->nq, state->nv,
                    sizes.nq, sizes.nv);
  }
  sap_status status = sap_check_numbers("q", state->q, sizes.nq, error);
  if (status == SAP_STATUS_OK) {
    status = sap_check_numbers("v", state->v, sizes.nv, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_dynamics_diagnose(sap_multibody_look(multibody, state->q), state->q, state->v, out);
  }
  return status;
}
