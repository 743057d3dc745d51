// SPDX-License-Identifier: BSD-3-Clause
// Contacts to friction cones and back: J = R_WC' (J_B - J_A) at the point, then the angular rows
// [spin roll1 roll2] about n, t1, t2.
#include <string.h>

#include "problem/assembly_data.h"

// Friction rows of a contact: what stands in condim, less spin and rolling that have no friction.
static int32_t count_rows(const sap_contact* contact) {
  const double* mu = contact->friction;
  return mu[3] > 0.0 || mu[4] > 0.0 ? 6 : mu[2] > 0.0 ? 4 : 3;
}

// Jacobians of a contact's trees; returns how many trees there are.
static int32_t find_jacobians(const sap_assembly* assembly, const sap_dynamics* dynamics,
                              const sap_contact* contact, int32_t nrows, int32_t trees[2]) {
  const sap_model* model = assembly->model;
  const int32_t bodies[2] = {contact->body_A, contact->body_B};
  const int32_t turns = nrows - 3;
  int32_t count = 0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t tree = model->bodies[bodies[side]].tree;
    if (tree < 0) {
      continue;
    }
    const bool shared = count == 1 && trees[0] == tree;
    double* J = assembly->jacobians[shared ? 0 : count];
    double* angular = assembly->angular[shared ? 0 : count];
    if (!shared) {
      const size_t size = (size_t)model->tree_sizes[tree];
      trees[count++] = tree;
      memset(J, 0, 3 * size * sizeof(double));
      if (turns > 0) {
        memset(angular, 0, (size_t)turns * size * sizeof(double));
      }
    }
    const double sign = side == 0 ? -1.0 : 1.0;
    sap_dynamics_add_point_jacobian(dynamics, bodies[side], contact->point, contact->R_WC, sign, J);
    if (turns > 0) {
      sap_dynamics_add_angular_jacobian(dynamics, bodies[side], contact->R_WC, sign, turns,
                                        angular);
    }
  }
  return count;
}

// No joint moves the surfaces at this point: a hinge's axis goes through it, say.
static bool is_fixed(const sap_assembly* assembly, const int32_t* trees, int32_t count) {
  for (int32_t t = 0; t < count; ++t) {
    for (int32_t i = 0; i < 3 * assembly->model->tree_sizes[trees[t]]; ++i) {
      if (assembly->jacobians[t][i] != 0.0) {
        return false;
      }
    }
  }
  return true;
}

// *fixed: left out.
static sap_status add_contact(const sap_assembly* assembly, const sap_dynamics* dynamics,
                              const sap_contact* contact, const sap_regularization* regularization,
                              sap_problem* problem, bool* fixed, sap_error* error) {
  const double* const jacobians[2] = {assembly->jacobians[0], assembly->jacobians[1]};
  const double* const angular[2] = {assembly->angular[0], assembly->angular[1]};
  const int32_t nrows = count_rows(contact);
  const bool isotropic = nrows == 3 && contact->friction[0] == contact->friction[1];
  int32_t trees[2];
  sap_contact_block block = {
      .ntrees = find_jacobians(assembly, dynamics, contact, nrows, trees),
      .trees = trees,
      .jacobians = jacobians,
      .material = contact->material,
      .phi0 = contact->phi,
      .key =
          sap_assembly_key(SAP_KEY_CONTACT, contact->shape_A, contact->shape_B, contact->feature),
      .nrows = nrows,
      .angular = angular,
      .friction = isotropic ? NULL : contact->friction,
  };
  *fixed = is_fixed(assembly, trees, block.ntrees);
  if (*fixed) {
    return SAP_STATUS_OK;
  }
  memcpy(block.surface_velocity, contact->surface_velocity, sizeof block.surface_velocity);
  if (assembly->change != NULL) {
    memcpy(block.velocity_change, assembly->change, sizeof block.velocity_change);
    block.gap_change = assembly->change[3];
  }
  if (isotropic) {
    block.material.friction = contact->friction[0];
  }
  return sap_problem_add_contact(problem, &block, regularization, error);
}

sap_status sap_assembly_add_contacts(sap_assembly* assembly, const sap_dynamics* dynamics,
                                     sap_contact* contacts, int32_t* count,
                                     const sap_regularization* regularization, sap_problem* problem,
                                     sap_error* error) {
  int32_t kept = 0;
  for (int32_t i = 0; i < *count; ++i) {
    bool fixed = false;
    const sap_status status =
        add_contact(assembly, dynamics, &contacts[i], regularization, problem, &fixed, error);
    if (status != SAP_STATUS_OK) {
      const sap_model* model = assembly->model;
      sap_error_prefix(error, "contact %d of shapes %d '%s' and %d '%s'", i, contacts[i].shape_A,
                       sap_model_name(model, SAP_ELEMENT_SHAPE, contacts[i].shape_A),
                       contacts[i].shape_B,
                       sap_model_name(model, SAP_ELEMENT_SHAPE, contacts[i].shape_B));
      return status;
    }
    if (!fixed) {
      contacts[kept++] = contacts[i];
    }
  }
  *count = kept;
  return SAP_STATUS_OK;
}

void sap_assembly_contact_velocity(const sap_assembly* assembly, const sap_dynamics* dynamics,
                                   const double* v, sap_contact* contact) {
  const sap_model* model = assembly->model;
  const int32_t nrows = contact->condim > 3 ? contact->condim : 3;
  int32_t trees[2];
  const int32_t count = find_jacobians(assembly, dynamics, contact, nrows, trees);
  memset(contact->vc, 0, sizeof contact->vc);
  for (int32_t t = 0; t < count; ++t) {
    const double* vt = v + model->tree_dofs[trees[t]];
    for (int32_t i = 0; i < model->tree_sizes[trees[t]]; ++i) {
      for (int32_t r = 0; r < nrows; ++r) {
        contact->vc[r] += vt[i] * (r < 3 ? assembly->jacobians[t][3 * i + r]
                                         : assembly->angular[t][(nrows - 3) * i + r - 3]);
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
