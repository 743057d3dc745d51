// SPDX-License-Identifier: BSD-3-Clause
// Physical laws evaluated within the step, at the theta point of the scheme, instead of at its end:
//   phi^theta = phi0 + dt theta (theta_vq vn + (1 - theta_vq) vn0),  v^theta = theta v + (1 -
//   theta) v0 gamma_n = -dt k (phi^theta + tau_d vn^theta)  is  gamma_n = -(vn - v_hat_n)/Rn  with
//   c = dt theta theta_vq + theta tau_d,  Rn = 1/(dt k c),
//   v_hat_n = -(phi0 + (dt theta (1 - theta_vq) + (1 - theta) tau_d) vn0)/c
//   Where J changes, phi^theta gains theta^2 e and vn^theta 2 theta e/dt, e the curvature's share
//   of phi at q0 (+) dt v0; at the end of the step v_hat_n gains -e/dt. tangent: y_t =
//   -(vt^theta - b)/Rt, b a belt's velocity:  R = Rt/theta,  v_hat_t = b - ((1 - theta)/theta)
//   (vt0 - b)
// theta = theta_vq = 1 is castro's end of the step, (29)-(30). theta = 1/2 is second order, but it
// reverses what the step does not resolve. A row is therefore evaluated at the end where it
//   is stiff      dt k (dt + tau_d) w > RESOLVED, which includes the near-rigid limit of (29)
//   is new        unilateral and open now, or one step ago at its present speed
//   sticks        tangent: friction can stop the slip within the step. Rt = sigma w is never
//   resolved.
// What is evaluated at the end moves there by J_end v, where J may be that of the theta point:
// v_hat loses (J_end - J) v as expected (multibody/engine/multibody_point.c). Dry friction of one
// row has the same impulse either way while it slides; it stays at the end.
#include <math.h>

#include "math/vector3.h"
#include "problem/problem_data.h"

#define FOUR_PI_SQUARED 39.478417604357434475  // of the near-rigid limit, castro (29)
// Of dt k (dt + tau_d) w, (the step in radians of the contact's vibration)^2 when nothing is
// damped: up to 2 the midpoint rule damps a pure damper's velocity without changing its sign.
#define RESOLVED 2.0
// Slip goes on if it is faster than so many times what friction takes from it in a step.
#define SLIDING 2.0

static bool evaluates_within(const sap_problem* p) {
  return p->theta < 1.0 || p->theta_vq < 1.0;
}

// z = dt (dt k + d) w of a row of stiffness k and damping d
static bool is_resolved(double z, double beta) {
  return z <= RESOLVED && z * beta * beta <= FOUR_PI_SQUARED;
}

static bool is_new(const sap_problem* p, const sap_soft_row* row) {
  return row->unilateral && !(row->g0 <= 0.0 && row->g0 - p->dt * row->rate0 <= 0.0);
}

bool sap_stage_normal(const sap_problem* p, const sap_soft_row* row, double beta, double* R,
                      double* v_hat) {
  const double z = p->dt * row->stiffness * (p->dt + row->relaxation_time) * row->w;
  if (!evaluates_within(p) || !is_resolved(z, beta) || is_new(p, row)) {
    return false;
  }
  const double c = p->theta * (p->dt * p->theta_vq + row->relaxation_time);
  const double c0 =
      p->dt * p->theta * (1.0 - p->theta_vq) + (1.0 - p->theta) * row->relaxation_time;
  *R = 1.0 / (p->dt * row->stiffness * c);
  const double g_theta =
      row->g0 + p->theta * (p->theta + 2.0 * row->relaxation_time / p->dt) * row->curvature;
  *v_hat = -(g_theta + c0 * row->rate0) / c;
  return true;
}

void sap_stage_servo_row(const sap_problem* p, const sap_stage_servo* s, double beta, double* R,
                         double* v_hat) {
  if (!evaluates_within(p) || !is_resolved(p->dt * (p->dt * s->kp + s->kd) * s->w, beta)) {
    return;
  }
  const double c = p->theta * (p->dt * p->theta_vq * s->kp + s->kd);
  const double c0 = p->dt * p->theta * (1.0 - p->theta_vq) * s->kp + (1.0 - p->theta) * s->kd;
  *R = 1.0 / (p->dt * c);
  *v_hat = (s->offset - s->kp * s->length0 - c0 * s->rate0) / c;
}

static void change_tangents(const sap_stage_cone* cone, double* v_hat) {
  v_hat[0] -= cone->velocity_change[0];
  v_hat[1] -= cone->velocity_change[1];
}

bool sap_stage_contact(const sap_problem* p, const sap_stage_cone* cone, double* R, double* v_hat,
                       double* slip) {
  const sap_soft_row* normal = &cone->normal;
  if (!sap_stage_normal(p, normal, cone->beta, &R[2], &v_hat[2])) {
    change_tangents(cone, v_hat);
    v_hat[2] -= cone->velocity_change[2];
    return false;
  }
  const double force = -normal->stiffness * (normal->g0 + normal->relaxation_time * cone->vc0[2]);
  const double stopped = cone->friction * p->dt * fmax(0.0, force) * normal->w;
  double slip_2 = 0.0;
  for (int32_t i = 0; i < cone->nrows; ++i) {
    const double slip_i = i == 2 ? 0.0 : cone->vc0[i] - v_hat[i];
    slip_2 += slip_i * slip_i;
  }
  *slip = 0.0;
  if (sqrt(slip_2) > SLIDING * stopped) {
    *slip = sqrt(slip_2) / p->theta;
    for (int32_t i = 0; i < cone->nrows; ++i) {
      if (i != 2) {
        R[i] /= p->theta;
        v_hat[i] -= (1.0 - p->theta) / p->theta * (cone->vc0[i] - v_hat[i]);
      }
    }
  } else {
    change_tangents(cone, v_hat);
  }
  return true;
}

// velocity += J v of three rows.
static void multiply_three(int32_t n, const double* J, const double* v, double velocity[3]) {
  double x = velocity[0], y = velocity[1], z = velocity[2];
  for (int32_t j = 0; j < n; ++j, J += 3) {
    x += J[0] * v[j];
    y += J[1] * v[j];
    z += J[2] * v[j];
  }
  sap_v3_set(velocity, x, y, z);
}

static void multiply(const sap_problem* p, const sap_block* b, const double* v, double* velocity) {
  for (int32_t r = 0; r < b->nrows; ++r) {
    velocity[r] = 0.0;
  }
  for (int32_t t = 0; v != NULL && t < b->ntrees; ++t) {
    const double* vt = v + p->tree_start[b->trees[t]];
    const double* J = b->jacobians[t];
    if (b->nrows == 3) {
      multiply_three(p->tree_size[b->trees[t]], J, vt, velocity);
      continue;
    }
    for (int32_t j = 0; j < p->tree_size[b->trees[t]]; ++j) {
      for (int32_t r = 0; r < b->nrows; ++r) {
        velocity[r] += J[(size_t)j * (size_t)b->nrows + (size_t)r] * vt[j];
      }
    }
  }
}

bool sap_stage_needs_start(const sap_problem* p) {
  return p->rigid || evaluates_within(p);
}

void sap_stage_velocity(const sap_problem* p, const sap_block* b, double* velocity) {
  multiply(p, b, p->has_v0 ? p->v0 : NULL, velocity);
}

void sap_stage_free_velocity(const sap_problem* p, const sap_block* b, double* velocity) {
  multiply(p, b, p->v_star, velocity);
}

sap_status sap_problem_set_stage(sap_problem* p, double theta, double theta_vq, const double* v0,
                                 sap_error* error) {
  if (p == NULL || v0 == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_stage: %s is NULL",
                    p == NULL ? "problem" : "v0");
  }
  if (!(theta >= 0.5 && theta <= 1.0 && theta_vq >= 0.5 && theta_vq <= 1.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "theta = %g, theta_vq = %g: constraints are evaluated at both in [0.5, 1]",
                    theta, theta_vq);
  }
  const sap_status status = sap_problem_keep_v0(p, v0, error);
  if (status == SAP_STATUS_OK) {
    p->theta = theta;
    p->theta_vq = theta_vq;
    p->rigid = false;
  }
  return status;
}

static double bounded(const sap_soft_row* row, double v_hat) {
  const double most = row->recovery_speed > 0.0 ? row->recovery_speed : (double)INFINITY;
  return fmin(row->unilateral ? v_hat : fmax(v_hat, -most), most);
}

sap_status sap_problem_soften_row(const sap_problem* p, const sap_regularization* regularization,
                                  const sap_soft_row* row, double* R, double* v_hat,
                                  sap_error* error) {
  if (p == NULL || regularization == NULL || row == NULL || R == NULL || v_hat == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_soften_row: an argument is NULL");
  }
  const sap_material material = {.stiffness = row->stiffness,
                                 .relaxation_time = row->relaxation_time};
  if (!isfinite(row->rate0) || !isfinite(row->curvature)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "rate0 = %g, curvature = %g must be finite",
                    row->rate0, row->curvature);
  }
  if (!(row->recovery_speed >= 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "recovery_speed = %g must be >= 0",
                    row->recovery_speed);
  }
  double R3[3], v_hat3[3];
  const sap_status status =
      sap_contact_regularize(&material, regularization, p->dt, row->g0, row->w, R3, v_hat3, error);
  if (status == SAP_STATUS_OK) {
    v_hat3[2] = bounded(row, v_hat3[2]) - row->curvature / p->dt;
    (void)sap_stage_normal(p, row, regularization->beta, &R3[2], &v_hat3[2]);
    sap_rigid_row(p, row, &R3[2], &v_hat3[2]);
    *R = R3[2];
    *v_hat = v_hat3[2];
  }
  return status;
}
