// SPDX-License-Identifier: BSD-3-Clause
// Trees and blocks of a global problem.
// A file without tree sizes: trees are the finest runs of velocities that M does not couple.
// Neighbouring runs are joined while the same contacts act on them and the result has at most the
// six velocities of a free body. (With a diagonal M, as for spheres, each velocity would otherwise
// be a tree.)
#include "io/problem_file/fclib_file.h"

#include <string.h>

#include "core/memory.h"

enum { FREE_BODY = 6 };

// Computes last[i]: the largest velocity that M couples with velocity i or an earlier one.
static void find_reach(const sap_fclib_matrix* M, int32_t* last) {
  for (int32_t i = 0; i < M->ncols; ++i) {
    last[i] = i;
  }
  for (int32_t j = 0; j < M->ncols; ++j) {
    for (int32_t k = M->start[j]; k < M->start[j + 1]; ++k) {
      const int32_t i = M->row[k];
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

// Adds to signature[i] a hash of each group of `size` columns that acts on velocity i. met:
// scratch.
static void add_signatures(const sap_fclib_matrix* a, int32_t size, uint64_t salt, int32_t* met,
                           uint64_t* signature) {
  memset(met, 0xff, (size_t)a->nrows * sizeof *met);
  for (int32_t j = 0; j < a->ncols; ++j) {
    for (int32_t k = a->start[j]; k < a->start[j + 1]; ++k) {
      const int32_t i = a->row[k];
      if (met[i] != j / size && a->x[k] != 0.0) {
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

static sap_status derive_trees(sap_fclib_file* file, sap_fclib_global* g) {
  const int32_t nv = g->f.count;
  int32_t *last, *met;
  uint64_t* signature;
  SAP_TRY(SAP_POOL_ADD_ALL(&file->pool, file->error, SAP_ARRAY(&last, nv), SAP_ARRAY(&met, nv),
                           SAP_ARRAY(&signature, nv), SAP_ARRAY(&g->tree_sizes.values, nv)));
  find_reach(&g->M, last);
  add_signatures(&g->rows[SAP_FCLIB_CONES].J, 3, 0, met, signature);
  add_signatures(&g->rows[SAP_FCLIB_FREE].J, 1, (uint64_t)1 << 32, met, signature);
  g->tree_sizes.count = partition(nv, last, signature, g->tree_sizes.values);
  return SAP_STATUS_OK;
}

static sap_status read_trees(sap_fclib_file* file, sap_fclib_global* g) {
  static const char* const name = "sapstep/tree_sizes";
  SAP_TRY(sap_fclib_read_integers(file, name, SAP_FCLIB_ANY, &g->tree_sizes));
  int64_t sum = 0;
  for (int32_t t = 0; t < g->tree_sizes.count; ++t) {
    SAP_RETURN_IF(g->tree_sizes.values[t] < 1,
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[%d] = %d must be >= 1", t,
                                 g->tree_sizes.values[t]));
    sum += g->tree_sizes.values[t];
  }
  return sum == g->f.count
             ? SAP_STATUS_OK
             : sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "%lld velocities, M has %d",
                              (long long)sum, g->f.count);
}

sap_status sap_fclib_find_trees(sap_fclib_file* file, sap_fclib_global* g) {
  g->exact = sap_fclib_has(file, "sapstep/blocks");
  SAP_TRY(g->exact ? read_trees(file, g) : derive_trees(file, g));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->tree_start, (size_t)g->tree_sizes.count + 1));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->tree_of, g->f.count));
  for (int32_t t = 0; t < g->tree_sizes.count; ++t) {
    g->tree_start[t + 1] = g->tree_start[t] + g->tree_sizes.values[t];
    for (int32_t i = g->tree_start[t]; i < g->tree_start[t + 1]; ++i) {
      g->tree_of[i] = t;
    }
  }
  return SAP_STATUS_OK;
}

// Adds a block whose Jacobian is in columns [first, first + ncols) of `a`; tree 0 if it is empty.
// met: 1 + index of the last block that acts on each tree.
static void derive_block(sap_fclib_global* g, const sap_fclib_matrix* a, sap_set set, int32_t first,
                         int32_t ncols, int32_t* met) {
  const int32_t begin = g->block_trees.count, index = g->blocks.count / SAP_FCLIB_FIELDS;
  for (int32_t k = a->start[first]; k < a->start[first + ncols]; ++k) {
    const int32_t tree = g->tree_of[a->row[k]];
    if (met[tree] != index + 1) {
      met[tree] = index + 1;
      g->block_trees.values[g->block_trees.count++] = tree;
    }
  }
  if (g->block_trees.count == begin) {
    g->block_trees.values[g->block_trees.count++] = 0;
  }
  int32_t* block = g->blocks.values + g->blocks.count;
  block[SAP_FCLIB_SET] = (int32_t)set;
  block[SAP_FCLIB_NROWS] = ncols;
  block[SAP_FCLIB_NTREES] = g->block_trees.count - begin;
  g->blocks.count += SAP_FCLIB_FIELDS;
}

static sap_status derive_blocks(sap_fclib_file* file, sap_fclib_global* g) {
  const sap_fclib_matrix* H = &g->rows[SAP_FCLIB_CONES].J;
  const sap_fclib_matrix* G = &g->rows[SAP_FCLIB_FREE].J;
  const int64_t nblocks = (int64_t)g->mu.count + G->ncols;
  const int64_t most_trees = nblocks + H->count + G->count;
  int32_t* met;
  SAP_RETURN_IF(nblocks > 0 && g->tree_sizes.count == 0,
                sap_fclib_fail(file, SAP_STATUS_SYNTAX, "fclib_global/M",
                               "no velocities for %lld constraints", (long long)nblocks));
  SAP_FAIL_IF(SAP_FCLIB_FIELDS * nblocks > INT32_MAX || most_trees > INT32_MAX, file->error,
              SAP_STATUS_MEMORY, "%lld constraints are too many", (long long)nblocks);
  SAP_TRY(SAP_FCLIB_ADD(file, &g->blocks.values, SAP_FCLIB_FIELDS * nblocks));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->block_trees.values, most_trees));
  SAP_TRY(SAP_FCLIB_ADD(file, &met, g->tree_sizes.count));
  for (int32_t c = 0; c < g->mu.count; ++c) {
    derive_block(g, H, SAP_SET_FRICTION_CONE, 3 * c, 3, met);
  }
  for (int32_t j = 0; j < G->ncols; ++j) {
    derive_block(g, G, SAP_SET_FREE, j, 1, met);
  }
  return SAP_STATUS_OK;
}

// Checks that the table covers the columns of H, G and K and the list of trees exactly.
static sap_status check_table(const sap_fclib_file* file, const sap_fclib_global* g) {
  static const char* const name = "sapstep/blocks";
  int64_t rows[SAP_FCLIB_KINDS] = {0}, trees = 0;
  for (int32_t i = 0; i < g->blocks.count; i += SAP_FCLIB_FIELDS) {
    const int32_t* block = g->blocks.values + i;
    const int32_t set = block[SAP_FCLIB_SET], nrows = block[SAP_FCLIB_NROWS];
    SAP_RETURN_IF(set < (int32_t)SAP_SET_FRICTION_CONE || set > (int32_t)SAP_SET_FREE ||
                      nrows < 1 || block[SAP_FCLIB_NTREES] < 1,
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, name,
                                 "block %d: set %d, %d rows, %d trees is invalid",
                                 (i / SAP_FCLIB_FIELDS), set, nrows, block[SAP_FCLIB_NTREES]));
    rows[sap_fclib_kind((sap_set)set, nrows)] += nrows;
    trees += block[SAP_FCLIB_NTREES];
  }
  const int64_t cones = rows[SAP_FCLIB_CONES] / 3;
  const int32_t nfree = g->rows[SAP_FCLIB_FREE].J.ncols, nother = g->rows[SAP_FCLIB_OTHER].J.ncols;
  if (cones != g->mu.count || rows[SAP_FCLIB_FREE] != nfree || rows[SAP_FCLIB_OTHER] != nother) {
    return sap_fclib_fail(file, SAP_STATUS_SYNTAX, name,
                          "%lld contacts, %lld free and %lld other rows, but H, G and K have %d, "
                          "%d and %d",
                          (long long)cones, (long long)rows[SAP_FCLIB_FREE],
                          (long long)rows[SAP_FCLIB_OTHER], g->mu.count, nfree, nother);
  }
  return trees == g->block_trees.count
             ? SAP_STATUS_OK
             : sap_fclib_fail(file, SAP_STATUS_SYNTAX, "sapstep/block_trees",
                              "%d values, %lld expected", g->block_trees.count, (long long)trees);
}

sap_status sap_fclib_find_blocks(sap_fclib_file* file, sap_fclib_global* g) {
  static const char* const trees = "sapstep/block_trees";
  if (!g->exact) {
    return derive_blocks(file, g);
  }
  SAP_TRY(sap_fclib_read_integers(file, "sapstep/blocks", SAP_FCLIB_ANY, &g->blocks));
  SAP_RETURN_IF(
      g->blocks.count % SAP_FCLIB_FIELDS != 0,
      sap_fclib_fail(file, SAP_STATUS_SYNTAX, "sapstep/blocks", "%d values must be %d per block",
                     g->blocks.count, SAP_FCLIB_FIELDS));
  SAP_TRY(sap_fclib_read_integers(file, trees, SAP_FCLIB_ANY, &g->block_trees));
  for (int32_t i = 0; i < g->block_trees.count; ++i) {
    const int32_t tree = g->block_trees.values[i];
    SAP_RETURN_IF(tree < 0 || tree >= g->tree_sizes.count,
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, trees, "[%d] = %d must be in [0, %d)", i,
                                 tree, g->tree_sizes.count));
  }
  SAP_TRY(check_table(file, g));
  return sap_fclib_has(file, "sapstep/keys")
             ? sap_fclib_read_keys(file, "sapstep/keys", g->blocks.count / SAP_FCLIB_FIELDS,
                                   &g->keys)
             : SAP_STATUS_OK;
}

// First row and tree of the next block of each kind, and memory for its Jacobian.
typedef struct cursor {
  int32_t row[SAP_FCLIB_KINDS], tree;
  double* values;
  const double** jacobians;
  int32_t* part;  // 1 + offset of a tree's Jacobian in the current block, 0: none  (ntrees)
} cursor;

// Copies columns [first, first + nrows) of `a`; rows of cones change from N T1 T2 to T1 T2 N.
static sap_status fill_jacobian(sap_fclib_file* file, const sap_fclib_global* g,
                                const sap_fclib_matrix* a, int32_t first, sap_block* block,
                                cursor* c) {
  int64_t needed = 0;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    needed += (int64_t)block->nrows * g->tree_sizes.values[block->trees[t]];
  }
  SAP_FAIL_IF(needed >= INT32_MAX, file->error, SAP_STATUS_MEMORY,
              "a Jacobian with %lld entries is too large", (long long)needed);
  SAP_TRY(SAP_ROOM(&file->pool, &c->values, (int32_t)needed, file->error));
  SAP_TRY(SAP_ROOM(&file->pool, &c->jacobians, block->ntrees, file->error));
  memset(c->values, 0, (size_t)needed * sizeof(double));
  double* J = c->values;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    c->jacobians[t] = J;
    c->part[block->trees[t]] = 1 + (int32_t)(J - c->values);
    J += (size_t)block->nrows * (size_t)g->tree_sizes.values[block->trees[t]];
  }
  block->jacobians = c->jacobians;
  const int kind = sap_fclib_kind(block->set, block->nrows);
  for (int32_t j = 0; j < block->nrows; ++j) {
    const int32_t row = kind == SAP_FCLIB_CONES ? sap_fclib_row(j) : j;
    for (int32_t k = a->start[first + j]; k < a->start[first + j + 1]; ++k) {
      const int32_t tree = g->tree_of[a->row[k]], i = a->row[k] - g->tree_start[tree];
      SAP_RETURN_IF(c->part[tree] == 0,
                    sap_fclib_fail(file, SAP_STATUS_SYNTAX, "sapstep/block_trees",
                                   "column %d of its Jacobian acts on tree %d, which is not listed",
                                   (first + j), tree));
      c->values[c->part[tree] - 1 + i * block->nrows + row] = a->x[k];
    }
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    c->part[block->trees[t]] = 0;
  }
  return SAP_STATUS_OK;
}

static sap_status add_block(sap_fclib_file* file, const sap_fclib_global* g, int32_t index,
                            cursor* c, sap_problem* problem) {
  const int32_t* table = g->blocks.values + (size_t)SAP_FCLIB_FIELDS * (size_t)index;
  const int kind = sap_fclib_kind((sap_set)table[SAP_FCLIB_SET], table[SAP_FCLIB_NROWS]);
  const sap_fclib_rows* rows = &g->rows[kind];
  const int32_t row = c->row[kind];
  const bool other = kind == SAP_FCLIB_OTHER;
  sap_block block = {.set = (sap_set)table[SAP_FCLIB_SET],
                     .nrows = table[SAP_FCLIB_NROWS],
                     .ntrees = table[SAP_FCLIB_NTREES],
                     .trees = g->block_trees.values + c->tree,
                     .key = g->keys != NULL ? g->keys[index] : 0,
                     .R = rows->R.values + row,
                     .v_hat = rows->v_hat.values + row,
                     .friction = kind == SAP_FCLIB_CONES ? g->mu.values[row / 3]
                                 : other                 ? g->friction.values[row]
                                                         : 0.0,
                     .lower = other ? g->lower.values + row : NULL,
                     .upper = other ? g->upper.values + row : NULL};
  c->tree += block.ntrees;
  c->row[kind] += block.nrows;
  SAP_TRY(fill_jacobian(file, g, &rows->J, row, &block, c));
  return sap_problem_add_block(problem, &block, file->error);
}

sap_status sap_fclib_add_blocks(sap_fclib_file* file, const sap_fclib_global* g,
                                sap_problem* problem) {
  cursor c = {0};
  SAP_TRY(SAP_FCLIB_ADD(file, &c.part, g->tree_sizes.count));
  for (int32_t b = 0; b < g->blocks.count / SAP_FCLIB_FIELDS; ++b) {
    SAP_TRY(add_block(file, g, b, &c, problem));
  }
  return SAP_STATUS_OK;
}
