// SPDX-License-Identifier: BSD-3-Clause
#include "problem/delassus_sparse.h"

#include <string.h>

#include "problem/problem_data.h"

void sap_delassus_sparse_clear(sap_delassus_sparse* s) {
  sap_cholesky_destroy(s->cholesky);
  sap_pool_free(&s->pool);
  memset(s, 0, sizeof *s);
}

// Visits the pairs of items (l, k), l >= k, where l acts on a tree that a column of Y of k moves;
// some come twice. Returns their number; stores them if `pairs` is not NULL. by_tree, start: items
// by trees, ascending.
static int64_t list_pairs(const sap_delassus* d, const sap_block_pair* by_tree,
                          const int32_t* start, sap_block_pair* pairs) {
  int64_t count = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    const sap_delassus_item* item = &d->items[k];
    for (int32_t i = 0; i < item->nlift_trees; ++i) {
      const int32_t tree = d->lift_trees[item->first_lift + i];
      for (int32_t at = start[tree]; at < start[tree + 1]; ++at) {
        const int32_t l = by_tree[at].index;
        if (l >= k && pairs != NULL) {
          pairs[count] = (sap_block_pair){l, k, (int32_t)count};
        }
        count += l >= k;
      }
    }
  }
  return count;
}

static sap_status build_pattern(sap_delassus_sparse* s, const sap_delassus* d, sap_error* error) {
  int32_t nlisted = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    nlisted += d->items[k].ntrees;
  }
  SAP_TRY(SAP_ROOM_ALL(&s->pool, error, SAP_ARRAY(&s->sizes, d->nitems),
                       SAP_ARRAY(&s->tree_start, (int64_t)d->ntrees + 2),
                       SAP_ARRAY(&s->by_tree, 2 * (int64_t)nlisted)));
  sap_block_pair *listed = s->by_tree + nlisted, *next = listed;
  for (int32_t k = 0; k < d->nitems; ++k) {
    s->sizes[k] = d->items[k].nrows;
    for (int32_t i = 0; i < d->items[k].ntrees; ++i) {
      *next++ = (sap_block_pair){d->item_trees[d->items[k].first_tree + i], 0, k};
    }
  }
  sap_sort_pairs(listed, s->by_tree, nlisted, false, d->ntrees, s->tree_start);
  const int64_t count = list_pairs(d, s->by_tree, s->tree_start, NULL);
  SAP_TRY(sap_pair_pattern_reserve(&s->pairs, &s->pool, d->nitems, count, error));
  (void)list_pairs(d, s->by_tree, s->tree_start, s->pairs.pairs);
  sap_pair_pattern_build(&s->pairs, d->nitems, s->sizes, (int32_t)count);
  s->pattern = s->pairs.view;
  s->n = d->n;
  return SAP_STATUS_OK;
}

// Computes D_lk, l >= k, of one column of D.
static void assemble_column(sap_delassus_sparse* s, const sap_delassus* d, int32_t k, int32_t c) {
  for (int32_t e = s->pattern.column_start[k]; e < s->pattern.column_start[k + 1]; ++e) {
    const sap_delassus_item* other = &d->items[s->pattern.row[e]];
    double* column = s->values + s->pattern.value_start[e] + (size_t)c * (size_t)other->nrows;
    sap_delassus_item_velocity(d, other, d->scratch, column);
  }
}

// Computes D_kl, k <= l, transposed, of one column of D.
static void assemble_upper(sap_delassus_sparse* s, const sap_delassus* d, int32_t l, int32_t r) {
  const int32_t rows = d->items[l].nrows;
  for (int32_t i = s->row_start[l]; i < s->row_start[l + 1]; ++i) {
    const sap_delassus_item* other = &d->items[s->by_row[i].column];
    double part[SAP_EIGEN_MAX];
    sap_delassus_item_velocity(d, other, d->scratch, part);
    for (int32_t c = 0; c < other->nrows; ++c) {
      s->upper[s->pattern.value_start[s->by_row[i].index] + (size_t)(c * rows + r)] = part[c];
    }
  }
}

// Lists the entries by rows.
static sap_status list_rows(sap_delassus_sparse* s, sap_error* error) {
  const int32_t nblocks = s->pattern.nblocks, entries = s->pattern.column_start[nblocks];
  SAP_TRY(SAP_ROOM_ALL(&s->pool, error, SAP_ARRAY(&s->row_start, (int64_t)nblocks + 2),
                       SAP_ARRAY(&s->by_row, 2 * (int64_t)entries),
                       SAP_ARRAY(&s->upper_values, (int64_t)s->pairs.nvalues)));
  sap_block_pair* by_column = s->by_row + entries;
  for (int32_t k = 0; k < nblocks; ++k) {
    for (int32_t e = s->pattern.column_start[k]; e < s->pattern.column_start[k + 1]; ++e) {
      by_column[e] = (sap_block_pair){s->pattern.row[e], k, e};
    }
  }
  sap_sort_pairs(by_column, s->by_row, entries, false, nblocks, s->row_start);
  return SAP_STATUS_OK;
}

sap_status sap_delassus_sparse_assemble(sap_delassus_sparse* s, const sap_delassus* d,
                                        sap_error* error) {
  SAP_TRY(build_pattern(s, d, error));
  SAP_TRY(SAP_ROOM(&s->pool, &s->values, (int64_t)s->pairs.nvalues, error));
  if (d->mobility) {
    SAP_TRY(list_rows(s, error));
  }
  s->upper = d->mobility ? s->upper_values : s->values;
  memset(d->scratch, 0, (size_t)d->nv * sizeof(double));
  for (int32_t k = 0; k < d->nitems; ++k) {
    const sap_delassus_item* item = &d->items[k];
    for (int32_t c = 0; c < item->nrows; ++c) {
      double unit[SAP_EIGEN_MAX] = {0.0};
      unit[c] = 1.0;
      sap_delassus_add_item(d, item, unit, d->scratch);
      assemble_column(s, d, k, c);
      if (d->mobility) {
        assemble_upper(s, d, k, c);
      }
      sap_delassus_clear_velocity(d, item, d->scratch);
      s->values[s->pattern.value_start[s->pattern.column_start[k]] +
                (size_t)(c * (item->nrows + 1))] += d->R[item->first + c];
    }
  }
  return SAP_STATUS_OK;
}

void sap_delassus_sparse_apply(const sap_delassus_sparse* s, const sap_delassus* d, const double* x,
                               double* y) {
  memset(y, 0, (size_t)s->n * sizeof(double));
  for (int32_t k = 0; k < d->nitems; ++k) {
    const int32_t columns = d->items[k].nrows, first = d->items[k].first;
    for (int32_t e = s->pattern.column_start[k]; e < s->pattern.column_start[k + 1]; ++e) {
      const sap_delassus_item* other = &d->items[s->pattern.row[e]];
      const double* lower = s->values + s->pattern.value_start[e];
      const double* upper = s->upper + s->pattern.value_start[e];
      for (int32_t c = 0; c < columns; ++c) {
        double sum = 0.0;
        for (int32_t r = 0; r < other->nrows; ++r, ++lower, ++upper) {
          y[other->first + r] += *lower * x[first + c];
          sum += *upper * x[other->first + r];
        }
        y[first + c] += s->pattern.row[e] != k ? sum : 0.0;
      }
    }
  }
}

sap_status sap_delassus_sparse_factorize(sap_delassus_sparse* s, double shift, sap_error* error) {
  SAP_TRY(SAP_ROOM(&s->pool, &s->shifted, (int64_t)s->pairs.nvalues, error));
  if (s->cholesky == NULL) {
    SAP_TRY(sap_cholesky_create(&s->cholesky, error));
  }
  memcpy(s->shifted, s->values, s->pairs.nvalues * sizeof(double));
  for (int32_t k = 0; k < s->pattern.nblocks; ++k) {
    double* block = s->shifted + s->pattern.value_start[s->pattern.column_start[k]];
    for (int32_t i = 0; i < s->pattern.sizes[k]; ++i) {
      block[(size_t)i * ((size_t)s->pattern.sizes[k] + 1)] += shift;
    }
  }
  SAP_TRY(sap_cholesky_analyze(s->cholesky, &s->pattern, SAP_LINEAR_AUTO, NULL, error));
  return sap_cholesky_factorize(s->cholesky, s->shifted, NULL, error);
}
