// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's constraint rows, dense or sparse, as Jacobians on trees.
//
// A contact of dimension dim has rows (n, t1, t2, spin, roll1, roll2) of the velocity of geom 2
// relative to geom 1 in an elliptic model. A pyramidal model has pairs n +- mu_j t_j:
//   n   = (row_0 + row_1)/2
//   t_j = (row_2j - row_2j+1)/(2 mu_j)
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

sap_mj_row sap_mj_row_trim(const sap_mj* a, sap_mj_row row) {
  const int* columns = row.columns != NULL ? row.columns : a->rows.unit_columns;
  int32_t first = 0, end = row.count;
  while (first < end && row.values[first] == 0.0) {
    ++first;
  }
  while (end > first && row.values[end - 1] == 0.0) {
    --end;
  }
  return (sap_mj_row){end - first, columns + first, row.values + first};
}

double sap_mj_row_times(const sap_mj_row* row, const double* v) {
  double sum = 0.0;
  for (int32_t i = 0; i < row->count; ++i) {
    sum += row->values[i] * v[row->columns != NULL ? row->columns[i] : i];
  }
  return sum;
}

void sap_mj_row_add(const sap_mj_row* row, double factor, double* to) {
  for (int32_t i = 0; i < row->count; ++i) {
    to[row->columns != NULL ? row->columns[i] : i] += factor * row->values[i];
  }
}

// Appends the trees that nonzeros of the row touch to the `count` trees of the block; returns the
// new count. a->rows.seen holds their indices until forget_trees.
static int32_t find_trees(sap_mj* a, const sap_mj_row* row, int32_t count) {
  for (int32_t i = 0; i < row->count; ++i) {
    if (row->values[i] == 0.0) {
      continue;
    }
    const int32_t tree = a->trees.of_dof[row->columns != NULL ? row->columns[i] : i];
    if (a->rows.seen[tree] < 0) {
      a->rows.seen[tree] = count;
      a->rows.trees[count++] = tree;
    }
  }
  return count;
}

// Adds the row to row r of the parts.
static void scatter(const sap_mj* a, const sap_mj_row* row, double* const* parts, int32_t ld,
                    int32_t r) {
  for (int32_t i = 0; i < row->count; ++i) {
    if (row->values[i] != 0.0) {
      const int32_t column = row->columns != NULL ? row->columns[i] : i;
      const int32_t tree = a->trees.of_dof[column];
      double* part = parts[a->rows.seen[tree]];
      part[(size_t)(column - a->trees.start[tree]) * (size_t)ld + (size_t)r] += row->values[i];
    }
  }
}

int32_t sap_mj_rows_columns(const sap_mj* a, int32_t ntrees) {
  int32_t columns = 0;
  for (int32_t i = 0; i < ntrees; ++i) {
    columns += a->trees.size[a->rows.trees[i]];
  }
  return columns;
}

// Makes zeroed parts of `rows` rows on the trees found, with room for 3 more rows behind them.
static sap_status make_parts(sap_mj* a, int32_t ntrees, int32_t rows, sap_error* error) {
  const int32_t columns = sap_mj_rows_columns(a, ntrees);
  SAP_FAIL_IF(((int64_t)rows + 3) * columns > INT32_MAX, error, SAP_STATUS_MEMORY,
              "Jacobian of %d rows is too large", rows);
  SAP_TRY(SAP_ROOM(&a->pool, &a->rows.J, (rows + 3) * columns, error));
  memset(a->rows.J, 0, (size_t)rows * (size_t)columns * sizeof(double));
  double* J = a->rows.J;
  for (int32_t i = 0; i < ntrees; ++i) {
    a->rows.parts[i] = J;
    J += (size_t)rows * (size_t)a->trees.size[a->rows.trees[i]];
  }
  return SAP_STATUS_OK;
}

static void forget_trees(sap_mj* a, int32_t ntrees) {
  for (int32_t i = 0; i < ntrees; ++i) {
    a->rows.seen[a->rows.trees[i]] = -1;
  }
}

sap_status sap_mj_rows_gather(sap_mj* a, const sap_mj_row* rows, int32_t count, int32_t* ntrees,
                              sap_error* error) {
  *ntrees = 0;
  for (int32_t r = 0; r < count; ++r) {
    *ntrees = find_trees(a, &rows[r], *ntrees);
  }
  const sap_status status = make_parts(a, *ntrees, count, error);
  for (int32_t r = 0; status == SAP_STATUS_OK && r < count; ++r) {
    scatter(a, &rows[r], (double* const*)a->rows.parts, count, r);
  }
  forget_trees(a, *ntrees);
  return status;
}

// Finds the rows of MuJoCo's and their factors that make row r of [t1 t2 n spin roll1 roll2].
// Returns how many, 1 or 2.
static int32_t source_rows(const mjContact* c, bool pyramidal, int32_t r, int32_t source[2],
                           double factor[2]) {
  static const int32_t elliptic[6] = {1, 2, 0, 3, 4, 5};
  if (!pyramidal) {
    source[0] = c->efc_address + elliptic[r];
    factor[0] = 1.0;
    return 1;
  }
  const int32_t axis = elliptic[r] - 1;  // -1: the normal
  source[0] = c->efc_address + (axis < 0 ? 0 : 2 * axis);
  source[1] = source[0] + 1;
  factor[0] = axis < 0 ? 0.5 : 0.5 / c->friction[axis];
  factor[1] = axis < 0 ? 0.5 : -factor[0];
  return 2;
}

// Finds the places of a contact's entries in the parts: a->rows.entry[k] is an index into a row's
// values, a->rows.place[k] its address in row 0 of the Jacobian. All rows have the same columns.
// Returns how many.
static int32_t find_places(sap_mj* a, const sap_mj_row* row, double* const* parts, int32_t ntrees,
                           int32_t ld) {
  int32_t count = 0;
  if (row->columns == NULL) {
    for (int32_t t = 0; t < ntrees; ++t) {
      const int32_t tree = a->rows.trees[t], first = a->trees.start[tree];
      for (int32_t j = 0; j < a->trees.size[tree]; ++j) {
        a->rows.entry[count] = first + j;
        a->rows.place[count++] = parts[t] + j * ld;
      }
    }
    return count;
  }
  for (int32_t k = 0; k < row->count; ++k) {
    const int32_t column = row->columns[k], tree = a->trees.of_dof[column];
    if (a->rows.seen[tree] >= 0) {
      a->rows.entry[count] = k;
      a->rows.place[count++] = parts[a->rows.seen[tree]] + (column - a->trees.start[tree]) * ld;
    }
  }
  return count;
}

// Fills rows first to first + ld - 1 of the order [t1 t2 n spin roll1 roll2].
static void fill_contact_rows(sap_mj* a, const mjData* d, const mjContact* c, int32_t first,
                              int32_t ld, double* const* parts, int32_t ntrees) {
  const sap_mj_row pattern = sap_mj_constraint_row(&a->shadow, d, c->efc_address);
  const int32_t count = find_places(a, &pattern, parts, ntrees, ld);
  const bool pyramidal = c->dim > 1 && mj_isPyramidal(&a->shadow);
  for (int32_t r = 0; r < ld; ++r) {
    int32_t source[2] = {c->efc_address, 0};
    double factor[2] = {1.0, 0.0};
    const int32_t sources = c->dim > 1 ? source_rows(c, pyramidal, first + r, source, factor) : 1;
    const mjtNum* x = sap_mj_constraint_row(&a->shadow, d, source[0]).values;
    const mjtNum* y = sap_mj_constraint_row(&a->shadow, d, source[sources - 1]).values;
    for (int32_t k = 0; k < count; ++k) {
      const int32_t e = a->rows.entry[k];
      a->rows.place[k][r] = sources == 1 ? x[e] : factor[0] * x[e] + factor[1] * y[e];
    }
  }
}

// Finds the trees of a contact's bodies.
static int32_t find_contact_trees(sap_mj* a, const mjContact* c) {
  int32_t ntrees = 0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t tree = a->trees.of_body[a->model->geom_bodyid[sap_mj_contact_geom(c, side)]];
    if (tree >= 0 && a->rows.seen[tree] < 0) {
      a->rows.seen[tree] = ntrees;
      a->rows.trees[ntrees++] = tree;
    }
  }
  return ntrees;
}

static sap_status fill_contact(sap_mj* a, const mjData* d, const mjContact* c, int32_t ntrees,
                               sap_error* error) {
  const int32_t columns = sap_mj_rows_columns(a, ntrees);
  const int32_t linear = c->dim < 3 ? c->dim : 3, angular = c->dim - linear;
  SAP_TRY(make_parts(a, ntrees, linear, error));
  fill_contact_rows(a, d, c, 0, linear, (double* const*)a->rows.parts, ntrees);
  if (angular == 0) {
    return SAP_STATUS_OK;
  }
  double* behind = a->rows.J + linear * columns;
  memset(behind, 0, (size_t)angular * (size_t)columns * sizeof(double));
  for (int32_t i = 0; i < ntrees; ++i) {
    a->rows.angular_parts[i] = behind;
    behind += angular * a->trees.size[a->rows.trees[i]];
  }
  fill_contact_rows(a, d, c, linear, angular, (double* const*)a->rows.angular_parts, ntrees);
  return SAP_STATUS_OK;
}

sap_status sap_mj_rows_gather_contact(sap_mj* a, const mjData* d, const mjContact* c,
                                      int32_t* ntrees, sap_error* error) {
  *ntrees = find_contact_trees(a, c);
  const sap_status status = fill_contact(a, d, c, *ntrees, error);
  forget_trees(a, *ntrees);
  return status;
}

double sap_mj_rows_contact_excess(const sap_mj* a, const mjData* d, const mjContact* c, int32_t r,
                                  const double* rows, const double* v) {
  int32_t source[2];
  double factor[2], sum = 0.0;
  const int32_t count = source_rows(c, mj_isPyramidal(&a->shadow) != 0, r, source, factor);
  for (int32_t k = 0; k < count; ++k) {
    const sap_mj_row row = sap_mj_constraint_row(&a->shadow, d, source[k]);
    sum += factor[k] * (rows[source[k]] - sap_mj_row_times(&row, v));
  }
  return sum;
}
