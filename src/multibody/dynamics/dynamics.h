// SPDX-License-Identifier: BSD-3-Clause
// Dynamics of a compiled model: tables made once, scratch memory, and functions that evaluate at
// given kinematics. One workspace per thread; several sap_kinematics may share one workspace.
#pragma once

#include <sapstep/multibody.h>
#include <sapstep/system.h>

#include "multibody/dynamics/kinematics.h"
#include "multibody/model/model_data.h"

sap_status sap_dynamics_create(const sap_model* model, sap_dynamics** out, sap_error* error);
void sap_dynamics_destroy(sap_dynamics* dynamics);

// A state at which forces are evaluated.
typedef struct sap_dynamics_state {
  const sap_kinematics* kin;  // of q
  const double* v;            // (nv)
  const double* input;        // see multibody/dynamics/actuators.h (nu); NULL: zero
} sap_dynamics_state;

// Writes the nonzeros of M, armature included, by the composite-rigid-body algorithm: lower
// triangles per tree, ld n_t. All other entries must be zero already.
void sap_dynamics_mass_matrix(sap_dynamics* dynamics, const sap_kinematics* kin,
                              double* const* diagonal);
// Sets the mass that each velocity moves (nv) [kg]: that of its link and all behind it.
void sap_dynamics_moved_masses(sap_dynamics* dynamics, double* masses);
// J (6 x nv, column-major, ld 6): J v = [omega; velocity of the point p_BP] of a body in the world.
void sap_dynamics_point_jacobian(sap_dynamics* dynamics, const sap_kinematics* kin, int32_t body,
                                 const double p_BP[3], double* J);
