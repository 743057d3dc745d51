// SPDX-License-Identifier: BSD-3-Clause
// How a contact's J, and the generalized force of its impulse, change with the configuration.
// A change of q_k turns what is behind it by S_k; p moves by Dp, the frame R turns by rho. With
// J v = R' (v_B - v_A), V o p the velocity of a motion V at p, Pd_k = V x S_k before the joint of k:
//   d(J v) = R' (sum of sides +-((S_k x V_b + Pd_k) o p + w_b x Dp) - rho x (v_B - v_A))
//   d(J' f)_j = sum +-((S_k x S_j) o p . f + (S_j x Dp) . f + (S_j o p) . (rho x f)),  f = R gamma,
//   the first term for j behind or with k
#ifndef SAP_MULTIBODY_ENGINE_CONTACT_SLOPES_H
#define SAP_MULTIBODY_ENGINE_CONTACT_SLOPES_H

#include "multibody/dynamics/derivatives.h"
#include "multibody/geometry/variation.h"

enum { SAP_CONTACT_SIDES = 2, SAP_CONTACT_FIELDS = 6, SAP_CONTACT_SCALES = 3 };

// The dofs that move a contact, those of A's path first, each path from the root.
typedef struct sap_contact_slopes {
  const sap_kinematics* kin;                                  // at q0
  double sign[SAP_CONTACT_SIDES], arm[SAP_CONTACT_SIDES][3];  // p less O of each side's tree
  double R[9];
  int32_t count;
  int32_t* dofs;                        // (nv)
  int32_t* place[SAP_CONTACT_SIDES];    // in the path of a side, -1: not on it             (nv)
  double (*S)[6];                       // (nv)
  double (*Dp)[3], (*rho)[3];           // (nv)
  double* dphi;                         // (nv)
  double (*C[SAP_CONTACT_FIELDS])[3];   // d(J y) of y = v, v0, v*, X_1, X_2, X_3               (nv)
  double (*scale)[SAP_CONTACT_SCALES];  // dw, dwt, dwn to q0 (nv)
  double* X[3];                         // (nv)
  double (*gradients)[SAP_MASS_PAIRS];  // (nv)
  int32_t* path;                        // scratch (nv)
} sap_contact_slopes;

sap_status sap_contact_slopes_create(int32_t nv, sap_pool* pool, sap_contact_slopes** out,
                                     sap_error* error);
// Finds the dofs that move a contact, and Dp, rho and dphi.
void sap_contact_slopes_set(sap_contact_slopes* slopes, const sap_kinematics* kin,
                            const sap_contact* contact, const sap_contact_variation* vary);
// C = d(J y) to q0 at fixed y (nv).
void sap_contact_slopes_field(const sap_contact_slopes* slopes, const double* y, double (*C)[3]);
// Adds d(J' gamma) at fixed gamma to dq0 (nv x nv).
void sap_contact_slopes_add_stiffness(const sap_contact_slopes* slopes, const double gamma[3],
                                      double* dq0);

#endif
