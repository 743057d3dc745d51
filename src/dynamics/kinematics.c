// SPDX-License-Identifier: BSD-3-Clause
// Forward kinematics.
//   A body starts at its pose in the parent; each joint in turn moves it, with anchor and axis
//   fixed in the body. For the dofs of a joint, in world axes about the tree's point O:
//   hinge  S = [a; (p_WJ - O) x a]      slide  S = [0; a]
//   ball   S_k = [b_k; (p_WJ - O) x b_k],  b_k the axes of the body after this joint
//   free   S = [0; e_k], [b_k; 0]          (its body's origin is O)
#include "core/memory.h"
#include "dynamics/dynamics_data.h"
#include "math/quaternion.h"

// Turns a body about an anchor fixed in it (p_BJ) and in the world (p_WJ).
static void turn(double p[3], double q[4], const double step[4], const double p_BJ[3],
                 const double p_WJ[3]) {
  double arm[3];
  sap_quaternion_multiply(q, q, step);
  sap_quaternion_rotate(arm, q, p_BJ);
  sap_v3_sub(p, p_WJ, arm);
}

// Moves (p, q) by one joint. Leaves in S the axes and, in the last three, the anchor in the world.
static void apply_joint(const sap_model_joint_data* joint, const double* x, double p[3],
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
      sap_quaternion_rotate(anchor, q, joint->p_BJ);
      sap_v3_add(anchor, anchor, p);
      turn(p, q, step, joint->p_BJ, anchor);
      sap_quaternion_to_matrix(R, q);
      for (int k = 0; k < 3; ++k) {
        sap_v3_copy(S[k], R + 3 * k);
        sap_v3_copy(S[k] + 3, anchor);
      }
      break;
    case SAP_JOINT_HINGE:
      sap_quaternion_rotate(axis, q, joint->axis);
      sap_quaternion_rotate(anchor, q, joint->p_BJ);
      sap_v3_add(anchor, anchor, p);
      sap_quaternion_from_axis_angle(step, joint->axis, x[0] - joint->reference);
      turn(p, q, step, joint->p_BJ, anchor);
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

// From axis and anchor to the spatial direction about O.
static void finish_joint(const sap_model_joint_data* joint, const double O[3], const double R[9],
                         double (*S)[6]) {
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

static bool same_point(const double a[3], const double b[3]) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// The hinges of a body on its parent, where it is at (p, q) before they turn it. The parent's R
// serves the first; hinges with one anchor between them move the origin but once, at the end.
static void turn_hinges(sap_dynamics* d, const sap_model_body* body, const double* x, double p[3],
                        double q[4], double R[9]) {
  const sap_model* model = d->model;
  const int32_t* joints = model->body_joints + body->first_joint;
  const double* O = d->p_WB + 3 * d->tree_root[body->tree];
  const bool turned = body->q_PB[0] != 1.0;
  double anchor[3] = {0.0}, arm[3], step[4];
  for (int32_t k = 0; k < body->njoints; ++k) {
    const sap_model_joint_data* joint = &model->joints[joints[k]];
    const double* last = k > 0 ? model->joints[joints[k - 1]].p_BJ : NULL;
    double* S = d->S[joint->v_start];
    if (k == 0 && !turned) {
      const double* R_WP = d->R_WB + 9 * body->parent;
      sap_m3_mul_v3(S, R_WP, joint->axis);
      sap_m3_mul_v3(anchor, R_WP, joint->p_BJ);
      sap_v3_add(anchor, anchor, p);
    } else {
      sap_quaternion_rotate(S, q, joint->axis);
      if (last == NULL || !same_point(last, joint->p_BJ)) {
        if (last != NULL) {
          sap_quaternion_rotate(arm, q, last);
          sap_v3_sub(p, anchor, arm);
        }
        sap_quaternion_rotate(anchor, q, joint->p_BJ);
        sap_v3_add(anchor, anchor, p);
      }
    }
    sap_v3_sub(arm, anchor, O);
    sap_v3_cross(S + 3, arm, S);
    sap_quaternion_from_axis_angle(step, joint->axis, x[joint->q_start] - joint->reference);
    sap_quaternion_multiply(q, q, step);
  }
  (void)sap_quaternion_normalize(q);
  sap_quaternion_to_matrix(R, q);
  sap_m3_mul_v3(arm, R, model->joints[joints[body->njoints - 1]].p_BJ);
  sap_v3_sub(p, anchor, arm);
}

static void place_body(sap_dynamics* d, int32_t id, const double* x) {
  const sap_model* model = d->model;
  const sap_model_body* body = &model->bodies[id];
  const int32_t parent = body->parent;
  double* p = d->p_WB + 3 * id;
  double* q = d->q_WB + 4 * id;
  double* R = d->R_WB + 9 * id;
  const int32_t* joints = model->body_joints + body->first_joint;
  sap_m3_mul_v3(p, d->R_WB + 9 * parent, body->p_PB);
  sap_v3_add(p, p, d->p_WB + 3 * parent);
  sap_quaternion_multiply(q, d->q_WB + 4 * parent, body->q_PB);
  if (d->hinged[id]) {
    turn_hinges(d, body, x, p, q, R);
    return;
  }
  for (int32_t k = 0; k < body->njoints; ++k) {
    const sap_model_joint_data* joint = &model->joints[joints[k]];
    apply_joint(joint, x + joint->q_start, p, q, d->S + joint->v_start);
  }
  (void)sap_quaternion_normalize(q);
  sap_quaternion_to_matrix(R, q);
  const double* O = d->p_WB + 3 * d->tree_root[body->tree];
  for (int32_t k = 0; k < body->njoints; ++k) {
    const sap_model_joint_data* joint = &model->joints[joints[k]];
    finish_joint(joint, O, R, d->S + joint->v_start);
  }
}

// A single free body: its pose is its coordinates.
static void place_lone(sap_dynamics* d, int32_t id, const double* x) {
  double* q = d->q_WB + 4 * id;
  sap_v3_copy(d->p_WB + 3 * id, x);
  for (int i = 0; i < 4; ++i) {
    q[i] = x[3 + i];
  }
  (void)sap_quaternion_normalize(q);
  sap_quaternion_to_matrix(d->R_WB + 9 * id, q);
}

void sap_dynamics_set_positions(sap_dynamics* d, const double* q) {
  const sap_model* model = d->model;
  for (int32_t n = 0; n < d->nmoving; ++n) {
    const int32_t id = d->moving[n];
    const sap_model_body* body = &model->bodies[id];
    if (d->tree_lone[body->tree] && body->njoints > 0) {
      place_lone(d, id, q + model->joints[model->body_joints[body->first_joint]].q_start);
    } else {
      place_body(d, id, q);
    }
  }
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (!link->lone) {
      double r[3];
      sap_v3_sub(r, d->p_WB + 3 * link->body, d->p_WB + 3 * d->tree_root[link->tree]);
      sap_inertia_move(&d->inertia[l], &link->body_inertia, d->R_WB + 9 * link->body, r);
    }
  }
}

void sap_dynamics_add_point_jacobian(const sap_dynamics* d, int32_t body, const double p_W[3],
                                     const double R_WC[9], double sign, double* J) {
  const sap_model* model = d->model;
  const int32_t tree = model->bodies[body].tree;
  if (tree < 0) {
    return;
  }
  const int32_t root = d->tree_root[tree];
  const int32_t first = model->tree_dofs[tree];
  const int32_t end = d->tree_free[tree] ? first + 6 : first;
  double r[3];
  sap_v3_sub(r, p_W, d->p_WB + 3 * root);
  for (int32_t i = model->bodies[body].last_dof; i >= end; i = model->dof_parent[i]) {
    double v[3], c[3];
    if (d->locked[i]) {
      continue;
    }
    sap_v3_cross(v, d->S[i], r);
    sap_v3_add(v, v, d->S[i] + 3);
    sap_m3_tmul_v3(c, R_WC, v);
    sap_v3_add_scaled(J + 3 * (i - first), c, sign);
  }
  for (int k = 0; k < 3 && end > first && !d->locked[first]; ++k) {
    const double* b = d->R_WB + 9 * root + 3 * k;
    const double e[3] = {R_WC[k], R_WC[3 + k], R_WC[6 + k]};
    double v[3], c[3];
    sap_v3_add_scaled(J + 3 * k, e, sign);
    sap_v3_cross(v, b, r);
    sap_m3_tmul_v3(c, R_WC, v);
    sap_v3_add_scaled(J + 3 * (k + 3), c, sign);
  }
}

void sap_dynamics_add_angular_jacobian(const sap_dynamics* d, int32_t body, const double R_WC[9],
                                       double sign, int32_t rows, double* J) {
  const sap_model* model = d->model;
  const int32_t tree = model->bodies[body].tree;
  if (tree < 0) {
    return;
  }
  const int32_t root = d->tree_root[tree];
  const int32_t first = model->tree_dofs[tree];
  const int32_t end = d->tree_free[tree] ? first + 6 : first;
  const double* axes[3] = {R_WC + 6, R_WC, R_WC + 3};  // spin about n, rolling about t1, t2
  for (int32_t i = model->bodies[body].last_dof; i >= end; i = model->dof_parent[i]) {
    for (int32_t r = 0; r < rows && !d->locked[i]; ++r) {
      J[rows * (i - first) + r] += sign * sap_v3_dot(axes[r], d->S[i]);
    }
  }
  for (int32_t k = 0; k < 3 && end > first && !d->locked[first]; ++k) {
    for (int32_t r = 0; r < rows; ++r) {
      J[rows * (k + 3) + r] += sign * sap_v3_dot(axes[r], d->R_WB + 9 * root + 3 * k);
    }
  }
}
