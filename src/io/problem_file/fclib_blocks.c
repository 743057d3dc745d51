// SPDX-License-Identifier: BSD-3-Clause
// Trees of a file that does not name them: the finest runs of velocities that M does not couple,
// joined again while the same contacts act on neighbours and a free body's six are not exceeded.
// (Where M is diagonal, as for spheres, each velocity would be a tree of its own.)
#include "io/problem_file/fclib_blocks.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"

enum { FREE_BODY = 6 };

// last[i]: the largest velocity that M couples with i or one before it.
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

// Adds to signature[i] a number for each group of `size` columns that acts on velocity i.
static void sign(const sap_fclib_matrix* a, int32_t size, uint64_t salt, int32_t* met,
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

// Sizes of the trees; last and signature as above.
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
    sign(&g->H, 3, 0, last + nv, signature);
    sign(&g->G, 1, (uint64_t)1 << 32, last + nv, signature);
    g->tree_sizes.count = partition(g->nv, last, signature, g->tree_sizes.values);
  }
  sap_free(last);
  sap_free(signature);
  return status;
}

static sap_status read_trees(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  static const char* const name = "sapstep/tree_sizes";
  const sap_status status =
      sap_fclib_read_integers(file, name, SAP_FCLIB_ANY, &g->tree_sizes, error);
  int64_t sum = 0;
  for (int32_t t = 0; t < g->tree_sizes.count && status == SAP_STATUS_OK; ++t) {
    if (g->tree_sizes.values[t] < 1) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[%ld] = %ld must be >= 1",
                            (long)t, (long)g->tree_sizes.values[t]);
    }
    sum += g->tree_sizes.values[t];
  }
  if (status == SAP_STATUS_OK && sum != g->nv) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%lld velocities, M has %ld",
                          (long long)sum, (long)g->nv);
  }
  return status;
}

sap_status sap_fclib_find_trees(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  g->exact = sap_fclib_has(file, "sapstep/blocks");
  sap_status status = g->exact ? read_trees(file, g, error) : derive_trees(g, error);
  const int32_t count = g->tree_sizes.count;
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&g->tree_start.values, &g->tree_start.capacity, count + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&g->tree_of.values, &g->tree_of.capacity, g->nv, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  g->tree_start.values[0] = 0;
  for (int32_t t = 0; t < count; ++t) {
    g->tree_start.values[t + 1] = g->tree_start.values[t] + g->tree_sizes.values[t];
    for (int32_t i = g->tree_start.values[t]; i < g->tree_start.values[t + 1]; ++i) {
      g->tree_of.values[i] = t;
    }
  }
  return SAP_STATUS_OK;
}

// Adds a block whose Jacobian is in `ncols` columns of a from `first` on; tree 0 when it has none.
static sap_status derive_block(sap_fclib_global* g, const sap_fclib_matrix* a, sap_set set,
                               int32_t first, int32_t ncols, int32_t* met, int32_t* index,
                               sap_error* error) {
  const int32_t begin = g->block_trees.count;
  sap_status status = SAP_STATUS_OK;
  for (int32_t k = a->start.values[first]; k < a->start.values[first + ncols]; ++k) {
    const int32_t tree = g->tree_of.values[a->row.values[k]];
    if (met[tree] != *index) {
      met[tree] = *index;
      status = SAP_GROW(&g->block_trees.values, &g->block_trees.capacity, g->block_trees.count + 1,
                        error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
      g->block_trees.values[g->block_trees.count++] = tree;
    }
  }
  if (g->block_trees.count == begin) {
    status = SAP_GROW(&g->block_trees.values, &g->block_trees.capacity, begin + 1, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    g->block_trees.values[g->block_trees.count++] = 0;
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

// The table must use up the columns of H, G and K and the trees exactly.
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
                            "block %ld: set %ld, %ld rows, %ld trees is no block",
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
  sap_status status =
      sap_fclib_read_integers(file, "sapstep/blocks", SAP_FCLIB_ANY, &g->blocks, error);
  if (status == SAP_STATUS_OK && g->blocks.count % SAP_FCLIB_FIELDS != 0) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/blocks",
                          "%ld values must be %d per block", (long)g->blocks.count,
                          SAP_FCLIB_FIELDS);
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_fclib_read_integers(file, "sapstep/block_trees", SAP_FCLIB_ANY, &g->block_trees, error);
  }
  for (int32_t i = 0; i < g->block_trees.count && status == SAP_STATUS_OK; ++i) {
    const int32_t tree = g->block_trees.values[i];
    if (tree < 0 || tree >= g->tree_sizes.count) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/block_trees",
                            "[%ld] = %ld must be in [0, %ld)", (long)i, (long)tree,
                            (long)g->tree_sizes.count);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = check_table(file, g, error);
  }
  if (status == SAP_STATUS_OK && sap_fclib_has(file, "sapstep/keys")) {
    status = sap_fclib_read_keys(file, "sapstep/keys", g->blocks.count / SAP_FCLIB_FIELDS, &g->keys,
                                 error);
  }
  return status;
}
#endif
