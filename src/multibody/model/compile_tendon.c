// SPDX-License-Identifier: BSD-3-Clause
// Lengths of tendons in the default pose, where every joint is at its reference and so every body
// at its defined pose in its parent.
#include <math.h>

#include "multibody/model/compile.h"
#include "multibody/model/path.h"
#include "multibody/model/placement.h"

static double fixed_length(const sap_model* model, const sap_model_tendon* tendon) {
  double length = 0.0;
  for (int32_t i = tendon->first; i < tendon->first + tendon->count; ++i) {
    length += model->tendon_coefficients[i] * model->joints[model->tendon_joints[i]].reference;
  }
  return length;
}

static sap_status compile_tendon(const sap_placed* placed, int32_t id, sap_model_tendon* tendon,
                                 sap_error* error) {
  tendon->length0 = tendon->npoints > 0
                        ? sap_path_length(placed->model, id, placed->p_WB, placed->R_WB)
                        : fixed_length(placed->model, tendon);
  if (!isfinite(tendon->length0)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "tendon %d: its length overflows", (int)id);
  }
  if (isnan(tendon->spring_lower)) {
    tendon->spring_lower = tendon->spring_upper = tendon->length0;
  }
  return SAP_STATUS_OK;
}

sap_status sap_compile_tendons(sap_model* model, sap_error* error) {
  if (model->sizes.tendons == 0) {
    return SAP_STATUS_OK;
  }
  sap_placed placed;
  sap_status status = sap_placed_create(model, &placed, error);
  for (int32_t t = 0; t < model->sizes.tendons && status == SAP_STATUS_OK; ++t) {
    status = compile_tendon(&placed, t, &model->tendons[t], error);
  }
  sap_placed_clear(&placed);
  return status;
}
