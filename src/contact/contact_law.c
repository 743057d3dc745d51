// SPDX-License-Identifier: BSD-3-Clause
// The contact law: R and v_hat of rows whose impulse is  gamma = P_C(-R^-1 (vc - v_hat)).
//
// w: Delassus scale |W_ii|_F/nrows,  k: stiffness,  tau_d: relaxation time,  mu: friction,
// b: velocity of a belt,  phi0, vn0, vt0: distance and velocities at the start of the step.
//
// 1. End of the step, phi = phi0 + dt vn: gamma_n = (-dt k (phi + tau_d vn))+ where phi0 <= 0.
//   Rn      = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d)))                     castro (29)
//   Rt      = sigma w                                                           castro (30)
//   v_hat_n = -phi0/(dt + tau_d)  where phi0 <= 0                               castro (30)
//             -phi0/dt            where phi0 > 0, but for schemes with `castro`
//   v_hat_t = b
//   A contact ahead (phi0 > 0) is the same law written with depths d = (-phi)+, d0 = (-phi0)+:
//     gamma_n = (dt k d + k tau_d (d - d0))+
//   the elastic force at the end plus the impulse of the damper k tau_d over the change of depth.
//   phi0 > 0 has d0 = 0, so that gamma_n = k (dt + tau_d) d: the R of (29) with another v_hat. Hence
//     no action at a distance  gamma_n = 0 exactly if phi >= 0, for every tau_d
//     continuous               d, d0 are Lipschitz in (phi0, vn), and so is gamma_n: no jump at 0
//     convex                   gamma_n falls as vn rises: -int gamma_n dvn is a convex cost
//     no energy gained         dt k d vn = k d (phi - phi0) <= k (d0^2 - d^2)/2, (d - d0) vn <= 0
//   The near-rigid limit only replaces k by a smaller one, the same on both sides of phi0 = 0.
//   Unilateral rows (limits, cables) have the same law; bilateral ones always tau_d.
//   Where J changes, the row's position at the end gains the curvature e: v_hat_n gains -e/dt.
//   Where J is that of a point within the step, the end moves by J_end v: v_hat loses
//   (J_end - J) v as expected.
//
// 2. Theta point: gamma_n = -dt k (phi^theta + tau_d vn^theta),  gamma_t = -(vt^theta - b)/Rt.
//   phi^theta = phi0 + dt theta (theta_vq vn + (1 - theta_vq) vn0) + theta^2 e
//   v^theta   = theta v + (1 - theta) v0 + 2 theta e/dt
//   c         = dt theta theta_vq + theta tau_d
//   Rn        = 1/(dt k c)
//   v_hat_n   = -(phi0 + (dt theta (1 - theta_vq) + (1 - theta) tau_d) vn0)/c
//   R_t       = Rt/theta
//   v_hat_t   = b - ((1 - theta)/theta) (vt0 - b)
//   theta = theta_vq = 1 is the end of the step. theta = 1/2 is second order, but reverses motion
//   that the step does not resolve. A row is therefore evaluated at the end of the step if it
//     is stiff  dt k (dt + tau_d) w > RESOLVED, which includes the near-rigid limit of (29)
//     is new    unilateral, and open now or one step ago at its present speed
//     sticks    tangents: friction can stop the slip within the step. Rt = sigma w is never
//               resolved.
//   Dry friction of one row has the same impulse either way while it slides; it stays at the end.
//
// 3. Similar and lagged, sapstep/contact.h, at the end of the step:
//   Rn      = max(beta^2/(4 pi^2) w, 1/(dt^2 k))
//   v_hat_n = -phi0/dt
//
// 4. Rigid, at the level of velocities: R = 0 and, with g0 = phi0 + e,  Moreau 1988, Jean 1999
//   contact    g0 <= 0:  v_n >= -e_r min(v_n0, 0) + b_r (-g0)/dt    (Newton's restitution e_r,
//                                                                    Baumgarte 1972)
//              g0 > 0:   v_n >= -e_r v_n0  where e_r > 0 and v_n0 closes the gap within the step
//                        v_n >= -g0/dt     else
//   limit      as a contact with e_r = 0
//   bilateral  v = -b_r g0/dt
//
// 5. Rigid bilateral rows of a compliant scheme:
//   R     = SAP_RIGID_ROW w
//   v_hat = -g0/(dt + tau_d) - e/dt
//   With a recovery speed the first term stays within it, and R grows with the square of the part
//   of that speed which the term takes, up to SAP_GIVING_ROW w: loops that are open, or that
//   nothing can close, give way. Exactly rigid rows would demand any joint speed near singular
//   poses, such as a stretched arm with a welded hand.
//
// 6. Servo, force = offset - kp l - kd dl/dt:
//   end of the step  R     = max(1/(dt (dt kp + kd)), beta^2/(4 pi^2) w)
//                    v_hat = (offset - kp l0)/(dt kp + kd)
//   theta point      c     = dt theta theta_vq kp + theta kd
//                    R     = 1/(dt c)
//                    v_hat = (offset - kp l0 - (dt theta (1 - theta_vq) kp + (1 - theta) kd) dl0)/c
#include "contact/contact_law.h"

#include <float.h>
#include <math.h>

#include "contact/material.h"

static const double FOUR_PI_SQUARED = 39.478417604357434475;  // of the near-rigid limit
// Bound of dt k (dt + tau_d) w, (the step in radians of the contact's vibration)^2 when undamped:
// up to 2 the midpoint rule damps a pure damper's velocity without changing its sign.
static const double RESOLVED = 2.0;
// Slip continues if it is faster than this many times what friction takes from it in a step.
static const double SLIDING = 2.0;

sap_contact_scheme sap_contact_scheme_default(void) {
  return (sap_contact_scheme){.theta = 1.0, .theta_vq = 1.0, .model = SAP_CONTACT_BY_MATERIAL};
}

static double larger_of(double a, double b) {
  return a > b ? a : b;
}

static double near_rigid(const sap_law_settings* s, double w) {
  return s->regularization->beta * s->regularization->beta / FOUR_PI_SQUARED * w;
}

static bool is_castro(const sap_contact_scheme* scheme) {
  return scheme == NULL || scheme->castro || scheme->v0 == NULL;
}

// Time within which the law lets the row's gap close [s].
static double closing_time(const sap_law_settings* s, const sap_compliant_row* row) {
  const bool ahead = row->unilateral && row->g0 > 0.0;
  return ahead && !is_castro(s->scheme) ? s->dt : s->dt + row->relaxation_time;
}

static sap_status check_gap(double phi0, sap_error* error) {
  return isfinite(phi0) ? SAP_STATUS_OK
                        : sap_fail(error, SAP_STATUS_NOT_FINITE, "phi0 = %g must be finite", phi0);
}

// 1. End of the step: Rn, Rt and v_hat_n of a row of the pair's stiffness and relaxation time.
static sap_status find_end_law(const sap_law_settings* s, const sap_material* pair,
                               const sap_compliant_row* row, double R[2], double* v_hat,
                               sap_error* error) {
  SAP_TRY(sap_material_check(pair, error));
  SAP_TRY(sap_contact_check_number("dt", s->dt, true, error));
  SAP_TRY(sap_contact_check_number("w", row->w, true, error));
  SAP_TRY(sap_contact_check_number("beta", s->regularization->beta, false, error));
  SAP_TRY(sap_contact_check_number("sigma", s->regularization->sigma, true, error));
  SAP_TRY(check_gap(row->g0, error));
  const double k = row->stiffness, tau_d = row->relaxation_time;
  const double Rn = larger_of(near_rigid(s, row->w), 1.0 / (s->dt * k * (s->dt + tau_d)));
  const double Rt = s->regularization->sigma * row->w;
  const double bias = -row->g0 / closing_time(s, row);
  if (!isfinite(Rn) || !isfinite(Rt) || !isfinite(bias)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE,
                    "contact: Rn = %g, Rt = %g, v_hat = %g overflow (k = %g, tau_d = %g, w = %g)",
                    Rn, Rt, bias, k, tau_d, row->w);
  }
  if (!(Rn >= DBL_MIN) || !(Rt >= DBL_MIN)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact: Rn = %g, Rt = %g must be > 0: beta = %g, stiffness = %g, sigma = %g",
                    Rn, Rt, s->regularization->beta, k, s->regularization->sigma);
  }
  R[0] = Rt;
  R[1] = Rn;
  *v_hat = bias;
  return SAP_STATUS_OK;
}

sap_status sap_contact_regularize(const sap_material* pair,
                                  const sap_regularization* regularization, double dt, double phi0,
                                  double w, double R[3], double v_hat[3], sap_error* error) {
  SAP_NOT_NULL(error, pair, regularization, R, v_hat);
  const sap_law_settings settings = {.dt = dt, .regularization = regularization};
  const sap_compliant_row normal = {.stiffness = pair->stiffness,
                                    .relaxation_time = pair->relaxation_time,
                                    .g0 = phi0,
                                    .w = w,
                                    .unilateral = true};
  double law[2] = {0.0, 0.0}, bias = 0.0;
  SAP_TRY(find_end_law(&settings, pair, &normal, law, &bias, error));
  R[0] = R[1] = law[0];
  R[2] = law[1];
  v_hat[0] = v_hat[1] = 0.0;
  v_hat[2] = bias;
  return SAP_STATUS_OK;
}

// 2. Theta point.
static bool acts_within(const sap_contact_scheme* scheme) {
  return scheme->theta < 1.0 || scheme->theta_vq < 1.0;
}

bool sap_law_needs_v0(const sap_contact_scheme* scheme, sap_contact_model model) {
  return scheme->rigid || acts_within(scheme) || model != SAP_CONTACT_SAP;
}

// z = dt (dt k + d) w of a row of stiffness k and damping d
static bool is_resolved(double z, double beta) {
  return z <= RESOLVED && z * beta * beta <= FOUR_PI_SQUARED;
}

static bool is_new(const sap_law_settings* s, const sap_compliant_row* row) {
  return row->unilateral && !(row->g0 <= 0.0 && row->g0 - s->dt * row->rate0 <= 0.0);
}

bool sap_law_theta_row(const sap_law_settings* s, const sap_compliant_row* row, double* R,
                       double* v_hat) {
  const double dt = s->dt, theta = s->scheme->theta, theta_vq = s->scheme->theta_vq;
  const double tau_d = row->relaxation_time;
  const double z = dt * row->stiffness * (dt + tau_d) * row->w;
  if (!acts_within(s->scheme) || !is_resolved(z, s->regularization->beta) || is_new(s, row)) {
    return false;
  }
  const double c = theta * (dt * theta_vq + tau_d);
  const double c0 = dt * theta * (1.0 - theta_vq) + (1.0 - theta) * tau_d;
  const double g_theta = row->g0 + theta * (theta + 2.0 * tau_d / dt) * row->curvature;
  *R = 1.0 / (dt * row->stiffness * c);
  *v_hat = -(g_theta + c0 * row->rate0) / c;
  return true;
}

// Moves the tangents of a contact whose normal acts at the theta point there, unless it sticks.
static void move_tangents(const sap_law_settings* s, const sap_law_contact* c,
                          const sap_compliant_row* normal, sap_law_rows* rows) {
  const double theta = s->scheme->theta;
  const double force = -normal->stiffness * (normal->g0 + normal->relaxation_time * c->vc0[2]);
  const double stopped = c->friction * s->dt * fmax(0.0, force) * normal->w;
  double slip_2 = 0.0;
  for (int32_t i = 0; i < c->nrows; ++i) {
    const double slip = i == SAP_NORMAL_ROW ? 0.0 : c->vc0[i] - rows->v_hat[i];
    slip_2 += slip * slip;
  }
  if (!(sqrt(slip_2) > SLIDING * stopped)) {
    rows->v_hat[0] -= c->scales[0] * c->velocity_change[0];
    rows->v_hat[1] -= c->scales[1] * c->velocity_change[1];
    return;
  }
  rows->slip = sqrt(slip_2) / theta;
  for (int32_t i = 0; i < c->nrows; ++i) {
    if (i != SAP_NORMAL_ROW) {
      rows->R[i] /= theta;
      rows->v_hat[i] -= (1.0 - theta) / theta * (c->vc0[i] - rows->v_hat[i]);
    }
  }
}

// 3. Similar and lagged.

// mu at a slip speed: static up to v_s, dynamic from 3 v_s on, a cubic between. A contact without
// friction (condim 1) has no static friction either.
static double friction_at(double mu, double static_mu, double tolerance, double slip) {
  const double s = 0.5 * (slip / tolerance - 1.0);
  if (!(static_mu > mu) || !(mu > 0.0) || s >= 1.0) {
    return mu;
  }
  const double share = s <= 0.0 ? 0.0 : s * s * (3.0 - 2.0 * s);
  return static_mu + share * (mu - static_mu);
}

// n0 of a contact without one from the step before: the law's impulse at the start of the step,
// at most the one that stops v* at the speed where the contact ends.
static double find_new_impulse(const sap_law_contact* c, double Rn, double v_hat) {
  const double d = c->material->dissipation;
  const double end = d * v_hat > 1.0 ? 1.0 / d : v_hat;
  const double impulse = larger_of(0.0, v_hat) * larger_of(0.0, 1.0 - d * c->vc0[2]) / Rn;
  const double enough = larger_of(0.0, end - c->vc_star[2]) / c->w;
  return impulse < enough ? impulse : enough;
}

static sap_status find_potential(const sap_law_settings* s, const sap_law_contact* c,
                                 sap_law_rows* rows, sap_error* error) {
  const sap_material* pair = c->material;
  SAP_TRY(sap_material_check(pair, error));
  SAP_TRY(sap_contact_check_number("w", c->w, true, error));
  SAP_TRY(sap_contact_check_number("beta", s->regularization->beta, false, error));
  SAP_TRY(check_gap(c->phi0, error));
  const double Rn = larger_of(near_rigid(s, c->w), 1.0 / (s->dt * s->dt * pair->stiffness));
  const double v_hat = -c->phi0 / s->dt;
  if (!isfinite(Rn) || !isfinite(v_hat)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "contact: Rn = %g, v_hat = %g overflow (k = %g)",
                    Rn, v_hat, pair->stiffness);
  }
  if (!(Rn >= DBL_MIN)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact: Rn = %g must be > 0: beta = %g, stiffness = %g", Rn,
                    s->regularization->beta, pair->stiffness);
  }
  double slip_2 = 0.0;
  for (int32_t i = 0; i < c->nrows; ++i) {
    const double slip = i == SAP_NORMAL_ROW ? 0.0 : c->vc0[i] - rows->v_hat[i];
    slip_2 += slip * slip;
    rows->R[i] = Rn;
  }
  rows->v_hat[SAP_NORMAL_ROW] = v_hat;
  rows->slip_speed =
      pair->stiction_tolerance > 0.0 ? pair->stiction_tolerance : SAP_STICTION_TOLERANCE;
  rows->friction = friction_at(c->friction, pair->static_friction, rows->slip_speed, sqrt(slip_2));
  rows->new_impulse = find_new_impulse(c, Rn, v_hat);
  return SAP_STATUS_OK;
}

// 4. Rigid: v_hat of a row whose velocity may not be less (bilateral: must be equal).
static double find_rigid_bias(const sap_law_settings* s, const sap_compliant_row* row,
                              double restitution) {
  const double gap = row->g0 + row->curvature;
  const bool open = row->unilateral && gap > 0.0;
  const bool closes = gap + s->dt * row->rate0 <= 0.0;
  if (open && !(restitution > 0.0 && closes)) {
    return -gap / s->dt;
  }
  const double bounce = row->unilateral ? -restitution * fmin(row->rate0, 0.0) : 0.0;
  return open ? bounce : bounce - s->scheme->baumgarte * gap / s->dt;
}

static sap_status find_cone(const sap_law_settings* s, const sap_law_contact* c, sap_law_rows* rows,
                            sap_error* error) {
  sap_compliant_row normal = {.stiffness = c->material->stiffness,
                              .relaxation_time = c->material->relaxation_time,
                              .g0 = c->phi0,
                              .rate0 = c->vc0 != NULL ? c->vc0[SAP_NORMAL_ROW] : 0.0,
                              .w = c->w,
                              .unilateral = true};
  double law[2] = {0.0, 0.0};
  SAP_TRY(find_end_law(s, c->material, &normal, law, &rows->v_hat[SAP_NORMAL_ROW], error));
  for (int32_t i = 0; i < c->nrows; ++i) {
    rows->R[i] = law[i == SAP_NORMAL_ROW];
  }
  normal.g0 += c->gap_change;
  rows->within =
      sap_law_theta_row(s, &normal, &rows->R[SAP_NORMAL_ROW], &rows->v_hat[SAP_NORMAL_ROW]);
  if (rows->within) {
    move_tangents(s, c, &normal, rows);
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < 3; ++i) {
    rows->v_hat[i] -= c->scales[i] * c->velocity_change[i];
  }
  if (s->scheme->rigid) {
    for (int32_t i = 0; i < c->nrows; ++i) {
      rows->R[i] = 0.0;
    }
    rows->v_hat[SAP_NORMAL_ROW] = find_rigid_bias(s, &normal, s->scheme->restitution);
  }
  return SAP_STATUS_OK;
}

sap_status sap_law_contact_rows(const sap_law_settings* settings, const sap_law_contact* contact,
                                sap_law_rows* rows, sap_error* error) {
  const double* belt = contact->surface_velocity;
  *rows = (sap_law_rows){.friction = contact->friction};
  for (int32_t i = 0; i < contact->nrows && i < 4; ++i) {
    if (i != SAP_NORMAL_ROW) {
      rows->v_hat[i] = (0.0 - belt[i < SAP_NORMAL_ROW ? i : i - 1]) * contact->scales[i];
    }
  }
  return contact->model == SAP_CONTACT_SAP ? find_cone(settings, contact, rows, error)
                                           : find_potential(settings, contact, rows, error);
}

static double bound_recovery(const sap_compliant_row* row, double v_hat) {
  const double most = row->recovery_speed > 0.0 ? row->recovery_speed : (double)INFINITY;
  return fmin(row->unilateral ? v_hat : fmax(v_hat, -most), most);
}

sap_status sap_law_row(const sap_law_settings* s, const sap_compliant_row* row, double* R,
                       double* v_hat, sap_error* error) {
  if (!isfinite(row->rate0) || !isfinite(row->curvature)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "rate0 = %g, curvature = %g must be finite",
                    row->rate0, row->curvature);
  }
  if (!(row->recovery_speed >= 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "recovery_speed = %g must be >= 0",
                    row->recovery_speed);
  }
  const sap_material material = {.stiffness = row->stiffness,
                                 .relaxation_time = row->relaxation_time};
  double law[2] = {0.0, 0.0}, bias = 0.0;
  SAP_TRY(find_end_law(s, &material, row, law, &bias, error));
  *R = law[1];
  *v_hat = bound_recovery(row, bias) - row->curvature / s->dt;
  (void)sap_law_theta_row(s, row, R, v_hat);
  if (s->scheme->rigid) {
    *R = 0.0;
    *v_hat = find_rigid_bias(s, row, 0.0);
  }
  return SAP_STATUS_OK;
}

// 6. Servo.
void sap_law_servo_row(const sap_law_settings* s, const sap_law_servo* servo, double* R,
                       double* v_hat) {
  const double dt = s->dt, theta = s->scheme->theta, theta_vq = s->scheme->theta_vq;
  const double kp = servo->kp, kd = servo->kd;
  const double gain = dt * kp + kd;
  if (!acts_within(s->scheme) || !is_resolved(dt * gain * servo->w, s->regularization->beta)) {
    *R = fmax(1.0 / (dt * gain), near_rigid(s, servo->w));
    *v_hat = (servo->offset - kp * servo->length0) / gain;
    return;
  }
  const double c = theta * (dt * theta_vq * kp + kd);
  const double c0 = dt * theta * (1.0 - theta_vq) * kp + (1.0 - theta) * kd;
  *R = 1.0 / (dt * c);
  *v_hat = (servo->offset - kp * servo->length0 - c0 * servo->rate0) / c;
}
