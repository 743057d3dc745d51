// SPDX-License-Identifier: BSD-3-Clause
// Lengths of tendons and their gradients.
//   fixed    l = sum_i c_i q_i
//   spatial  l = sum of the straight pieces and of what lies on obstacles (multibody/model/path.h)
#ifndef SAP_MULTIBODY_DYNAMICS_TENDON_H
#define SAP_MULTIBODY_DYNAMICS_TENDON_H

#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/rows.h"

// At the configuration set last, which is q.
double sap_dynamics_tendon_length(const sap_dynamics* dynamics, const double* q, int32_t tendon);
// Adds s times the gradient of the length to tau (nv): the generalized force of a pull -s. A
// segment of length zero adds nothing.
void sap_dynamics_add_tendon_force(const sap_dynamics* dynamics, int32_t tendon, double s,
                                   double* tau);
// The same to row r.
void sap_dynamics_add_tendon_row(const sap_dynamics* dynamics, int32_t tendon, double s,
                                 sap_rows* rows, int32_t r);

#endif
