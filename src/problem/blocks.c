// SPDX-License-Identifier: BSD-3-Clause
#include "problem/blocks.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "contact/material.h"
#include "math/scalar.h"
#include "math/simd.h"

static sap_status check_trees(const sap_problem* p, const sap_block* b, sap_error* error) {
  SAP_FAIL_IF(b->ntrees < 1 || b->trees == NULL || b->jacobians == NULL, error, SAP_STATUS_ARGUMENT,
              "block %d: ntrees = %d must be >= 1, with trees and jacobians given", p->nblocks,
              b->ntrees);
  for (int32_t i = 0; i < b->ntrees; ++i) {
    SAP_FAIL_IF(b->trees[i] < 0 || b->trees[i] >= p->ntrees, error, SAP_STATUS_ARGUMENT,
                "block %d: trees[%d] = %d must be in [0, %d)", p->nblocks, i, b->trees[i],
                p->ntrees);
    for (int32_t j = 0; j < i; ++j) {
      SAP_FAIL_IF(b->trees[i] == b->trees[j], error, SAP_STATUS_ARGUMENT,
                  "block %d: tree %d is named twice", p->nblocks, b->trees[i]);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_check_shape(const sap_problem* p, const sap_block* b, sap_error* error) {
  SAP_FAIL_IF(b->nrows < 1 || b->nrows > INT32_MAX / 2, error, SAP_STATUS_ARGUMENT,
              "block %d: nrows = %d must be >= 1", p->nblocks, b->nrows);
  SAP_TRY(check_trees(p, b, error));
  for (int32_t t = 0; t < b->ntrees; ++t) {
    SAP_FAIL_IF(b->jacobians[t] == NULL, error, SAP_STATUS_ARGUMENT,
                "block %d: jacobians[%d] is NULL", p->nblocks, t);
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_check_jacobians(const sap_problem* p, const sap_block* b, sap_error* error) {
  SAP_TRY(sap_problem_check_shape(p, b, error));
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const double* J = b->jacobians[t];
    const int64_t count = (int64_t)b->nrows * p->tree_size[b->trees[t]];
    for (int64_t i = sap_all_finite(J, (size_t)count) ? count : 0; i < count; ++i) {
      SAP_FAIL_IF(!isfinite(J[i]), error, SAP_STATUS_NOT_FINITE,
                  "block %d: Jacobian of tree %d, entry (%lld, %lld) = %g must be finite",
                  p->nblocks, b->trees[t], (long long)(i % b->nrows), (long long)(i / b->nrows),
                  J[i]);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check_potential(const sap_block* b, sap_error* error) {
  SAP_TRY(sap_contact_check_number("dissipation", b->dissipation, false, error));
  SAP_TRY(sap_contact_check_number("lagged_impulse", b->lagged_impulse, false, error));
  const double speed = b->slip_speed < DBL_MIN ? fmin(0.0, b->slip_speed) : b->slip_speed;
  SAP_TRY(sap_contact_check_number("slip_speed", speed, true, error));
  SAP_FAIL_IF(!(b->R[0] > 0.0) || !(b->R[2] > 0.0), error, SAP_STATUS_ARGUMENT,
              "R = (%g, %g, %g) of a potential must be > 0", b->R[0], b->R[1], b->R[2]);
  return SAP_STATUS_OK;
}

static sap_status check_contact(const sap_block* b, sap_error* error) {
  SAP_FAIL_IF(b->nrows != 3 && b->nrows != 4 && b->nrows != 6, error, SAP_STATUS_ARGUMENT,
              "a contact has 3, 4 or 6 rows, not %d", b->nrows);
  SAP_TRY(sap_contact_check_number("friction", b->friction, false, error));
  for (int32_t i = 1; i < b->nrows; ++i) {
    SAP_FAIL_IF(i != 2 && b->R[i] != b->R[0], error, SAP_STATUS_ARGUMENT,
                "R[0] = %g, R[%d] = %g of a contact must be equal in all rows but the normal",
                b->R[0], i, b->R[i]);
  }
  return sap_set_is_potential(b->set) ? check_potential(b, error) : SAP_STATUS_OK;
}

static sap_status check_box(const sap_problem* p, const sap_block* b, sap_error* error) {
  SAP_FAIL_IF(b->lower == NULL || b->upper == NULL, error, SAP_STATUS_ARGUMENT,
              "block %d: a box needs lower and upper", p->nblocks);
  for (int32_t i = 0; i < b->nrows; ++i) {
    SAP_FAIL_IF(isnan(b->lower[i]) || isnan(b->upper[i]), error, SAP_STATUS_NOT_FINITE,
                "block %d, row %d: bounds [%g, %g] are NaN", p->nblocks, i, b->lower[i],
                b->upper[i]);
    SAP_FAIL_IF(!(b->lower[i] <= b->upper[i]) || !(b->lower[i] < (double)INFINITY) ||
                    !(b->upper[i] > -(double)INFINITY),
                error, SAP_STATUS_ARGUMENT,
                "block %d, row %d: bounds [%g, %g] must hold a finite number", p->nblocks, i,
                b->lower[i], b->upper[i]);
  }
  return SAP_STATUS_OK;
}

// Checks set, R, v_hat, mu and bounds.
static sap_status check_rows(const sap_problem* p, const sap_block* b, sap_error* error) {
  const int set = (int)b->set;
  SAP_FAIL_IF(set < (int)SAP_SET_FRICTION_CONE || set > (int)SAP_SET_LAGGED, error,
              SAP_STATUS_ARGUMENT, "block %d: set = %d is not a sap_set", p->nblocks, set);
  SAP_FAIL_IF(b->R == NULL || b->v_hat == NULL, error, SAP_STATUS_ARGUMENT, "block %d: %s is NULL",
              p->nblocks, b->R == NULL ? "R" : "v_hat");
  for (int32_t i = 0; i < b->nrows; ++i) {
    SAP_FAIL_IF(!isfinite(b->R[i]) || !isfinite(b->v_hat[i]), error, SAP_STATUS_NOT_FINITE,
                "block %d, row %d: %s = %g must be finite", p->nblocks, i,
                isfinite(b->R[i]) ? "v_hat" : "R", isfinite(b->R[i]) ? b->v_hat[i] : b->R[i]);
    // 1/R of a subnormal number overflows
    SAP_FAIL_IF(!(b->R[i] >= DBL_MIN || b->R[i] == 0.0), error, SAP_STATUS_ARGUMENT,
                "block %d, row %d: R = %g must be >= 0", p->nblocks, i, b->R[i]);
  }
  if (sap_set_is_contact(b->set)) {
    SAP_TRY_OR(check_contact(b, error), sap_error_prefix(error, "block %d", p->nblocks));
    return SAP_STATUS_OK;
  }
  return b->set == SAP_SET_BOX ? check_box(p, b, error) : SAP_STATUS_OK;
}

// Copies R, v_hat and bounds of each row.
static void copy_rows(const sap_problem* p, const sap_block* b) {
  for (int32_t i = 0, row = p->nrows; i < b->nrows; ++i, ++row) {
    p->R[row] = b->R[i];
    p->v_hat_law[row] = p->v_hat_shifted[row] = b->v_hat[i];
    p->lower[row] = sap_set_lower(b, i);
    p->upper[row] = sap_set_upper(b, i);
  }
}

sap_status sap_problem_append_block(sap_problem* p, const sap_block* b, sap_error* error) {
  int64_t values = p->njacobian_values;
  for (int32_t t = 0; t < b->ntrees; ++t) {
    values += (int64_t)b->nrows * p->tree_size[b->trees[t]];
  }
  const int64_t trees = (int64_t)p->nblock_trees + b->ntrees, rows = (int64_t)p->nrows + b->nrows;
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_BLOCKS, (int64_t)p->nblocks + 1, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_BLOCK_TREES, trees, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_ROWS, rows, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_JACOBIANS, values, error));
  sap_block_data* data = &p->blocks[p->nblocks++];
  *data = (sap_block_data){.set = b->set,
                           .nrows = b->nrows,
                           .ntrees = b->ntrees,
                           .first_row = p->nrows,
                           .first_tree = p->nblock_trees,
                           .column = -1,
                           .key = b->key};
  if (sap_set_is_contact(b->set)) {
    data->friction = b->friction;
  }
  if (sap_set_is_potential(b->set)) {
    data->dissipation = b->dissipation;
    data->slip_speed = b->slip_speed;
    data->lagged_impulse = b->set == SAP_SET_LAGGED ? b->lagged_impulse : 0.0;
  }
  double* J = p->jacobian_values + p->njacobian_values;
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const size_t count = (size_t)b->nrows * (size_t)p->tree_size[b->trees[t]];
    memcpy(J, b->jacobians[t], count * sizeof(double));
    p->block_trees[p->nblock_trees] = b->trees[t];
    p->jacobians[p->nblock_trees++] = J;
    J += count;
  }
  copy_rows(p, b);
  p->nrows = (int32_t)rows;
  p->njacobian_values = (int32_t)values;
  return SAP_STATUS_OK;
}

sap_status sap_problem_add_scaled(sap_problem* problem, const sap_block* block, int32_t column,
                                  sap_error* error) {
  SAP_TRY(check_rows(problem, block, error));
  SAP_TRY(sap_problem_append_block(problem, block, error));
  problem->blocks[problem->nblocks - 1].column = column;
  return SAP_STATUS_OK;
}

// Returns the place of the only entry of a single row, -1: others.
static int32_t find_column(const sap_problem* p, const sap_block* b) {
  int32_t column = -1;
  const int32_t n = b->nrows == 1 && b->ntrees == 1 ? p->tree_size[b->trees[0]] : 0;
  for (int32_t i = 0; i < n; ++i) {
    if (b->jacobians[0][i] != 0.0) {
      SAP_RETURN_IF(column >= 0, -1);
      column = i;
    }
  }
  return column;
}

sap_status sap_problem_add_block(sap_problem* problem, const sap_block* block, sap_error* error) {
  SAP_NOT_NULL(error, problem, block);
  SAP_TRY(sap_problem_check_jacobians(problem, block, error));
  return sap_problem_add_scaled(problem, block, find_column(problem, block), error);
}

sap_block sap_problem_view(const sap_problem* problem, const sap_block_data* block) {
  const bool box = block->set == SAP_SET_BOX;
  return (sap_block){.set = block->set,
                     .nrows = block->nrows,
                     .ntrees = block->ntrees,
                     .trees = problem->block_trees + block->first_tree,
                     .jacobians = problem->jacobians + block->first_tree,
                     .R = problem->R + block->first_row,
                     .v_hat = problem->v_hat_shifted + block->first_row,
                     .friction = block->friction,
                     .dissipation = block->dissipation,
                     .slip_speed = block->slip_speed,
                     .lagged_impulse = block->lagged_impulse,
                     .shift = block->shift,
                     .realised = block->realised,
                     .lower = box ? problem->lower + block->first_row : NULL,
                     .upper = box ? problem->upper + block->first_row : NULL,
                     .key = block->key};
}

sap_status sap_problem_block(const sap_problem* problem, int32_t index, sap_block* out,
                             int32_t* first_row, sap_error* error) {
  SAP_NOT_NULL(error, problem, out);
  SAP_FAIL_IF(index < 0 || index >= problem->nblocks, error, SAP_STATUS_ARGUMENT,
              "block %d must be in [0, %d)", index, problem->nblocks);
  *out = sap_problem_view(problem, &problem->blocks[index]);
  if (first_row != NULL) {
    *first_row = problem->blocks[index].first_row;
  }
  return SAP_STATUS_OK;
}

// out += J v of a tree of n velocities; a constant nrows lets the compiler unroll.
static inline void add_rows_times(const double* restrict J, int32_t nrows, int32_t n,
                                  const double* restrict v, double* restrict out) {
  for (int32_t i = 0; i < n; ++i, J += nrows) {
    for (int32_t r = 0; r < nrows; ++r) {
      out[r] += J[r] * v[i];
    }
  }
}

void sap_problem_rows_times(const sap_problem* p, const sap_rows_view* rows, const double* v,
                            double* out) {
  for (int32_t r = 0; r < rows->nrows; ++r) {
    out[r] = 0.0;
  }
  for (int32_t t = 0; v != NULL && t < rows->ntrees; ++t) {
    const double *J = rows->jacobians[t], *vt = v + p->tree_start[rows->trees[t]];
    const int32_t n = p->tree_size[rows->trees[t]];
    if (rows->nrows == 6) {
      add_rows_times(J, 6, n, vt, out);
    } else {
      add_rows_times(J, rows->nrows, n, vt, out);
    }
  }
}

void sap_problem_rows_times_both(const sap_problem* p, const sap_rows_view* rows, const double* v,
                                 const double* u, double* out_v, double* out_u) {
  if (rows->nrows != 3 || v == NULL || u == NULL) {
    sap_problem_rows_times(p, rows, v, out_v);
    sap_problem_rows_times(p, rows, u, out_u);
    return;
  }
  sap_simd_pair sum[3] = {{0.0}};  // of v and u
  for (int32_t t = 0; t < rows->ntrees; ++t) {
    const int32_t first = p->tree_start[rows->trees[t]], end = first + p->tree_size[rows->trees[t]];
    const double* J = rows->jacobians[t];
    for (int32_t i = first; i < end; ++i, J += 3) {
      const sap_simd_pair x = {v[i], u[i]};
      for (int r = 0; r < 3; ++r) {
        sum[r] += (sap_simd_pair){J[r], J[r]} * x;
      }
    }
  }
  for (int r = 0; r < 3; ++r) {
    out_v[r] = sum[r][0];
    out_u[r] = sum[r][1];
  }
}

void sap_problem_block_velocity(const sap_problem* p, const sap_block_data* block, const double* v,
                                double* vc) {
  const sap_rows_view rows = {block->nrows, block->ntrees, p->block_trees + block->first_tree,
                              p->jacobians + block->first_tree};
  sap_problem_rows_times(p, &rows, v, vc);
}
