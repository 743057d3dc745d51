// SPDX-License-Identifier: BSD-3-Clause
// Actuators of adhesion: the force f pulls a body and what touches it together, shared evenly by
// the n contacts of the body and along their normals, whatever the contacts themselves push.
//   J v = mean of the normal velocities,  gamma = -dt f: a box block of one impulse, which R and
//   v_hat do not change
#include "math/vector3.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/actuators.h"
#include "problem/problem_data.h"

static bool is_of(const sap_contact* contact, int32_t body) {
  return contact->body_A == body || contact->body_B == body;
}

static sap_status add_pull(const sap_assembly_call* call, int32_t id, double force,
                           const sap_contact_list* contacts) {
  const sap_dynamics* dynamics = call->start->dynamics;
  const int32_t body = call->assembly->model->actuators[id].target;
  sap_rows* rows = &call->assembly->rows;
  int32_t touching = 0;
  for (int32_t i = 0; i < contacts->count; ++i) {
    touching += is_of(&contacts->contacts[i], body) ? 1 : 0;
  }
  sap_rows_begin(rows, 1);
  for (int32_t i = 0; i < contacts->count; ++i) {
    const sap_contact* contact = &contacts->contacts[i];
    if (is_of(contact, body)) {
      double n[3];
      sap_v3_scale(n, contact->R_WC + 6, 1.0 / (double)touching);
      sap_dynamics_add_wrench_row(dynamics, contact->body_B, contact->point, n, NULL, rows, 0);
      sap_v3_scale(n, n, -1.0);
      sap_dynamics_add_wrench_row(dynamics, contact->body_A, contact->point, n, NULL, rows, 0);
    }
  }
  double w = 0.0;
  const sap_status status = sap_assembly_rows_scale(call, 0, 1, &w);
  if (status != SAP_STATUS_OK || !(w > 0.0)) {
    return status;
  }
  const sap_row_law row = {.set = SAP_SET_BOX,
                           .R = {w},
                           .lower = {-call->dt * force},
                           .upper = {-call->dt * force},
                           .key = sap_assembly_key(SAP_KEY_ADHESION, id, 0, 0)};
  return sap_assembly_add_rows(call, &row);
}

sap_status sap_assembly_add_adhesion(sap_assembly* assembly, const sap_assembly_start* start,
                                     const sap_contact_list* contacts, sap_problem* problem,
                                     sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  int32_t count = 0;
  const int32_t* others = sap_dynamics_other_actuators(start->dynamics, &count);
  for (int32_t n = 0; n < count && contacts->count > 0; ++n) {
    const int32_t id = others[n];
    const sap_model_actuator* a = &model->actuators[id];
    if (a->transmission != SAP_TRANSMISSION_ADHESION ||
        !sap_dynamics_actuator_is_on(start->dynamics, id)) {
      continue;
    }
    const double force =
        a->gear * sap_dynamics_actuator_force(model, id, start->input, 0.0, 0.0).force;
    const sap_status status = force != 0.0 ? add_pull(&call, id, force, contacts) : SAP_STATUS_OK;
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "actuator %d '%s'", id,
                       sap_model_get_name(model, SAP_ELEMENT_ACTUATOR, id));
      return status;
    }
  }
  return SAP_STATUS_OK;
}
