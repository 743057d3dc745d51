// SPDX-License-Identifier: BSD-3-Clause
// Contacts to friction cones and back: J = R_WC' (J_B - J_A) at the contact point, then the angular
// rows [spin roll1 roll2] about n, t1, t2. Many contacts are made side by side: Jacobians first,
// into memory of each contact's own, then all blocks at once.
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/assembly/assembly_data.h"
#include "problem/blocks.h"
#include "problem/problem_data.h"

enum {
  JACOBIAN_WORK = 400,  // instructions per contact, about
  COLUMN_WORK = 40      // and per velocity of its trees
};

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
    if (turns > 0) {
      sap_kinematics_add_angular_jacobian(kin, bodies[side], contact->R_WC, sign, turns, angular);
    }
  }
  return count;
}

// True if no joint moves the surfaces at this point, e.g. a hinge whose axis goes through it.
static bool is_fixed(const sap_model* model, const sap_contact_parts* parts, int32_t count) {
  for (int32_t t = 0; t < count; ++t) {
    for (int32_t i = 0; i < 3 * model->tree_sizes[parts->trees[t]]; ++i) {
      if (parts->jacobians[t][i] != 0.0) {
        return false;
      }
    }
  }
  return true;
}

typedef struct contact_call {
  const sap_assembly* assembly;
  const sap_assembly_start* start;
  const sap_contact_list* list;
  sap_problem* problem;
} contact_call;

// Describes a contact as a block that points to it and to the parts. False: nothing moves it.
static bool make_contact(const contact_call* call, const sap_contact* contact,
                         sap_contact_parts* parts, sap_contact_block* block) {
  const sap_assembly* assembly = call->assembly;
  const sap_model_body* bodies = assembly->model->bodies;
  const double* change = call->list->change;
  const int32_t nrows = sap_assembly_contact_rows(contact);
  const bool isotropic = nrows == 3 && contact->friction[0] == contact->friction[1];
  *block = (sap_contact_block){
      .ntrees = find_jacobians(assembly, call->start->kin, contact, nrows, parts),
      .trees = parts->trees,
      .jacobians = (const double* const*)parts->jacobians,
      .material = contact->material,
      .phi0 = contact->phi,
      .mass = assembly->mass,
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

// Adds the contacts one after the other.
static sap_status add_in_turn(const contact_call* call, int32_t* count, sap_error* error) {
  const sap_model* model = call->assembly->model;
  sap_contact_parts parts = own_parts(call->assembly);
  int32_t kept = 0;
  for (int32_t i = 0; i < *count; ++i) {
    const sap_contact* contact = &call->list->contacts[i];
    sap_contact_block block;
    if (!make_contact(call, contact, &parts, &block)) {
      continue;
    }
    SAP_TRY_OR(sap_problem_add_contact(call->problem, &block, call->start->regularization, error),
               sap_error_prefix(
                   error, "contact %d of shapes %d '%s' and %d '%s'", i, contact->shape_A,
                   sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_A), contact->shape_B,
                   sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_B)));
    call->list->contacts[kept++] = *contact;
  }
  *count = kept;
  return SAP_STATUS_OK;
}

static void make_contacts(void* context, int32_t first, int32_t end) {
  const contact_call* call = context;
  const sap_assembly* assembly = call->assembly;
  for (int32_t i = first; i < end; ++i) {
    sap_contact_parts* parts = &assembly->contact_parts[i];
    parts->moves =
        make_contact(call, &call->list->contacts[i], parts, &assembly->contact_blocks[i]);
  }
}

// Columns of a contact's Jacobians: the velocities of its trees.
static int64_t count_columns(const sap_model* model, const sap_contact* contact) {
  const int32_t tree_A = model->bodies[contact->body_A].tree;
  const int32_t tree_B = model->bodies[contact->body_B].tree;
  int64_t columns = tree_A >= 0 ? model->tree_sizes[tree_A] : 0;
  columns += tree_B >= 0 && tree_B != tree_A ? model->tree_sizes[tree_B] : 0;
  return columns;
}

// Assigns memory to each contact: J of the first tree, J of the second, then their angular parts.
static bool assign_memory(sap_assembly* assembly, const sap_contact_list* list) {
  const sap_model* model = assembly->model;
  const int32_t count = list->count;
  int64_t values = 0;
  for (int32_t i = 0; i < count; ++i) {
    values +=
        sap_assembly_contact_rows(&list->contacts[i]) * count_columns(model, &list->contacts[i]);
  }
  if (SAP_GROW(&assembly->contact_parts, &assembly->part_capacity, count, NULL) != SAP_STATUS_OK ||
      SAP_GROW(&assembly->contact_blocks, &assembly->block_capacity, count, NULL) !=
          SAP_STATUS_OK ||
      SAP_GROW(&assembly->contact_values, &assembly->value_capacity, values, NULL) !=
          SAP_STATUS_OK) {
    return false;
  }
  double* next = assembly->contact_values;
  for (int32_t i = 0; i < count; ++i) {
    const sap_contact* contact = &list->contacts[i];
    const int32_t turns = sap_assembly_contact_rows(contact) - 3;
    const int32_t tree_A = model->bodies[contact->body_A].tree;
    const int64_t columns = count_columns(model, contact);
    const int64_t first = tree_A >= 0 ? model->tree_sizes[tree_A] : columns;
    sap_contact_parts* parts = &assembly->contact_parts[i];
    parts->jacobians[0] = next;
    parts->jacobians[1] = next + 3 * first;
    parts->angular[0] = next + 3 * columns;
    parts->angular[1] = next + 3 * columns + turns * first;
    next += (3 + turns) * columns;
  }
  return true;
}

// Removes the items of contacts that nothing moves; returns the number left.
static int32_t keep_moving(const sap_contact_parts* parts, int32_t count, void* items,
                           size_t size) {
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (parts[i].moves && kept++ < i) {
      memcpy((char*)items + size * (size_t)(kept - 1), (char*)items + size * (size_t)i, size);
    }
  }
  return kept;
}

// Adds all contacts in the problem's threads. False: not done, because it is not worth it or would
// fail.
static bool add_in_threads(sap_assembly* assembly, const contact_call* call,
                           sap_contact_list* list) {
  sap_problem* p = call->problem;
  const int64_t columns = list->count > 0 ? count_columns(assembly->model, list->contacts) : 0;
  const int64_t work = list->count * (JACOBIAN_WORK + COLUMN_WORK * columns);
  if (sap_threads_divide(p->threads, list->count, work) == 1 || !assign_memory(assembly, list)) {
    return false;
  }
  sap_threads_run_parts(p->threads, list->count, work, make_contacts, (void*)call);
  const sap_contact_parts* parts = assembly->contact_parts;
  const int32_t kept =
      keep_moving(parts, list->count, assembly->contact_blocks, sizeof *assembly->contact_blocks);
  const sap_block_place end = sap_problem_end(p);
  if (sap_problem_add_contacts(p, assembly->contact_blocks, kept, call->start->regularization,
                               NULL) != SAP_STATUS_OK) {
    sap_problem_set_end(p, &end);
    return false;
  }
  list->count = keep_moving(parts, list->count, list->contacts, sizeof *list->contacts);
  return true;
}

sap_status sap_assembly_add_contacts(sap_assembly* assembly, const sap_assembly_start* start,
                                     sap_contact_list* list, sap_problem* problem,
                                     sap_error* error) {
  const int32_t first = sap_problem_block_count(problem);
  const contact_call call = {assembly, start, list, problem};
  if (!add_in_threads(assembly, &call, list)) {
    SAP_TRY(add_in_turn(&call, &list->count, error));
  }
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
