// SPDX-License-Identifier: BSD-3-Clause
// Lengths of tendons in the default pose, where every joint is at its reference and so every body
// at its defined pose in its parent.
#include <math.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "model/compile.h"

// p_WP of a point of a body.
static void default_position(const sap_model* model, int32_t body, const double p_BP[3],
                             double p_WP[3]) {
  sap_v3_copy(p_WP, p_BP);
  for (int32_t b = body; b > 0; b = model->bodies[b].parent) {
    sap_quaternion_rotate(p_WP, model->bodies[b].q_PB, p_WP);
    sap_v3_add(p_WP, p_WP, model->bodies[b].p_PB);
  }
}

static double spatial_length(const sap_model* model, const sap_model_tendon* tendon) {
  double length = 0.0, last[3] = {0.0, 0.0, 0.0};
  for (int32_t i = 0; i < tendon->npoints; ++i) {
    const int32_t k = tendon->first_point + i;
    double p[3], segment[3];
    default_position(model, model->tendon_point_bodies[k], model->tendon_points + 3 * (size_t)k, p);
    sap_v3_sub(segment, p, last);
    length += i > 0 ? sap_v3_norm(segment) : 0.0;
    sap_v3_copy(last, p);
  }
  return length;
}

static double fixed_length(const sap_model* model, const sap_model_tendon* tendon) {
  double length = 0.0;
  for (int32_t i = tendon->first; i < tendon->first + tendon->count; ++i) {
    length += model->tendon_coefficients[i] * model->joints[model->tendon_joints[i]].reference;
  }
  return length;
}

sap_status sap_compile_tendons(sap_model* model, sap_error* error) {
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    sap_model_tendon* tendon = &model->tendons[t];
    tendon->length0 =
        tendon->npoints > 0 ? spatial_length(model, tendon) : fixed_length(model, tendon);
    if (!isfinite(tendon->length0)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "tendon %d: its length overflows", (int)t);
    }
    if (isnan(tendon->spring_lower)) {
      tendon->spring_lower = tendon->spring_upper = tendon->length0;
    }
  }
  return SAP_STATUS_OK;
}
