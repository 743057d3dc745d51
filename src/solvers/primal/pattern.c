// SPDX-License-Identifier: BSD-3-Clause
// Block pattern of H = A + J' G J: tree pairs of patches and couplings, sorted and made unique.
#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/primal/newton_memory.h"

// All pairs, diagonal blocks included; those of patches come first and keep their index.
static int32_t list_pairs(sap_newton* n, sap_tree_pair* pairs) {
  int32_t count = 0;
  for (int32_t q = 0; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const int32_t* trees = n->patch_trees + patch->first_tree;
    for (int32_t k = 0; k < patch->ntrees; ++k) {
      for (int32_t l = k; l < patch->ntrees; ++l) {
        pairs[count] = (sap_tree_pair){trees[l], trees[k], count};
        ++count;
      }
    }
  }
  for (int32_t c = 0; c < n->ncouplings; ++c) {
    const sap_coupling* coupling = &n->problem->couplings[n->couplings[c]];
    const int32_t a = n->local[coupling->tree_a], b = n->local[coupling->tree_b];
    n->coupling_pair[c] = count;
    pairs[count] = (sap_tree_pair){a > b ? a : b, a > b ? b : a, count};
    ++count;
  }
  for (int32_t t = 0; t < n->ntrees; ++t) {
    pairs[count] = (sap_tree_pair){t, t, count};
    ++count;
  }
  return count;
}

// Counting sort by one key; `counts` has room for ntrees + 1.
static void sort_by(const sap_tree_pair* from, sap_tree_pair* to, int32_t count, bool by_column,
                    int32_t ntrees, int32_t* counts) {
  memset(counts, 0, ((size_t)ntrees + 1) * sizeof *counts);
  for (int32_t i = 0; i < count; ++i) {
    counts[(by_column ? from[i].column : from[i].row) + 1] += 1;
  }
  for (int32_t t = 0; t < ntrees; ++t) {
    counts[t + 1] += counts[t];
  }
  for (int32_t i = 0; i < count; ++i) {
    to[counts[by_column ? from[i].column : from[i].row]++] = from[i];
  }
}

sap_status sap_newton_build_pattern(sap_newton* n, sap_error* error) {
  struct sap_newton_memory* m = n->memory;
  const int64_t total = (int64_t)n->npairs + n->ncouplings + n->ntrees;
  sap_status status = SAP_RESERVE(&m->pairs, &m->pairs_capacity, 2 * total, error);
#define RESERVE(array, needed)                                              \
  if (status == SAP_STATUS_OK) {                                            \
    status = SAP_RESERVE(&m->array, &m->array##_capacity, (needed), error); \
  }
  RESERVE(pair_values, total)
  RESERVE(row, total)
  RESERVE(value_start, total)
  RESERVE(column_start, (int64_t)n->ntrees + 1)
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_tree_pair* pairs = m->pairs;
  sap_tree_pair* other = m->pairs + total;
  const int32_t count = list_pairs(n, pairs);
  sort_by(pairs, other, count, false, n->ntrees, m->column_start);
  sort_by(other, pairs, count, true, n->ntrees, m->column_start);

  int32_t entries = 0, column = -1;
  size_t values = 0, next = 0;
  for (int32_t i = 0; i < count; ++i) {
    const sap_tree_pair* pair = &pairs[i];
    if (pair->column != column || pair->row != m->row[entries - 1]) {
      if (pair->column != column) {
        column = pair->column;
        m->column_start[column] = entries;
      }
      values = next;
      next += (size_t)n->size[pair->row] * (size_t)n->size[column];
      m->row[entries] = pair->row;
      m->value_start[entries++] = values;
    }
    m->pair_values[pair->index] = values;
  }
  m->column_start[n->ntrees] = entries;
  n->nvalues = next;
  RESERVE(values, (int64_t)next)
#undef RESERVE
  n->column_start = m->column_start;
  n->row = m->row;
  n->value_start = m->value_start;
  n->pair_values = m->pair_values;
  n->values = m->values;
  return status;
}

sap_block_pattern sap_newton_pattern(const sap_newton* n) {
  return (sap_block_pattern){.nblocks = n->ntrees,
                             .sizes = n->size,
                             .column_start = n->column_start,
                             .row = n->row,
                             .value_start = n->value_start};
}
