// SPDX-License-Identifier: BSD-3-Clause
// The constraints of a step, evaluated at q0 or at the expected q^theta, and their closure error.
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"
#include "problem/law.h"

// Cosine of the largest angle between the normals of one contact at q0 and at q^theta.
#define SAME_NORMAL 0.9

sap_status sap_multibody_reserve_point(sap_multibody* multibody, int32_t count, sap_error* error) {
  sap_evaluation_point* point = &multibody->point;
  SAP_TRY(SAP_ROOM(&multibody->pool, &point->contacts, count, error));
  SAP_TRY(SAP_ROOM(&multibody->pool, &point->within, count, error));
  return SAP_ROOM(&multibody->pool, &point->change, 4 * (int64_t)count, error);
}

// Stores the contacts at q0.
static sap_status store_contacts(sap_multibody* multibody, int32_t count, sap_error* error) {
  const sap_contact* contacts = multibody->contacts;
  SAP_TRY(sap_multibody_reserve_point(multibody, count, error));
  multibody->point.count = count;
  memcpy(multibody->point.contacts, contacts, (size_t)count * sizeof *contacts);
  return SAP_STATUS_OK;
}

// Chooses the contacts that penetrate at q0 (kin) and did so one step before, and stores their
// velocities at v_guess; returns true if there are some.
static bool choose_contacts(sap_evaluation_point* point, const sap_assembly* assembly,
                            const sap_kinematics* kin, const sap_step_context* step) {
  bool any = false;
  for (int32_t i = 0; i < point->count; ++i) {
    sap_contact contact = point->contacts[i];
    bool* within = &point->within[i];
    *within = contact.law_phi <= 0.0;
    if (*within) {
      sap_assembly_contact_velocity(assembly, kin, step->v0_free, &contact);
      *within = sap_step_contact_is_within(step, contact.law_phi, contact.vc[2]);
    }
    if (*within) {
      sap_assembly_contact_velocity(assembly, kin, step->v_guess, &contact);
      sap_m3_mul_v3(point->change + 4 * i, contact.R_WC, contact.vc);
    }
    any = any || *within;
  }
  return any;
}

// Fills `change` and the distances of the contact. `contact` is the one at q^theta and `start` the same contact at
// q0. change[0 .. 2]: velocity of the contact at q0 in the world frame on input.
static sap_status find_change(const sap_evaluation_point* point, const sap_assembly* assembly,
                              const sap_kinematics* kin, const sap_step_context* step,
                              const sap_contact* start, sap_contact* contact, double change[4],
                              sap_error* error) {
  sap_contact_move move = {.phi0 = start->law_phi, .phi_theta = contact->law_phi};
  sap_contact_block block = {0};
  memcpy(move.normal0, start->R_WC + 6, sizeof move.normal0);
  memcpy(move.R_WC_theta, contact->R_WC, sizeof move.R_WC_theta);
  memcpy(move.velocity0, change, sizeof move.velocity0);
  sap_assembly_contact_velocity(assembly, kin, point->moved, contact);
  move.normal_displacement = contact->vc[2];
  sap_assembly_contact_velocity(assembly, kin, step->v_guess, contact);
  memcpy(move.velocity_theta, contact->vc, sizeof move.velocity_theta);
  SAP_TRY(sap_contact_block_move(step, &move, &block, error));
  memcpy(change, block.velocity_change, sizeof block.velocity_change);
  change[3] = block.gap_change;
  contact->law_phi = block.phi0;
  contact->phi = contact->patch > 0 ? start->phi : block.phi0;
  memset(contact->vc, 0, sizeof contact->vc);
  return SAP_STATUS_OK;
}

// Replaces the chosen contacts in `contacts` by the same ones among those found at q^theta (kin);
// the others are no longer chosen.
static sap_status replace_contacts(sap_multibody* multibody, const sap_kinematics* kin,
                                   const sap_step_context* step, const sap_contact* found,
                                   int32_t count, sap_error* error) {
  sap_evaluation_point* point = &multibody->point;
  int32_t k = 0;
  for (int32_t i = 0; i < point->count; ++i) {
    const sap_contact* start = &point->contacts[i];
    while (k < count && sap_contact_is_before(&found[k], start)) {
      ++k;
    }
    const sap_contact* other = &found[k];
    point->within[i] = point->within[i] && k < count && !sap_contact_is_before(start, other) &&
                       sap_v3_dot(start->R_WC + 6, other->R_WC + 6) > SAME_NORMAL;
    if (point->within[i]) {
      multibody->contacts[i] = *other;
      SAP_TRY(find_change(point, multibody->assembly, kin, step, start, &multibody->contacts[i],
                          point->change + 4 * i, error));
    }
  }
  return SAP_STATUS_OK;
}

// Stores where the equalities would be after a step with v_guess.
static void predict_equalities(sap_multibody* multibody, const sap_step_context* step,
                               bool within) {
  if (multibody->model->sizes.equalities == 0) {
    return;
  }
  sap_manifold_integrate(multibody->model, step->q0, step->v_guess, step->dt, multibody->q_next);
  const sap_kinematics* kin = sap_multibody_kinematics(multibody, multibody->q_next);
  if (within) {
    sap_assembly_predict_rates(multibody->assembly, kin, step->v_guess);
  } else {
    sap_assembly_predict(multibody->assembly, kin);
  }
}

// Moves the point of evaluation to the expected q^theta: sets start->kin and start->moved, and
// replaces the contacts that stay closed by those at q^theta.
static sap_status move_to_point(sap_multibody* multibody, const sap_step_context* step,
                                sap_assembly_start* start, sap_error* error) {
  sap_evaluation_point* point = &multibody->point;
  sap_kinematics* kin = &multibody->snapshots[SAP_SNAPSHOT_POINT];
  const sap_contact* found = NULL;
  int32_t count = 0;
  sap_assembly_predict(multibody->assembly, start->kin);
  SAP_TRY(sap_step_displacement(step, multibody->model->sizes.nv, point->moved, error));
  sap_manifold_integrate(multibody->model, step->q0, point->moved, 1.0, point->q);
  if (point->count > 0) {
    memcpy(multibody->contacts, point->contacts, (size_t)point->count * sizeof *point->contacts);
  }
  const bool any = choose_contacts(point, multibody->assembly, start->kin, step);
  if (!sap_kinematics_is_at(kin, point->q)) {
    sap_kinematics_set(kin, point->q);
  }
  start->kin = kin;
  start->moved = point->moved;
  if (!any) {
    return SAP_STATUS_OK;
  }
  const sap_collision_query query = {.p_WB = kin->p_WB, .R_WB = kin->R_WB};
  SAP_TRY(sap_collision_detect(multibody->collision, &query, &found, &count, error));
  return replace_contacts(multibody, kin, step, found, count, error);
}

// Adds each contact at its own point: q0 (kin0) or q^theta (start->kin).
static sap_status add_moved_contacts(sap_multibody* multibody, const sap_kinematics* kin0,
                                     const sap_assembly_start* start, sap_problem* problem,
                                     sap_error* error) {
  sap_evaluation_point* point = &multibody->point;
  multibody->contact_count = 0;
  for (int32_t i = 0; i < point->count; ++i) {
    const bool within = point->within[i];
    sap_assembly_start at = *start;
    sap_contact* contact = &multibody->contacts[multibody->contact_count];
    sap_contact_list one = {contact, 1, within ? point->change + 4 * i : NULL};
    at.kin = within ? start->kin : kin0;
    *contact = multibody->contacts[i];
    SAP_TRY(sap_assembly_add_contacts(multibody->assembly, &at, &one, problem, error));
    point->within[multibody->contact_count] = within;
    multibody->contact_count += one.count;
  }
  return SAP_STATUS_OK;
}

static sap_status add_contacts(sap_multibody* multibody, const sap_assembly_start* start,
                               sap_problem* problem, sap_error* error) {
  sap_contact_list all = {multibody->contacts, multibody->contact_count, NULL};
  SAP_TRY(sap_assembly_add_contacts(multibody->assembly, start, &all, problem, error));
  multibody->contact_count = all.count;
  return SAP_STATUS_OK;
}

// Evens out the contacts of each patch.
static void even_patches(const sap_multibody* multibody, sap_problem* problem) {
  const int32_t first = multibody->assembly->ranges[SAP_BLOCKS_CONTACT].first;
  const sap_contact* c = multibody->contacts;
  for (int32_t i = 0, end; i < multibody->contact_count; i = end) {
    end = i + 1;
    while (c[i].patch > 0 && end < multibody->contact_count && c[end].shape_A == c[i].shape_A &&
           c[end].shape_B == c[i].shape_B && end - i < c[i].patch) {
      ++end;
    }
    if (end > i + 1) {
      sap_problem_even_contacts(problem, first + i, end - i);
    }
  }
}

static void store_start(sap_multibody* multibody, const sap_step_context* step) {
  const sap_model_sizes* sizes = &multibody->model->sizes;
  memcpy(multibody->start.q0, step->q0, (size_t)sizes->nq * sizeof(double));
  memcpy(multibody->start.v0, step->v0_free, (size_t)sizes->nv * sizeof(double));
  memcpy(multibody->start.input, multibody->input, (size_t)sizes->nu * sizeof(double));
}

// Where positions move by v0 too, finds contacts that v* alone does not close.
static sap_status find_on_the_way(sap_multibody* multibody, const sap_step_context* step,
                                  const double* v, sap_error* error) {
  const int32_t nv = multibody->model->sizes.nv;
  const double share = step->stage_theta_vq;
  int32_t count = 0;
  if (!(share < 1.0)) {
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < nv; ++i) {
    multibody->acceleration[i] = share * v[i] + (1.0 - share) * step->v0_free[i];
  }
  return sap_multibody_find_more(multibody, step, multibody->acceleration, &count, error);
}

static sap_status add_constraints(sap_multibody* multibody, const sap_step_context* step,
                                  sap_problem* problem, sap_error* error) {
  sap_assembly* assembly = multibody->assembly;
  // A position step with the end velocity alone is first order wherever J is taken.
  const bool within = step->stage_theta_vq < 1.0;
  store_start(multibody, step);
  const sap_kinematics* kin0 = sap_multibody_start_kinematics(multibody, step->q0);
  predict_equalities(multibody, step, within);
  if (!multibody->detected) {  // else called again in the same step
    const double* v = sap_problem_v_star(problem);
    SAP_TRY(sap_multibody_find_contacts(multibody, kin0, step, v, error));
    multibody->detected = true;
    SAP_TRY(store_contacts(multibody, within ? multibody->contact_count : 0, error));
    SAP_TRY(find_on_the_way(multibody, step, v, error));
  } else if (step->solutions == 0) {
    sap_multibody_drop_later(multibody, within);
  }
  multibody->collected = false;
  sap_assembly_start start = {.dynamics = multibody->dynamics,
                              .kin = kin0,
                              .kin0 = kin0,
                              .q0 = step->q0,
                              .v0 = step->v0_free,
                              .input = multibody->input,
                              .regularization = &step->regularization,
                              .damper_time = step->theta * step->dt};
  const sap_contact_list found = {multibody->contacts, multibody->contact_count, NULL};
  sap_assembly_begin(assembly, &found);
  if (within) {
    SAP_TRY(move_to_point(multibody, step, &start, error));
    SAP_TRY(add_moved_contacts(multibody, kin0, &start, problem, error));
  } else {
    SAP_TRY(add_contacts(multibody, &start, problem, error));
  }
  even_patches(multibody, problem);
  SAP_TRY(sap_assembly_add_limits(assembly, &start, problem, error));
  SAP_TRY(sap_assembly_add_servos(assembly, &start, problem, error));
  const sap_contact_list contacts = {multibody->contacts, multibody->contact_count, NULL};
  SAP_TRY(sap_assembly_add_adhesion(assembly, &start, &contacts, problem, error));
  return sap_assembly_add_equalities(assembly, &start, problem, error);
}

int sap_multibody_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                              sap_error* error) {
  return (int)add_constraints(context, step, problem, error);
}

int sap_multibody_missing_contacts(void* context, const sap_step_context* step, const double* v,
                                   int32_t* count, sap_error* error) {
  return (int)sap_multibody_find_more(context, step, v, count, error);
}

int sap_multibody_closure_error(void* context, const sap_step_context* step,
                                const sap_problem* problem, const double* vc, const double* q,
                                double* missed) {
  sap_multibody* multibody = context;
  (void)step;
  sap_assembly_closure_error(multibody->assembly, sap_multibody_kinematics(multibody, q), problem,
                             vc, missed);
  return 0;
}
