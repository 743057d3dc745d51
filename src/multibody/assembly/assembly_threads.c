// SPDX-License-Identifier: BSD-3-Clause
// Contacts to blocks side by side: Jacobians first, into memory of each contact's own, then all
// blocks at once.
#include "core/memory.h"
#include "multibody/assembly/assembly_data.h"
#include "problem/problem_data.h"

enum {
  JACOBIAN_WORK = 400,  // instructions of a contact, about
  COLUMN_WORK = 40      // and of each velocity of its trees
};

typedef struct making {
  const sap_assembly* assembly;
  const sap_contact_call* call;
} making;

static void make_contacts(void* context, int32_t first, int32_t end) {
  const making* of = context;
  const sap_assembly* assembly = of->assembly;
  const sap_contact_call* call = of->call;
  for (int32_t i = first; i < end; ++i) {
    sap_contact_parts* parts = &assembly->made_parts[i];
    parts->moves = sap_assembly_make_contact(assembly, call->dynamics, &call->contacts[i], parts,
                                             &assembly->made[i]);
  }
}

// Velocities of a contact's trees: columns of its Jacobians.
static int64_t columns_of(const sap_model* model, const sap_contact* contact) {
  const int32_t tree_A = model->bodies[contact->body_A].tree;
  const int32_t tree_B = model->bodies[contact->body_B].tree;
  int64_t columns = tree_A >= 0 ? model->tree_sizes[tree_A] : 0;
  columns += tree_B >= 0 && tree_B != tree_A ? model->tree_sizes[tree_B] : 0;
  return columns;
}

// Deals out memory: J of the first tree, J of the second, then their angular parts.
static bool deal_memory(sap_assembly* assembly, const sap_contact_call* call, int32_t count) {
  const sap_model* model = assembly->model;
  int64_t values = 0;
  for (int32_t i = 0; i < count; ++i) {
    values += sap_assembly_contact_rows(&call->contacts[i]) * columns_of(model, &call->contacts[i]);
  }
  if (SAP_RESERVE(&assembly->made_parts, &assembly->parts_capacity, count, NULL) != SAP_STATUS_OK ||
      SAP_RESERVE(&assembly->made, &assembly->made_capacity, count, NULL) != SAP_STATUS_OK ||
      SAP_RESERVE(&assembly->made_values, &assembly->values_capacity, values, NULL) !=
          SAP_STATUS_OK) {
    return false;
  }
  double* next = assembly->made_values;
  for (int32_t i = 0; i < count; ++i) {
    const sap_contact* contact = &call->contacts[i];
    const int32_t turns = sap_assembly_contact_rows(contact) - 3;
    const int32_t tree_A = model->bodies[contact->body_A].tree;
    const int64_t columns = columns_of(model, contact);
    const int64_t first = tree_A >= 0 ? model->tree_sizes[tree_A] : columns;
    sap_contact_parts* parts = &assembly->made_parts[i];
    parts->jacobians[0] = next;
    parts->jacobians[1] = next + 3 * first;
    parts->angular[0] = next + 3 * columns;
    parts->angular[1] = next + 3 * columns + turns * first;
    next += (3 + turns) * columns;
  }
  return true;
}

// Leaves out the contacts that nothing moves; returns how many are left.
static int32_t drop_blocks(sap_assembly* assembly, int32_t count) {
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (assembly->made_parts[i].moves) {
      if (kept < i) {
        assembly->made[kept] = assembly->made[i];
      }
      ++kept;
    }
  }
  return kept;
}

static void drop_contacts(const sap_assembly* assembly, const sap_contact_call* call,
                          int32_t* count) {
  int32_t kept = 0;
  for (int32_t i = 0; i < *count; ++i) {
    if (assembly->made_parts[i].moves) {
      if (kept < i) {
        call->contacts[kept] = call->contacts[i];
      }
      ++kept;
    }
  }
  *count = kept;
}

bool sap_assembly_add_at_once(sap_assembly* assembly, const sap_contact_call* call,
                              int32_t* count) {
  sap_problem* p = call->problem;
  const int64_t columns = *count > 0 ? columns_of(assembly->model, &call->contacts[0]) : 0;
  const int64_t work = *count * (JACOBIAN_WORK + COLUMN_WORK * columns);
  if (sap_threads_divide(p->threads, *count, work) == 1 || !deal_memory(assembly, call, *count)) {
    return false;
  }
  making of = {assembly, call};
  sap_threads_run_parts(p->threads, *count, work, make_contacts, &of);
  const int32_t kept = drop_blocks(assembly, *count);
  const sap_block_place end = sap_problem_end(p);
  if (sap_problem_add_contacts(p, assembly->made, kept, call->regularization, NULL) !=
      SAP_STATUS_OK) {
    sap_problem_set_end(p, &end);
    return false;
  }
  drop_contacts(assembly, call, count);
  return true;
}
