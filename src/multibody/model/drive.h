// SPDX-License-Identifier: BSD-3-Clause
// What actuators act along besides tendons and slider-cranks, with MuJoCo's lengths l and the
// directions of their forces.
//   hinge, slide  l = q
//   ball          l = r . g, r the joint's rotation vector; moment g in the body's axes (or in the
//                 parent's)
//   free          l = 0; force along the world's axes, moment in the body's axes (or the world's)
//   site          l = 0; force and moment in the site's axes
//   site against a reference
//                 l = f . R_r'(p_s - p_r) + m . r, r the rotation vector of the site in the
//                 reference; force and moment in the reference's axes on the site, the opposite on
//                 the reference; joints that move both are left alone. Not quite the gradient of l:
//                 the turning of the reference's axes does not count.
#ifndef SAP_MULTIBODY_MODEL_DRIVE_H
#define SAP_MULTIBODY_MODEL_DRIVE_H

#include "multibody/model/model_data.h"

typedef struct sap_joint_drive {
  int32_t first, count;  // dofs
  double g[6];           // generalized force on them
} sap_joint_drive;

// q: all positions.
double sap_joint_drive_length(const sap_model* model, const sap_model_actuator* actuator,
                              const double* q);
// q_WB (4 bodies): orientations.
void sap_find_joint_drive(const sap_model* model, const sap_model_actuator* actuator,
                          const double* q_WB, sap_joint_drive* out);

typedef struct sap_site_drive {
  double length;
  int32_t count;               // of the bodies below: 1, or 2 with a reference
  int32_t body[2];             // that of the site, that of the reference
  double p[2][3];              // points of the site and the reference
  double force[3], moment[3];  // on the site; minus these on the reference; world axes
  int32_t shared;              // the last dof that moves both, -1
} sap_site_drive;

// p_WB (3 bodies), q_WB (4 bodies), R_WB (9 bodies): poses.
void sap_find_site_drive(const sap_model* model, const sap_model_actuator* actuator,
                         const double* p_WB, const double* q_WB, const double* R_WB,
                         sap_site_drive* out);

#endif
