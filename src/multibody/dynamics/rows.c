// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/rows.h"

#include <string.h>

#include "core/error.h"

sap_status sap_rows_create(const sap_model* model, sap_pool* pool, sap_rows* rows,
                           sap_error* error) {
  const size_t nv = (size_t)model->sizes.nv;
  const int32_t trees = model->sizes.trees;
  *rows = (sap_rows){.model = model};
  SAP_TRY(SAP_POOL_ADD(pool, &rows->trees, trees, error));
  SAP_TRY(SAP_POOL_ADD(pool, &rows->touched, trees, error));
  SAP_TRY(SAP_POOL_ADD(pool, &rows->values, SAP_ROWS_MAX * nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &rows->packed, SAP_ROWS_MAX * nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &rows->parts, trees, error));
  return SAP_POOL_ADD(pool, &rows->part_trees, trees, error);
}

void sap_rows_begin(sap_rows* rows, int32_t nrows) {
  const sap_model* model = rows->model;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t tree = rows->trees[i];
    for (int32_t r = 0; r < rows->nrows; ++r) {
      memset(sap_rows_at(rows, r) + model->tree_dofs[tree], 0,
             (size_t)model->tree_sizes[tree] * sizeof(double));
    }
    rows->touched[tree] = false;
  }
  rows->ntrees = 0;
  rows->nrows = nrows;
}

void sap_rows_touch(sap_rows* rows, int32_t tree) {
  if (!rows->touched[tree]) {
    rows->touched[tree] = true;
    rows->trees[rows->ntrees++] = tree;
  }
}

double sap_rows_times(const sap_rows* rows, int32_t r, const double* v) {
  const double* row = sap_rows_at(rows, r);
  double sum = 0.0;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t first = rows->model->tree_dofs[rows->trees[i]];
    const int32_t end = first + rows->model->tree_sizes[rows->trees[i]];
    for (int32_t j = first; j < end; ++j) {
      sum += row[j] * v[j];
    }
  }
  return sum;
}

void sap_rows_add_scaled(const sap_rows* rows, int32_t r, double s, double* out) {
  const double* row = sap_rows_at(rows, r);
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t first = rows->model->tree_dofs[rows->trees[i]];
    const int32_t end = first + rows->model->tree_sizes[rows->trees[i]];
    for (int32_t j = first; j < end; ++j) {
      out[j] += s * row[j];
    }
  }
}

// Copies rows of `size` numbers, `distance` apart, to columns; returns false if all are zero.
static inline bool copy_rows(const double* from, size_t distance, int32_t count, int32_t size,
                             double* to) {
  bool any = false;
  for (int32_t r = 0; r < count; ++r) {
    const double* row = from + distance * (size_t)r;
    for (int32_t j = 0; j < size; ++j) {
      to[(size_t)j * (size_t)count + (size_t)r] = row[j];
      any |= row[j] != 0.0;
    }
  }
  return any;
}

// Copies one tree's columns to `to`; returns false if all are zero.
static bool pack_tree(const sap_rows* rows, int32_t tree, int32_t first, int32_t count,
                      double* to) {
  const double* from = sap_rows_at(rows, first) + rows->model->tree_dofs[tree];
  const size_t distance = (size_t)rows->model->sizes.nv;
  const int32_t size = rows->model->tree_sizes[tree];
  return count == 1 ? copy_rows(from, distance, 1, size, to)
                    : copy_rows(from, distance, count, size, to);
}

void sap_rows_pack(sap_rows* rows, int32_t first, int32_t count) {
  double* to = rows->packed;
  rows->nparts = 0;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t tree = rows->trees[i];
    if (pack_tree(rows, tree, first, count, to)) {
      rows->part_trees[rows->nparts] = tree;
      rows->parts[rows->nparts++] = to;
      to += (size_t)count * (size_t)rows->model->tree_sizes[tree];
    }
  }
}
