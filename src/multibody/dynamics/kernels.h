// SPDX-License-Identifier: BSD-3-Clause
// The hot loops of the dynamics, compiled for several instruction sets and chosen at run time. All
// sets do the same operations in the same order and give the same bits.
#pragma once

#include "multibody/dynamics/derivatives.h"
#include "multibody/dynamics/forces.h"

typedef struct sap_dynamics_kernels {
  const char* name;  // instruction set
  // Forward kinematics at q, into kin.
  void (*set_positions)(sap_kinematics* kin, const double* q);
  void (*add_point_jacobian)(const sap_kinematics* kin, int32_t body, const double p_W[3],
                             const double R_WC[9], double sign, double* J);
  void (*mass_matrix)(sap_dynamics* dynamics, const sap_kinematics* kin, double* const* diagonal);
  // [L about its centre of mass; P] of each link of `trees` (NULL: all) in world axes. (links)
  void (*momenta)(sap_dynamics* dynamics, const sap_dynamics_state* at, const bool* trees,
                  double (*momenta)[6]);
  // Forces that change the momenta as in a step: into dynamics->F, those of lone links into tau.
  // Writes the momenta at its end to step->end.
  void (*momentum_forces)(sap_dynamics* dynamics, const sap_dynamics_state* at,
                          const sap_momentum_step* step, double* tau);
  void (*inverse_derivatives)(sap_derivatives* work, const sap_kinematics* kin, const double* v,
                              const double* a, const sap_inverse_derivatives* out);
  // No link may be locked to its parent.
  void (*momentum_derivatives)(sap_derivatives* work, const sap_momentum_derivatives* step);
  // Adds the form to work->sums of a tree.
  void (*add_mass)(sap_mass_work* work, int32_t tree, const sap_mass_form* form);
  // Adds the gradient to q of the sum of Q_ij M_ij over a tree, Q = work->sums, to out (nv).
  void (*mass_gradient)(sap_mass_work* work, const sap_kinematics* kin, int32_t tree, double* out);
  // V = sum of y_k S_k of the dofs k from `last` to the root; adds the sum of y_k times the wrenches to a_k.
  void (*add_fields)(const int32_t* parent, int32_t last, const double (*S)[8],
                     sap_path_fields* fields, double (*a)[8]);
} sap_dynamics_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_dynamics_kernels* sap_dynamics_kernels_get(int32_t index);
