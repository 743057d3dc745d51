// SPDX-License-Identifier: BSD-3-Clause
// What a joint transmits: what the bodies behind it need in order to move as they did in the step,
// less what contacts, connects, welds and distances gave them. Impulses are those of the step, the
// rest is taken at its end: to first order in dt.
#include <string.h>

#include "core/error.h"
#include "math/quaternion.h"
#include "multibody/dynamics/fluid.h"
#include "multibody/dynamics/subtree.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

typedef struct reaction {
  const sap_model* model;
  const sap_dynamics* dynamics;
  int32_t top;    // the joint's body
  double p_W[3];  // the joint's anchor
  double *force, *moment;
} reaction;

// NULL, or what acts on bodies in ways that are not taken apart here.
static const char* beyond(const sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  if (model->sizes.springs > 0 || model->sizes.bushings > 0) {
    return "springs between bodies";
  }
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    if (model->tendons[t].npoints > 0) {
      return "tendons through points";
    }
  }
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_transmission transmission = model->actuators[i].transmission;
    if (transmission == SAP_TRANSMISSION_SLIDER_CRANK || transmission == SAP_TRANSMISSION_SITE) {
      return "actuators on sites";
    }
    if (transmission == SAP_TRANSMISSION_ADHESION) {
      return "adhesion";
    }
  }
  return sap_dynamics_has_fluid(multibody->dynamics) ? "a medium" : NULL;
}

// A force at a point and a moment that `body` has from elsewhere.
static void take(reaction* r, int32_t body, const double at[3], const double force[3],
                 const double moment[3], double sign) {
  double arm[3], turning[3];
  if (!sap_model_is_below(r->model, body, r->top)) {
    return;
  }
  sap_v3_sub(arm, at, r->p_W);
  sap_v3_cross(turning, arm, force);
  sap_v3_add_scaled(r->force, force, -sign);
  sap_v3_add_scaled(r->moment, turning, -sign);
  sap_v3_add_scaled(r->moment, moment, -sign);
}

static void take_contact(reaction* r, const sap_contact* contact, double dt) {
  const double* g = contact->gamma;
  const double rows[2][3] = {{g[0] / dt, g[1] / dt, g[2] / dt}, {g[4] / dt, g[5] / dt, g[3] / dt}};
  double force[3], moment[3];
  sap_m3_mul_v3(force, contact->R_WC, rows[0]);
  sap_m3_mul_v3(moment, contact->R_WC, rows[1]);
  take(r, contact->body_B, contact->point, force, moment, 1.0);
  take(r, contact->body_A, contact->point, force, moment, -1.0);
}

static void take_equality(reaction* r, const sap_equality_def* e, const double rows[6]) {
  double p[2][3], force[3], moment[3] = {0.0, 0.0, 0.0};
  if (e->type == SAP_EQUALITY_JOINT || e->type == SAP_EQUALITY_TENDON) {
    return;  // of fixed tendons: efforts on joints, which transmit them
  }
  sap_dynamics_point(r->dynamics, e->a, e->anchor_A, p[0]);
  sap_dynamics_point(r->dynamics, e->b, e->anchor_B, p[1]);
  sap_v3_copy(force, rows);
  if (e->type == SAP_EQUALITY_DISTANCE) {
    double u[3];
    sap_v3_sub(u, p[1], p[0]);
    const double length = sap_v3_norm(u);
    sap_v3_scale(force, u, length > 0.0 ? rows[0] / length : 0.0);
  }
  if (e->type == SAP_EQUALITY_WELD) {
    double q_WD[4];
    sap_quaternion_multiply(q_WD, sap_dynamics_q_WB(r->dynamics) + 4 * (size_t)e->a, e->q_AB);
    sap_quaternion_rotate(moment, q_WD, rows + 3);
    sap_v3_scale(moment, moment, e->torque_scale);
  }
  take(r, e->b, p[1], force, moment, 1.0);
  take(r, e->a, p[0], force, moment, -1.0);
}

static sap_status check(const sap_multibody* multibody, const sap_state* end, int32_t joint,
                        sap_error* error) {
  const sap_model* model = multibody->model;
  if (joint < 0 || joint >= model->sizes.joints) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "joint = %d must be 0 to %d", joint,
                    model->sizes.joints - 1);
  }
  if (end->nq != model->sizes.nq || end->nv != model->sizes.nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "the state has nq = %d, nv = %d, the model %d, %d",
                    end->nq, end->nv, model->sizes.nq, model->sizes.nv);
  }
  const char* other = beyond(multibody);
  return other == NULL ? SAP_STATUS_OK
                       : sap_fail(error, SAP_STATUS_UNSUPPORTED,
                                  "reactions of joints in models with %s are not supported", other);
}

static void find(sap_multibody* multibody, const sap_step_report* report, const sap_state* end,
                 const double* acceleration, reaction* r) {
  const double dt = sap_problem_dt(report->problem);
  sap_dynamics* dynamics = sap_multibody_at(multibody, end->q);
  r->dynamics = dynamics;
  sap_dynamics_subtree_needs(dynamics, end->v, acceleration, r->top, r->p_W, r->force, r->moment);
  for (int32_t i = 0; i < sap_multibody_contact_count(multibody); ++i) {
    take_contact(r, &sap_multibody_contacts(multibody)[i], dt);
  }
  for (int32_t e = 0; e < r->model->sizes.equalities; ++e) {
    double rows[6];
    if (sap_multibody_equality_force(multibody, report, e, rows, NULL) == SAP_STATUS_OK) {
      take_equality(r, &r->model->equalities[e], rows);
    }
  }
}

sap_status sap_multibody_joint_reaction(sap_multibody* multibody, const sap_step_report* report,
                                        const sap_state* end, int32_t joint, double force[3],
                                        double moment[3], sap_error* error) {
  if (multibody == NULL || report == NULL || end == NULL || force == NULL || moment == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody, report, state or output is NULL");
  }
  sap_status status = check(multibody, end, joint, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_collect(multibody, report, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_model* model = multibody->model;
  const sap_model_joint_data* data = &model->joints[joint];
  reaction r = {.model = model, .top = data->body, .force = force, .moment = moment};
  memset(force, 0, 3 * sizeof *force);
  memset(moment, 0, 3 * sizeof *moment);
  if (data->type == SAP_JOINT_FREE) {
    return SAP_STATUS_OK;  // holds nothing
  }
  status = sap_multibody_accelerations(multibody, report, end->v, multibody->reaction, error);
  if (status == SAP_STATUS_OK) {
    sap_dynamics_point(sap_multibody_at(multibody, end->q), data->body, data->p_BJ, r.p_W);
    find(multibody, report, end, multibody->reaction, &r);
  }
  return status;
}
