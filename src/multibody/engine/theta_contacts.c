// SPDX-License-Identifier: BSD-3-Clause
// How the contacts of a step move: those evaluated at q0 with q0, and those at q^theta with q^theta,
// whose gap is that at q0 and whose velocity_change depends on both, see sap_contact_block_move.
#include <string.h>

#include "integrators/stepper.h"
#include "math/quaternion.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"

static sap_status find_variation(const sap_slopes_call* call, const sap_contact* contact,
                                 const sap_kinematics* kin, sap_contact_variation* vary,
                                 sap_error* error) {
  const sap_model* model = call->multibody->model;
  const bool patch = contact->patch > 0;
  SAP_FAIL_IF(patch || !sap_collision_vary(call->multibody->collision, contact, kin->p_WB,
                                           kin->R_WB, &call->w->moved, vary),
              error, SAP_STATUS_UNSUPPORTED,
              "derivatives of a contact %s of shapes %d '%s' and %d '%s'",
              patch ? "in a patch" : "whose features change", contact->shape_A,
              sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_A), contact->shape_B,
              sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_B));
  if (!vary->exact) {
    sap_derivatives_note(call->out->notes, "by differences: contact geometry");
  }
  if (sap_v3_dot(contact->ahead_A, contact->ahead_A) > 0.0 ||
      sap_v3_dot(contact->ahead_B, contact->ahead_B) > 0.0) {
    sap_derivatives_note(call->out->notes, "held: place of contacts ahead");
  }
  return SAP_STATUS_OK;
}

// Returns the contact at q0 of one that is evaluated at q^theta, with its change; else NULL.
static const sap_contact* find_start(const sap_multibody* multibody, const sap_contact* contact,
                                     const double** change) {
  static const double zero[4] = {0.0, 0.0, 0.0, 0.0};
  const sap_evaluation_point* point = &multibody->point;
  int32_t i = (int32_t)(contact - multibody->contacts);
  *change = zero;
  if (i >= point->count || !point->within[i]) {
    return NULL;
  }
  while (sap_contact_is_before(&point->contacts[i], contact)) {
    ++i;
  }
  *change = point->change + 4 * (size_t)i;
  return &point->contacts[i];
}

// Sets velocity_change of the contact turned by `turn` about p.
static sap_status find_change(const sap_slopes_call* call, const double turn[3], const double u[3],
                              sap_contact_move* move, double out[3], sap_error* error) {
  double q[4], T[9];
  sap_contact_block block;
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(T, q);
  sap_m3_mul(move->R_WC_theta, T, call->w->R);
  for (int i = 0; i < 3; ++i) {
    move->velocity_theta[i] = sap_v3_dot(move->R_WC_theta + 3 * i, u);
  }
  SAP_TRY(sap_contact_block_move(call->step, move, &block, error));
  sap_v3_copy(out, block.velocity_change);
  return SAP_STATUS_OK;
}

// Sets w->by_change by differences of a function of few vectors. u0, u: velocities of B relative to
// A at q0 and q^theta.
static sap_status find_by_change(const sap_slopes_call* call, const double n0[3],
                                 const double u0[3], const double u[3], sap_error* error) {
  sap_contact_slopes* w = call->w;
  for (int32_t j = 0; j < 3 * w->count; ++j) {
    const int32_t k = j / 3, kind = j % 3;  // by q0, q^theta, v0
    double out[2][3], *rates[4];
    for (int i = 0; i < 4; ++i) {
      rates[i] = w->rates[k][i];
    }
    for (int side = 0; side < 2; ++side) {
      const double step = side == 0 ? -SAP_LAW_STEP : SAP_LAW_STEP;
      double turn[3], tilt[3], moved[3];
      sap_contact_move move = {.phi0 = 0.0};
      sap_v3_cross(tilt, w->rho0[k], n0);
      sap_v3_scale(turn, w->rho[k], kind == 1 ? step : 0.0);
      sap_v3_copy(move.normal0, n0);
      sap_v3_add_scaled(move.normal0, tilt, kind == 0 ? step : 0.0);
      sap_v3_copy(move.velocity0, u0);
      sap_v3_add_scaled(move.velocity0, rates[kind == 0 ? 0 : 1], kind == 1 ? 0.0 : step);
      sap_v3_copy(moved, u);
      sap_v3_add_scaled(moved, rates[kind == 1 ? 2 : 3], kind == 0 ? 0.0 : step);
      SAP_TRY(find_change(call, turn, moved, &move, out[side], error));
    }
    for (int i = 0; i < 3; ++i) {
      w->by_change[k][kind][i] = (out[1][i] - out[0][i]) / (2.0 * SAP_LAW_STEP);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_slopes_find_contact(sap_slopes_call* call, const sap_contact* contact,
                                   sap_contact* at, const double** change, sap_error* error) {
  sap_contact_slopes* w = call->w;
  const sap_contact* start = find_start(call->multibody, contact, change);
  const sap_kinematics* kin = start != NULL ? call->kin_theta : call->kin;
  const double* guess = call->step->v_guess != NULL ? call->step->v_guess : call->out->v;
  double u0[3], u[3];
  sap_contact_variation vary;
  call->within = start != NULL;
  *at = *contact;
  if (start != NULL) {
    double way[SAP_CONE_ROWS_MAX];
    SAP_TRY(find_variation(call, start, call->kin, &vary, error));
    sap_contact_slopes_set(w, call->kin, start, &vary, true);
    sap_contact_slopes_rates(w, guess, 0, u0);
    memcpy(w->dphi0, w->dphi, (size_t)w->count * sizeof *w->dphi);
    memcpy(w->rho0, w->rho, (size_t)w->count * sizeof *w->rho);
    sap_slopes_multiply_rows(call, call->multibody->point.moved, way);
    at->phi = at->law_phi += (*change)[3] + way[SAP_NORMAL_ROW];
  }
  SAP_TRY(find_variation(call, at, kin, &vary, error));
  sap_contact_slopes_set(w, kin, at, &vary, start != NULL || call->out->lambda == NULL);
  if (start == NULL) {
    return SAP_STATUS_OK;
  }
  if (call->step->stage_theta != 0.5) {
    sap_derivatives_note(call->out->notes, "held: curvature of gaps");
  }
  sap_contact_slopes_rates(w, guess, 2, u);
  return find_by_change(call, start->R_WC + 6, u0, u, error);
}
