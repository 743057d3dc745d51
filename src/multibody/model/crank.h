// SPDX-License-Identifier: BSD-3-Clause
// A slider-crank in the world's axes, and the gradient of its length l:
//   l = s - e,  s = a . d,  e = sqrt(s^2 + r^2 - d^2);  dl = g_d . dd + g_a . da
//   g_d = (1 - s/e) a + d/e,  g_a = (1 - s/e) d;  without a real e: l = s, g_d = a, g_a = d
#ifndef SAP_MULTIBODY_MODEL_CRANK_H
#define SAP_MULTIBODY_MODEL_CRANK_H

#include "multibody/model/model_data.h"

typedef struct sap_crank {
  double p_C[3], p_P[3];  // crank's and slider's points
  double g_d[3];          // force on C, minus that on P
  double moment[3];       // a x g_a on the slider's body
  double length;
} sap_crank;

// p_WB (3 bodies), R_WB (9 bodies): poses.
void sap_find_crank(const sap_model_actuator* actuator, const double* p_WB, const double* R_WB,
                    sap_crank* out);

#endif
