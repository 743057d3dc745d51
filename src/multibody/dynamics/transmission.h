// SPDX-License-Identifier: BSD-3-Clause
// Lengths of tendons and of actuators' transmissions (before the gear), and their gradients.
//   fixed tendon    l = sum_i c_i q_i
//   spatial tendon  l = sum of the straight pieces and of the arcs on obstacles
//                   (multibody/model/path.h)
#ifndef SAP_MULTIBODY_DYNAMICS_TRANSMISSION_H
#define SAP_MULTIBODY_DYNAMICS_TRANSMISSION_H

#include "multibody/dynamics/dynamics.h"

double sap_tendon_length(const sap_kinematics* kin, int32_t tendon);
// Adds s times the gradient of the length to tau (nv): the generalized force of a pull -s. A
// segment of length zero adds nothing.
void sap_tendon_add_force(const sap_kinematics* kin, int32_t tendon, double s, double* tau);
// Adds the same to row r.
void sap_tendon_add_row(const sap_kinematics* kin, int32_t tendon, double s, sap_rows* rows,
                        int32_t r);

double sap_transmission_length(const sap_kinematics* kin, int32_t actuator);
// d(length)/dt at v; overwrites the workspace's rows of force elements.
double sap_transmission_rate(sap_dynamics* dynamics, const sap_kinematics* kin, const double* v,
                             int32_t actuator);
// Adds s times the gradient of the length to tau (nv).
void sap_transmission_add_force(const sap_kinematics* kin, int32_t actuator, double s, double* tau);
// Adds the same to row r.
void sap_transmission_add_row(const sap_kinematics* kin, int32_t actuator, double s, sap_rows* rows,
                              int32_t r);

#endif
