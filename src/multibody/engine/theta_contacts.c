// SPDX-License-Identifier: BSD-3-Clause
// How the contacts of a step move: those evaluated at q0 with q0, and those at q^theta with q^theta,
// whose gap is that at q0 and whose velocity_change depends on both, see sap_contact_block_move.
#include <string.h>

#include "integrators/stepper.h"
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
  sap_derivatives_note(!vary->exact, call->out->notes, "by differences: contact geometry");
  sap_derivatives_note(sap_v3_dot(contact->ahead_A, contact->ahead_A) > 0.0 ||
                           sap_v3_dot(contact->ahead_B, contact->ahead_B) > 0.0,
                       call->out->notes, "held: place of contacts ahead");
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

// Sets w->by_change. u0, u: velocities of B relative to A at q0 and q^theta. The component of u0
// along the turned tangent is t . u0 - a b/D, a = n0 . t, b = (n + n0) . u0, D = 1 + n . n0.
static void find_by_change(const sap_slopes_call* call, const double n0[3], const double u0[3],
                           const double u[3]) {
  static const double zero[3] = {0.0, 0.0, 0.0};
  sap_contact_slopes* w = call->w;
  const double ratio = (1.0 - call->step->stage_theta) / call->step->stage_theta;
  const double *R = w->R, D = 1.0 + sap_v3_dot(R + 6, n0);
  double sum[3];
  sap_v3_add(sum, R + 6, n0);
  for (int32_t j = 0; j < 3 * w->count; ++j) {
    const int32_t k = j / 3, kind = j % 3;  // by q0, q^theta, v0
    const double* du0 = kind == 1 ? zero : w->rates[k][kind == 0 ? 0 : 1];
    const double* du = kind == 0 ? zero : w->rates[k][kind == 1 ? 2 : 3];
    double dn0[3], dR[9], dsum[3];
    sap_v3_cross(dn0, kind == 0 ? w->rho0[k] : zero, n0);
    for (int i = 0; i < 9; i += 3) {
      sap_v3_cross(dR + i, kind == 1 ? w->rho[k] : zero, R + i);
    }
    sap_v3_add(dsum, dR + 6, dn0);
    const double b = sap_v3_dot(sum, u0), db = sap_v3_dot(dsum, u0) + sap_v3_dot(sum, du0);
    const double dD = sap_v3_dot(dR + 6, n0) + sap_v3_dot(R + 6, dn0);
    for (int i = 0; i < 3; ++i) {
      const double *t = R + 3 * i, *dt = dR + 3 * i, a = sap_v3_dot(n0, t);
      const double da = sap_v3_dot(dn0, t) + sap_v3_dot(n0, dt);
      const double along =
          sap_v3_dot(dt, u0) + sap_v3_dot(t, du0) - (da * b + a * db) / D + a * b * dD / (D * D);
      const double before = i == SAP_NORMAL_ROW ? sap_v3_dot(dn0, u0) + sap_v3_dot(n0, du0) : along;
      w->by_change[k][kind][i] = ratio * (sap_v3_dot(dt, u) + sap_v3_dot(t, du) - before);
    }
  }
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
  sap_derivatives_note(call->step->stage_theta != 0.5, call->out->notes, "held: curvature of gaps");
  sap_contact_slopes_rates(w, guess, 2, u);
  find_by_change(call, start->R_WC + 6, u0, u);
  return SAP_STATUS_OK;
}
