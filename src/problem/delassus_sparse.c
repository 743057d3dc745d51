// SPDX-License-Identifier: BSD-3-Clause
#include "problem/delassus_sparse.h"

#include <string.h>

#include "problem/problem_data.h"

void sap_delassus_sparse_clear(sap_delassus_sparse* s) {
  sap_cholesky_destroy(s->cholesky);
  sap_pool_free(&s->pool);
  memset(s, 0, sizeof *s);
}

// Items by tree, ascending: list[start[t]] to list[start[t + 1] - 1].
typedef struct tree_items {
  int32_t* start;  // (ntrees + 1)
  int32_t* list;
  int32_t* mark;  // last column that an item was found for (nitems)
} tree_items;

static void list_items(const sap_delassus* d, const tree_items* t) {
  memset(t->start, 0, ((size_t)d->ntrees + 1) * sizeof *t->start);
  for (int32_t k = 0; k < d->nitems; ++k) {
    for (int32_t i = 0; i < d->items[k].ntrees; ++i) {
      t->start[d->item_trees[d->items[k].first_tree + i] + 1] += 1;
    }
  }
  for (int32_t i = 0; i < d->ntrees; ++i) {
    t->start[i + 1] += t->start[i];
  }
  for (int32_t k = d->nitems; k-- > 0;) {  // filled from the ends
    for (int32_t i = 0; i < d->items[k].ntrees; ++i) {
      const int32_t tree = d->item_trees[d->items[k].first_tree + i];
      t->list[--t->start[tree + 1]] = k;
    }
  }
  for (int32_t i = 0; i < d->ntrees; ++i) {  // starts have moved down by one place
    t->start[i] = t->start[i + 1];
  }
}

// Lists in `rows`, ascending, the items l >= k that act on trees moved by a column of Y of k;
// returns their number. The list of one tree is sorted; lists of several are merged by insertion.
static int32_t column_rows(const sap_delassus* d, const tree_items* t, int32_t nlisted, bool all,
                           int32_t k, int32_t* rows) {
  int32_t count = 0;
  if (all) {
    for (int32_t l = k; l < d->nitems; ++l) {
      rows[count++] = l;
    }
    return count;
  }
  const sap_delassus_item* item = &d->items[k];
  for (int32_t i = 0; i < item->nlift_trees; ++i) {
    const int32_t tree = d->lift_trees[item->first_lift + i];
    const int32_t end = tree + 1 < d->ntrees ? t->start[tree + 1] : nlisted;
    for (int32_t at = t->start[tree]; at < end; ++at) {
      const int32_t l = t->list[at];
      if (l < k || t->mark[l] == k) {
        continue;
      }
      t->mark[l] = k;
      int32_t place = count++;
      for (; place > 0 && rows[place - 1] > l; --place) {
        rows[place] = rows[place - 1];
      }
      rows[place] = l;
    }
  }
  return count;
}

// Returns an upper bound of the blocks of the lower triangle.
static int64_t count_blocks(const sap_delassus* d, const tree_items* t, int32_t nlisted, bool all) {
  if (all) {
    return (int64_t)d->nitems * (d->nitems + 1) / 2;
  }
  int64_t sum = d->nitems;
  for (int32_t k = 0; k < d->nitems; ++k) {
    for (int32_t i = 0; i < d->items[k].nlift_trees; ++i) {
      const int32_t tree = d->lift_trees[d->items[k].first_lift + i];
      sum += (tree + 1 < d->ntrees ? t->start[tree + 1] : nlisted) - t->start[tree];
    }
  }
  return sum;
}

// Builds sizes, columns and rows. Layout of integers: tree starts, lists and marks first.
static sap_status build_pattern(sap_delassus_sparse* s, const sap_delassus* d, sap_error* error) {
  int32_t nlisted = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    nlisted += d->items[k].ntrees;
  }
  const bool all = d->coupled;
  const int64_t fixed = (int64_t)d->ntrees + 1 + nlisted + 3 * (int64_t)d->nitems + 1;
  SAP_TRY(SAP_ROOM(&s->pool, &s->integers, fixed, error));
  tree_items t = {s->integers, s->integers + d->ntrees + 1, s->integers + d->ntrees + 1 + nlisted};
  list_items(d, &t);
  const int64_t most = count_blocks(d, &t, nlisted, all);
  SAP_TRY(SAP_ROOM(&s->pool, &s->integers, fixed + most, error));
  SAP_TRY(SAP_ROOM(&s->pool, &s->value_start, most, error));
  t = (tree_items){s->integers, s->integers + d->ntrees + 1, s->integers + d->ntrees + 1 + nlisted};
  int32_t* sizes = t.mark + d->nitems;
  int32_t* column_start = sizes + d->nitems;
  int32_t* rows = column_start + d->nitems + 1;
  int32_t count = 0;
  size_t values = 0;
  memset(t.mark, -1, (size_t)d->nitems * sizeof *t.mark);
  for (int32_t k = 0; k < d->nitems; ++k) {
    sizes[k] = d->items[k].nrows;
    column_start[k] = count;
    const int32_t found = column_rows(d, &t, nlisted, all, k, rows + count);
    for (int32_t i = 0; i < found; ++i) {
      s->value_start[count + i] = values;
      values += (size_t)d->items[rows[count + i]].nrows * (size_t)d->items[k].nrows;
    }
    count += found;
  }
  column_start[d->nitems] = count;
  s->pattern = (sap_block_pattern){d->nitems, sizes, column_start, rows, s->value_start};
  s->nvalues = values;
  s->n = d->n;
  return SAP_STATUS_OK;
}

// Computes D_lk, l >= k, of one column of D.
static void assemble_column(sap_delassus_sparse* s, const sap_delassus* d, int32_t k, int32_t c) {
  for (int32_t e = s->pattern.column_start[k]; e < s->pattern.column_start[k + 1]; ++e) {
    const sap_delassus_item* other = &d->items[s->pattern.row[e]];
    double* column = s->values + s->value_start[e] + (size_t)c * (size_t)other->nrows;
    sap_delassus_item_velocity(d, other, d->scratch, column);
  }
}

// Computes D_kl, k < l, transposed, of one column of D; entries of row l are listed from first[l].
static void assemble_upper(sap_delassus_sparse* s, const sap_delassus* d, int32_t l, int32_t r) {
  const int32_t rows = d->items[l].nrows;
  for (int32_t e = s->row_first[l]; e >= 0; e = s->row_next[e]) {
    const sap_delassus_item* other = &d->items[s->column_of[e]];
    double part[SAP_EIGEN_MAX];
    sap_delassus_item_velocity(d, other, d->scratch, part);
    for (int32_t c = 0; c < other->nrows; ++c) {
      s->upper[s->value_start[e] + (size_t)(c * rows + r)] = part[c];
    }
  }
}

// Lists the entries by rows.
static sap_status list_rows(sap_delassus_sparse* s, sap_error* error) {
  const int64_t nblocks = s->pattern.nblocks, entries = s->pattern.column_start[nblocks];
  SAP_TRY(SAP_ROOM(&s->pool, &s->row_first, nblocks + 2 * entries, error));
  SAP_TRY(SAP_ROOM(&s->pool, &s->upper_values, (int64_t)s->nvalues, error));
  s->row_next = s->row_first + nblocks;
  s->column_of = s->row_next + entries;
  memset(s->row_first, -1, (size_t)nblocks * sizeof *s->row_first);
  for (int32_t k = 0; k < nblocks; ++k) {
    for (int32_t e = s->pattern.column_start[k]; e < s->pattern.column_start[k + 1]; ++e) {
      const int32_t l = s->pattern.row[e];
      s->column_of[e] = k;
      s->row_next[e] = s->row_first[l];
      s->row_first[l] = e;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_delassus_sparse_assemble(sap_delassus_sparse* s, const sap_delassus* d,
                                        sap_error* error) {
  SAP_TRY(build_pattern(s, d, error));
  SAP_TRY(SAP_ROOM(&s->pool, &s->values, (int64_t)s->nvalues, error));
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
      s->values[s->value_start[s->pattern.column_start[k]] + (size_t)(c * (item->nrows + 1))] +=
          d->R[item->first + c];
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
      const double* lower = s->values + s->value_start[e];
      const double* upper = s->upper + s->value_start[e];
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
  SAP_TRY(SAP_ROOM(&s->pool, &s->shifted, (int64_t)s->nvalues, error));
  if (s->cholesky == NULL) {
    SAP_TRY(sap_cholesky_create(&s->cholesky, error));
  }
  memcpy(s->shifted, s->values, s->nvalues * sizeof(double));
  for (int32_t k = 0; k < s->pattern.nblocks; ++k) {
    double* block = s->shifted + s->value_start[s->pattern.column_start[k]];
    for (int32_t i = 0; i < s->pattern.sizes[k]; ++i) {
      block[(size_t)i * ((size_t)s->pattern.sizes[k] + 1)] += shift;
    }
  }
  SAP_TRY(sap_cholesky_analyze(s->cholesky, &s->pattern, SAP_LINEAR_AUTO, NULL, error));
  return sap_cholesky_factorize(s->cholesky, s->shifted, NULL, error);
}

void sap_delassus_sparse_solve(sap_delassus_sparse* s, double* x) {
  sap_cholesky_solve(s->cholesky, x);
}
