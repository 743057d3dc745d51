// SPDX-License-Identifier: BSD-3-Clause
// Writes a problem as /fclib_global, and in /sapstep the data that restore it bit by bit.
#include "io/problem_file/fclib_file.h"
#include "io/problem_file/fclib_output.h"

#ifdef SAPSTEP_HDF5
#include <math.h>
#include <string.h>

#include "core/memory.h"

typedef struct output {
  const sap_problem* problem;
  int32_t* tree_start;  // (ntrees + 1)
  sap_fclib_columns M, H, G, K;
  sap_fclib_reals mu, w, R, b, G_R, K_R, K_v_hat, K_lower, K_upper, f;
  sap_fclib_integers blocks, block_trees, tree_sizes;
  uint64_t* keys;
} output;

static sap_status push(sap_fclib_reals* a, double x, sap_error* error) {
  SAP_TRY(SAP_GROW(&a->values, &a->capacity, a->count + 1, error));
  a->values[a->count++] = x;
  return SAP_STATUS_OK;
}

static sap_status push_integer(sap_fclib_integers* a, int32_t x, sap_error* error) {
  SAP_TRY(SAP_GROW(&a->values, &a->capacity, a->count + 1, error));
  a->values[a->count++] = x;
  return SAP_STATUS_OK;
}

static void clear_output(output* o) {
  sap_fclib_columns* const matrices[] = {&o->M, &o->H, &o->G, &o->K};
  sap_fclib_reals* const vectors[] = {&o->mu,  &o->w,       &o->R,       &o->b,       &o->G_R,
                                      &o->K_R, &o->K_v_hat, &o->K_lower, &o->K_upper, &o->f};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i) {
    sap_fclib_columns_clear(matrices[i]);
  }
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    sap_free(vectors[i]->values);
  }
  sap_free(o->blocks.values);
  sap_free(o->block_trees.values);
  sap_free(o->tree_sizes.values);
  sap_free(o->tree_start);
  sap_free(o->keys);
}

static sap_status start_output(output* o, sap_error* error) {
  const sap_problem* p = o->problem;
  const int32_t ntrees = sap_problem_tree_count(p), nblocks = sap_problem_block_count(p);
  o->tree_start = sap_allocate((size_t)ntrees + 1, sizeof *o->tree_start);
  o->keys = sap_allocate((size_t)nblocks + 1, sizeof *o->keys);
  if (o->tree_start == NULL || o->keys == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (int32_t t = 0; t < ntrees; ++t) {
    if (sap_problem_momentum_block(p, t, t) == NULL) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "A of tree %ld is not set", (long)t);
    }
    o->tree_start[t + 1] = o->tree_start[t] + sap_problem_tree_size(p, t);
    SAP_TRY(push_integer(&o->tree_sizes, sap_problem_tree_size(p, t), error));
  }
  return SAP_STATUS_OK;
}

// Returns entry (i, j) of A's block (a, b), which is stored as (a, b) or as its transpose (b, a).
static double entry(const double* block, const double* transpose, int32_t na, int32_t nb, int32_t i,
                    int32_t j) {
  return block != NULL ? block[(size_t)j * (size_t)na + (size_t)i]
                       : transpose[(size_t)i * (size_t)nb + (size_t)j];
}

// Gathers M by columns, and f = A v*. Diagonal blocks are dense; absent couplings are omitted.
static sap_status gather_momentum(output* o, sap_error* error) {
  const sap_problem* p = o->problem;
  const int32_t ntrees = sap_problem_tree_count(p), nv = sap_problem_velocity_count(p);
  const double* v = sap_problem_v_star(p);
  SAP_TRY(SAP_GROW(&o->f.values, &o->f.capacity, nv, error));
  o->f.count = nv;
  if (nv > 0) {
    memset(o->f.values, 0, (size_t)nv * sizeof(double));
  }
  for (int32_t b = 0; b < ntrees; ++b) {
    const int32_t nb = sap_problem_tree_size(p, b);
    for (int32_t j = 0; j < nb; ++j) {
      for (int32_t a = 0; a < ntrees; ++a) {
        const double* block = sap_problem_momentum_block(p, a, b);
        const double* transpose = block == NULL ? sap_problem_momentum_block(p, b, a) : NULL;
        const int32_t na = sap_problem_tree_size(p, a);
        for (int32_t i = 0; i < na && (block != NULL || transpose != NULL); ++i) {
          const double x = entry(block, transpose, na, nb, i, j);
          o->f.values[o->tree_start[a] + i] += x * v[o->tree_start[b] + j];
          SAP_TRY(sap_fclib_append(&o->M, o->tree_start[a] + i, x, error));
        }
      }
      SAP_TRY(sap_fclib_end_column(&o->M, error));
    }
  }
  return SAP_STATUS_OK;
}

// Appends a row of the block's Jacobian as a column.
static sap_status append_row(const output* o, const sap_block* block, int32_t row,
                             sap_fclib_columns* out, sap_error* error) {
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = o->tree_start[block->trees[t]];
    const int32_t n = sap_problem_tree_size(o->problem, block->trees[t]);
    for (int32_t i = 0; i < n; ++i) {
      const double x = block->jacobians[t][(size_t)i * (size_t)block->nrows + (size_t)row];
      if (x != 0.0 || signbit(x) != 0) {  // keep -0
        SAP_TRY(sap_fclib_append(out, first + i, x, error));
      }
    }
  }
  return sap_fclib_end_column(out, error);
}

static sap_status gather_cone(output* o, const sap_block* block, sap_error* error) {
  SAP_TRY(push(&o->mu, block->friction, error));
  for (int32_t k = 0; k < 3; ++k) {
    const int32_t row = sap_fclib_row(k);
    SAP_TRY(push(&o->w, -block->v_hat[row], error));
    SAP_TRY(push(&o->R, block->R[row], error));
    SAP_TRY(append_row(o, block, row, &o->H, error));
  }
  return SAP_STATUS_OK;
}

static sap_status gather_free(output* o, const sap_block* block, sap_error* error) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    SAP_TRY(push(&o->b, -block->v_hat[i], error));
    SAP_TRY(push(&o->G_R, block->R[i], error));
    SAP_TRY(append_row(o, block, i, &o->G, error));
  }
  return SAP_STATUS_OK;
}

static sap_status gather_other(output* o, const sap_block* block, sap_error* error) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    const bool box = block->set == SAP_SET_BOX;
    const double values[4] = {block->R[i], block->v_hat[i], box ? block->lower[i] : 0.0,
                              box ? block->upper[i] : 0.0};
    sap_fclib_reals* const to[4] = {&o->K_R, &o->K_v_hat, &o->K_lower, &o->K_upper};
    for (int k = 0; k < 4; ++k) {
      SAP_TRY(push(to[k], values[k], error));
    }
    SAP_TRY(append_row(o, block, i, &o->K, error));
  }
  return SAP_STATUS_OK;
}

static sap_status gather_block(output* o, int32_t index, sap_error* error) {
  sap_block block;
  SAP_TRY(sap_problem_block(o->problem, index, &block, NULL, error));
  o->keys[index] = block.key;
  const int32_t table[3] = {(int32_t)block.set, block.nrows, block.ntrees};
  for (int i = 0; i < 3; ++i) {
    SAP_TRY(push_integer(&o->blocks, table[i], error));
  }
  for (int32_t t = 0; t < block.ntrees; ++t) {
    SAP_TRY(push_integer(&o->block_trees, block.trees[t], error));
  }
  if (block.set == SAP_SET_FRICTION_CONE && block.nrows == 3) {
    return gather_cone(o, &block, error);
  }
  if (block.set == SAP_SET_FREE) {
    return gather_free(o, &block, error);
  }
  if (block.set == SAP_SET_NONNEGATIVE || block.set == SAP_SET_BOX) {
    return gather_other(o, &block, error);
  }
  return sap_fail(
      error, SAP_STATUS_UNSUPPORTED,
      "block %ld: FCLIB files hold friction cones of 3 rows, limits, boxes and free rows "
      "only",
      (long)index);
}

static bool put_reals(hid_t file, const char* name, const sap_fclib_reals* a) {
  return sap_fclib_put_reals(file, name, a->count, a->values);
}

static bool put_fclib(hid_t file, const output* o) {
  static const int32_t spacedim = 3;
  const int32_t nv = sap_problem_velocity_count(o->problem);
  return sap_fclib_put_integers(file, "fclib_global/spacedim", 1, &spacedim) &&
         sap_fclib_put_matrix(file, "fclib_global/M", nv, &o->M) &&
         sap_fclib_put_matrix(file, "fclib_global/H", nv, &o->H) &&
         put_reals(file, "fclib_global/vectors/f", &o->f) &&
         put_reals(file, "fclib_global/vectors/w", &o->w) &&
         put_reals(file, "fclib_global/vectors/mu", &o->mu) &&
         put_reals(file, "fclib_global/vectors/R", &o->R) &&
         (o->G.ncols == 0 || (sap_fclib_put_matrix(file, "fclib_global/G", nv, &o->G) &&
                              put_reals(file, "fclib_global/vectors/b", &o->b)));
}

static bool put_sapstep(hid_t file, const output* o) {
  const sap_problem* p = o->problem;
  const int32_t nv = sap_problem_velocity_count(p);
  const double dt = sap_problem_dt(p);
  const bool other = o->K.ncols > 0;
  return sap_fclib_put_reals(file, "sapstep/dt", 1, &dt) &&
         sap_fclib_put_integers(file, "sapstep/tree_sizes", o->tree_sizes.count,
                                o->tree_sizes.values) &&
         sap_fclib_put_reals(file, "sapstep/v_star", nv, sap_problem_v_star(p)) &&
         sap_fclib_put_reals(file, "sapstep/v_guess", nv, sap_problem_v_guess(p)) &&
         sap_fclib_put_integers(file, "sapstep/blocks", o->blocks.count, o->blocks.values) &&
         sap_fclib_put_integers(file, "sapstep/block_trees", o->block_trees.count,
                                o->block_trees.values) &&
         sap_fclib_put_keys(file, "sapstep/keys", sap_problem_block_count(p), o->keys) &&
         put_reals(file, "sapstep/G_R", &o->G_R) &&
         (!other || (sap_fclib_put_matrix(file, "sapstep/K", nv, &o->K) &&
                     put_reals(file, "sapstep/K_R", &o->K_R) &&
                     put_reals(file, "sapstep/K_v_hat", &o->K_v_hat) &&
                     put_reals(file, "sapstep/K_lower", &o->K_lower) &&
                     put_reals(file, "sapstep/K_upper", &o->K_upper)));
}

sap_status sap_fclib_put_global(hid_t file, const sap_problem* problem, sap_error* error) {
  output o = {.problem = problem};
  sap_status status = start_output(&o, error);
  if (status == SAP_STATUS_OK) {
    status = gather_momentum(&o, error);
  }
  for (int32_t b = 0; b < sap_problem_block_count(problem) && status == SAP_STATUS_OK; ++b) {
    status = gather_block(&o, b, error);
  }
  if (status == SAP_STATUS_OK && !(put_fclib(file, &o) && put_sapstep(file, &o))) {
    status = sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 could not store the problem");
  }
  clear_output(&o);
  return status;
}
#endif
