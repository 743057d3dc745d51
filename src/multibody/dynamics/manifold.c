// SPDX-License-Identifier: BSD-3-Clause
// Moving on the manifold of configurations, q (+) dt v, and back.
#include <string.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics_data.h"

enum { VELOCITY_WORK = 15 };  // instructions, about

typedef struct moving {
  const sap_model* model;
  const double *q0, *v;
  double dt;
  sap_turn* known;
  double* q;
} moving;

// A rotation that does not turn leaves the quaternion bitwise as it is.
static void integrate_rotation(const double* q0, const double w[3], double dt, sap_turn* known,
                               double* q) {
  double r[3];
  sap_v3_scale(r, w, dt);
  if (r[0] == 0.0 && r[1] == 0.0 && r[2] == 0.0) {
    memcpy(q, q0, 4 * sizeof *q);
    return;
  }
  if (known != NULL && memcmp(known->q0, q0, sizeof known->q0) == 0 &&
      memcmp(known->r, r, sizeof r) == 0) {
    memcpy(q, known->q, sizeof known->q);
    return;
  }
  sap_quaternion_integrate(q, q0, r);
  if (known != NULL) {
    memcpy(known->q0, q0, sizeof known->q0);
    memcpy(known->r, r, sizeof r);
    memcpy(known->q, q, sizeof known->q);
  }
}

static void integrate(void* context, int32_t first, int32_t end) {
  const moving* of = context;
  const sap_model* model = of->model;
  const double *q0 = of->q0, *v = of->v, dt = of->dt;
  sap_turn* known = of->known;
  double* q = of->q;
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
        integrate_rotation(from + 3, rate + 3, dt, known != NULL ? known + j : NULL, to + 3);
        break;
      case SAP_JOINT_BALL:
        integrate_rotation(from, rate, dt, known != NULL ? known + j : NULL, to);
        break;
      case SAP_JOINT_HINGE:
      case SAP_JOINT_SLIDE:
        to[0] = from[0] + dt * rate[0];
        break;
    }
  }
}

void sap_dynamics_integrate(const sap_model* model, const double* q0, const double* v, double dt,
                            double* q) {
  moving of = {model, q0, v, dt, NULL, q};
  integrate(&of, 0, model->sizes.joints);
}

void sap_dynamics_move(const sap_dynamics* d, const double* q0, const double* v, double dt,
                       sap_turn* known, double* q) {
  moving of = {d->model, q0, v, dt, known, q};
  sap_threads_run_parts(d->threads, d->model->sizes.joints,
                        (int64_t)VELOCITY_WORK * d->model->sizes.nv, integrate, &of);
}

// log(q0^-1 q1)
static void rotation_difference(const double* q0, const double* q1, double* delta) {
  double inverse[4], relative[4];
  sap_quaternion_conjugate(inverse, q0);
  sap_quaternion_multiply(relative, inverse, q1);
  (void)sap_quaternion_normalize(relative);
  sap_quaternion_log(delta, relative);
}

void sap_dynamics_difference(const sap_model* model, const double* q0, const double* q1,
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
