// SPDX-License-Identifier: BSD-3-Clause
// Memory, switches and block ranges of the assembly; rows to a block of the problem.
#include "multibody/assembly/assembly.h"

#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "multibody/assembly/assembly_data.h"
#include "problem/blocks.h"
#include "problem/factor.h"

static sap_status create_switches(sap_assembly* assembly, sap_error* error) {
  const sap_model_sizes* sizes = &assembly->model->sizes;
  const int32_t counts[SAP_ASSEMBLY_SWITCHES] = {sizes->equalities, sizes->joints, sizes->joints,
                                                 sizes->tendons, sizes->tendons};
  for (int kind = 0; kind < SAP_ASSEMBLY_SWITCHES; ++kind) {
    SAP_TRY(SAP_POOL_ADD(&assembly->pool, &assembly->on[kind], counts[kind], error));
    for (int32_t i = 0; i < counts[kind]; ++i) {
      assembly->on[kind][i] =
          kind != SAP_ASSEMBLY_EQUALITY || assembly->model->equalities[i].active;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status fill_assembly(sap_assembly* assembly, sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_model_sizes* sizes = &model->sizes;
  const size_t equality_rows = SAP_ROWS_MAX * (size_t)sizes->equalities;
  sap_pool* pool = &assembly->pool;
  int32_t largest = 1;
  sap_loads* loads = &assembly->loads;
  loads->ntrees = sizes->trees;
  SAP_TRY(SAP_POOL_ADD(pool, &loads->own, sizes->trees, error));
  SAP_TRY(SAP_POOL_ADD(pool, &loads->mass, sizes->trees, error));
  for (int32_t b = 0; b < sizes->bodies; ++b) {
    const int32_t tree = model->bodies[b].tree;
    if (tree >= 0) {
      loads->own[tree] += model->bodies[b].mass;
    }
  }
  for (int32_t t = 0; t < sizes->trees; ++t) {
    largest = model->tree_sizes[t] > largest ? model->tree_sizes[t] : largest;
  }
  for (int side = 0; side < 2; ++side) {
    SAP_TRY(SAP_POOL_ADD(pool, &assembly->jacobians[side], 3 * (size_t)largest, error));
    SAP_TRY(SAP_POOL_ADD(pool, &assembly->angular[side], 3 * (size_t)largest, error));
  }
  SAP_TRY(SAP_POOL_ADD(pool, &assembly->limits, 2 * (size_t)sizes->joints, error));
  SAP_TRY(SAP_POOL_ADD(pool, &assembly->bound_servos, sizes->joints + sizes->tendons, error));
  SAP_TRY(SAP_POOL_ADD(pool, &assembly->predicted, equality_rows, error));
  SAP_TRY(SAP_POOL_ADD(pool, &assembly->rate_end, equality_rows, error));
  SAP_TRY(SAP_POOL_ADD(pool, &assembly->end_share, equality_rows, error));
  SAP_TRY(sap_rows_create(model, pool, &assembly->rows, error));
  SAP_TRY(SAP_POOL_ADD(pool, &assembly->unit_scales, sizes->nv, error));
  return create_switches(assembly, error);
}

sap_status sap_assembly_create(const sap_model* model, sap_assembly** out, sap_error* error) {
  *out = NULL;
  sap_assembly* assembly;
  SAP_TRY(SAP_NEW(&assembly, 1, "contact assembly", error));
  assembly->model = model;
  assembly->pool.owner = "contact assembly";
  SAP_TRY_OR(fill_assembly(assembly, error), sap_assembly_destroy(assembly));
  *out = assembly;
  return SAP_STATUS_OK;
}

void sap_assembly_destroy(sap_assembly* assembly) {
  if (assembly == NULL) {
    return;
  }
  sap_pool_free(&assembly->pool);
  sap_free(assembly);
}

void sap_assembly_forget_limits(sap_assembly* assembly) {
  assembly->limits_checked = false;
  memset(assembly->limits, 0, 2 * (size_t)assembly->model->sizes.joints * sizeof(sap_limit_state));
}

void sap_assembly_begin(sap_assembly* assembly, const sap_contact_list* contacts) {
  const sap_model_body* bodies = assembly->model->bodies;
  memset(assembly->ranges, 0, sizeof assembly->ranges);
  memset(assembly->unit_scales, 0, (size_t)assembly->model->sizes.nv * sizeof(double));
  sap_loads_begin(&assembly->loads, assembly->model->options.gravity);
  for (bool more = true; more;) {
    more = false;
    SAP_EACH(const sap_contact, c, contacts->contacts, contacts->count) {
      more |= sap_loads_link(&assembly->loads, bodies[c->body_A].tree, bodies[c->body_B].tree,
                             c->R_WC + 6);
    }
  }
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
  const sap_model* model = call->assembly->model;
  double* known = rows->column < 0 ? NULL
                                   : call->assembly->unit_scales +
                                         model->tree_dofs[rows->part_trees[0]] + rows->column;
  if (known != NULL && *known > 0.0) {
    *w = *known;
    return SAP_STATUS_OK;
  }
  if (rows->nrows > 1 || rows->nparts == 0) {
    sap_rows_pack(rows, first, count);
  }
  const sap_block block = {
      .nrows = count, .ntrees = rows->nparts, .trees = rows->part_trees, .jacobians = rows->parts};
  double scales[3] = {0.0};
  if (rows->nparts > 0) {
    SAP_TRY(sap_problem_checked_scale(call->problem, &block, scales, call->error));
  }
  *w = scales[0];
  if (known != NULL) {
    *known = *w;
  }
  return SAP_STATUS_OK;
}

void sap_assembly_add_prefix(const sap_assembly_call* call, const char* what, sap_element element,
                             int32_t id) {
  sap_error_prefix(call->error, "%s %d '%s'", what, id,
                   sap_model_get_name(call->assembly->model, element, id));
}

sap_status sap_assembly_add_rows(const sap_assembly_call* call, const sap_row_law* law) {
  sap_rows* rows = &call->assembly->rows;
  if (rows->nrows > 3) {  // up to three have been packed for their scale
    sap_rows_pack(rows, 0, rows->nrows);
  }
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
  return sap_problem_add_scaled(call->problem, &block, rows->column, call->error);
}
