// SPDX-License-Identifier: BSD-3-Clause
#include "model/crank.h"

#include <math.h>

#include "math/vector3.h"

static void place(const double* p_WB, const double* R_WB, int32_t body, const double p_BP[3],
                  double out[3]) {
  sap_m3_mul_v3(out, R_WB + 9 * (size_t)body, p_BP);
  sap_v3_add(out, out, p_WB + 3 * (size_t)body);
}

void sap_find_crank(const sap_model_actuator* actuator, const double* p_WB, const double* R_WB,
                    sap_crank* out) {
  double a[3], arm[3], g_a[3];
  place(p_WB, R_WB, actuator->crank_body, actuator->crank_point, out->p_C);
  place(p_WB, R_WB, actuator->slider_body, actuator->slider_point, out->p_P);
  sap_m3_mul_v3(a, R_WB + 9 * (size_t)actuator->slider_body, actuator->slider_axis);
  sap_v3_sub(arm, out->p_C, out->p_P);
  const double s = sap_v3_dot(a, arm), r = actuator->crank_length;
  const double e_2 = s * s + r * r - sap_v3_dot(arm, arm);
  const bool closed = e_2 > 0.0;
  const double e = closed ? sqrt(e_2) : 0.0;
  const double share = closed ? 1.0 - s / e : 1.0;
  sap_v3_scale(out->g_d, a, share);
  sap_v3_scale(g_a, arm, share);
  if (closed) {
    sap_v3_add_scaled(out->g_d, arm, 1.0 / e);
  }
  sap_v3_cross(out->moment, a, g_a);
  out->length = s - e;
}
