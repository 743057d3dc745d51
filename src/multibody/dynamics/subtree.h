// SPDX-License-Identifier: BSD-3-Clause
// Forces on all that hangs on a body.
#ifndef SAP_MULTIBODY_DYNAMICS_SUBTREE_H
#define SAP_MULTIBODY_DYNAMICS_SUBTREE_H

#include "multibody/dynamics/dynamics.h"

// Is `body` that one, or does it hang on it?
bool sap_model_is_below(const sap_model* model, int32_t body, int32_t top);
// The force, and the moment about p_W, that what hangs on `body` (moved by joints, not by a free
// one) needs from others to move with v and a against gravity: I a + v x I v - m g, less gravity
// compensation and what is applied from outside. World axes; the kinematics are those set last.
void sap_dynamics_subtree_needs(sap_dynamics* dynamics, const double* v, const double* a,
                                int32_t body, const double p_W[3], double force[3],
                                double moment[3]);

#endif
