// SPDX-License-Identifier: BSD-3-Clause
// Lengths that actuators act along, before the gear, and their gradients.
#ifndef SAP_MULTIBODY_DYNAMICS_TRANSMISSION_H
#define SAP_MULTIBODY_DYNAMICS_TRANSMISSION_H

#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/rows.h"

// At the configuration set last, which is q.
double sap_dynamics_transmission_length(const sap_dynamics* dynamics, const double* q,
                                        int32_t actuator);
// J v of the length; overwrites the rows of the force elements.
double sap_dynamics_transmission_rate(sap_dynamics* dynamics, const double* v, int32_t actuator);
// Adds s times the gradient of the length to tau (nv).
void sap_dynamics_add_transmission_force(const sap_dynamics* dynamics, int32_t actuator, double s,
                                         double* tau);
// The same to row r.
void sap_dynamics_add_transmission_row(const sap_dynamics* dynamics, int32_t actuator, double s,
                                       sap_rows* rows, int32_t r);

#endif
