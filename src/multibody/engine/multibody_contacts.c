// SPDX-License-Identifier: BSD-3-Clause
// Contacts of the built-in multibody engine: found, filtered by what is locked or switched off, and
// filled from a step's solution.
#include "core/memory.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"
#include "problem/problem_data.h"

void sap_multibody_find_carriers(sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  const bool* locked = multibody->system.locked;
  for (int32_t n = 1; n < model->sizes.bodies; ++n) {
    const int32_t b = model->body_order[n];
    const sap_model_body* body = &model->bodies[b];
    bool moves = false;
    for (int32_t i = body->first_dof; i < body->first_dof + body->ndofs; ++i) {
      moves = moves || !locked[i];
    }
    multibody->carrier[b] = moves ? b : multibody->carrier[body->parent];
  }
}

sap_status sap_multibody_find_contacts(sap_multibody* multibody, const double* q, double dt,
                                       bool ahead, sap_error* error) {
  const sap_dynamics* dynamics = sap_multibody_at(multibody, q);
  const sap_collision_query query = {
      .p_WB = sap_dynamics_p_WB(dynamics),
      .R_WB = sap_dynamics_R_WB(dynamics),
      .remember = dt > 0.0,
      .dt = dt,
      .p_next = ahead ? multibody->poses : NULL,
      .R_next = multibody->poses + 3 * multibody->model->sizes.bodies};
  const sap_contact* found = NULL;
  int32_t count = 0;
  sap_status status = sap_collision_detect(multibody->collision, &query, &found, &count, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&multibody->contacts, &multibody->contact_capacity, count, error);
  }
  if (status == SAP_STATUS_OK) {
    multibody->contact_count = 0;
    for (int32_t i = 0; i < count; ++i) {
      if (multibody->carrier[found[i].body_A] != multibody->carrier[found[i].body_B] &&
          sap_multibody_touches(multibody, found[i].shape_A, found[i].shape_B)) {
        multibody->contacts[multibody->contact_count++] = found[i];
      }
    }
  }
  return status;
}

int32_t sap_multibody_contact_count(const sap_multibody* multibody) {
  return multibody == NULL ? 0 : multibody->contact_count;
}

const sap_contact* sap_multibody_contacts(const sap_multibody* multibody) {
  return multibody == NULL ? NULL : multibody->contacts;
}

sap_status sap_multibody_collect(sap_multibody* multibody, const sap_step_report* report,
                                 sap_error* error) {
  if (multibody == NULL || report == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL",
                    multibody == NULL ? "multibody" : "report");
  }
  if (multibody->contact_count == 0) {
    return SAP_STATUS_OK;
  }
  if (report->solution == NULL || report->problem == NULL ||
      sap_problem_block_count(report->problem) < multibody->contact_count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "the report is not of the step that found these %d contacts",
                    multibody->contact_count);
  }
  const sap_evaluation_point* point = &multibody->point;
  // Contacts were the first blocks to be added: block i is contact i.
  for (int32_t i = 0; i < multibody->contact_count; ++i) {
    sap_block block;
    int32_t row = 0;
    const sap_status status = sap_problem_block(report->problem, i, &block, &row, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    sap_contact* contact = &multibody->contacts[i];
    if (!sap_assembly_collect_contact(&block, report->solution->vc + row,
                                      report->solution->gamma + row, contact)) {
      const bool within = i < point->count && point->within[i];
      const double* q = within ? point->q : multibody->start.q0;
      sap_assembly_contact_velocity(multibody->assembly, sap_multibody_at(multibody, q),
                                    report->solution->v, contact);
    }
    contact->vc[0] += contact->surface_velocity[0];
    contact->vc[1] += contact->surface_velocity[1];
    contact->vc[3] += contact->condim > 3 ? contact->surface_velocity[2] : 0.0;
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_detect(sap_multibody* multibody, const double* q, sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  const sap_status status = sap_check_numbers("q", q, multibody->model->sizes.nq, error);
  multibody->detected = false;
  return status == SAP_STATUS_OK ? sap_multibody_find_contacts(multibody, q, 0.0, false, error)
                                 : status;
}
