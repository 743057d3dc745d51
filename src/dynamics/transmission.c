// SPDX-License-Identifier: BSD-3-Clause
#include "dynamics/transmission.h"

#include <math.h>

#include "dynamics/dynamics_data.h"
#include "dynamics/tendon.h"

// A slider-crank in the world's axes, and the gradient of its length l:
//   l = s - e,  s = a . d,  e = sqrt(s^2 + r^2 - d^2);  dl = g_d . dd + g_a . da
//   g_d = (1 - s/e) a + d/e,  g_a = (1 - s/e) d;  without a real e: l = s, g_d = a, g_a = d
typedef struct crank {
  double p_C[3], p_P[3];  // crank's and slider's points
  double g_d[3];          // force on C, minus that on P
  double moment[3];       // a x g_a on the slider's body
  double length;
} crank;

static void find_crank(const sap_dynamics* d, const sap_model_actuator* actuator, crank* out) {
  double a[3], arm[3], g_a[3];
  sap_dynamics_point(d, actuator->crank_body, actuator->crank_point, out->p_C);
  sap_dynamics_point(d, actuator->slider_body, actuator->slider_point, out->p_P);
  sap_m3_mul_v3(a, d->R_WB + 9 * (size_t)actuator->slider_body, actuator->slider_axis);
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

double sap_dynamics_transmission_length(const sap_dynamics* d, const double* q, int32_t id) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return q[model->joints[actuator->target].q_start];
    case SAP_TRANSMISSION_TENDON:
      return sap_dynamics_tendon_length(d, q, actuator->target);
    case SAP_TRANSMISSION_SLIDER_CRANK:
      break;
  }
  crank c;
  find_crank(d, actuator, &c);
  return c.length;
}

static void add_crank_force(const sap_dynamics* d, const sap_model_actuator* actuator, double s,
                            double* tau) {
  crank c;
  double force[3], moment[3];
  find_crank(d, actuator, &c);
  sap_v3_scale(force, c.g_d, s);
  sap_dynamics_add_wrench(d, actuator->crank_body, c.p_C, force, NULL, tau);
  sap_v3_scale(force, c.g_d, -s);
  sap_v3_scale(moment, c.moment, s);
  sap_dynamics_add_wrench(d, actuator->slider_body, c.p_P, force, moment, tau);
}

void sap_dynamics_add_transmission_force(const sap_dynamics* d, int32_t id, double s, double* tau) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      tau[model->joints[actuator->target].v_start] += s;
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_dynamics_add_tendon_force(d, actuator->target, s, tau);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      add_crank_force(d, actuator, s, tau);
      break;
  }
}

static void touch(const sap_dynamics* d, int32_t body, sap_rows* rows) {
  const int32_t tree = d->model->bodies[body].tree;
  if (tree >= 0) {
    sap_rows_touch(rows, tree);
  }
}

void sap_dynamics_add_transmission_row(const sap_dynamics* d, int32_t id, double s, sap_rows* rows,
                                       int32_t r) {
  const sap_model_actuator* actuator = &d->model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      sap_dynamics_add_joint_row(d, actuator->target, s, rows, r);
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_dynamics_add_tendon_row(d, actuator->target, s, rows, r);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      touch(d, actuator->crank_body, rows);
      touch(d, actuator->slider_body, rows);
      add_crank_force(d, actuator, s, sap_rows_at(rows, r));
      break;
  }
}
