// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/engine/multibody_point.h"

#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"

// Normals that turn by more than acos of this within part of a step are not the same contact.
#define SAME_NORMAL 0.9

sap_status sap_evaluation_point_create(const sap_model* model, sap_evaluation_point* point,
                                       sap_error* error) {
  point->q = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  point->moved = sap_allocate((size_t)model->sizes.nv, sizeof(double));
  return point->q != NULL && point->moved != NULL
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: point of evaluation");
}

void sap_evaluation_point_clear(sap_evaluation_point* point) {
  sap_free(point->q);
  sap_free(point->moved);
  sap_free(point->contacts);
  sap_free(point->within);
  sap_free(point->change);
  memset(point, 0, sizeof *point);
}

sap_status sap_evaluation_point_set(sap_evaluation_point* point, const sap_model* model,
                                    const sap_step_context* step, sap_error* error) {
  const sap_status status = sap_step_displacement(step, model->sizes.nv, point->moved, error);
  if (status == SAP_STATUS_OK) {
    sap_dynamics_integrate(model, step->q0, point->moved, 1.0, point->q);
  }
  return status;
}

sap_status sap_evaluation_point_begin(sap_evaluation_point* point, const sap_contact* contacts,
                                      int32_t count, sap_error* error) {
  sap_status status = SAP_GROW(&point->contacts, &point->capacity, count, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&point->within, &point->within_capacity, count, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&point->change, &point->change_capacity, 4 * count, error);
  }
  if (status == SAP_STATUS_OK) {
    point->count = count;
    if (count > 0) {
      memcpy(point->contacts, contacts, (size_t)count * sizeof *contacts);
    }
  }
  return status;
}

void sap_evaluation_point_restore(const sap_evaluation_point* point, sap_contact* contacts) {
  if (point->count > 0) {
    memcpy(contacts, point->contacts, (size_t)point->count * sizeof *contacts);
  }
}

bool sap_evaluation_point_choose(sap_evaluation_point* point, const sap_assembly* assembly,
                                 const sap_dynamics* dynamics, const sap_step_context* step) {
  bool any = false;
  for (int32_t i = 0; i < point->count; ++i) {
    sap_contact contact = point->contacts[i];
    bool* within = &point->within[i];
    *within = contact.phi <= 0.0;
    if (*within) {
      sap_assembly_contact_velocity(assembly, dynamics, step->v0_free, &contact);
      *within = sap_step_contact_is_within(step, contact.phi, contact.vc[2]);
    }
    if (*within) {
      sap_assembly_contact_velocity(assembly, dynamics, step->v_guess, &contact);
      sap_m3_mul_v3(point->change + 4 * i, contact.R_WC, contact.vc);
    }
    any = any || *within;
  }
  return any;
}

static bool is_before(const sap_contact* a, const sap_contact* b) {
  return a->shape_A != b->shape_A   ? a->shape_A < b->shape_A
         : a->shape_B != b->shape_B ? a->shape_B < b->shape_B
                                    : a->feature < b->feature;
}

// Fills `change` and contact->phi. change[0 .. 2] comes in as the velocity of the contact at q0, world
// frame; `contact` is the one at q^theta and `start` the same contact at q0.
static sap_status find_change(const sap_evaluation_point* point, const sap_assembly* assembly,
                              const sap_dynamics* dynamics, const sap_step_context* step,
                              const sap_contact* start, sap_contact* contact, double change[4],
                              sap_error* error) {
  sap_contact_move move = {.phi0 = start->phi, .phi_theta = contact->phi};
  sap_contact_block block = {0};
  memcpy(move.normal0, start->R_WC + 6, sizeof move.normal0);
  memcpy(move.R_WC_theta, contact->R_WC, sizeof move.R_WC_theta);
  memcpy(move.velocity0, change, sizeof move.velocity0);
  sap_assembly_contact_velocity(assembly, dynamics, point->moved, contact);
  move.normal_displacement = contact->vc[2];
  sap_assembly_contact_velocity(assembly, dynamics, step->v_guess, contact);
  memcpy(move.velocity_theta, contact->vc, sizeof move.velocity_theta);
  SAP_TRY(sap_contact_block_move(step, &move, &block, error));
  memcpy(change, block.velocity_change, sizeof block.velocity_change);
  change[3] = block.gap_change;
  contact->phi = block.phi0;
  memset(contact->vc, 0, sizeof contact->vc);
  return SAP_STATUS_OK;
}

sap_status sap_evaluation_point_replace(sap_evaluation_point* point, const sap_assembly* assembly,
                                        const sap_dynamics* dynamics, const sap_step_context* step,
                                        const sap_contact_list* found, sap_contact* contacts,
                                        sap_error* error) {
  int32_t k = 0;
  for (int32_t i = 0; i < point->count; ++i) {
    const sap_contact* start = &point->contacts[i];
    while (k < found->count && is_before(&found->contacts[k], start)) {
      ++k;
    }
    const sap_contact* other = &found->contacts[k];
    point->within[i] = point->within[i] && k < found->count && !is_before(start, other) &&
                       sap_v3_dot(start->R_WC + 6, other->R_WC + 6) > SAME_NORMAL;
    if (point->within[i]) {
      contacts[i] = *other;
      SAP_TRY(find_change(point, assembly, dynamics, step, start, &contacts[i],
                          point->change + 4 * i, error));
    }
  }
  return SAP_STATUS_OK;
}
