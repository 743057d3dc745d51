// SPDX-License-Identifier: BSD-3-Clause
// Force elements between any bodies and trees: two-point springs, bushings, springs and dampers of
// tendons, muscles and other actuators whose force depends on length and rate. Each has up to 6
// rates J v, forces -s - D J v along them, and a stiffness K:
//   tau       = J' (-s - D J v)
//   -dtau/dq ~= J' K J
//   -dtau/dv  = J' D J
#ifndef SAP_MULTIBODY_DYNAMICS_ELEMENTS_H
#define SAP_MULTIBODY_DYNAMICS_ELEMENTS_H

#include "multibody/dynamics/dynamics.h"

typedef enum sap_element_force_kind {
  SAP_FORCE_SPRING,
  SAP_FORCE_BUSHING,
  SAP_FORCE_TENDON,
  SAP_FORCE_ACTUATOR,
  SAP_FORCE_KINDS,
} sap_element_force_kind;

// Returns the pairs of trees {a, b}, a < b, sorted, that elements couple.
const int32_t (*sap_dynamics_couplings(const sap_dynamics* dynamics, int32_t* count))[2];
bool sap_dynamics_has_elements(const sap_dynamics* dynamics);
// k += sign times the elements' forces.
void sap_dynamics_add_elements(sap_dynamics* dynamics, const sap_dynamics_state* at, double sign,
                               double* k);
// Adds K_scale K + D_scale D of the elements to A, K and D positive semidefinite: lower triangles
// of the trees, and couplings in the order of sap_dynamics_couplings.
void sap_dynamics_add_element_matrices(sap_dynamics* dynamics, const sap_dynamics_state* at,
                                       double K_scale, double D_scale, const sap_tree_matrix* A);
double sap_dynamics_element_energy(sap_dynamics* dynamics, const sap_kinematics* kin);
// Returns the switches of springs, bushings or actuators, all on at first; NULL for tendons.
bool* sap_dynamics_element_switches(sap_dynamics* dynamics, sap_element_force_kind kind);

#endif
