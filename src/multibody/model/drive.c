// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/drive.h"

#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "math/vector3.h"
#include "multibody/model/path.h"

static double joint_length(const sap_model* model, const sap_model_actuator* actuator,
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

static void push_joint(const sap_model* model, const sap_poses* at,
                       const sap_model_actuator* actuator, double s, const sap_drive_sink* sink) {
  const sap_model_joint_data* joint = &model->joints[actuator->target];
  double g[6] = {1.0};
  if (!sap_joint_is_scalar(joint->type)) {
    memcpy(g, actuator->direction, (size_t)joint->nv * sizeof *g);
    if (actuator->in_parent) {
      from_parent(model, joint, at->q_WB, g + joint->nv - 3);
    }
  }
  for (int32_t i = 0; i < joint->nv; ++i) {
    sink->push_dof(sink->context, joint->v_start + i, s * g[i]);
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

// A site, and the reference that it may have.
typedef struct site_drive {
  double length;
  double p[2][3];              // points of the site and the reference
  double force[3], moment[3];  // on the site; minus these on the reference; world axes
} site_drive;

static site_drive find_site(const sap_poses* at, const sap_model_actuator* a) {
  double q_S[4], q_R[4], back[4], turn[4], arm[3], r[3];
  site_drive out = {0};
  const size_t site = (size_t)a->site_body;
  sap_v3_place(out.p[0], at->p_WB + 3 * site, at->R_WB + 9 * site, a->site_point);
  sap_quaternion_multiply(q_S, at->q_WB + 4 * site, a->site_q);
  if (a->reference_body < 0) {
    sap_quaternion_rotate(out.force, q_S, a->direction);
    sap_quaternion_rotate(out.moment, q_S, a->direction + 3);
    return out;
  }
  const size_t reference = (size_t)a->reference_body;
  sap_v3_place(out.p[1], at->p_WB + 3 * reference, at->R_WB + 9 * reference, a->reference_point);
  sap_quaternion_multiply(q_R, at->q_WB + 4 * reference, a->reference_q);
  sap_quaternion_rotate(out.force, q_R, a->direction);
  sap_quaternion_rotate(out.moment, q_R, a->direction + 3);
  sap_quaternion_conjugate(back, q_R);
  sap_quaternion_multiply(turn, back, q_S);
  sap_quaternion_log(r, turn);
  sap_v3_sub(arm, out.p[0], out.p[1]);
  out.length = sap_v3_dot(arm, out.force) + sap_v3_dot(r, a->direction + 3);
  return out;
}

static void push_site(const sap_model* model, const sap_poses* at, const sap_model_actuator* a,
                      double s, const sap_drive_sink* sink) {
  const site_drive drive = find_site(at, a);
  const int32_t bodies[2] = {a->site_body, a->reference_body};
  const int32_t stop = bodies[1] < 0 ? -1 : shared_dof(model, bodies[0], bodies[1]);
  for (int32_t i = 0; i < 2 && bodies[i] >= 0; ++i) {
    double force[3], moment[3];
    sap_v3_scale(force, drive.force, i == 0 ? s : -s);
    sap_v3_scale(moment, drive.moment, i == 0 ? s : -s);
    sink->push_body(sink->context, bodies[i], stop, drive.p[i], force, moment);
  }
}

// In the world's axes.
typedef struct crank_drive {
  double p_C[3], p_P[3];  // crank's and slider's points
  double g_d[3];          // force on C, minus that on P
  double moment[3];       // a x g_a on the slider's body
  double length;
} crank_drive;

static crank_drive find_crank(const sap_poses* at, const sap_model_actuator* actuator) {
  const size_t crank = (size_t)actuator->crank_body, slider = (size_t)actuator->slider_body;
  double a[3], arm[3], g_a[3];
  crank_drive out;
  sap_v3_place(out.p_C, at->p_WB + 3 * crank, at->R_WB + 9 * crank, actuator->crank_point);
  sap_v3_place(out.p_P, at->p_WB + 3 * slider, at->R_WB + 9 * slider, actuator->slider_point);
  sap_m3_mul_v3(a, at->R_WB + 9 * slider, actuator->slider_axis);
  sap_v3_sub(arm, out.p_C, out.p_P);
  const double s = sap_v3_dot(a, arm), r = actuator->crank_length;
  const double e_2 = s * s + r * r - sap_v3_dot(arm, arm);
  const bool closed = e_2 > 0.0;
  const double e = closed ? sqrt(e_2) : 0.0;
  const double share = closed ? 1.0 - s / e : 1.0;
  sap_v3_scale(out.g_d, a, share);
  sap_v3_scale(g_a, arm, share);
  if (closed) {
    sap_v3_add_scaled(out.g_d, arm, 1.0 / e);
  }
  sap_v3_cross(out.moment, a, g_a);
  out.length = s - e;
  return out;
}

static void push_crank(const sap_poses* at, const sap_model_actuator* a, double s,
                       const sap_drive_sink* sink) {
  const crank_drive c = find_crank(at, a);
  double force[3], moment[3];
  sap_v3_scale(force, c.g_d, s);
  sink->push_body(sink->context, a->crank_body, -1, c.p_C, force, NULL);
  sap_v3_scale(force, c.g_d, -s);
  sap_v3_scale(moment, c.moment, s);
  sink->push_body(sink->context, a->slider_body, -1, c.p_P, force, moment);
}

double sap_drive_tendon_length(const sap_model* model, const sap_poses* at, int32_t id) {
  const sap_model_tendon* tendon = &model->tendons[id];
  double length = 0.0;
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    length += model->tendon_coefficients[k] * at->q[model->joints[model->tendon_joints[k]].q_start];
  }
  return tendon->npoints > 0 ? sap_path_length(model, id, at->p_WB, at->R_WB) : length;
}

void sap_drive_push_tendon(const sap_model* model, const sap_poses* at, int32_t id, double s,
                           const sap_drive_sink* sink) {
  const sap_model_tendon* tendon = &model->tendons[id];
  sap_path path;
  sap_piece piece;
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    sink->push_dof(sink->context, model->joints[model->tendon_joints[k]].v_start,
                   s * model->tendon_coefficients[k]);
  }
  sap_path_begin(&path, model, id, at->p_WB, at->R_WB);
  while (sap_path_next(&path, &piece)) {
    double pull[3];
    if (piece.body[0] != piece.body[1]) {
      sap_v3_scale(pull, piece.u, s * piece.share);
      sink->push_body(sink->context, piece.body[1], -1, piece.p[1], pull, NULL);
      sap_v3_scale(pull, pull, -1.0);
      sink->push_body(sink->context, piece.body[0], -1, piece.p[0], pull, NULL);
    }
  }
}

double sap_drive_length(const sap_model* model, const sap_poses* at,
                        const sap_model_actuator* actuator) {
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return joint_length(model, actuator, at->q);
    case SAP_TRANSMISSION_TENDON:
      return sap_drive_tendon_length(model, at, actuator->target);
    case SAP_TRANSMISSION_SITE:
      return find_site(at, actuator).length;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      return find_crank(at, actuator).length;
    case SAP_TRANSMISSION_ADHESION:  // its forces are added with the contacts
      break;
  }
  return 0.0;
}

void sap_drive_push(const sap_model* model, const sap_poses* at, const sap_model_actuator* actuator,
                    double s, const sap_drive_sink* sink) {
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      push_joint(model, at, actuator, s, sink);
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_drive_push_tendon(model, at, actuator->target, s, sink);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      push_crank(at, actuator, s, sink);
      break;
    case SAP_TRANSMISSION_SITE:
      push_site(model, at, actuator, s, sink);
      break;
    case SAP_TRANSMISSION_ADHESION:
      break;
  }
}
