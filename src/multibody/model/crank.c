// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/crank.h"

#include <math.h>

#include "math/vector3.h"

void sap_find_crank(const sap_model_actuator* actuator, const double* p_WB, const double* R_WB,
                    sap_crank* out) {
  const size_t crank = (size_t)actuator->crank_body, slider = (size_t)actuator->slider_body;
  double a[3], arm[3], g_a[3];
  sap_v3_place(out->p_C, p_WB + 3 * crank, R_WB + 9 * crank, actuator->crank_point);
  sap_v3_place(out->p_P, p_WB + 3 * slider, R_WB + 9 * slider, actuator->slider_point);
  sap_m3_mul_v3(a, R_WB + 9 * slider, actuator->slider_axis);
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
