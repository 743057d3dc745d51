// SPDX-License-Identifier: BSD-3-Clause
// Blocks to patches: Jacobian rows, cone and interval parameters.
// A block on a tree with more joints than a free body moves only the joints between its bodies and
// the root: the other columns of its Jacobian are zero. Such a patch keeps the list of its nonzero
// columns, and blocks share a patch only if their lists are equal.
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/newton_memory.h"
#include "solvers/primal/patch_vector.h"
#include "solvers/primal/wide.h"

sap_patch_kind sap_newton_patch_kind(const sap_block_data* block) {
  return !sap_set_is_contact(block->set) ? SAP_PATCH_INTERVALS
         : block->nrows == 3             ? SAP_PATCH_CONES
                                         : SAP_PATCH_WIDE;
}

static bool same_trees(const sap_newton* n, const sap_patch* patch, const sap_block_data* block,
                       const int32_t* order) {
  if (patch->kind != sap_newton_patch_kind(block) || patch->ntrees != block->ntrees) {
    return false;
  }
  const int32_t* trees = n->problem->block_trees + block->first_tree;
  for (int32_t i = 0; i < block->ntrees; ++i) {
    if (n->patch_trees[patch->first_tree + i] != n->local[trees[order[i]]]) {
      return false;
    }
  }
  return true;
}

static inline uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Is one of three numbers not zero? Looks at all bits but the signs.
static inline bool is_any_of_three(const double* x) {
  return (bits_of(x[0]) | bits_of(x[1]) | bits_of(x[2])) << 1 != 0;
}

// Lists the nonzero columns of a block behind those in use; -1 if none of its trees is large.
static int32_t list_columns(sap_newton* n, const sap_block_data* block, const int32_t* order,
                            int32_t first) {
  const sap_problem* p = n->problem;
  const int32_t* trees = p->block_trees + block->first_tree;
  bool large = false;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    large = large || p->tree_size[trees[t]] > SAP_ONE_FREE_BODY;
  }
  if (!large) {
    return -1;
  }
  int32_t* columns = n->columns + first;
  int32_t count = 0;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = n->local[trees[order[t]]];
    const int32_t start = n->start[tree], size = n->size[tree];
    const double* J = p->jacobians[block->first_tree + order[t]];
    if (block->nrows == 3) {
      for (int32_t i = 0; i < size; ++i, J += 3) {
        columns[count] = start + i;
        count += is_any_of_three(J);
      }
      continue;
    }
    if (block->nrows == 1) {
      for (int32_t i = 0; i < size; ++i) {
        columns[count] = start + i;
        count += J[i] != 0.0;
      }
      continue;
    }
    for (int32_t i = 0; i < size; ++i, J += block->nrows) {
      int32_t r = 0;
      while (r < block->nrows && J[r] == 0.0) {
        ++r;
      }
      columns[count] = start + i;
      count += r < block->nrows ? 1 : 0;
    }
  }
  return count;
}

static bool same_columns(const sap_newton* n, const sap_patch* patch, int32_t first,
                         int32_t count) {
  return count < 0 ||
         (count == patch->ncols && memcmp(n->columns + patch->first_column, n->columns + first,
                                          (size_t)count * sizeof *n->columns) == 0);
}

// Of a patch on one free body or two.
static void find_bodies(const sap_newton* n, sap_patch* patch) {
  const int32_t* trees = n->patch_trees + patch->first_tree;
  patch->bodies[0] = patch->bodies[1] = -1;
  if (patch->first_column >= 0 || patch->ntrees > 2 ||
      patch->ncols != patch->ntrees * SAP_ONE_FREE_BODY || n->size[trees[0]] != SAP_ONE_FREE_BODY) {
    return;
  }
  for (int32_t t = 0; t < patch->ntrees; ++t) {
    patch->bodies[t] = n->start[trees[t]];
  }
}

static void open_patch(sap_newton* n, const sap_block_data* block, const int32_t* order,
                       const sap_patch* start) {
  sap_patch* patch = &n->patches[n->npatches++];
  *patch = *start;
  patch->kind = sap_newton_patch_kind(block);
  patch->ntrees = block->ntrees;
  patch->first_tree = n->npatch_trees;
  patch->first_pair = n->npairs;
  const int32_t* trees = n->problem->block_trees + block->first_tree;
  for (int32_t i = 0; i < block->ntrees; ++i) {
    const int32_t tree = n->local[trees[order[i]]];
    n->patch_trees[n->npatch_trees++] = tree;
    patch->ncols += patch->first_column < 0 ? n->size[tree] : 0;
  }
  find_bodies(n, patch);
  n->npairs += block->ntrees * (block->ntrees + 1) / 2;
  n->ncone_patches += patch->kind == SAP_PATCH_CONES ? 1 : 0;
}

// Three rows over all columns of a tree.
static inline void copy_three_rows(const double* restrict J, int32_t count, size_t stride,
                                   double* restrict rows) {
  for (int32_t i = 0; i < count; ++i) {
    rows[i] = J[3 * i];
    rows[stride + (size_t)i] = J[3 * i + 1];
    rows[2 * stride + (size_t)i] = J[3 * i + 2];
  }
}

static inline void copy_column(const double* restrict from, size_t nrows, size_t stride,
                               double* restrict to) {
  for (size_t r = 0; r < nrows; ++r) {
    to[r * stride] = from[r];
  }
}

static void copy_rows(const double* J, size_t nrows, size_t count, size_t stride, double* rows) {
  for (size_t i = 0; i < count; ++i) {
    copy_column(J + i * nrows, nrows, stride, rows + i);
  }
}

// Column-major blocks of the problem to rows over the patch's columns.
static void copy_jacobian(const sap_newton* n, const sap_block_data* block, const int32_t* order,
                          const sap_patch* patch, double* rows) {
  const size_t nrows = (size_t)block->nrows, stride = (size_t)patch->ncols;
  const int32_t* columns = patch->first_column < 0 ? NULL : n->columns + patch->first_column;
  size_t column = 0;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t at = block->first_tree + order[t];
    const int32_t tree = n->local[n->problem->block_trees[at]];
    const double* J = n->problem->jacobians[at];
    if (columns == NULL && nrows == 3) {
      if (n->size[tree] == SAP_ONE_FREE_BODY) {
        copy_three_rows(J, SAP_ONE_FREE_BODY, stride, rows + column);
      } else {
        copy_three_rows(J, n->size[tree], stride, rows + column);
      }
      column += (size_t)n->size[tree];
      continue;
    }
    if (columns == NULL) {
      copy_rows(J, nrows, (size_t)n->size[tree], stride, rows + column);
      column += (size_t)n->size[tree];
      continue;
    }
    const int32_t start = n->start[tree], end = n->start[tree + 1];
    if (nrows == 3) {
      for (; column < stride && columns[column] < end; ++column) {
        const double* entry = J + 3 * (size_t)(columns[column] - start);
        rows[column] = entry[0];
        rows[stride + column] = entry[1];
        rows[2 * stride + column] = entry[2];
      }
      continue;
    }
    for (; column < stride && columns[column] < end; ++column) {
      copy_column(J + (size_t)(columns[column] - start) * nrows, nrows, stride, rows + column);
    }
  }
}

const sap_potential* sap_newton_gather_potential(sap_newton* n, const sap_block_data* block) {
  if (!sap_set_is_potential(block->set)) {
    return NULL;
  }
  const sap_block view = {.set = block->set,
                          .R = n->problem->R + block->first_row,
                          .v_hat = n->problem->v_hat + block->first_row,
                          .friction = block->friction,
                          .dissipation = block->dissipation,
                          .slip_speed = block->slip_speed,
                          .lagged_impulse = block->lagged_impulse};
  sap_potential* potential = &n->potentials[n->npotentials++];
  *potential = sap_potential_make(&view);
  return potential;
}

static void gather_cone(sap_newton* n, const sap_block_data* block, int32_t cone) {
  const double* R = n->problem->R + block->first_row;
  const double* v_hat = n->problem->v_hat + block->first_row;
  const sap_cone made = sap_cone_make(block->friction, R[0], R[2]);
  const double law[] = {made.mu, made.inverse_Rt, made.inverse_Rn, made.k, made.stick_2};
  for (int32_t i = 0; i < 5; ++i) {
    n->cone_law[i * n->ncones + cone] = law[i];
  }
  n->cones[cone] = made;
  n->cone_row[cone] = block->first_row;
  n->cones[cone].potential = sap_newton_gather_potential(n, block);
  for (int32_t i = 0; i < 3; ++i) {
    n->cone_v_hat[i * n->ncones + cone] = v_hat[i];
  }
}

static void gather_intervals(sap_newton* n, const sap_block_data* block, int32_t first) {
  const sap_problem* p = n->problem;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const int32_t row = block->first_row + i;
    n->intervals[first + i] =
        (sap_interval){1.0 / p->R[row], p->R[row], p->lower[row], p->upper[row]};
    n->interval_v_hat[first + i] = p->v_hat[row];
    n->interval_row[first + i] = row;
  }
}

void sap_newton_gather_blocks(sap_newton* n) {
  size_t jacobian = 0;
  int32_t next[SAP_PATCH_INTERVALS + 1] = {0};  // of each kind
  int32_t columns = 0;
  n->npatches = n->ncone_patches = n->npatch_trees = n->npairs = n->npotentials = 0;
  for (int32_t b = 0; b < n->nblocks; ++b) {
    const sap_block_key* key = &n->memory->keys[b];
    const sap_block_data* block = &n->problem->blocks[key->block];
    const int32_t* order = n->tree_order + key->order;
    const sap_patch_kind kind = sap_newton_patch_kind(block);
    const int32_t count = n->ncolumns > 0 ? list_columns(n, block, order, columns) : -1;
    const sap_patch* last = n->npatches > 0 ? &n->patches[n->npatches - 1] : NULL;
    if (last == NULL || !same_trees(n, last, block, order) ||
        !same_columns(n, last, columns, count)) {
      const sap_patch start = {.first = next[kind],
                               .first_column = count < 0 ? -1 : columns,
                               .ncols = count < 0 ? 0 : count,
                               .jacobian = jacobian};
      open_patch(n, block, order, &start);
      columns += count < 0 ? 0 : count;
    }
    sap_patch* patch = &n->patches[n->npatches - 1];
    copy_jacobian(n, block, order, patch, n->jacobian + jacobian);
    jacobian += (size_t)block->nrows * (size_t)patch->ncols;
    const int32_t added = kind == SAP_PATCH_INTERVALS ? block->nrows : 1;
    switch (kind) {
      case SAP_PATCH_CONES:
        gather_cone(n, block, next[kind]);
        break;
      case SAP_PATCH_WIDE:
        sap_wide_gather(n, block, next[kind]);
        break;
      case SAP_PATCH_INTERVALS:
        gather_intervals(n, block, next[kind]);
        break;
    }
    next[kind] += added;
    patch->count += added;
  }
}
