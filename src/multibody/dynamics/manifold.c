// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/manifold.h"

#include <string.h>

#include "math/quaternion.h"

enum { VELOCITY_WORK = 15 };  // instructions per velocity, about

typedef struct integration {
  const sap_model* model;
  const double *q0, *v;
  double dt;
  sap_rotation_memory* memory;
  double* q;
} integration;

// A zero rotation leaves the quaternion bitwise unchanged.
static void integrate_rotation(const double* q0, const double w[3], double dt,
                               sap_rotation_memory* memory, double* q) {
  double r[3];
  sap_v3_scale(r, w, dt);
  if (r[0] == 0.0 && r[1] == 0.0 && r[2] == 0.0) {
    memcpy(q, q0, 4 * sizeof *q);
    return;
  }
  if (memory != NULL && memcmp(memory->q0, q0, sizeof memory->q0) == 0 &&
      memcmp(memory->r, r, sizeof r) == 0) {
    memcpy(q, memory->q, sizeof memory->q);
    return;
  }
  sap_quaternion_integrate(q, q0, r);
  if (memory != NULL) {
    memcpy(memory->q0, q0, sizeof memory->q0);
    memcpy(memory->r, r, sizeof r);
    memcpy(memory->q, q, sizeof memory->q);
  }
}

static void integrate_joints(void* context, int32_t first, int32_t end) {
  const integration* task = context;
  const sap_model* model = task->model;
  const double *q0 = task->q0, *v = task->v, dt = task->dt;
  sap_rotation_memory* memory = task->memory;
  double* q = task->q;
  for (int32_t j = first; j < end; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const double* from = q0 + joint->q_start;
    const double* rate = v + joint->v_start;
    double* to = q + joint->q_start;
    switch (joint->type) {
      case SAP_JOINT_FREE:
        for (int i = 0; i < 3; ++i) {
          to[i] = from[i] + dt * rate[i];
        }
        integrate_rotation(from + 3, rate + 3, dt, memory != NULL ? memory + j : NULL, to + 3);
        break;
      case SAP_JOINT_BALL:
        integrate_rotation(from, rate, dt, memory != NULL ? memory + j : NULL, to);
        break;
      case SAP_JOINT_HINGE:
      case SAP_JOINT_SLIDE:
        to[0] = from[0] + dt * rate[0];
        break;
    }
  }
}

void sap_manifold_integrate(const sap_model* model, const double* q0, const double* v, double dt,
                            double* q) {
  integration task = {model, q0, v, dt, NULL, q};
  integrate_joints(&task, 0, model->sizes.joints);
}

void sap_manifold_integrate_threads(const sap_model* model, sap_threads* threads, const double* q0,
                                    const double* v, double dt, sap_rotation_memory* memory,
                                    double* q) {
  integration task = {model, q0, v, dt, memory, q};
  sap_threads_run_parts(threads, model->sizes.joints, (int64_t)VELOCITY_WORK * model->sizes.nv,
                        integrate_joints, &task);
}

// log(q0^-1 q1)
static void rotation_difference(const double* q0, const double* q1, double* delta) {
  double inverse[4], relative[4];
  sap_quaternion_conjugate(inverse, q0);
  sap_quaternion_multiply(relative, inverse, q1);
  (void)sap_quaternion_normalize(relative);
  sap_quaternion_log(delta, relative);
}

void sap_manifold_difference(const sap_model* model, const double* q0, const double* q1,
                             double* delta) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const double* from = q0 + joint->q_start;
    const double* to = q1 + joint->q_start;
    double* out = delta + joint->v_start;
    switch (joint->type) {
      case SAP_JOINT_FREE:
        sap_v3_sub(out, to, from);
        rotation_difference(from + 3, to + 3, out + 3);
        break;
      case SAP_JOINT_BALL:
        rotation_difference(from, to, out);
        break;
      case SAP_JOINT_HINGE:
      case SAP_JOINT_SLIDE:
        out[0] = to[0] - from[0];
        break;
    }
  }
}
