// SPDX-License-Identifier: BSD-3-Clause
// Motion of a body by its joint, and the directions of the joint's dofs.
//   Anchor and axis are fixed in the body. Directions in world axes about the tree's point O:
//   hinge  S = [a; (p_WJ - O) x a]      slide  S = [0; a]
//   ball   S_k = [b_k; (p_WJ - O) x b_k],  b_k the axes of the body after this joint
//   free   S = [0; e_k], [b_k; 0]          (its body's origin is O)
#pragma once

#include "math/quaternion.h"
#include "multibody/model/model_data.h"

// Turns a body about an anchor fixed in it (p_BJ) and in the world (p_WJ).
static inline void sap_joint_turn(double p[3], double q[4], const double step[4],
                                  const double p_BJ[3], const double p_WJ[3]) {
  double arm[3];
  sap_quaternion_multiply(q, q, step);
  sap_quaternion_rotate(arm, q, p_BJ);
  sap_v3_sub(p, p_WJ, arm);
}

// Moves (p, q) by one joint at its coordinates x. Sets S (nv) to the axes and, in the last three
// components, the anchor in the world.
static inline void sap_joint_move(const sap_model_joint_data* joint, const double* x, double p[3],
                                  double q[4], double (*S)[6]) {
  double axis[3], anchor[3], step[4], R[9];
  switch (joint->type) {
    case SAP_JOINT_FREE:
      sap_v3_copy(p, x);
      for (int i = 0; i < 4; ++i) {
        q[i] = x[3 + i];
      }
      break;
    case SAP_JOINT_BALL:
      for (int i = 0; i < 4; ++i) {
        step[i] = x[i];
      }
      (void)sap_quaternion_normalize(step);
      sap_quaternion_place(anchor, p, q, joint->p_BJ);
      sap_joint_turn(p, q, step, joint->p_BJ, anchor);
      sap_quaternion_to_matrix(R, q);
      for (int k = 0; k < 3; ++k) {
        sap_v3_copy(S[k], R + 3 * k);
        sap_v3_copy(S[k] + 3, anchor);
      }
      break;
    case SAP_JOINT_HINGE:
      sap_quaternion_rotate(axis, q, joint->axis);
      sap_quaternion_place(anchor, p, q, joint->p_BJ);
      sap_quaternion_from_axis_angle(step, joint->axis, x[0] - joint->reference);
      sap_joint_turn(p, q, step, joint->p_BJ, anchor);
      sap_v3_copy(S[0], axis);
      sap_v3_copy(S[0] + 3, anchor);
      break;
    case SAP_JOINT_SLIDE:
      sap_quaternion_rotate(axis, q, joint->axis);
      sap_v3_add_scaled(p, axis, x[0] - joint->reference);
      sap_v3_copy(S[0], axis);
      break;
  }
}

// Converts axes and anchors to spatial directions about O; R: axes of the body after all joints.
static inline void sap_joint_finish(const sap_model_joint_data* joint, const double O[3],
                                    const double R[9], double (*S)[6]) {
  switch (joint->type) {
    case SAP_JOINT_FREE:
      for (int k = 0; k < 3; ++k) {
        sap_v3_set(S[k], 0.0, 0.0, 0.0);
        sap_v3_set(S[k] + 3, k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0);
        sap_v3_copy(S[k + 3], R + 3 * k);
        sap_v3_set(S[k + 3] + 3, 0.0, 0.0, 0.0);
      }
      break;
    case SAP_JOINT_BALL:
    case SAP_JOINT_HINGE:
      for (int32_t k = 0; k < joint->nv; ++k) {
        double arm[3];
        sap_v3_sub(arm, S[k] + 3, O);
        sap_v3_cross(S[k] + 3, arm, S[k]);
      }
      break;
    case SAP_JOINT_SLIDE:
      sap_v3_copy(S[0] + 3, S[0]);
      sap_v3_set(S[0], 0.0, 0.0, 0.0);
      break;
  }
}
