// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/transmission.h"

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/tendon.h"
#include "multibody/model/drive.h"

static void find_crank(const sap_dynamics* d, const sap_model_actuator* actuator, sap_crank* out) {
  sap_find_crank(actuator, d->now.p_WB, d->now.R_WB, out);
}

static sap_site_drive site_drive(const sap_dynamics* d, const sap_model_actuator* actuator) {
  sap_site_drive drive;
  sap_find_site_drive(d->model, actuator, d->now.p_WB, d->now.q_WB, d->now.R_WB, &drive);
  return drive;
}

double sap_dynamics_transmission_length(const sap_dynamics* d, const double* q, int32_t id) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return sap_joint_drive_length(model, actuator, q);
    case SAP_TRANSMISSION_TENDON:
      return sap_dynamics_tendon_length(d, q, actuator->target);
    case SAP_TRANSMISSION_SITE:
      return site_drive(d, actuator).length;
    case SAP_TRANSMISSION_ADHESION:  // its forces come with the contacts
      return 0.0;
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

static void add_joint_force(const sap_dynamics* d, const sap_model_actuator* actuator, double s,
                            double* tau) {
  sap_joint_drive drive;
  sap_find_joint_drive(d->model, actuator, d->now.q_WB, &drive);
  for (int32_t i = 0; i < drive.count; ++i) {
    tau[drive.first + i] += d->locked[drive.first + i] ? 0.0 : s * drive.g[i];
  }
}

static void add_site_force(const sap_dynamics* d, const sap_model_actuator* actuator, double s,
                           double* tau) {
  const sap_site_drive drive = site_drive(d, actuator);
  for (int32_t i = 0; i < drive.count; ++i) {
    double force[3], moment[3];
    sap_v3_scale(force, drive.force, i == 0 ? s : -s);
    sap_v3_scale(moment, drive.moment, i == 0 ? s : -s);
    sap_dynamics_add_wrench_behind(d, drive.body[i], drive.shared, drive.p[i], force, moment, tau);
  }
}

void sap_dynamics_add_transmission_force(const sap_dynamics* d, int32_t id, double s, double* tau) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      add_joint_force(d, actuator, s, tau);
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_dynamics_add_tendon_force(d, actuator->target, s, tau);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      add_crank_force(d, actuator, s, tau);
      break;
    case SAP_TRANSMISSION_SITE:
      add_site_force(d, actuator, s, tau);
      break;
    case SAP_TRANSMISSION_ADHESION:
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
      sap_rows_touch(rows, d->model->joints[actuator->target].tree);
      add_joint_force(d, actuator, s, sap_rows_at(rows, r));
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_dynamics_add_tendon_row(d, actuator->target, s, rows, r);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      touch(d, actuator->crank_body, rows);
      touch(d, actuator->slider_body, rows);
      add_crank_force(d, actuator, s, sap_rows_at(rows, r));
      break;
    case SAP_TRANSMISSION_SITE:
      touch(d, actuator->site_body, rows);
      if (actuator->reference_body >= 0) {
        touch(d, actuator->reference_body, rows);
      }
      add_site_force(d, actuator, s, sap_rows_at(rows, r));
      break;
    case SAP_TRANSMISSION_ADHESION:
      break;
  }
}

double sap_dynamics_transmission_rate(sap_dynamics* d, const double* v, int32_t id) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  if (actuator->transmission == SAP_TRANSMISSION_JOINT && model->joints[actuator->target].nv == 1) {
    const int32_t dof = model->joints[actuator->target].v_start;
    return d->locked[dof] ? 0.0 : v[dof];
  }
  sap_rows_begin(&d->rows, 1);
  sap_dynamics_add_transmission_row(d, id, 1.0, &d->rows, 0);
  return sap_rows_times(&d->rows, 0, v);
}
