// SPDX-License-Identifier: BSD-3-Clause
// Force of a muscle along its length, see sap_muscle.
#ifndef SAP_MULTIBODY_DYNAMICS_MUSCLE_H
#define SAP_MULTIBODY_DYNAMICS_MUSCLE_H

#include "multibody/model/model_data.h"

typedef struct sap_muscle_force {
  double value;         // [N], negative: it pulls
  double length_slope;  // d value/d length [N/m]
  double rate_slope;    // d value/d rate [N s/m]
} sap_muscle_force;

// -F0 FL(L) FV(V) at activation 1, and -F0 FP(L).
sap_muscle_force sap_muscle_active(const sap_model_actuator* actuator, double length, double rate);
sap_muscle_force sap_muscle_passive(const sap_model_actuator* actuator, double length);

#endif
