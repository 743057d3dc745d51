// SPDX-License-Identifier: BSD-3-Clause
#include "dynamics/transmission.h"

#include "dynamics/dynamics_data.h"
#include "dynamics/tendon.h"
#include "model/crank.h"

static void find_crank(const sap_dynamics* d, const sap_model_actuator* actuator, sap_crank* out) {
  sap_find_crank(actuator, d->p_WB, d->R_WB, out);
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
  sap_crank c;
  find_crank(d, actuator, &c);
  return c.length;
}

static void add_crank_force(const sap_dynamics* d, const sap_model_actuator* actuator, double s,
                            double* tau) {
  sap_crank c;
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

double sap_dynamics_transmission_rate(sap_dynamics* d, const double* v, int32_t id) {
  sap_rows_begin(&d->rows, 1);
  sap_dynamics_add_transmission_row(d, id, 1.0, &d->rows, 0);
  return sap_rows_times(&d->rows, 0, v);
}
