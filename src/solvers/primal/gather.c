// SPDX-License-Identifier: BSD-3-Clause
// Gathers one island of a problem: its trees, and its blocks in an order that makes patches.
#include <string.h>

#include "problem/blocks.h"
#include "solvers/primal/newton.h"
#include "solvers/primal/patch_vector.h"

static sap_patch_kind patch_kind_of(const sap_block_data* block) {
  return !sap_set_is_contact(block->set) ? SAP_PATCH_INTERVALS
         : block->nrows == 3             ? SAP_PATCH_CONES
                                         : SAP_PATCH_CONES_N;
}

// Velocities that a block may move, by its trees.
typedef struct block_size {
  int32_t ncols;
  bool large;   // a tree is larger than a free body
  bool bodies;  // one or two free bodies
} block_size;

static inline block_size size_of(const sap_problem* p, const sap_block_data* block) {
  block_size s = {.bodies = block->ntrees <= 2};
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t];
    const int32_t size = block->column >= 0 ? 1 : p->tree_size[tree];
    s.ncols += size;
    s.large = s.large || size > SAP_ONE_FREE_BODY;
    s.bodies = s.bodies && size == SAP_ONE_FREE_BODY;
  }
  return s;
}

// Counts what can be counted from the blocks alone.
static sap_status count_island(sap_newton* n, sap_error* error) {
  const sap_problem* p = n->problem;
  n->nv = n->ncones = n->ncones_n = n->npotentials = n->nintervals = n->npatch_trees = 0;
  n->nrows = 0;
  n->ncouplings = 0;
  n->njacobian = 0;
  for (int32_t t = 0; t < n->ntrees; ++t) {
    n->nv += p->tree_size[n->trees[t]];
    for (int32_t c = p->coupling_head[n->trees[t]]; c >= 0; c = p->couplings[c].next) {
      n->ncouplings += 1;
    }
  }
  n->largest_patch = 0;
  n->nruns = 0;
  int64_t pairs = 0;
  for (int32_t b = 0; b < n->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[n->blocks[b]];
    const block_size size = size_of(p, block);
    const sap_patch_kind kind = patch_kind_of(block);
    n->nruns += size.large ? (size.ncols + block->ntrees) / 2  // with gaps between
                : kind != SAP_PATCH_CONES || !size.bodies ? block->ntrees
                                                          : 0;
    const bool fills_up = kind == SAP_PATCH_CONES && !size.bodies;
    const int32_t ncols = fills_up ? sap_patch_fill_up(size.ncols) : size.ncols;
    n->ncones += kind == SAP_PATCH_CONES ? 1 : 0;
    n->ncones_n += kind == SAP_PATCH_CONES_N ? 1 : 0;
    n->npotentials += sap_set_is_potential(block->set) ? 1 : 0;
    n->nintervals += kind == SAP_PATCH_INTERVALS ? block->nrows : 0;
    n->nrows += kind != SAP_PATCH_CONES ? block->nrows : 0;
    n->npatch_trees += block->ntrees;
    pairs += (int64_t)block->ntrees * (block->ntrees + 1) / 2;
    n->njacobian += (size_t)block->nrows * (size_t)ncols;
    n->largest_patch = ncols > n->largest_patch ? ncols : n->largest_patch;
  }
  return pairs <= INT32_MAX ? SAP_STATUS_OK
                            : sap_fail(error, SAP_STATUS_MEMORY,
                                       "blocks link too many tree pairs: %lld", (long long)pairs);
}

static sap_status gather_trees(sap_newton* n, sap_error* error) {
  const sap_problem* p = n->problem;
  n->start[0] = 0;
  int32_t ncouplings = 0;
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const int32_t tree = n->trees[t];
    const int32_t size = p->tree_size[tree];
    const double* A = p->diagonal + p->diagonal_start[tree];
    n->size[t] = size;
    n->start[t + 1] = n->start[t] + size;
    for (int32_t i = 0; i < size; ++i) {
      const double mass = A[(size_t)i * (size_t)(size + 1)];
      SAP_FAIL_IF(!(mass > 0.0), error, SAP_STATUS_NOT_SPD,
                  "tree %d: diagonal entry %d of A = %g must be > 0", tree, i, mass);
      n->mass[n->start[t] + i] = mass;
    }
    for (int32_t c = p->coupling_head[tree]; c >= 0; c = p->couplings[c].next) {
      n->couplings[ncouplings++] = c;
    }
  }
  return SAP_STATUS_OK;
}

// Returns a block's place in the order: by its kind of patch, then by its first two trees.
static uint64_t sort_key(const sap_newton* n, const sap_block_data* block, const int32_t* order) {
  const int32_t* trees = n->problem->block_trees + block->first_tree;
  const uint64_t first = (uint64_t)n->local[trees[order[0]]];
  const uint64_t second = block->ntrees > 1 ? (uint64_t)n->local[trees[order[1]]] + 1 : 0;
  return (uint64_t)patch_kind_of(block) << 62 | first << 31 | second;
}

// Sorts each block's trees, then the blocks.
static void sort_blocks(sap_newton* n) {
  const sap_problem* p = n->problem;
  int32_t* order = n->tree_order;
  for (int32_t b = 0; b < n->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[n->blocks[b]];
    const int32_t* trees = p->block_trees + block->first_tree;
    for (int32_t i = 0; i < block->ntrees; ++i) {
      int32_t k = i;
      for (; k > 0 && trees[order[k - 1]] > trees[i]; --k) {
        order[k] = order[k - 1];
      }
      order[k] = i;
    }
    n->keys[b] =
        (sap_sort_key){sort_key(n, block, order), n->blocks[b], (int32_t)(order - n->tree_order)};
    order += block->ntrees;
  }
  sap_merge_sort(n->keys, n->keys + n->nblocks, n->nblocks);
}

static bool same_trees(const sap_newton* n, const sap_patch* patch, const sap_block_data* block,
                       const int32_t* order) {
  if (patch->kind != patch_kind_of(block) || patch->ntrees != block->ntrees) {
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

// Returns whether one of the numbers is not zero: looks at all bits except the signs.
static inline bool has_nonzero(const double* x, int32_t count) {
  uint64_t all = 0;
  for (int32_t i = 0; i < count; ++i) {
    uint64_t bits;
    memcpy(&bits, x + i, sizeof bits);
    all |= bits;
  }
  return all << 1 != 0;
}

// Appends the runs of the nonzero columns of J (nrows, size) from the velocity of `at` on; returns
// the next free run.
static inline sap_run* append_runs(const double* J, int32_t nrows, int32_t size, const sap_run* at,
                                   sap_run* next) {
  for (int32_t i = 0; i < size; ++i) {
    while (nrows == 1 && i + 4 <= size && !has_nonzero(J + i, 4)) {
      i += 4;  // most columns of single rows are zero
    }
    const int32_t first = i;
    while (i < size && has_nonzero(J + nrows * i, nrows)) {
      ++i;
    }
    if (i > first) {
      *next++ = (sap_run){at->tree, at->velocity + first, i - first};
    }
  }
  return next;
}

// Lists the runs of a block behind the used runs; returns their number.
static int32_t list_runs(sap_newton* n, const sap_block_data* block, const int32_t* order,
                         int32_t first) {
  const sap_problem* p = n->problem;
  sap_run* next = n->runs + first;
  if (block->column >= 0) {
    const int32_t tree = n->local[p->block_trees[block->first_tree]];
    *next = (sap_run){0, n->start[tree] + block->column, 1};
    return 1;
  }
  const block_size size = size_of(p, block);
  if (size.bodies && patch_kind_of(block) == SAP_PATCH_CONES) {
    return 0;
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = n->local[p->block_trees[block->first_tree + order[t]]];
    const double* J = p->jacobians[block->first_tree + order[t]];
    const sap_run at = {t, n->start[tree], n->size[tree]};
    if (!size.large) {
      *next++ = at;
      continue;
    }
    next = block->nrows == 3   ? append_runs(J, 3, n->size[tree], &at, next)
           : block->nrows == 1 ? append_runs(J, 1, n->size[tree], &at, next)
                               : append_runs(J, block->nrows, n->size[tree], &at, next);
  }
  return (int32_t)(next - (n->runs + first));
}

static int32_t count_columns(const sap_run* runs, int32_t count) {
  int32_t columns = 0;
  for (int32_t r = 0; r < count; ++r) {
    columns += runs[r].count;
  }
  return columns;
}

static bool same_runs(const sap_newton* n, const sap_patch* patch, int32_t first, int32_t count) {
  return count == patch->nruns && (count == 0 || memcmp(n->runs + patch->first_run, n->runs + first,
                                                        (size_t)count * sizeof *n->runs) == 0);
}

static void open_patch(sap_newton* n, const sap_block_data* block, const int32_t* order,
                       const sap_patch* start) {
  sap_patch* patch = &n->patches[n->npatches++];
  *patch = *start;
  patch->kind = patch_kind_of(block);
  patch->ntrees = block->ntrees;
  patch->first_tree = n->npatch_trees;
  patch->first_pair = n->npairs;
  const int32_t* trees = n->problem->block_trees + block->first_tree;
  for (int32_t i = 0; i < block->ntrees; ++i) {
    const int32_t tree = n->local[trees[order[i]]];
    n->patch_trees[n->npatch_trees++] = tree;
    patch->ncols += patch->nruns == 0 ? n->size[tree] : 0;
  }
  const bool bodies = size_of(n->problem, block).bodies;
  for (int32_t i = 0; i < 2; ++i) {
    const bool there = bodies && i < block->ntrees;
    patch->bodies[i] = there ? n->start[n->patch_trees[patch->first_tree + i]] : -1;
  }
  const bool single = patch->kind == SAP_PATCH_INTERVALS && patch->nruns == 1 && patch->ncols == 1;
  patch->velocity = single ? n->runs[patch->first_run].velocity : -1;
  if (patch->kind == SAP_PATCH_CONES && patch->bodies[0] < 0) {
    patch->ncols = sap_patch_fill_up(patch->ncols);
  }
  n->npairs += block->ntrees * (block->ntrees + 1) / 2;
  n->ncone_patches += patch->kind == SAP_PATCH_CONES ? 1 : 0;
}

// Copies columns of a tree's J (nrows, count) to rows at `to`.
static inline void copy_columns(const double* restrict J, int32_t nrows, int32_t count,
                                size_t stride, double* restrict to) {
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t r = 0; r < nrows; ++r) {
      to[(size_t)r * stride + (size_t)i] = J[nrows * i + r];
    }
  }
}

// Copies as copy_columns, with loops of known lengths for the frequent sizes.
static void copy_columns_by_size(const double* J, int32_t nrows, int32_t count, size_t stride,
                                 double* to) {
  if (nrows == 3 && count == SAP_ONE_FREE_BODY) {
    copy_columns(J, 3, SAP_ONE_FREE_BODY, stride, to);
  } else if (nrows == 3) {
    copy_columns(J, 3, count, stride, to);
  } else if (nrows == 1) {
    copy_columns(J, 1, count, stride, to);
  } else {
    copy_columns(J, nrows, count, stride, to);
  }
}

// Copies the problem's column-major blocks to rows over the patch's columns.
static void copy_jacobian(const sap_newton* n, const sap_block_data* block, const int32_t* order,
                          const sap_patch* patch, double* rows) {
  const size_t stride = (size_t)patch->ncols;
  const double* end = rows + patch->ncols;
  const sap_run* run = n->runs + patch->first_run;
  for (int32_t r = 0; r < patch->nruns; ++r, ++run) {
    const int32_t at = block->first_tree + order[run->tree];
    const int32_t first = run->velocity - n->start[n->local[n->problem->block_trees[at]]];
    copy_columns_by_size(n->problem->jacobians[at] + (size_t)(first * block->nrows), block->nrows,
                         run->count, stride, rows);
    rows += run->count;
  }
  for (int32_t t = 0; patch->nruns == 0 && t < block->ntrees; ++t) {
    const int32_t at = block->first_tree + order[t];
    const int32_t size = n->size[n->local[n->problem->block_trees[at]]];
    copy_columns_by_size(n->problem->jacobians[at], block->nrows, size, stride, rows);
    rows += size;
  }
  for (; rows < end; ++rows) {  // columns that fill up a cone's row
    rows[0] = rows[stride] = rows[2 * stride] = 0.0;
  }
}

// Returns the block's potential among n->potentials; NULL: a cone.
static const sap_potential* gather_potential(sap_newton* n, const sap_block_data* block) {
  if (!sap_set_is_potential(block->set)) {
    return NULL;
  }
  const sap_block view = sap_problem_view(n->problem, block);
  sap_potential* potential = &n->potentials[n->npotentials++];
  *potential = sap_potential_make(&view);
  return potential;
}

static void gather_cone(sap_newton* n, const sap_block_data* block, int32_t cone) {
  const double* R = n->problem->R + block->first_row;
  const sap_cone made = sap_cone_make(block->friction, R[0], R[2]);
  const double law[] = {made.mu, made.inverse_Rt, made.inverse_Rn, made.k, made.stick_2};
  for (int32_t i = 0; i < 5; ++i) {
    n->cone_law[i * n->ncones + cone] = law[i];
  }
  n->cones[cone] = made;
  n->cone_row[cone] = block->first_row;
  n->cones[cone].potential = gather_potential(n, block);
}

static void gather_cone_n(sap_newton* n, const sap_block_data* block, int32_t index, int32_t row) {
  const double* R = n->problem->R + block->first_row;
  sap_cone_n* cone_n = &n->cones_n[index];
  *cone_n = (sap_cone_n){.cone = sap_cone_make(block->friction, R[0], R[SAP_NORMAL_ROW]),
                         .nrows = block->nrows,
                         .first = row};
  cone_n->cone.potential = gather_potential(n, block);
}

static void gather_intervals(sap_newton* n, const sap_block_data* block, int32_t first) {
  const sap_problem* p = n->problem;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const int32_t row = block->first_row + i;
    n->intervals[first + i] =
        (sap_interval){1.0 / p->R[row], p->R[row], p->lower[row], p->upper[row]};
  }
}

// Sets the row arrays of a block from `row` on.
static void gather_rows(sap_newton* n, const sap_block_data* block, int32_t row) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    n->problem_row[row + i] = block->first_row + i;
  }
}

// Makes patches of the blocks in their order, with the data of all rows.
static void gather_blocks(sap_newton* n) {
  size_t jacobian = 0;
  int32_t next[SAP_PATCH_INTERVALS + 1] = {0};  // of each kind
  int32_t runs = 0, row_n = n->nintervals;      // next row of a cone of n rows
  n->npatches = n->ncone_patches = n->npatch_trees = n->npairs = n->npotentials = 0;
  for (int32_t b = 0; b < n->nblocks; ++b) {
    const sap_sort_key* key = &n->keys[b];
    const sap_block_data* block = &n->problem->blocks[key->index];
    const int32_t* order = n->tree_order + key->data;
    const sap_patch_kind kind = patch_kind_of(block);
    const int32_t count = n->nruns > 0 ? list_runs(n, block, order, runs) : 0;
    const int32_t row = kind == SAP_PATCH_INTERVALS ? next[kind] : row_n;
    const sap_patch* last = n->npatches > 0 ? &n->patches[n->npatches - 1] : NULL;
    if (last == NULL || !same_trees(n, last, block, order) || !same_runs(n, last, runs, count)) {
      const sap_patch start = {.first = next[kind],
                               .first_row = row,
                               .ncols = count_columns(n->runs + runs, count),
                               .first_run = runs,
                               .nruns = count,
                               .jacobian = jacobian};
      open_patch(n, block, order, &start);
      runs += count;
    }
    sap_patch* patch = &n->patches[n->npatches - 1];
    copy_jacobian(n, block, order, patch, n->jacobian + jacobian);
    jacobian += (size_t)block->nrows * (size_t)patch->ncols;
    const int32_t added = kind == SAP_PATCH_INTERVALS ? block->nrows : 1;
    switch (kind) {
      case SAP_PATCH_CONES:
        gather_cone(n, block, next[kind]);
        break;
      case SAP_PATCH_CONES_N:
        gather_cone_n(n, block, next[kind], row);
        row_n += block->nrows;
        break;
      case SAP_PATCH_INTERVALS:
        gather_intervals(n, block, next[kind]);
        break;
    }
    if (kind != SAP_PATCH_CONES) {
      gather_rows(n, block, row);
      patch->nrows += block->nrows;
    }
    next[kind] += added;
    patch->count += added;
  }
}

void sap_newton_refresh(sap_newton* n, const sap_problem* p) {
  n->problem = p;
  for (int32_t c = 0; c < n->ncones; ++c) {
    for (int32_t i = 0; i < 3; ++i) {
      n->cone_v_hat[i * n->ncones + c] = p->v_hat_shifted[n->cone_row[c] + i];
    }
  }
  for (int32_t k = 0; k < n->nrows; ++k) {
    n->row_v_hat[k] = p->v_hat_shifted[n->problem_row[k]];
  }
  sap_problem_gather_trees(p, n->trees, n->ntrees, p->v_star, n->v_star);
  memset(n->momentum_star, 0, (size_t)n->nv * sizeof(double));
  sap_newton_add_momentum(n, n->v_star, n->momentum_star);
}

sap_status sap_newton_gather(sap_newton* n, const sap_problem* problem, const sap_islands* islands,
                             int32_t index, sap_error* error) {
  const sap_island island = sap_islands_get(islands, index);
  n->problem = problem;
  n->trees = island.trees;
  n->blocks = island.blocks;
  n->local = island.local;
  n->ntrees = island.ntrees;
  n->nblocks = island.nblocks;
  SAP_TRY(count_island(n, error));
  SAP_TRY(sap_newton_reserve(n, error));
  SAP_TRY(gather_trees(n, error));
  sort_blocks(n);
  gather_blocks(n);
  n->again = n->factored = false;
  sap_newton_refresh(n, problem);
  return sap_newton_build_pattern(n, error);
}
