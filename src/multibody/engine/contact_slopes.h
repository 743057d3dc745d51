// SPDX-License-Identifier: BSD-3-Clause
// How a contact's J, and the generalized force of its impulse, change with the configuration.
// A change of q_k moves all bodies after it by S_k; p moves by Dp, the frame R turns by rho. With
// J v = R' (v_B - v_A), V o p: velocity of a motion V at p, U_k: motion before the joint of k,
//   d(J v) = R' (sum of sides +-((S_k x (V_b - U_k)) o p + w_b x Dp) - rho x (v_B - v_A))
// and of the angular rows R' (w_B - w_A) likewise; f' d(J y) of all dofs is found in one pass from
// the body to the root;
//   d(J' f)_j = sum +-((S_k x S_j) o p . f + (S_j x Dp) . f + (S_j o p) . (rho x f)),  f = R gamma,
//   the first term for j behind or with k
#ifndef SAP_MULTIBODY_ENGINE_CONTACT_SLOPES_H
#define SAP_MULTIBODY_ENGINE_CONTACT_SLOPES_H

#include "contact/cone.h"
#include "multibody/dynamics/derivatives.h"
#include "multibody/geometry/variation.h"

enum { SAP_CONTACT_SIDES = 2, SAP_CONTACT_FIELDS = 7 };

// A product f' J y, f of rows without their scales.
typedef struct sap_contact_field {
  const double* y;  // (nv)
  double f[SAP_CONE_ROWS_MAX];
} sap_contact_field;

// The dofs that move a contact, those of A's path first, each path from the root.
typedef struct sap_contact_slopes {
  const sap_kinematics* kin;                                  // at q0
  double sign[SAP_CONTACT_SIDES], arm[SAP_CONTACT_SIDES][3];  // p less O of each side's tree
  bool moves[SAP_CONTACT_SIDES];                              // dofs move that side
  double R[9];
  int32_t count;
  int32_t* dofs;                      // (nv)
  int32_t* group;                     // see sap_derivatives_group                             (nv)
  int32_t* place[SAP_CONTACT_SIDES];  // in the path of a side, -1: not on it                  (nv)
  double (*S)[6];                     // (nv)
  double (*Dp)[3], (*rho)[3];         // (nv)
  double* dphi;                       // (nv)
  double (*changes)[SAP_CONE_ROWS_MAX];  // dgamma to q0, of a dof                  (nv)
  double* X[3];                          // (nv)
  double (*gradients)[SAP_MASS_PAIRS];   // (nv)
  double* A_bar;                         // gradient of lambda' p to the diagonal of A (nv)
  int32_t* path;                         // scratch (nv)
  double *row_change, *row_way, *row_q, *row_q_end;  // scratch (6 nv), (nv), (nq)
  // Columns of the block's J that are not zero, and J lambda.
  int32_t rows, columns;
  int32_t* column_dof;             // (nv)
  double (*J)[SAP_CONE_ROWS_MAX];  // (nv)
  double u[SAP_CONE_ROWS_MAX];
  double by_point[3];
} sap_contact_slopes;

sap_status sap_contact_slopes_create(int32_t nv, int32_t nq, sap_pool* pool,
                                     sap_contact_slopes** out, sap_error* error);
// Finds the dofs that move a contact, and Dp, rho and dphi.
void sap_contact_slopes_set(sap_contact_slopes* slopes, const sap_kinematics* kin,
                            const sap_contact* contact, const sap_contact_variation* vary);
// Sets the gradients of the sum of products at fixed f and y, to q0: out[k] of dofs[k], and to p in
// slopes->by_point.
void sap_contact_slopes_gradient(sap_contact_slopes* slopes, const sap_contact_field* fields,
                                 int count, double* out);
// Adds d(J' gamma) at fixed gamma to dq0 (nv x nv); gamma: as f.
void sap_contact_slopes_add_stiffness(const sap_contact_slopes* slopes, const double* gamma,
                                      double* dq0);

#endif
