// SPDX-License-Identifier: BSD-3-Clause
// Contacts of the built-in engine: found, filtered by locks and switches, and filled from a step's
// solution.
#include <string.h>

#include "contact/contact_law.h"
#include "core/memory.h"
#include "math/quaternion.h"
#include "math/vector3.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/actuators.h"
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

static bool is_on(const sap_multibody* multibody, const sap_contact* contact) {
  return multibody->carrier[contact->body_A] != multibody->carrier[contact->body_B] &&
         multibody->shape_on[contact->shape_A] && multibody->shape_on[contact->shape_B];
}

sap_status sap_multibody_find_contacts(sap_multibody* multibody, const sap_kinematics* kin,
                                       double dt, const double* v, const double* v0,
                                       sap_error* error) {
  const sap_collision_query query = {.p_WB = kin->p_WB,
                                     .R_WB = kin->R_WB,
                                     .remember = dt > 0.0,
                                     .V_WB = v != NULL ? multibody->velocities[0] : NULL,
                                     .dt = dt,
                                     .V0_WB = v0 != NULL ? multibody->velocities0[0] : NULL};
  const sap_contact* found = NULL;
  int32_t count = 0;
  if (v != NULL) {
    sap_kinematics_velocities(kin, v, multibody->velocities);
  }
  if (v0 != NULL) {
    sap_kinematics_velocities(kin, v0, multibody->velocities0);
  }
  SAP_TRY(sap_collision_detect(multibody->collision, &query, &found, &count, error));
  SAP_TRY(SAP_ROOM(&multibody->pool, &multibody->contacts, count, error));
  multibody->contact_count = 0;
  multibody->collected = false;
  for (int32_t i = 0; i < count; ++i) {
    if (is_on(multibody, &found[i])) {
      multibody->contacts[multibody->contact_count++] = found[i];
    }
  }
  return SAP_STATUS_OK;
}

// Merges found contacts, which are sorted as the list is; those of a patch found anew replace the
// ones before. Returns the number of contacts found that are on. The list has room.
static int32_t merge_contacts(const sap_multibody* multibody, const sap_contact* found,
                              int32_t nfound, sap_contact* list, int32_t* size) {
  int32_t count = 0, fresh = 0, at = 0;
  for (int32_t i = 0; i < nfound; ++i) {
    if (!is_on(multibody, &found[i])) {
      continue;
    }
    while (at < *size && sap_contact_is_before(&list[at], &found[i])) {
      ++at;
    }
    const bool known = at < *size && !sap_contact_is_before(&found[i], &list[at]);
    if (known) {
      list[at] = found[i];
    }
    fresh += known ? 0 : 1;
    count += 1;
  }
  at = *size;
  int32_t to = *size += fresh;
  for (int32_t i = nfound - 1; to > at; --i) {
    if (!is_on(multibody, &found[i])) {
      continue;
    }
    while (at > 0 && sap_contact_is_before(&found[i], &list[at - 1])) {
      list[--to] = list[--at];
    }
    if (at == 0 || sap_contact_is_before(&list[at - 1], &found[i])) {
      list[--to] = found[i];
    }
  }
  return count;
}

sap_status sap_multibody_find_more(sap_multibody* multibody, const sap_step_context* step,
                                   const double* v, int32_t* count, sap_error* error) {
  const sap_kinematics* kin = sap_multibody_start_kinematics(multibody, step->q0);
  const bool at_point = step->stage_theta_vq < 1.0;
  sap_kinematics_velocities(kin, v, multibody->velocities);
  const sap_collision_query query = {.p_WB = kin->p_WB,
                                     .R_WB = kin->R_WB,
                                     .V_WB = multibody->velocities[0],
                                     .dt = step->dt,
                                     .more = true,
                                     .solutions = step->solutions};
  const sap_contact* found = NULL;
  int32_t nfound = 0;
  SAP_TRY(sap_collision_detect(multibody->collision, &query, &found, &nfound, error));
  sap_evaluation_point* point = &multibody->point;
  int32_t* size = at_point ? &point->count : &multibody->contact_count;
  SAP_TRY(SAP_ROOM(&multibody->pool, &multibody->contacts, *size + nfound, error));
  if (at_point) {
    SAP_TRY(sap_multibody_reserve_point(multibody, *size + nfound, error));
  }
  *count = merge_contacts(multibody, found, nfound,
                          at_point ? point->contacts : multibody->contacts, size);
  return SAP_STATUS_OK;
}

void sap_multibody_drop_later(sap_multibody* multibody, bool at_point) {
  sap_contact* list = at_point ? multibody->point.contacts : multibody->contacts;
  int32_t* size = at_point ? &multibody->point.count : &multibody->contact_count;
  int32_t kept = 0;
  for (int32_t i = 0; i < *size; ++i) {
    if (list[i].solutions == 0) {
      list[kept++] = list[i];
    }
  }
  *size = kept;
  sap_collision_drop_later(multibody->collision);
}

int32_t sap_multibody_contact_count(const sap_multibody* multibody) {
  return multibody == NULL ? 0 : multibody->contact_count;
}

const sap_contact* sap_multibody_contacts(const sap_multibody* multibody) {
  return multibody == NULL ? NULL : multibody->contacts;
}

static sap_status collect_contact(sap_multibody* multibody, const sap_step_report* report,
                                  int32_t i, sap_error* error) {
  const sap_evaluation_point* point = &multibody->point;
  const sap_block_range range = multibody->assembly->ranges[SAP_BLOCKS_CONTACT];
  sap_contact* contact = &multibody->contacts[i];
  sap_block block;
  int32_t row = 0;
  SAP_TRY(sap_problem_block(report->problem, range.first + i, &block, &row, error));
  if (!sap_assembly_collect_contact(&block, report->solution->vc + row,
                                    report->solution->gamma + row, contact)) {
    const bool within = i < point->count && point->within[i];
    const double* q = within ? point->q : multibody->start.q0;
    sap_assembly_contact_velocity(multibody->assembly, sap_multibody_kinematics(multibody, q),
                                  report->solution->v, contact);
  }
  contact->vc[0] += contact->surface_velocity[0];
  contact->vc[1] += contact->surface_velocity[1];
  contact->vc[3] += contact->condim > 3 ? contact->surface_velocity[2] : 0.0;
  return SAP_STATUS_OK;
}

// Fails unless the contacts are those of the report's step.
static sap_status check_report(const sap_multibody* multibody, const sap_step_report* report,
                               sap_error* error) {
  if (multibody->contact_count == 0) {
    return SAP_STATUS_OK;
  }
  const sap_block_range range = multibody->assembly->ranges[SAP_BLOCKS_CONTACT];
  SAP_FAIL_IF(!multibody->detected, error, SAP_STATUS_ARGUMENT,
              "the contacts are not those of the last step: collect them before "
              "sap_multibody_detect and before the next step");
  SAP_FAIL_IF(report->solution == NULL || report->problem == NULL ||
                  range.end - range.first != multibody->contact_count ||
                  sap_problem_block_count(report->problem) < range.end,
              error, SAP_STATUS_ARGUMENT,
              "the report is not that of the step that found these %d contacts",
              multibody->contact_count);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_collect(sap_multibody* multibody, const sap_step_report* report,
                                 sap_error* error) {
  SAP_NOT_NULL(error, multibody, report);
  SAP_TRY(check_report(multibody, report, error));
  for (int32_t i = 0; i < multibody->contact_count; ++i) {
    SAP_TRY(collect_contact(multibody, report, i, error));
  }
  multibody->collected = multibody->contact_count > 0;
  return SAP_STATUS_OK;
}

// --- wrong starts ---

typedef struct search {
  const sap_multibody* multibody;
  sap_law_settings law;
  sap_wrong_start_function* found;
  void* context;
} search;

static void find_overlaps(const search* s, const sap_problem* problem) {
  const sap_multibody* multibody = s->multibody;
  const sap_block_data* blocks =
      problem->blocks + multibody->assembly->ranges[SAP_BLOCKS_CONTACT].first;
  sap_wrong_start pair = {.kind = SAP_ELEMENT_SHAPE};
  for (int32_t i = 0; i < multibody->contact_count; ++i) {
    const sap_contact* c = &multibody->contacts[i];
    pair.depth = blocks[i].is_wrong ? fmax(pair.depth, -c->phi) : pair.depth;
    const bool last = i + 1 == multibody->contact_count || c[1].shape_A != c->shape_A ||
                      c[1].shape_B != c->shape_B;
    if (last && pair.depth > 0.0) {
      pair.a = c->shape_A;
      pair.b = c->shape_B;
      s->found(s->context, &pair);
    }
    pair.depth = last ? 0.0 : pair.depth;
  }
}

// x: angle or length of a joint or tendon, tau_d of its limits.
static void find_limits(const search* s, sap_wrong_start at, double x, const double bounds[2],
                        double tau_d) {
  for (at.b = 0; at.b < 2; ++at.b) {
    at.depth = at.b == 0 ? bounds[0] - x : x - bounds[1];
    if (sap_law_limit_is_wrong(&s->law, -at.depth, tau_d)) {
      s->found(s->context, &at);
    }
  }
}

sap_status sap_multibody_wrong_starts(sap_multibody* multibody, const sap_step_report* report,
                                      const sap_regularization* regularization,
                                      sap_wrong_start_function* found, void* context,
                                      sap_error* error) {
  SAP_NOT_NULL(error, multibody, report, regularization);
  SAP_FAIL_IF(found == NULL, error, SAP_STATUS_ARGUMENT, "found is NULL");
  SAP_TRY(check_report(multibody, report, error));
  const sap_model* model = multibody->model;
  const double* q = multibody->start.q0;
  const search s = {multibody,
                    {.dt = sap_problem_dt(report->problem), .regularization = regularization},
                    found,
                    context};
  find_overlaps(&s, report->problem);
  for (int32_t i = 0; i < model->sizes.joints; ++i) {
    const sap_model_joint_data* joint = &model->joints[i];
    const double bounds[2] = {joint->lower, joint->upper};
    double r[3];
    if (joint->type == SAP_JOINT_FREE || multibody->system.locked[joint->v_start]) {
      continue;
    }
    sap_wrong_start at = {.kind = SAP_ELEMENT_JOINT, .a = i};
    at.is_angle = joint->type != SAP_JOINT_SLIDE;
    double x = q[joint->q_start];
    if (joint->type == SAP_JOINT_BALL) {
      sap_quaternion_log(r, q + joint->q_start);
      x = sap_v3_norm(r);
    }
    find_limits(&s, at, x, bounds, joint->limit_relaxation_time);
  }
  const sap_kinematics* kin = sap_multibody_start_kinematics(multibody, q);
  for (int32_t i = 0; i < model->sizes.tendons; ++i) {
    const sap_model_tendon* tendon = &model->tendons[i];
    const double bounds[2] = {tendon->lower, tendon->upper};
    const sap_wrong_start at = {.kind = SAP_ELEMENT_TENDON, .a = i};
    find_limits(&s, at, sap_tendon_length(kin, i), bounds, tendon->limit_relaxation_time);
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_detect(sap_multibody* multibody, const double* q, sap_error* error) {
  SAP_TRY(sap_multibody_check(multibody, error));
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  multibody->detected = false;
  return sap_multibody_find_contacts(multibody, sap_multibody_kinematics(multibody, q), 0.0, NULL,
                                     NULL, error);
}
