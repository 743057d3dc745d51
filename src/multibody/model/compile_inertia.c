// SPDX-License-Identifier: BSD-3-Clause
// Checks that the mass matrix is positive definite in the default pose.
//   Articulated-body recursion, leaves to root, without forming M. With the articulated inertia IA
//   of a body (6x6, about its origin, in its axes) and a dof's direction S, the pivot of M's
//   L' D L factorization is
//     D = S' IA S + armature;  then  IA -= (IA S) (IA S)'/D
//   A pivot at the round-off of S' Ic S + armature counts as zero; Ic is the rigid inertia of all
//   bodies below.
// In the default pose every joint is at its reference, so a body has its defined pose and its
// joints have their defined directions. cost: O(bodies + dofs)
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "multibody/model/builder.h"
#include "multibody/model/placement.h"

// Relative; the loss of double precision in IA at mass ratios up to 1e12.
#define PIVOT_TOLERANCE 1e-13

typedef struct inertias {
  double articulated[36];  // IA, column-major, rows [omega; v]
  double composite[36];    // Ic
} inertias;

// Adds the body's own inertia about its origin.
static void add_body(double I[36], const sap_model_body* body) {
  const double* s = body->I_BCo_B;
  const double full[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
  sap_add_inertia(I, full, body->mass, body->p_BCo);
}

// Adds X' I X to out; X transforms motions from the parent's axes and origin to the body's.
static void add_to_parent(double out[36], const double I[36], const sap_model_body* body) {
  double R[9];
  sap_quaternion_to_matrix(R, body->q_PB);
  double X[36] = {0.0};  // v_B = X v_P = [R' omega; R' (v + omega x p)]
  for (int j = 0; j < 3; ++j) {
    double e[3] = {0.0, 0.0, 0.0}, arm[3];
    e[j] = 1.0;
    sap_m3_tmul_v3(X + 6 * j, R, e);
    sap_v3_cross(arm, e, body->p_PB);
    sap_m3_tmul_v3(X + 6 * j + 3, R, arm);
    sap_m3_tmul_v3(X + 6 * (j + 3) + 3, R, e);
  }
  for (int j = 0; j < 6; ++j) {
    double column[6] = {0.0};
    for (int k = 0; k < 6; ++k) {
      for (int i = 0; i < 6; ++i) {
        column[i] += I[6 * k + i] * X[6 * j + k];
      }
    }
    for (int i = 0; i < 6; ++i) {
      for (int k = 0; k < 6; ++k) {
        out[6 * j + i] += X[6 * i + k] * column[k];
      }
    }
  }
}

// Sets the direction of a joint's i-th dof in its body's axes, about its origin. The directions of
// a free joint span the same space in body axes as in the world's.
static void dof_direction(const sap_model_joint_data* joint, int32_t i, double S[6]) {
  memset(S, 0, 6 * sizeof *S);
  switch (joint->type) {
    case SAP_JOINT_FREE:
      S[i < 3 ? i + 3 : i - 3] = 1.0;
      break;
    case SAP_JOINT_BALL:
      S[i] = 1.0;
      sap_v3_cross(S + 3, joint->p_BJ, S);
      break;
    case SAP_JOINT_HINGE:
      sap_v3_copy(S, joint->axis);
      sap_v3_cross(S + 3, joint->p_BJ, S);
      break;
    case SAP_JOINT_SLIDE:
      sap_v3_copy(S + 3, joint->axis);
      break;
  }
}

// Sets out = I S; returns S' I S.
static double apply(const double I[36], const double S[6], double out[6]) {
  double energy = 0.0;
  for (int i = 0; i < 6; ++i) {
    out[i] = 0.0;
    for (int k = 0; k < 6; ++k) {
      out[i] += I[6 * k + i] * S[k];
    }
    energy += out[i] * S[i];
  }
  return energy;
}

// Eliminates one dof from IA; sets *diagonal of the mass matrix. False: no inertia in its
// direction.
static bool eliminate_dof(inertias* I, const double S[6], double armature, double* diagonal) {
  double U[6], unused[6];
  const double pivot = apply(I->articulated, S, U) + armature;
  const double whole = apply(I->composite, S, unused) + armature;
  *diagonal = whole;
  if (!(pivot > PIVOT_TOLERANCE * whole)) {
    return false;
  }
  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < 6; ++i) {
      I->articulated[6 * j + i] -= U[i] * U[j] / pivot;
    }
  }
  return true;
}

// The joint of `body`, last dof first, that has no inertia; -1: all do.
static int32_t eliminate_body(const sap_model* model, const sap_model_body* body, inertias* I) {
  for (int32_t k = body->njoints - 1; k >= 0; --k) {
    const int32_t j = model->body_joints[body->first_joint + k];
    const sap_model_joint_data* joint = &model->joints[j];
    for (int32_t i = joint->nv - 1; i >= 0; --i) {
      double S[6];
      dof_direction(joint, i, S);
      if (!eliminate_dof(I, S, joint->armature, &model->dof_inertia[joint->v_start + i])) {
        return j;
      }
    }
  }
  return -1;
}

// Returns a joint without inertia, -1: none.
static int32_t eliminate_all(const sap_model* model, inertias* all) {
  int32_t bad = -1;
  memset(all, 0, (size_t)model->sizes.bodies * sizeof *all);
  for (int32_t n = model->sizes.bodies - 1; n > 0 && bad < 0; --n) {
    const int32_t b = model->body_order[n];
    const sap_model_body* body = &model->bodies[b];
    if (body->tree < 0) {
      continue;
    }
    add_body(all[b].articulated, body);
    add_body(all[b].composite, body);
    bad = eliminate_body(model, body, &all[b]);
    add_to_parent(all[body->parent].articulated, all[b].articulated, body);
    add_to_parent(all[body->parent].composite, all[b].composite, body);
  }
  return bad;
}

// A free body without mass is refused: it has no weight either.
static bool can_be_spared(const sap_model* model, const sap_builder* builder, int32_t j) {
  const sap_model_joint_data* joint = &model->joints[j];
  return builder->spare_armature > 0.0 && joint->armature < builder->spare_armature &&
         (joint->type != SAP_JOINT_FREE || model->bodies[joint->body].mass > 0.0);
}

sap_status sap_compile_check_inertia(const sap_builder* builder, sap_model* model,
                                     sap_error* error) {
  inertias* all;
  SAP_TRY(SAP_NEW(&all, model->sizes.bodies, "model", error));
  int32_t bad = eliminate_all(model, all);
  while (bad >= 0 && can_be_spared(model, builder, bad)) {
    model->joints[bad].armature = builder->spare_armature;
    bad = eliminate_all(model, all);
  }
  sap_free(all);
  if (bad < 0) {
    return SAP_STATUS_OK;
  }
  const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, bad, error);
  return sap_check_fail(&checker, SAP_STATUS_NOT_SPD,
                        "the bodies that it moves have no inertia in its direction, so that the "
                        "mass matrix is not positive definite: give them mass and inertia, or the "
                        "joint armature");
}
