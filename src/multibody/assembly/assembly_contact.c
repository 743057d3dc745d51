// SPDX-License-Identifier: BSD-3-Clause
// Contacts to friction cones and back: J = R_WC' (J_B - J_A) at the contact point, then the angular
// rows [spin roll1 roll2] about n, t1, t2.
#include <string.h>

#include "core/memory.h"
#include "math/scalar.h"
#include "math/vector3.h"
#include "multibody/assembly/assembly_data.h"

int32_t sap_assembly_contact_rows(const sap_contact* contact) {
  const double* mu = contact->friction;
  return mu[3] > 0.0 || mu[4] > 0.0 ? 6 : mu[2] > 0.0 ? 4 : 3;
}

// Makes the Jacobians of a contact; returns its number of trees.
static int32_t find_jacobians(const sap_assembly* assembly, const sap_kinematics* kin,
                              const sap_contact* contact, int32_t nrows, sap_contact_parts* parts) {
  const sap_model* model = assembly->model;
  const int32_t bodies[2] = {contact->body_A, contact->body_B};
  const int32_t turns = nrows - 3;
  int32_t count = 0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t tree = model->bodies[bodies[side]].tree;
    if (tree < 0) {
      continue;
    }
    const bool shared = count == 1 && parts->trees[0] == tree;
    double* J = parts->jacobians[shared ? 0 : count];
    double* angular = parts->angular[shared ? 0 : count];
    if (!shared) {
      const size_t size = (size_t)model->tree_sizes[tree];
      parts->trees[count++] = tree;
      memset(J, 0, 3 * size * sizeof(double));
      if (turns > 0) {
        memset(angular, 0, (size_t)turns * size * sizeof(double));
      }
    }
    const double sign = side == 0 ? -1.0 : 1.0;
    double point[3];
    sap_v3_sub(point, contact->point, side == 0 ? contact->ahead_A : contact->ahead_B);
    sap_kinematics_add_point_jacobian(kin, bodies[side], point, contact->R_WC, sign, J);
    const double* turn = side == 0 ? contact->turn_A : contact->turn_B;
    if (sap_v3_dot(turn, turn) > 0.0) {
      sap_kinematics_turn_point_jacobian(kin, bodies[side], point, turn, contact->R_WC, sign, J);
    }
    if (turns > 0) {
      sap_kinematics_add_angular_jacobian(kin, bodies[side], contact->R_WC, sign, turns, angular);
    }
  }
  return count;
}

// True if no joint moves the surfaces at this point, e.g. a hinge whose axis goes through it.
static bool is_fixed(const sap_model* model, const sap_contact_parts* parts, int32_t count) {
  for (int32_t t = 0; t < count; ++t) {
    if (!sap_all_zero(parts->jacobians[t], 3 * (size_t)model->tree_sizes[parts->trees[t]])) {
      return false;
    }
  }
  return true;
}

typedef struct contact_call {
  const sap_assembly* assembly;
  const sap_assembly_start* start;
  const double* change;  // as in sap_contact_list
} contact_call;

// Describes a contact as a block that points to it and to the parts. False: nothing moves it.
static bool make_contact(const contact_call* call, const sap_contact* contact,
                         sap_contact_parts* parts, sap_contact_block* block) {
  const sap_assembly* assembly = call->assembly;
  const sap_model_body* bodies = assembly->model->bodies;
  const double* change = call->change;
  const int32_t nrows = sap_assembly_contact_rows(contact);
  const bool isotropic = nrows == 3 && contact->friction[0] == contact->friction[1];
  *block = (sap_contact_block){
      .ntrees = find_jacobians(assembly, call->start->kin, contact, nrows, parts),
      .trees = parts->trees,
      .jacobians = (const double* const*)parts->jacobians,
      .material = contact->material,
      .phi0 = contact->law_phi,
      .overlap = contact->patch > 0 ? fmax(0.0, -contact->phi) : 0.0,
      .mass = sap_loads_impact(&assembly->loads,
                               bodies[contact->body_A].root == bodies[contact->body_B].root),
      .lift = assembly->loads.lift,
      .thickness = contact->thickness,
      .load = sap_loads_get(&assembly->loads, bodies[contact->body_A].tree,
                            bodies[contact->body_B].tree, contact->R_WC + 6),
      .key =
          sap_assembly_key(SAP_KEY_CONTACT, contact->shape_A, contact->shape_B, contact->feature),
      .nrows = nrows,
      .angular = (const double* const*)parts->angular,
      .friction = isotropic ? NULL : contact->friction,
  };
  memcpy(block->surface_velocity, contact->surface_velocity, sizeof block->surface_velocity);
  if (change != NULL) {
    memcpy(block->velocity_change, change, sizeof block->velocity_change);
    block->gap_change = change[3];
  }
  if (isotropic) {
    block->material.friction = contact->friction[0];
  }
  return !is_fixed(assembly->model, parts, block->ntrees);
}

static sap_contact_parts own_parts(const sap_assembly* assembly) {
  return (sap_contact_parts){.jacobians = {assembly->jacobians[0], assembly->jacobians[1]},
                             .angular = {assembly->angular[0], assembly->angular[1]}};
}

sap_status sap_assembly_add_contacts(sap_assembly* assembly, const sap_assembly_start* start,
                                     sap_contact_list* list, sap_problem* problem,
                                     sap_error* error) {
  const int32_t first = sap_problem_block_count(problem);
  const contact_call call = {assembly, start, list->change};
  sap_contact_parts parts = own_parts(assembly);
  int32_t kept = 0;
  for (int32_t i = 0; i < list->count; ++i) {
    const sap_contact* contact = &list->contacts[i];
    sap_contact_block block;
    if (!make_contact(&call, contact, &parts, &block)) {
      continue;
    }
    SAP_TRY_OR(
        sap_problem_add_contact(problem, &block, start->regularization, error),
        sap_error_prefix(error, "contact %d of shapes %d '%s' and %d '%s'", i, contact->shape_A,
                         sap_model_get_name(assembly->model, SAP_ELEMENT_SHAPE, contact->shape_A),
                         contact->shape_B,
                         sap_model_get_name(assembly->model, SAP_ELEMENT_SHAPE, contact->shape_B)));
    if (kept++ < i) {
      list->contacts[kept - 1] = *contact;
    }
  }
  list->count = kept;
  sap_assembly_record(assembly, SAP_BLOCKS_CONTACT, first, problem);
  return SAP_STATUS_OK;
}

void sap_assembly_contact_velocity(const sap_assembly* assembly, const sap_kinematics* kin,
                                   const double* v, sap_contact* contact) {
  const sap_model* model = assembly->model;
  const int32_t nrows = contact->condim > 3 ? contact->condim : 3;
  sap_contact_parts parts = own_parts(assembly);
  const int32_t count = find_jacobians(assembly, kin, contact, nrows, &parts);
  memset(contact->vc, 0, sizeof contact->vc);
  for (int32_t t = 0; t < count; ++t) {
    const double* vt = v + model->tree_dofs[parts.trees[t]];
    for (int32_t i = 0; i < model->tree_sizes[parts.trees[t]]; ++i) {
      for (int32_t r = 0; r < nrows; ++r) {
        contact->vc[r] += vt[i] * (r < 3 ? parts.jacobians[t][3 * i + r]
                                         : parts.angular[t][(nrows - 3) * i + r - 3]);
      }
    }
  }
}

bool sap_assembly_collect_contact(const sap_block* block, const double* vc, const double* gamma,
                                  sap_contact* contact) {
  double scales[6];
  const bool scaled = block->nrows > 3 || contact->friction[0] != contact->friction[1];
  bool complete = contact->condim <= block->nrows;
  (void)sap_friction_scales(contact->friction, block->nrows, scales);
  contact->realised = block->realised;
  memset(contact->R, 0, sizeof contact->R);
  memset(contact->vc, 0, sizeof contact->vc);
  memset(contact->gamma, 0, sizeof contact->gamma);
  for (int32_t r = 0; r < block->nrows; ++r) {
    const double s = scaled ? scales[r] : 1.0;
    contact->gamma[r] = s * gamma[r];
    contact->R[r] = s > 0.0 ? block->R[r] / (s * s) : 0.0;
    contact->vc[r] = s > 0.0 ? vc[r] / s : 0.0;
    complete = complete && s > 0.0;
  }
  return complete;
}
