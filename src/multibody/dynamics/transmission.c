// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/transmission.h"

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/model/drive.h"

static sap_poses poses_of(const sap_kinematics* kin) {
  return (sap_poses){kin->q, kin->p_WB, kin->q_WB, kin->R_WB};
}

// A generalized force, or a row of which the trees are touched.
typedef struct pull {
  const sap_kinematics* kin;
  double* tau;
  sap_rows* rows;  // NULL: tau is no row
} pull;

static void push_dof(void* context, int32_t dof, double force) {
  const pull* to = context;
  const sap_dynamics* d = to->kin->dynamics;
  if (to->rows != NULL) {
    sap_rows_touch(to->rows, d->model->dof_tree[dof]);
  }
  to->tau[dof] += d->locked[dof] ? 0.0 : force;
}

static void touch_tree_of(const sap_kinematics* kin, int32_t body, sap_rows* rows) {
  const int32_t tree = kin->dynamics->model->bodies[body].tree;
  if (tree >= 0) {
    sap_rows_touch(rows, tree);
  }
}

static void push_body(void* context, int32_t body, int32_t stop, const double p_W[3],
                      const double force[3], const double moment[3]) {
  const pull* to = context;
  if (to->rows != NULL) {
    touch_tree_of(to->kin, body, to->rows);
  }
  sap_kinematics_add_wrench_after(to->kin, body, stop, p_W, force, moment, to->tau);
}

static void add_tendon(const sap_kinematics* kin, int32_t id, double s, double* tau,
                       sap_rows* rows) {
  const sap_poses at = poses_of(kin);
  pull to = {kin, tau, rows};
  const sap_drive_sink sink = {&to, push_dof, push_body};
  sap_drive_push_tendon(kin->dynamics->model, &at, id, s, &sink);
}

double sap_tendon_length(const sap_kinematics* kin, int32_t id) {
  const sap_poses at = poses_of(kin);
  return sap_drive_tendon_length(kin->dynamics->model, &at, id);
}

void sap_tendon_add_force(const sap_kinematics* kin, int32_t id, double s, double* tau) {
  add_tendon(kin, id, s, tau, NULL);
}

void sap_tendon_add_row(const sap_kinematics* kin, int32_t id, double s, sap_rows* rows,
                        int32_t r) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  // Trees of obstacles that are not in the way now are touched too: the pattern is constant.
  for (int32_t i = tendon->first_point; i < tendon->first_point + tendon->npoints; ++i) {
    if (model->tendon_wraps[i].way != SAP_TENDON_PULLEY) {
      touch_tree_of(kin, model->tendon_point_bodies[i], rows);
    }
  }
  add_tendon(kin, id, s, sap_rows_at(rows, r), rows);
}

double sap_transmission_length(const sap_kinematics* kin, int32_t id) {
  const sap_model* model = kin->dynamics->model;
  const sap_poses at = poses_of(kin);
  return sap_drive_length(model, &at, &model->actuators[id]);
}

static void add_actuator(const sap_kinematics* kin, int32_t id, double s, double* tau,
                         sap_rows* rows) {
  const sap_model* model = kin->dynamics->model;
  const sap_poses at = poses_of(kin);
  pull to = {kin, tau, rows};
  const sap_drive_sink sink = {&to, push_dof, push_body};
  sap_drive_push(model, &at, &model->actuators[id], s, &sink);
}

void sap_transmission_add_force(const sap_kinematics* kin, int32_t id, double s, double* tau) {
  add_actuator(kin, id, s, tau, NULL);
}

void sap_transmission_add_row(const sap_kinematics* kin, int32_t id, double s, sap_rows* rows,
                              int32_t r) {
  const sap_model_actuator* actuator = &kin->dynamics->model->actuators[id];
  if (actuator->transmission == SAP_TRANSMISSION_TENDON) {
    sap_tendon_add_row(kin, actuator->target, s, rows, r);
  } else {
    add_actuator(kin, id, s, sap_rows_at(rows, r), rows);
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
