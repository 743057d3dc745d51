// SPDX-License-Identifier: BSD-3-Clause
// Constraint blocks of a contact problem: copy, view.
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "problem/problem_data.h"

sap_block_place sap_problem_end(const sap_problem* p) {
  return (sap_block_place){p->nblocks, p->nrows, p->nblock_trees, p->njacobian_values};
}

void sap_problem_set_end(sap_problem* p, const sap_block_place* end) {
  p->nblocks = (int32_t)end->block;
  p->nrows = (int32_t)end->row;
  p->nblock_trees = (int32_t)end->tree;
  p->njacobian_values = (int32_t)end->value;
}

void sap_problem_pass_block(const sap_problem* p, int32_t nrows, int32_t ntrees,
                            const int32_t* trees, sap_block_place* at) {
  at->block += 1;
  at->row += nrows;
  at->tree += ntrees;
  for (int32_t t = 0; t < ntrees; ++t) {
    at->value += (int64_t)nrows * p->tree_size[trees[t]];
  }
}

// Moves the views of Jacobians along with their values.
sap_status sap_problem_reserve_blocks(sap_problem* p, const sap_block_place* end,
                                      sap_error* error) {
  sap_status status = SAP_RESERVE(&p->blocks, &p->block_capacity, end->block, error);
#define RESERVE(array, capacity, needed)                          \
  if (status == SAP_STATUS_OK) {                                  \
    status = SAP_RESERVE(&(array), &(capacity), (needed), error); \
  }
  RESERVE(p->block_trees, p->block_tree_capacity, end->tree)
  RESERVE(p->jacobians, p->jacobian_capacity, end->tree)
  RESERVE(p->R, p->R_capacity, end->row)
  RESERVE(p->v_hat, p->v_hat_capacity, end->row)
  RESERVE(p->lower, p->lower_capacity, end->row)
  RESERVE(p->upper, p->upper_capacity, end->row)
  const double* old = p->jacobian_values;
  RESERVE(p->jacobian_values, p->jacobian_value_capacity, end->value)
#undef RESERVE
  if (status == SAP_STATUS_OK && p->jacobian_values != old) {
    const double* J = p->jacobian_values;
    for (int32_t i = 0; i < p->nblocks; ++i) {
      const sap_block_data* block = &p->blocks[i];
      for (int32_t t = block->first_tree; t < block->first_tree + block->ntrees; ++t) {
        p->jacobians[t] = J;
        J += (size_t)block->nrows * (size_t)p->tree_size[p->block_trees[t]];
      }
    }
  }
  return status;
}

// R, v_hat and bounds of each row: a nonnegative row is the interval [0, inf), a free one (-inf,
// inf).
static void copy_rows(const sap_problem* p, const sap_block* b, int64_t row) {
  const double infinity = (double)INFINITY;
  double* lower = p->lower + row;
  double* upper = p->upper + row;
  for (int32_t i = 0; i < b->nrows; ++i) {
    const bool box = b->set == SAP_SET_BOX;
    p->R[row + i] = b->R[i];
    p->v_hat[row + i] = b->v_hat[i];
    lower[i] = box ? b->lower[i] : (b->set == SAP_SET_NONNEGATIVE ? 0.0 : -infinity);
    upper[i] = box ? b->upper[i] : infinity;
  }
}

void sap_problem_put_block(sap_problem* p, const sap_block* b, const sap_block_place* at) {
  sap_block_data* data = &p->blocks[at->block];
  *data = (sap_block_data){.set = b->set,
                           .nrows = b->nrows,
                           .ntrees = b->ntrees,
                           .first_row = (int32_t)at->row,
                           .first_tree = (int32_t)at->tree,
                           .key = b->key};
  if (sap_set_is_contact(b->set)) {
    data->friction = b->friction;
  }
  if (sap_set_is_potential(b->set)) {
    data->dissipation = b->dissipation;
    data->slip_speed = b->slip_speed;
    data->lagged_impulse = b->set == SAP_SET_LAGGED ? b->lagged_impulse : 0.0;
  }
  double* J = p->jacobian_values + at->value;
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const size_t count = (size_t)b->nrows * (size_t)p->tree_size[b->trees[t]];
    memcpy(J, b->jacobians[t], count * sizeof(double));
    p->block_trees[at->tree + t] = b->trees[t];
    p->jacobians[at->tree + t] = J;
    J += count;
  }
  copy_rows(p, b, at->row);
}

sap_status sap_problem_append_block(sap_problem* p, const sap_block* b, sap_error* error) {
  const sap_block_place at = sap_problem_end(p);
  sap_block_place end = at;
  sap_problem_pass_block(p, b->nrows, b->ntrees, b->trees, &end);
  const sap_status status = sap_problem_reserve_blocks(p, &end, error);
  if (status == SAP_STATUS_OK) {
    sap_problem_put_block(p, b, &at);
    sap_problem_set_end(p, &end);
  }
  return status;
}

sap_status sap_problem_add_block(sap_problem* problem, const sap_block* block, sap_error* error) {
  if (problem == NULL || block == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_add_block: %s is NULL",
                    problem == NULL ? "problem" : "block");
  }
  sap_status status = sap_problem_check_jacobians(problem, block, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_check_rows(problem, block, error);
  }
  return status == SAP_STATUS_OK ? sap_problem_append_block(problem, block, error) : status;
}

sap_status sap_problem_block(const sap_problem* p, int32_t index, sap_block* out,
                             int32_t* first_row, sap_error* error) {
  if (p == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_block: %s is NULL",
                    p == NULL ? "problem" : "out");
  }
  if (index < 0 || index >= p->nblocks) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d must be in [0, %d)", index, p->nblocks);
  }
  const sap_block_data* block = &p->blocks[index];
  const bool box = block->set == SAP_SET_BOX;
  *out = (sap_block){.set = block->set,
                     .nrows = block->nrows,
                     .ntrees = block->ntrees,
                     .trees = p->block_trees + block->first_tree,
                     .jacobians = p->jacobians + block->first_tree,
                     .R = p->R + block->first_row,
                     .v_hat = p->v_hat + block->first_row,
                     .friction = block->friction,
                     .dissipation = block->dissipation,
                     .slip_speed = block->slip_speed,
                     .lagged_impulse = block->lagged_impulse,
                     .lower = box ? p->lower + block->first_row : NULL,
                     .upper = box ? p->upper + block->first_row : NULL,
                     .key = block->key};
  if (first_row != NULL) {
    *first_row = block->first_row;
  }
  return SAP_STATUS_OK;
}

void sap_problem_block_velocity(const sap_problem* p, const sap_block_data* block, const double* v,
                                double* vc) {
  const int32_t nrows = block->nrows;
  for (int32_t r = 0; r < nrows; ++r) {
    vc[r] = 0.0;
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t];
    const double* J = p->jacobians[block->first_tree + t];
    const double* vt = v + p->tree_start[tree];
    for (int32_t i = 0; i < p->tree_size[tree]; ++i, J += nrows) {
      for (int32_t r = 0; r < nrows; ++r) {
        vc[r] += J[r] * vt[i];
      }
    }
  }
}
