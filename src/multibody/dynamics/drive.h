// SPDX-License-Identifier: BSD-3-Clause
// Lengths l of transmissions, as in MuJoCo and before the gear, and the generalized forces of pulls
// along them.
//   fixed tendon  l = sum_i c_i q_i
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
#pragma once

#include "multibody/dynamics/kinematics.h"

// Adds s times the gradient of the length to tau (nv): the generalized force of a pull -s. A
// segment of length zero adds nothing.
void sap_tendon_add_force(const sap_kinematics* kin, int32_t tendon, double s, double* tau);
// Calls `found`, unless NULL, with the same forces on bodies, at points p_W; none of a fixed tendon,
// whose forces are efforts on joints. Returns the length.
typedef void sap_tendon_force(void* context, int32_t body, const double p_W[3],
                              const double force[3]);
double sap_tendon_find_forces(const sap_kinematics* kin, int32_t tendon, double s,
                              sap_tendon_force* found, void* context);
static inline double sap_tendon_length(const sap_kinematics* kin, int32_t tendon) {
  return sap_tendon_find_forces(kin, tendon, 0.0, NULL, NULL);
}
// Adds the gradient to row r; returns the length.
double sap_tendon_add_row(const sap_kinematics* kin, int32_t tendon, double s, sap_rows* rows,
                          int32_t r);

// Returns true if the gradient is the same at all positions: of a hinge, a slide, a fixed tendon.
static inline bool sap_transmission_is_fixed(const sap_model* model, const sap_model_actuator* a) {
  return a->transmission == SAP_TRANSMISSION_JOINT
             ? sap_joint_is_scalar(model->joints[a->target].type)
             : a->transmission == SAP_TRANSMISSION_TENDON && model->tendons[a->target].npoints == 0;
}
double sap_transmission_length(const sap_kinematics* kin, int32_t actuator);
// Adds s times the gradient of the length to tau (nv).
void sap_transmission_add_force(const sap_kinematics* kin, int32_t actuator, double s, double* tau);
// Adds the same to row r; returns the length.
double sap_transmission_add_row(const sap_kinematics* kin, int32_t actuator, double s,
                                sap_rows* rows, int32_t r);

// --- paths of tendons ---
// Path of a spatial tendon: straight pieces between points, and arcs around obstacles.
//   The plane of an arc contains both ends and the sphere's centre, or is normal to the cylinder's
//   axis. In it the string touches the circle of radius r in two points and follows it between
//   them; along a cylinder's axis it rises linearly with its unrolled length. It takes the shorter
//   way, or the way past the side point.
//   A side point inside the circle makes it a ring: the string passes through and bends over one
//   point of the edge at equal angles, unless it passes through freely.

typedef struct sap_obstacle {
  bool cylinder;
  double radius;
  double center[3];
  double axis[3];  // unit, of a cylinder
  bool has_side;   // has a side point
  double side[3];
} sap_obstacle;

// Finds the first and the last point of contact; returns the length between them, < 0: no contact.
double sap_wrap(const sap_obstacle* obstacle, double ends[2][3], double touch[2][3]);
