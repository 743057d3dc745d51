// SPDX-License-Identifier: BSD-3-Clause
// Contacts to friction cones: R and v_hat by castro (29)-(30), J = R_WC' (J_B - J_A) at the point.
#include "problem/assembly.h"

#include <string.h>

#include "core/memory.h"
#include "problem/assembly_data.h"

sap_status sap_assembly_create(const sap_model* model, sap_assembly** out, sap_error* error) {
  *out = NULL;
  int32_t largest = 1;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    largest = model->tree_sizes[t] > largest ? model->tree_sizes[t] : largest;
  }
  sap_assembly* assembly = sap_allocate(1, sizeof *assembly);
  if (assembly != NULL) {
    assembly->model = model;
    assembly->jacobians[0] = sap_allocate(3 * (size_t)largest, sizeof(double));
    assembly->jacobians[1] = sap_allocate(3 * (size_t)largest, sizeof(double));
    assembly->row = sap_allocate((size_t)model->sizes.nv, sizeof(double));
    assembly->trees = sap_allocate((size_t)model->sizes.trees, sizeof(int32_t));
    assembly->parts = sap_allocate((size_t)model->sizes.trees, sizeof(double*));
    assembly->joint_servos =
        sap_allocate((size_t)model->sizes.joints, sizeof *assembly->joint_servos);
    assembly->predicted =
        sap_allocate(SAP_ROWS_MAX * (size_t)model->sizes.equalities, sizeof(double));
    assembly->equality_active = sap_allocate((size_t)model->sizes.equalities, sizeof(bool));
  }
  if (assembly == NULL || assembly->jacobians[0] == NULL || assembly->jacobians[1] == NULL ||
      assembly->row == NULL || assembly->trees == NULL || assembly->parts == NULL ||
      assembly->joint_servos == NULL || assembly->predicted == NULL ||
      assembly->equality_active == NULL ||
      sap_rows_create(model, &assembly->rows, NULL) != SAP_STATUS_OK) {
    sap_assembly_destroy(assembly);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: contact assembly");
  }
  for (int32_t i = 0; i < model->sizes.equalities; ++i) {
    assembly->equality_active[i] = model->equalities[i].active;
  }
  *out = assembly;
  return SAP_STATUS_OK;
}

void sap_assembly_destroy(sap_assembly* assembly) {
  if (assembly == NULL) {
    return;
  }
  sap_free(assembly->jacobians[0]);
  sap_free(assembly->jacobians[1]);
  sap_free(assembly->row);
  sap_free(assembly->trees);
  sap_free(assembly->parts);
  sap_free(assembly->joint_servos);
  sap_free(assembly->predicted);
  sap_free(assembly->equality_active);
  sap_rows_clear(&assembly->rows);
  sap_free(assembly);
}

void sap_assembly_set_locked(sap_assembly* assembly, const bool* locked) {
  assembly->locked = locked;
}

bool* sap_assembly_equality_switches(sap_assembly* assembly) {
  return assembly->equality_active;
}

static sap_status add_contact(const sap_assembly* assembly, const sap_dynamics* dynamics,
                              const sap_contact* contact, const sap_regularization* regularization,
                              sap_problem* problem, sap_error* error) {
  const sap_model* model = assembly->model;
  const int32_t bodies[2] = {contact->body_A, contact->body_B};
  int32_t trees[2];
  int32_t count = 0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t tree = model->bodies[bodies[side]].tree;
    if (tree < 0) {
      continue;
    }
    const bool shared = count == 1 && trees[0] == tree;
    double* J = assembly->jacobians[shared ? 0 : count];
    if (!shared) {
      trees[count++] = tree;
      memset(J, 0, 3 * (size_t)model->tree_sizes[tree] * sizeof(double));
    }
    sap_dynamics_add_point_jacobian(dynamics, bodies[side], contact->point, contact->R_WC,
                                    side == 0 ? -1.0 : 1.0, J);
  }
  const double* const jacobians[2] = {assembly->jacobians[0], assembly->jacobians[1]};
  sap_contact_block block = {
      .ntrees = count,
      .trees = trees,
      .jacobians = jacobians,
      .material = contact->material,
      .phi0 = contact->phi,
      .key =
          sap_assembly_key(SAP_KEY_CONTACT, contact->shape_A, contact->shape_B, contact->feature),
  };
  if (contact->condim == 1) {
    block.material.friction = 0.0;
  }
  return sap_problem_add_contact(problem, &block, regularization, error);
}

sap_status sap_assembly_add_contacts(sap_assembly* assembly, const sap_dynamics* dynamics,
                                     const sap_contact* contacts, int32_t count,
                                     const sap_regularization* regularization, sap_problem* problem,
                                     sap_error* error) {
  for (int32_t i = 0; i < count; ++i) {
    const sap_status status =
        add_contact(assembly, dynamics, &contacts[i], regularization, problem, error);
    if (status != SAP_STATUS_OK) {
      const sap_model* model = assembly->model;
      sap_error_prefix(error, "contact %d of shapes %d '%s' and %d '%s'", i, contacts[i].shape_A,
                       sap_model_name(model, SAP_ELEMENT_SHAPE, contacts[i].shape_A),
                       contacts[i].shape_B,
                       sap_model_name(model, SAP_ELEMENT_SHAPE, contacts[i].shape_B));
      return status;
    }
  }
  return SAP_STATUS_OK;
}
