// SPDX-License-Identifier: BSD-3-Clause
// Scratch memory and switches of the assembly.
#include "multibody/assembly/assembly.h"

#include <math.h>

#include "core/memory.h"
#include "multibody/assembly/assembly_data.h"

static bool create_switches(sap_assembly* assembly) {
  const sap_model_sizes* sizes = &assembly->model->sizes;
  const int32_t counts[SAP_ASSEMBLY_SWITCHES] = {sizes->equalities, sizes->joints, sizes->joints,
                                                 sizes->tendons, sizes->tendons};
  for (int kind = 0; kind < SAP_ASSEMBLY_SWITCHES; ++kind) {
    assembly->on[kind] = sap_allocate((size_t)counts[kind], sizeof(bool));
    if (assembly->on[kind] == NULL) {
      return false;
    }
    for (int32_t i = 0; i < counts[kind]; ++i) {
      assembly->on[kind][i] =
          kind != SAP_ASSEMBLY_EQUALITY || assembly->model->equalities[i].active;
    }
  }
  return true;
}

static bool create_limit_tests(sap_assembly* assembly) {
  const sap_model* model = assembly->model;
  assembly->limits = sap_allocate((size_t)model->sizes.joints, sizeof *assembly->limits);
  for (int32_t id = 0; assembly->limits != NULL && id < model->sizes.joints; ++id) {
    const sap_model_joint_data* joint = &model->joints[id];
    const bool scalar = joint->type == SAP_JOINT_HINGE || joint->type == SAP_JOINT_SLIDE;
    if (joint->type != SAP_JOINT_FREE && !(isinf(joint->lower) && isinf(joint->upper))) {
      assembly->limits[assembly->nlimits++] =
          (sap_limit_test){.joint = id,
                           .q_start = joint->q_start,
                           .v_start = joint->v_start,
                           .scalar = scalar,
                           .lower = joint->lower,
                           .upper = joint->upper,
                           .relaxation_time = joint->limit_relaxation_time,
                           .near = SAP_LIMIT_RANGE_SHARE * (joint->upper - joint->lower)};
    }
  }
  return assembly->limits != NULL;
}

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
    assembly->angular[0] = sap_allocate(3 * (size_t)largest, sizeof(double));
    assembly->angular[1] = sap_allocate(3 * (size_t)largest, sizeof(double));
    assembly->row = sap_allocate((size_t)model->sizes.nv, sizeof(double));
    assembly->trees = sap_allocate((size_t)model->sizes.trees, sizeof(int32_t));
    assembly->parts = sap_allocate((size_t)model->sizes.trees, sizeof(double*));
    assembly->bound_servos = sap_allocate(
        (size_t)model->sizes.joints + (size_t)model->sizes.tendons, sizeof *assembly->bound_servos);
    assembly->predicted =
        sap_allocate(SAP_ROWS_MAX * (size_t)model->sizes.equalities, sizeof(double));
    assembly->rate_end =
        sap_allocate(SAP_ROWS_MAX * (size_t)model->sizes.equalities, sizeof(double));
  }
  if (assembly == NULL || assembly->jacobians[0] == NULL || assembly->jacobians[1] == NULL ||
      assembly->angular[0] == NULL || assembly->angular[1] == NULL || assembly->row == NULL ||
      assembly->trees == NULL || assembly->parts == NULL || assembly->bound_servos == NULL ||
      assembly->predicted == NULL || assembly->rate_end == NULL || !create_switches(assembly) ||
      !create_limit_tests(assembly) ||
      sap_rows_create(model, &assembly->rows, NULL) != SAP_STATUS_OK) {
    sap_assembly_destroy(assembly);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: contact assembly");
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
  sap_free(assembly->angular[0]);
  sap_free(assembly->angular[1]);
  sap_free(assembly->row);
  sap_free(assembly->limits);
  sap_free(assembly->trees);
  sap_free(assembly->parts);
  sap_free(assembly->bound_servos);
  sap_free(assembly->predicted);
  sap_free(assembly->made_parts);
  sap_free(assembly->made);
  sap_free(assembly->made_values);
  sap_free(assembly->rate_end);
  for (int kind = 0; kind < SAP_ASSEMBLY_SWITCHES; ++kind) {
    sap_free(assembly->on[kind]);
  }
  sap_rows_clear(&assembly->rows);
  sap_free(assembly);
}

void sap_assembly_set_locked(sap_assembly* assembly, const bool* locked) {
  assembly->locked = locked;
}

void sap_assembly_set_point(sap_assembly* assembly, const double* q, const double* moved) {
  assembly->q_point = q;
  assembly->moved = moved;
}

void sap_assembly_set_change(sap_assembly* assembly, const double change[4]) {
  assembly->change = change;
}

bool* sap_assembly_switches(sap_assembly* assembly, sap_assembly_switch kind) {
  return assembly->on[kind];
}
