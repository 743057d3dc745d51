// SPDX-License-Identifier: BSD-3-Clause
// Lengths l of transmissions other than tendons, as in MuJoCo, and the directions of their forces.
//   hinge, slide  l = q
//   ball          l = r . g, r the joint's rotation vector; moment g in the body's axes (or in the
//                 parent's)
//   free          l = 0; force along the world's axes, moment in the body's axes (or the world's)
//   site          l = 0; force and moment in the site's axes
//   site against a reference
//                 l = f . R_r'(p_s - p_r) + m . r, r the rotation vector of the site in the
//                 reference; force and moment in the reference's axes on the site, the opposite on
//                 the reference, nothing on joints that move both. This is the gradient of l except
//                 for the rotation of the reference's axes.
//   slider-crank  l = s - e,  s = a . d,  e = sqrt(s^2 + r^2 - d^2);  dl = g_d . dd + g_a . da
//                 g_d = (1 - s/e) a + d/e,  g_a = (1 - s/e) d
//                 without a real e: l = s, g_d = a, g_a = d
#ifndef SAP_MULTIBODY_MODEL_DRIVE_H
#define SAP_MULTIBODY_MODEL_DRIVE_H

#include "multibody/model/model_data.h"

typedef struct sap_joint_drive {
  int32_t first, count;  // dofs
  double g[6];           // generalized force on them
} sap_joint_drive;

// Returns the length; q: all positions.
double sap_joint_drive_length(const sap_model* model, const sap_model_actuator* actuator,
                              const double* q);
// Finds the force; q_WB (4 bodies): orientations.
void sap_find_joint_drive(const sap_model* model, const sap_model_actuator* actuator,
                          const double* q_WB, sap_joint_drive* out);

typedef struct sap_site_drive {
  double length;
  int32_t count;               // bodies: 1, or 2 with a reference
  int32_t body[2];             // of the site and of the reference
  double p[2][3];              // points of the site and the reference
  double force[3], moment[3];  // on the site; minus these on the reference; world axes
  int32_t shared;              // the last dof that moves both, -1
} sap_site_drive;

// Finds length and forces at the poses p_WB (3 bodies), q_WB (4 bodies), R_WB (9 bodies).
void sap_find_site_drive(const sap_model* model, const sap_model_actuator* actuator,
                         const double* p_WB, const double* q_WB, const double* R_WB,
                         sap_site_drive* out);

// In the world's axes.
typedef struct sap_crank {
  double p_C[3], p_P[3];  // crank's and slider's points
  double g_d[3];          // force on C, minus that on P
  double moment[3];       // a x g_a on the slider's body
  double length;
} sap_crank;

// Finds length and gradient at the poses p_WB (3 bodies), R_WB (9 bodies).
void sap_find_crank(const sap_model_actuator* actuator, const double* p_WB, const double* R_WB,
                    sap_crank* out);

#endif
