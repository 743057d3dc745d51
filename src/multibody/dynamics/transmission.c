// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/transmission.h"

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/model/drive.h"
#include "multibody/model/path.h"

double sap_tendon_length(const sap_kinematics* kin, int32_t id) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  double length = 0.0;
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    length +=
        model->tendon_coefficients[k] * kin->q[model->joints[model->tendon_joints[k]].q_start];
  }
  return tendon->npoints > 0 ? sap_path_length(model, id, kin->p_WB, kin->R_WB) : length;
}

void sap_tendon_add_force(const sap_kinematics* kin, int32_t id, double s, double* tau) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    const int32_t i = model->joints[model->tendon_joints[k]].v_start;
    tau[i] += kin->dynamics->locked[i] ? 0.0 : s * model->tendon_coefficients[k];
  }
  sap_path path;
  sap_piece piece;
  sap_path_begin(&path, model, id, kin->p_WB, kin->R_WB);
  while (sap_path_next(&path, &piece)) {
    double pull[3];
    if (piece.body[0] == piece.body[1]) {
      continue;
    }
    sap_v3_scale(pull, piece.u, s * piece.share);
    sap_kinematics_add_wrench(kin, piece.body[1], piece.p[1], pull, NULL, tau);
    sap_v3_scale(pull, pull, -1.0);
    sap_kinematics_add_wrench(kin, piece.body[0], piece.p[0], pull, NULL, tau);
  }
}

void sap_tendon_add_row(const sap_kinematics* kin, int32_t id, double s, sap_rows* rows,
                        int32_t r) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    sap_rows_touch(rows, model->joints[model->tendon_joints[k]].tree);
  }
  // Trees of obstacles that are not in the way now are touched too: the pattern is constant.
  for (int32_t i = tendon->first_point; i < tendon->first_point + tendon->npoints; ++i) {
    const int32_t tree = model->tendon_wraps[i].way == SAP_TENDON_PULLEY
                             ? -1
                             : model->bodies[model->tendon_point_bodies[i]].tree;
    if (tree >= 0) {
      sap_rows_touch(rows, tree);
    }
  }
  sap_tendon_add_force(kin, id, s, sap_rows_at(rows, r));
}

static void find_crank(const sap_kinematics* kin, const sap_model_actuator* actuator,
                       sap_crank* out) {
  sap_find_crank(actuator, kin->p_WB, kin->R_WB, out);
}

static sap_site_drive site_drive(const sap_kinematics* kin, const sap_model_actuator* actuator) {
  sap_site_drive drive;
  sap_find_site_drive(kin->dynamics->model, actuator, kin->p_WB, kin->q_WB, kin->R_WB, &drive);
  return drive;
}

double sap_transmission_length(const sap_kinematics* kin, int32_t id) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return sap_joint_drive_length(model, actuator, kin->q);
    case SAP_TRANSMISSION_TENDON:
      return sap_tendon_length(kin, actuator->target);
    case SAP_TRANSMISSION_SITE:
      return site_drive(kin, actuator).length;
    case SAP_TRANSMISSION_ADHESION:  // its forces are added with the contacts
      return 0.0;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      break;
  }
  sap_crank c;
  find_crank(kin, actuator, &c);
  return c.length;
}

static void add_crank_force(const sap_kinematics* kin, const sap_model_actuator* actuator, double s,
                            double* tau) {
  sap_crank c;
  double force[3], moment[3];
  find_crank(kin, actuator, &c);
  sap_v3_scale(force, c.g_d, s);
  sap_kinematics_add_wrench(kin, actuator->crank_body, c.p_C, force, NULL, tau);
  sap_v3_scale(force, c.g_d, -s);
  sap_v3_scale(moment, c.moment, s);
  sap_kinematics_add_wrench(kin, actuator->slider_body, c.p_P, force, moment, tau);
}

static void add_joint_force(const sap_kinematics* kin, const sap_model_actuator* actuator, double s,
                            double* tau) {
  sap_joint_drive drive;
  sap_find_joint_drive(kin->dynamics->model, actuator, kin->q_WB, &drive);
  for (int32_t i = 0; i < drive.count; ++i) {
    tau[drive.first + i] += kin->dynamics->locked[drive.first + i] ? 0.0 : s * drive.g[i];
  }
}

static void add_site_force(const sap_kinematics* kin, const sap_model_actuator* actuator, double s,
                           double* tau) {
  const sap_site_drive drive = site_drive(kin, actuator);
  for (int32_t i = 0; i < drive.count; ++i) {
    double force[3], moment[3];
    sap_v3_scale(force, drive.force, i == 0 ? s : -s);
    sap_v3_scale(moment, drive.moment, i == 0 ? s : -s);
    sap_kinematics_add_wrench_after(kin, drive.body[i], drive.shared, drive.p[i], force, moment,
                                    tau);
  }
}

void sap_transmission_add_force(const sap_kinematics* kin, int32_t id, double s, double* tau) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      add_joint_force(kin, actuator, s, tau);
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_tendon_add_force(kin, actuator->target, s, tau);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      add_crank_force(kin, actuator, s, tau);
      break;
    case SAP_TRANSMISSION_SITE:
      add_site_force(kin, actuator, s, tau);
      break;
    case SAP_TRANSMISSION_ADHESION:
      break;
  }
}

static void touch_tree_of(const sap_kinematics* kin, int32_t body, sap_rows* rows) {
  const int32_t tree = kin->dynamics->model->bodies[body].tree;
  if (tree >= 0) {
    sap_rows_touch(rows, tree);
  }
}

void sap_transmission_add_row(const sap_kinematics* kin, int32_t id, double s, sap_rows* rows,
                              int32_t r) {
  const sap_model_actuator* actuator = &kin->dynamics->model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      sap_rows_touch(rows, kin->dynamics->model->joints[actuator->target].tree);
      add_joint_force(kin, actuator, s, sap_rows_at(rows, r));
      break;
    case SAP_TRANSMISSION_TENDON:
      sap_tendon_add_row(kin, actuator->target, s, rows, r);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      touch_tree_of(kin, actuator->crank_body, rows);
      touch_tree_of(kin, actuator->slider_body, rows);
      add_crank_force(kin, actuator, s, sap_rows_at(rows, r));
      break;
    case SAP_TRANSMISSION_SITE:
      touch_tree_of(kin, actuator->site_body, rows);
      if (actuator->reference_body >= 0) {
        touch_tree_of(kin, actuator->reference_body, rows);
      }
      add_site_force(kin, actuator, s, sap_rows_at(rows, r));
      break;
    case SAP_TRANSMISSION_ADHESION:
      break;
  }
}

double sap_transmission_rate(sap_dynamics* d, const sap_kinematics* kin, const double* v,
                             int32_t id) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  if (actuator->transmission == SAP_TRANSMISSION_JOINT && model->joints[actuator->target].nv == 1) {
    const int32_t dof = model->joints[actuator->target].v_start;
    return d->locked[dof] ? 0.0 : v[dof];
  }
  sap_rows_begin(&d->rows, 1);
  sap_transmission_add_row(kin, id, 1.0, &d->rows, 0);
  return sap_rows_times(&d->rows, 0, v);
}
