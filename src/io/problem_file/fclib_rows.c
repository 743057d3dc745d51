// SPDX-License-Identifier: BSD-3-Clause
// Constraint blocks of a global problem, from the columns of H, G and K.
#include "io/problem_file/fclib_blocks.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"

// Where the next block of each kind starts, and room for its Jacobian.
typedef struct cursor {
  int32_t cone, free_row, other, tree;
  double* values;
  const double** jacobians;
  int32_t* part;  // of a tree in the current block, -1: not one of it   (ntrees)
  int32_t values_capacity, jacobians_capacity;
  double R[3], v_hat[3];
} cursor;

// Jacobians of columns [first, first + nrows); permute: FCLIB's N T1 T2.
static sap_status fill_jacobian(const sap_fclib_file* file, const sap_fclib_global* g,
                                const sap_fclib_matrix* a, int32_t first, sap_block* block,
                                cursor* c, sap_error* error) {
  int64_t needed = 0;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    needed += (int64_t)block->nrows * g->tree_sizes.values[block->trees[t]];
  }
  if (needed > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "a Jacobian with %lld entries is too large",
                    (long long)needed);
  }
  sap_status status = SAP_GROW(&c->values, &c->values_capacity, (int32_t)needed, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&c->jacobians, &c->jacobians_capacity, block->ntrees, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  memset(c->values, 0, (size_t)needed * sizeof(double));
  double* J = c->values;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    c->jacobians[t] = J;
    c->part[block->trees[t]] = (int32_t)(J - c->values);
    J += (size_t)block->nrows * (size_t)g->tree_sizes.values[block->trees[t]];
  }
  const bool cone = block->set == SAP_SET_FRICTION_CONE;
  for (int32_t j = 0; j < block->nrows && status == SAP_STATUS_OK; ++j) {
    const int32_t row = cone ? sap_fclib_row(j) : j;
    for (int32_t k = a->start.values[first + j]; k < a->start.values[first + j + 1]; ++k) {
      const int32_t i = a->row.values[k], tree = g->tree_of.values[i];
      if (c->part[tree] < 0) {
        status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/block_trees",
                                "column %ld of its Jacobian acts on tree %ld, which is not named",
                                (long)(first + j), (long)tree);
        break;
      }
      c->values[c->part[tree] + (i - g->tree_start.values[tree]) * block->nrows + row] =
          a->x.values[k];
    }
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    c->part[block->trees[t]] = -1;
  }
  block->jacobians = c->jacobians;
  return status;
}

static sap_status add_block(const sap_fclib_file* file, const sap_fclib_global* g, int32_t index,
                            cursor* c, sap_problem* problem, sap_error* error) {
  const int32_t* table = g->blocks.values + (size_t)SAP_FCLIB_FIELDS * (size_t)index;
  sap_block block = {.set = (sap_set)table[SAP_FCLIB_SET],
                     .nrows = table[SAP_FCLIB_NROWS],
                     .ntrees = table[SAP_FCLIB_NTREES],
                     .trees = g->block_trees.values + c->tree,
                     .key = g->keys != NULL ? g->keys[index] : 0};
  sap_status status;
  c->tree += block.ntrees;
  if (block.set == SAP_SET_FRICTION_CONE) {
    const int32_t row = 3 * c->cone;
    for (int32_t k = 0; k < 3; ++k) {
      c->v_hat[sap_fclib_row(k)] = -g->w.values[row + k];
    }
    block.R = g->R.values + row;
    block.v_hat = c->v_hat;
    block.friction = g->mu.values[c->cone++];
    status = fill_jacobian(file, g, &g->H, row, &block, c, error);
  } else if (block.set == SAP_SET_FREE) {
    const int32_t row = c->free_row;
    for (int32_t k = 0; k < block.nrows; ++k) {
      g->b.values[row + k] = -g->b.values[row + k];
    }
    c->free_row += block.nrows;
    block.R = g->G_R.values + row;
    block.v_hat = g->b.values + row;
    status = fill_jacobian(file, g, &g->G, row, &block, c, error);
  } else {
    const int32_t row = c->other;
    c->other += block.nrows;
    block.R = g->K_R.values + row;
    block.v_hat = g->K_v_hat.values + row;
    block.lower = g->K_lower.values + row;
    block.upper = g->K_upper.values + row;
    status = fill_jacobian(file, g, &g->K, row, &block, c, error);
  }
  return status == SAP_STATUS_OK ? sap_problem_add_block(problem, &block, error) : status;
}

sap_status sap_fclib_add_blocks(const sap_fclib_file* file, const sap_fclib_global* g,
                                sap_problem* problem, sap_error* error) {
  cursor c = {0};
  c.part = sap_allocate((size_t)g->tree_sizes.count + 1, sizeof *c.part);
  if (c.part == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  memset(c.part, 0xff, ((size_t)g->tree_sizes.count + 1) * sizeof *c.part);
  sap_status status = SAP_STATUS_OK;
  for (int32_t b = 0; b < g->blocks.count / SAP_FCLIB_FIELDS && status == SAP_STATUS_OK; ++b) {
    status = add_block(file, g, b, &c, problem, error);
  }
  sap_free(c.part);
  sap_free(c.values);
  sap_free(c.jacobians);
  return status;
}
#endif
