// SPDX-License-Identifier: BSD-3-Clause
// Forces that a user applies from outside, held until changed.
#ifndef SAP_MULTIBODY_DYNAMICS_APPLIED_H
#define SAP_MULTIBODY_DYNAMICS_APPLIED_H

#include "multibody/dynamics/dynamics.h"

// On one body: a force at a point of it and a moment, in world axes.
typedef struct sap_applied_wrench {
  bool used;
  double p_BP[3], force[3], moment[3];
} sap_applied_wrench;

// tau NULL: zero. (nv)
void sap_dynamics_set_applied_forces(sap_dynamics* dynamics, const double* tau);
void sap_dynamics_set_applied_wrench(sap_dynamics* dynamics, int32_t body,
                                     const sap_applied_wrench* wrench);
// k += sign times all of them, at the configuration set last. (nv)
void sap_dynamics_add_applied(const sap_dynamics* dynamics, double sign, double* k);

#endif
