// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/drive.h"

#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "math/vector3.h"

double sap_joint_drive_length(const sap_model* model, const sap_model_actuator* actuator,
                              const double* q) {
  const sap_model_joint_data* joint = &model->joints[actuator->target];
  const double* x = q + joint->q_start;
  if (joint->type == SAP_JOINT_BALL) {
    double r[3];
    sap_quaternion_log(r, x);  // the same in the body's axes and in the parent's
    return sap_v3_dot(r, actuator->direction);
  }
  return joint->type == SAP_JOINT_FREE ? 0.0 : x[0];
}

// Rotates v to the body's axes from the axes that the body has without its joint's rotation. The
// joint is alone on its body.
static void from_parent(const sap_model* model, const sap_model_joint_data* joint,
                        const double* q_WB, double v[3]) {
  const sap_model_body* body = &model->bodies[joint->body];
  double back[4];
  if (joint->type == SAP_JOINT_BALL) {
    sap_quaternion_rotate(v, body->q_PB, v);
    sap_quaternion_rotate(v, q_WB + 4 * (size_t)body->parent, v);
  }
  sap_quaternion_conjugate(back, q_WB + 4 * (size_t)joint->body);
  sap_quaternion_rotate(v, back, v);
}

void sap_find_joint_drive(const sap_model* model, const sap_model_actuator* actuator,
                          const double* q_WB, sap_joint_drive* out) {
  const sap_model_joint_data* joint = &model->joints[actuator->target];
  *out = (sap_joint_drive){.first = joint->v_start, .count = joint->nv};
  switch (joint->type) {
    case SAP_JOINT_HINGE:
    case SAP_JOINT_SLIDE:
      out->g[0] = 1.0;
      return;
    case SAP_JOINT_BALL:
      sap_v3_copy(out->g, actuator->direction);
      break;
    case SAP_JOINT_FREE:
      memcpy(out->g, actuator->direction, sizeof out->g);
      break;
  }
  if (actuator->in_parent) {
    from_parent(model, joint, q_WB, out->g + joint->nv - 3);
  }
}

// Returns the last dof that moves both bodies, -1: none.
static int32_t shared_dof(const sap_model* model, int32_t a, int32_t b) {
  int32_t i = model->bodies[a].last_dof, k = model->bodies[b].last_dof;
  while (i != k) {  // a dof has a larger number than its parent
    if (i > k) {
      i = model->dof_parent[i];
    } else {
      k = model->dof_parent[k];
    }
  }
  return i;
}

void sap_find_site_drive(const sap_model* model, const sap_model_actuator* a, const double* p_WB,
                         const double* q_WB, const double* R_WB, sap_site_drive* out) {
  double q_S[4], q_R[4], back[4], turn[4], arm[3], r[3];
  const bool alone = a->reference_body < 0;
  *out = (sap_site_drive){
      .count = alone ? 1 : 2, .body = {a->site_body, alone ? 0 : a->reference_body}, .shared = -1};
  const size_t site = (size_t)a->site_body;
  sap_v3_place(out->p[0], p_WB + 3 * site, R_WB + 9 * site, a->site_point);
  sap_quaternion_multiply(q_S, q_WB + 4 * site, a->site_q);
  if (alone) {
    sap_quaternion_rotate(out->force, q_S, a->direction);
    sap_quaternion_rotate(out->moment, q_S, a->direction + 3);
    return;
  }
  const size_t reference = (size_t)a->reference_body;
  sap_v3_place(out->p[1], p_WB + 3 * reference, R_WB + 9 * reference, a->reference_point);
  sap_quaternion_multiply(q_R, q_WB + 4 * reference, a->reference_q);
  sap_quaternion_rotate(out->force, q_R, a->direction);
  sap_quaternion_rotate(out->moment, q_R, a->direction + 3);
  sap_quaternion_conjugate(back, q_R);
  sap_quaternion_multiply(turn, back, q_S);
  sap_quaternion_log(r, turn);
  sap_v3_sub(arm, out->p[0], out->p[1]);
  out->length = sap_v3_dot(arm, out->force) + sap_v3_dot(r, a->direction + 3);
  out->shared = shared_dof(model, a->site_body, a->reference_body);
}

void sap_find_crank(const sap_model_actuator* actuator, const double* p_WB, const double* R_WB,
                    sap_crank* out) {
  const size_t crank = (size_t)actuator->crank_body, slider = (size_t)actuator->slider_body;
  double a[3], arm[3], g_a[3];
  sap_v3_place(out->p_C, p_WB + 3 * crank, R_WB + 9 * crank, actuator->crank_point);
  sap_v3_place(out->p_P, p_WB + 3 * slider, R_WB + 9 * slider, actuator->slider_point);
  sap_m3_mul_v3(a, R_WB + 9 * slider, actuator->slider_axis);
  sap_v3_sub(arm, out->p_C, out->p_P);
  const double s = sap_v3_dot(a, arm), r = actuator->crank_length;
  const double e_2 = s * s + r * r - sap_v3_dot(arm, arm);
  const bool closed = e_2 > 0.0;
  const double e = closed ? sqrt(e_2) : 0.0;
  const double share = closed ? 1.0 - s / e : 1.0;
  sap_v3_scale(out->g_d, a, share);
  sap_v3_scale(g_a, arm, share);
  if (closed) {
    sap_v3_add_scaled(out->g_d, arm, 1.0 / e);
  }
  sap_v3_cross(out->moment, a, g_a);
  out->length = s - e;
}
