// SPDX-License-Identifier: BSD-3-Clause
// Actuators: what is explicit, and what the blocks of servos need.
#ifndef SAP_DYNAMICS_ACTUATORS_H
#define SAP_DYNAMICS_ACTUATORS_H

#include "dynamics/dynamics.h"

// Switches of the actuators, all on at first.
bool* sap_dynamics_actuator_switches(sap_dynamics* dynamics);
bool sap_dynamics_actuator_is_on(const sap_dynamics* dynamics, int32_t actuator);
// gain clamp(control) + bias[0]: what does not depend on the motion. control NULL: zero.
double sap_dynamics_actuator_offset(const sap_model* model, int32_t actuator,
                                    const double* control);
// Is the sum of the efforts on this joint bounded?
bool sap_model_has_effort_range(const sap_model* model, int32_t joint);
// Adds sign times the generalized forces of the actuators that are not servos. The sum of those on
// a joint with an effort range is clamped to it.
void sap_dynamics_add_motors(const sap_dynamics* dynamics, const double* control, double sign,
                             double* k);
// The clamped sums of the motors on joints that have an effort range, by joint id; zero elsewhere.
// Valid until the next call or the next motors' forces.
const double* sap_dynamics_motor_efforts(const sap_dynamics* dynamics, const double* control);

#endif
