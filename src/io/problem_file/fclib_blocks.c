// SPDX-License-Identifier: BSD-3-Clause
// Trees and blocks of a global problem.
// A file without tree sizes: trees are the finest runs of velocities that M does not couple.
// Neighbouring runs are joined while the same contacts act on them and the result has at most the
// six velocities of a free body. (With a diagonal M, as for spheres, each velocity would otherwise
// be a tree.)
#include "io/problem_file/fclib_blocks.h"

#include <string.h>

#include "core/memory.h"

#ifdef SAPSTEP_HDF5
enum { FREE_BODY = 6 };

// Computes last[i]: the largest velocity that M couples with velocity i or an earlier one.
static void find_reach(const sap_fclib_matrix* M, int32_t* last) {
  for (int32_t i = 0; i < M->ncols; ++i) {
    last[i] = i;
  }
  for (int32_t j = 0; j < M->ncols; ++j) {
    for (int32_t k = M->start.values[j]; k < M->start.values[j + 1]; ++k) {
      const int32_t i = M->row.values[k];
      const int32_t low = i < j ? i : j, high = i < j ? j : i;
      last[low] = high > last[low] ? high : last[low];
    }
  }
  for (int32_t i = 1; i < M->ncols; ++i) {
    last[i] = last[i - 1] > last[i] ? last[i - 1] : last[i];
  }
}

// A bit mixer (splitmix64, Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Adds to signature[i] a hash of each group of `size` columns that acts on velocity i.
static void add_signatures(const sap_fclib_matrix* a, int32_t size, uint64_t salt, int32_t* met,
                           uint64_t* signature) {
  memset(met, 0xff, (size_t)a->nrows * sizeof *met);
  for (int32_t j = 0; j < a->ncols; ++j) {
    for (int32_t k = a->start.values[j]; k < a->start.values[j + 1]; ++k) {
      const int32_t i = a->row.values[k];
      if (met[i] != j / size && a->x.values[k] != 0.0) {
        met[i] = j / size;
        signature[i] += mix(salt + (uint64_t)(j / size));
      }
    }
  }
}

// Returns the number of trees and fills their sizes.
static int32_t partition(int32_t nv, const int32_t* last, const uint64_t* signature,
                         int32_t* sizes) {
  int32_t count = 0;
  for (int32_t begin = 0; begin < nv;) {
    int32_t end = begin + 1;
    while (end < nv && last[end - 1] >= end) {
      ++end;
    }
    const bool alike = count > 0 && signature[begin] != 0 &&
                       signature[begin] == signature[begin - 1] &&
                       sizes[count - 1] + end - begin <= FREE_BODY;
    if (alike) {
      sizes[count - 1] += end - begin;
    } else {
      sizes[count++] = end - begin;
    }
    begin = end;
  }
  return count;
}

static sap_status derive_trees(sap_fclib_global* g, sap_error* error) {
  const size_t nv = (size_t)g->nv;
  int32_t* last = sap_allocate(2 * nv + 1, sizeof *last);
  uint64_t* signature = sap_allocate(nv + 1, sizeof *signature);
  sap_status status = last != NULL && signature != NULL
                          ? SAP_GROW(&g->tree_sizes.values, &g->tree_sizes.capacity, g->nv, error)
                          : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  if (status == SAP_STATUS_OK) {
    memset(signature, 0, nv * sizeof *signature);
    find_reach(&g->M, last);
    add_signatures(&g->H, 3, 0, last + nv, signature);
    add_signatures(&g->G, 1, (uint64_t)1 << 32, last + nv, signature);
    g->tree_sizes.count = partition(g->nv, last, signature, g->tree_sizes.values);
  }
  sap_free(last);
  sap_free(signature);
  return status;
}

static sap_status read_trees(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  static const char* const name = "sapstep/tree_sizes";
  SAP_TRY(sap_fclib_read_integers(file, name, SAP_FCLIB_ANY, &g->tree_sizes, error));
  int64_t sum = 0;
  for (int32_t t = 0; t < g->tree_sizes.count; ++t) {
    if (g->tree_sizes.values[t] < 1) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[%ld] = %ld must be >= 1",
                            (long)t, (long)g->tree_sizes.values[t]);
    }
    sum += g->tree_sizes.values[t];
  }
  if (sum != g->nv) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%lld velocities, M has %ld",
                          (long long)sum, (long)g->nv);
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_find_trees(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  g->exact = sap_fclib_has(file, "sapstep/blocks");
  SAP_TRY(g->exact ? read_trees(file, g, error) : derive_trees(g, error));
  const int32_t count = g->tree_sizes.count;
  SAP_TRY(SAP_GROW(&g->tree_start.values, &g->tree_start.capacity, count + 1, error));
  SAP_TRY(SAP_GROW(&g->tree_of.values, &g->tree_of.capacity, g->nv, error));
  g->tree_start.values[0] = 0;
  for (int32_t t = 0; t < count; ++t) {
    g->tree_start.values[t + 1] = g->tree_start.values[t] + g->tree_sizes.values[t];
    for (int32_t i = g->tree_start.values[t]; i < g->tree_start.values[t + 1]; ++i) {
      g->tree_of.values[i] = t;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status push_tree(sap_fclib_global* g, int32_t tree, sap_error* error) {
  SAP_TRY(
      SAP_GROW(&g->block_trees.values, &g->block_trees.capacity, g->block_trees.count + 1, error));
  g->block_trees.values[g->block_trees.count++] = tree;
  return SAP_STATUS_OK;
}

// Adds a block whose Jacobian is in columns [first, first + ncols) of `a`; tree 0 if it is empty.
static sap_status derive_block(sap_fclib_global* g, const sap_fclib_matrix* a, sap_set set,
                               int32_t first, int32_t ncols, int32_t* met, int32_t* index,
                               sap_error* error) {
  const int32_t begin = g->block_trees.count;
  for (int32_t k = a->start.values[first]; k < a->start.values[first + ncols]; ++k) {
    const int32_t tree = g->tree_of.values[a->row.values[k]];
    if (met[tree] != *index) {
      met[tree] = *index;
      SAP_TRY(push_tree(g, tree, error));
    }
  }
  if (g->block_trees.count == begin) {
    SAP_TRY(push_tree(g, 0, error));
  }
  int32_t* block = g->blocks.values + (size_t)SAP_FCLIB_FIELDS * (size_t)*index;
  block[SAP_FCLIB_SET] = (int32_t)set;
  block[SAP_FCLIB_NROWS] = ncols;
  block[SAP_FCLIB_NTREES] = g->block_trees.count - begin;
  *index += 1;
  return SAP_STATUS_OK;
}

static sap_status derive_blocks(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  const int64_t nblocks = (int64_t)g->ncontacts + g->nfree;
  if (nblocks > 0 && g->tree_sizes.count == 0) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "fclib_global/M",
                          "no velocities for %lld constraints", (long long)nblocks);
  }
  if (SAP_FCLIB_FIELDS * nblocks > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "%lld constraints are too many", (long long)nblocks);
  }
  sap_status status = SAP_GROW(&g->blocks.values, &g->blocks.capacity,
                               (int32_t)(SAP_FCLIB_FIELDS * nblocks), error);
  int32_t* met = sap_allocate((size_t)g->tree_sizes.count + 1, sizeof *met);
  if (status == SAP_STATUS_OK && met == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  if (status == SAP_STATUS_OK) {
    memset(met, 0xff, ((size_t)g->tree_sizes.count + 1) * sizeof *met);
  }
  int32_t index = 0;
  for (int32_t c = 0; c < g->ncontacts && status == SAP_STATUS_OK; ++c) {
    status = derive_block(g, &g->H, SAP_SET_FRICTION_CONE, 3 * c, 3, met, &index, error);
  }
  for (int32_t j = 0; j < g->nfree && status == SAP_STATUS_OK; ++j) {
    status = derive_block(g, &g->G, SAP_SET_FREE, j, 1, met, &index, error);
  }
  g->blocks.count = SAP_FCLIB_FIELDS * index;
  sap_free(met);
  return status;
}

// Checks that the table covers the columns of H, G and K and the list of trees exactly.
static sap_status check_table(const sap_fclib_file* file, const sap_fclib_global* g,
                              sap_error* error) {
  static const char* const name = "sapstep/blocks";
  int64_t cones = 0, free_rows = 0, others = 0, trees = 0;
  for (int32_t i = 0; i < g->blocks.count; i += SAP_FCLIB_FIELDS) {
    const int32_t* block = g->blocks.values + i;
    const int32_t set = block[SAP_FCLIB_SET], nrows = block[SAP_FCLIB_NROWS];
    if (set < (int32_t)SAP_SET_FRICTION_CONE || set > (int32_t)SAP_SET_FREE || nrows < 1 ||
        block[SAP_FCLIB_NTREES] < 1 || (set == (int32_t)SAP_SET_FRICTION_CONE && nrows != 3)) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                            "block %ld: set %ld, %ld rows, %ld trees is invalid",
                            (long)(i / SAP_FCLIB_FIELDS), (long)set, (long)nrows,
                            (long)block[SAP_FCLIB_NTREES]);
    }
    cones += set == (int32_t)SAP_SET_FRICTION_CONE ? 1 : 0;
    free_rows += set == (int32_t)SAP_SET_FREE ? nrows : 0;
    others += set == (int32_t)SAP_SET_BOX || set == (int32_t)SAP_SET_NONNEGATIVE ? nrows : 0;
    trees += block[SAP_FCLIB_NTREES];
  }
  if (cones != g->ncontacts || free_rows != g->nfree || others != g->nother) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                          "%lld contacts, %lld free and %lld other rows, but H, G and K have %ld, "
                          "%ld and %ld",
                          (long long)cones, (long long)free_rows, (long long)others,
                          (long)g->ncontacts, (long)g->nfree, (long)g->nother);
  }
  if (trees != g->block_trees.count) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/block_trees",
                          "%ld values, %lld expected", (long)g->block_trees.count,
                          (long long)trees);
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_find_blocks(const sap_fclib_file* file, sap_fclib_global* g,
                                 sap_error* error) {
  if (!g->exact) {
    return derive_blocks(file, g, error);
  }
  SAP_TRY(sap_fclib_read_integers(file, "sapstep/blocks", SAP_FCLIB_ANY, &g->blocks, error));
  if (g->blocks.count % SAP_FCLIB_FIELDS != 0) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/blocks",
                          "%ld values must be %d per block", (long)g->blocks.count,
                          SAP_FCLIB_FIELDS);
  }
  static const char* const trees = "sapstep/block_trees";
  SAP_TRY(sap_fclib_read_integers(file, trees, SAP_FCLIB_ANY, &g->block_trees, error));
  for (int32_t i = 0; i < g->block_trees.count; ++i) {
    const int32_t tree = g->block_trees.values[i];
    if (tree < 0 || tree >= g->tree_sizes.count) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, trees,
                            "[%ld] = %ld must be in [0, %ld)", (long)i, (long)tree,
                            (long)g->tree_sizes.count);
    }
  }
  SAP_TRY(check_table(file, g, error));
  const int32_t count = g->blocks.count / SAP_FCLIB_FIELDS;
  return sap_fclib_has(file, "sapstep/keys")
             ? sap_fclib_read_keys(file, "sapstep/keys", count, &g->keys, error)
             : SAP_STATUS_OK;
}

// Start of the next block of each kind, and memory for its Jacobian.
typedef struct cursor {
  int32_t cone, free_row, other, tree;
  double* values;
  const double** jacobians;
  int32_t* part;  // offset of a tree's Jacobian in the current block, -1: none  (ntrees)
  int32_t values_capacity, jacobians_capacity;
  double R[3], v_hat[3];
} cursor;

// Copies columns [first, first + nrows) of `a`; rows of cones change from N T1 T2 to T1 T2 N.
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
  SAP_TRY(SAP_GROW(&c->values, &c->values_capacity, (int32_t)needed, error));
  SAP_TRY(SAP_GROW(&c->jacobians, &c->jacobians_capacity, block->ntrees, error));
  memset(c->values, 0, (size_t)needed * sizeof(double));
  double* J = c->values;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    c->jacobians[t] = J;
    c->part[block->trees[t]] = (int32_t)(J - c->values);
    J += (size_t)block->nrows * (size_t)g->tree_sizes.values[block->trees[t]];
  }
  const bool cone = block->set == SAP_SET_FRICTION_CONE;
  sap_status status = SAP_STATUS_OK;
  for (int32_t j = 0; j < block->nrows && status == SAP_STATUS_OK; ++j) {
    const int32_t row = cone ? sap_fclib_row(j) : j;
    for (int32_t k = a->start.values[first + j]; k < a->start.values[first + j + 1]; ++k) {
      const int32_t i = a->row.values[k], tree = g->tree_of.values[i];
      if (c->part[tree] < 0) {
        status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/block_trees",
                                "column %ld of its Jacobian acts on tree %ld, which is not listed",
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
  const sap_fclib_matrix* matrix;
  int32_t row;
  c->tree += block.ntrees;
  if (block.set == SAP_SET_FRICTION_CONE) {
    row = 3 * c->cone;
    matrix = &g->H;
    for (int32_t k = 0; k < 3; ++k) {
      c->v_hat[sap_fclib_row(k)] = -g->w.values[row + k];
    }
    block.R = g->R.values + row;
    block.v_hat = c->v_hat;
    block.friction = g->mu.values[c->cone++];
  } else if (block.set == SAP_SET_FREE) {
    row = c->free_row;
    matrix = &g->G;
    for (int32_t k = 0; k < block.nrows; ++k) {
      g->b.values[row + k] = -g->b.values[row + k];
    }
    c->free_row += block.nrows;
    block.R = g->G_R.values + row;
    block.v_hat = g->b.values + row;
  } else {
    row = c->other;
    matrix = &g->K;
    c->other += block.nrows;
    block.R = g->K_R.values + row;
    block.v_hat = g->K_v_hat.values + row;
    block.lower = g->K_lower.values + row;
    block.upper = g->K_upper.values + row;
  }
  SAP_TRY(fill_jacobian(file, g, matrix, row, &block, c, error));
  return sap_problem_add_block(problem, &block, error);
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
