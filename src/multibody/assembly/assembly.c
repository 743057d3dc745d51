// SPDX-License-Identifier: BSD-3-Clause
// Memory, switches and block ranges of the assembly; rows to a block of the problem.
#include "multibody/assembly/assembly.h"

#include <string.h>

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
    assembly->bound_servos = sap_allocate(
        (size_t)model->sizes.joints + (size_t)model->sizes.tendons, sizeof *assembly->bound_servos);
    assembly->predicted =
        sap_allocate(SAP_ROWS_MAX * (size_t)model->sizes.equalities, sizeof(double));
    assembly->rate_end =
        sap_allocate(SAP_ROWS_MAX * (size_t)model->sizes.equalities, sizeof(double));
  }
  if (assembly == NULL || assembly->jacobians[0] == NULL || assembly->jacobians[1] == NULL ||
      assembly->angular[0] == NULL || assembly->angular[1] == NULL ||
      assembly->bound_servos == NULL || assembly->predicted == NULL || assembly->rate_end == NULL ||
      !create_switches(assembly) ||
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

void sap_assembly_begin(sap_assembly* assembly) {
  memset(assembly->ranges, 0, sizeof assembly->ranges);
}

sap_block_range sap_assembly_blocks(const sap_assembly* assembly, sap_block_kind kind) {
  return assembly->ranges[kind];
}

void sap_assembly_record(sap_assembly* assembly, sap_block_kind kind, int32_t first,
                         const sap_problem* problem) {
  sap_block_range* range = &assembly->ranges[kind];
  const int32_t end = sap_problem_block_count(problem);
  if (end > first) {
    *range = (sap_block_range){range->end > range->first ? range->first : first, end};
  }
}

sap_status sap_assembly_rows_scale(const sap_assembly_call* call, int32_t first, int32_t count,
                                   double* w) {
  sap_rows* rows = &call->assembly->rows;
  sap_rows_pack(rows, first, count);
  *w = 0.0;
  return rows->nparts == 0
             ? SAP_STATUS_OK
             : sap_problem_delassus_scale(call->problem, count, rows->nparts, rows->part_trees,
                                          rows->parts, w, call->error);
}

sap_status sap_assembly_name_failure(const sap_assembly_call* call, sap_status status,
                                     const char* what, sap_element element, int32_t id) {
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(call->error, "%s %d '%s'", what, id,
                     sap_model_get_name(call->assembly->model, element, id));
  }
  return status;
}

sap_status sap_assembly_add_packed_rows(const sap_assembly_call* call, const sap_row_law* law) {
  const sap_rows* rows = &call->assembly->rows;
  const sap_block block = {.set = law->set,
                           .nrows = rows->nrows,
                           .ntrees = rows->nparts,
                           .trees = rows->part_trees,
                           .jacobians = rows->parts,
                           .R = law->R,
                           .v_hat = law->v_hat,
                           .lower = law->lower,
                           .upper = law->upper,
                           .key = law->key};
  return sap_problem_add_block(call->problem, &block, call->error);
}

sap_status sap_assembly_add_rows(const sap_assembly_call* call, const sap_row_law* law) {
  sap_rows_pack(&call->assembly->rows, 0, call->assembly->rows.nrows);
  return sap_assembly_add_packed_rows(call, law);
}

bool* sap_assembly_switches(sap_assembly* assembly, sap_assembly_switch kind) {
  return assembly->on[kind];
}
