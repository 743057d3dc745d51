// SPDX-License-Identifier: BSD-3-Clause
// Contacts of the built-in engine: found, filtered by locks and switches, and filled from a step's
// solution.

#include "core/memory.h"
#include "multibody/assembly/assembly_data.h"
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

// `solutions` of a contact that the problem lacks.
enum { LEFT_OPEN = -1 };

sap_status sap_multibody_find_contacts(sap_multibody* multibody, const sap_kinematics* kin,
                                       const sap_step_context* step, const double* v,
                                       sap_error* error) {
  const bool leaves = step != NULL && !(step->stage_theta_vq < 1.0);
  sap_collision_query query = {.p_WB = kin->p_WB, .R_WB = kin->R_WB};
  const sap_contact* found = NULL;
  int32_t count = 0;
  if (step != NULL) {
    sap_kinematics_velocities(kin, v, multibody->velocities);
    query.remember = true;
    query.V_WB = multibody->velocities[0];
    query.dt = step->dt;
  }
  if (step != NULL && sap_collision_has_fields(multibody->collision)) {
    sap_kinematics_velocities(kin, step->v0_free, multibody->velocities0);
    query.V0_WB = multibody->velocities0[0];
  }
  SAP_TRY(sap_collision_detect(multibody->collision, &query, &found, &count, error));
  SAP_TRY(SAP_ROOM(&multibody->pool, &multibody->contacts, count, error));
  SAP_TRY(SAP_ROOM(&multibody->pool, &multibody->open, count, error));
  multibody->contact_count = multibody->open_count = 0;
  multibody->collected = false;
  for (int32_t i = 0; i < count; ++i) {
    if (!is_on(multibody, &found[i])) {
      continue;
    }
    if (leaves && sap_collision_leaves_open(multibody->collision, &query, &found[i])) {
      multibody->open[multibody->open_count] = found[i];
      multibody->open[multibody->open_count++].solutions = LEFT_OPEN;
    } else {
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
  SAP_TRY(SAP_ROOM(&multibody->pool, &multibody->contacts, *size + nfound + multibody->open_count,
                   error));
  if (at_point) {
    SAP_TRY(sap_multibody_reserve_point(multibody, *size + nfound, error));
  }
  *count = merge_contacts(multibody, found, nfound,
                          at_point ? point->contacts : multibody->contacts, size);
  SAP_EACH(sap_contact, contact, multibody->open, multibody->open_count) {
    if (contact->solutions == LEFT_OPEN && sap_collision_end_gap(&query, contact) < 0.0) {
      contact->solutions = step->solutions;
      *count += merge_contacts(multibody, contact, 1, multibody->contacts, size);
    }
  }
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
  SAP_EACH(sap_contact, contact, multibody->open, multibody->open_count) {
    contact->solutions = contact->solutions > 0 ? LEFT_OPEN : contact->solutions;
  }
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

static void find_overlaps(const sap_multibody* multibody, const sap_block_data* blocks,
                          sap_wrong_start_function* found, void* context) {
  sap_wrong_start pair = {.kind = SAP_ELEMENT_SHAPE};
  for (int32_t i = 0; i < multibody->contact_count; ++i) {
    const sap_contact* c = &multibody->contacts[i];
    pair.depth = fmax(pair.depth, blocks[i].wrong_depth);
    const bool last = i + 1 == multibody->contact_count || c[1].shape_A != c->shape_A ||
                      c[1].shape_B != c->shape_B;
    if (last && pair.depth > 0.0) {
      pair.a = c->shape_A;
      pair.b = c->shape_B;
      found(context, &pair);
    }
    pair.depth = last ? 0.0 : pair.depth;
  }
}

sap_status sap_multibody_wrong_starts(sap_multibody* multibody, const sap_step_report* report,
                                      sap_wrong_start_function* found, void* context,
                                      sap_error* error) {
  SAP_NOT_NULL(error, multibody, report);
  SAP_FAIL_IF(found == NULL, error, SAP_STATUS_ARGUMENT, "found is NULL");
  SAP_TRY(check_report(multibody, report, error));
  const sap_block_range contacts = multibody->assembly->ranges[SAP_BLOCKS_CONTACT];
  const sap_block_data* blocks = report->problem->blocks;
  find_overlaps(multibody, blocks + contacts.first, found, context);
  for (int32_t b = contacts.end; b < report->problem->nblocks; ++b) {
    const int kind = sap_assembly_key_kind(blocks[b].key);
    const bool joint = kind == SAP_KEY_LOWER || kind == SAP_KEY_UPPER;
    sap_wrong_start at = {.kind = joint ? SAP_ELEMENT_JOINT : SAP_ELEMENT_TENDON,
                          .a = sap_assembly_key_id(blocks[b].key, 0),
                          .b = kind == SAP_KEY_UPPER || kind == SAP_KEY_TENDON_UPPER,
                          .depth = blocks[b].wrong_depth};
    at.is_angle = joint && multibody->model->joints[at.a].type != SAP_JOINT_SLIDE;
    if (at.depth > 0.0) {
      found(context, &at);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_detect(sap_multibody* multibody, const double* q, sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  multibody->detected = false;
  return sap_multibody_find_contacts(multibody, sap_multibody_kinematics(multibody, q), NULL, NULL,
                                     error);
}
