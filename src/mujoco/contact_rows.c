// SPDX-License-Identifier: BSD-3-Clause
// Rows of a contact as Jacobians on its trees.
// A contact of dimension dim has rows (n, t1, t2, spin, roll1, roll2) of the velocity of geom 2
// relative to geom 1 in an elliptic model; in a pyramidal one pairs n +- mu_j t_j, from which
//   n = (row_0 + row_1)/2,  t_j = (row_2j - row_2j+1)/(2 mu_j)
#include <string.h>

#include "mujoco/adapter.h"

// Row of the contact in the order [t1 t2 n spin roll1 roll2]: those of MuJoCo that it is made of
// and their factors; returns how many, 1 or 2.
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

// Where the entries of a contact's rows go: entry k of a row's values stands in column order at
// a->entry[k], and its place in the Jacobian of row 0 at a->place[k]; all rows have the same
// columns.
static int32_t find_places(sap_mj* a, const sap_mj_row* row, double* const* parts, int32_t ntrees,
                           int32_t ld) {
  int32_t count = 0;
  if (row->columns == NULL) {
    for (int32_t t = 0; t < ntrees; ++t) {
      const int32_t tree = a->block_trees[t], first = a->tree_start[tree];
      for (int32_t j = 0; j < a->tree_size[tree]; ++j) {
        a->entry[count] = first + j;
        a->place[count++] = parts[t] + j * ld;
      }
    }
    return count;
  }
  for (int32_t k = 0; k < row->count; ++k) {
    const int32_t column = row->columns[k], tree = a->dof_tree[column];
    if (a->tree_seen[tree] >= 0) {
      a->entry[count] = k;
      a->place[count++] = parts[a->tree_seen[tree]] + (column - a->tree_start[tree]) * ld;
    }
  }
  return count;
}

// Columns of the rows x of MuJoCo's, in the order [t1 t2 n].
static inline void mix_rows(const mjtNum* const x[4], const mjContact* c, bool pyramidal,
                            int32_t count, double* restrict to) {
  if (!pyramidal) {
    for (int32_t k = 0; k < count; ++k, to += 3) {
      to[0] = x[1][k];
      to[1] = x[2][k];
      to[2] = x[0][k];
    }
    return;
  }
  const double f1 = 0.5 / c->friction[0], f2 = 0.5 / c->friction[1];
  for (int32_t k = 0; k < count; ++k, to += 3) {
    to[0] = f1 * x[0][k] - f1 * x[1][k];
    to[1] = f2 * x[2][k] - f2 * x[3][k];
    to[2] = 0.5 * x[0][k] + 0.5 * x[1][k];
  }
}

// Where the entries of a tree begin in the contact's rows, if all its columns are there: always in
// dense rows, for free bodies in sparse ones. -1: they are not.
static int32_t whole_tree(const sap_mj* a, const sap_mj_row* row, int32_t tree) {
  const int32_t first = a->tree_start[tree], last = first + a->tree_size[tree] - 1;
  if (row->columns == NULL) {
    return first;
  }
  int32_t at = 0;
  while (at < row->count && row->columns[at] < first) {
    ++at;
  }
  const int32_t end = at + last - first;
  return end < row->count && row->columns[at] == first && row->columns[end] == last ? at : -1;
}

// Values of the contact's rows; `first` is the first of them.
static inline void find_rows(const mjData* d, const mjContact* c, const sap_mj_row* first,
                             int32_t count, const mjtNum* x[4]) {
  x[3] = NULL;
  for (int32_t r = 0; r < count; ++r) {
    x[r] = first->columns != NULL ? d->efc_J + d->efc_J_rowadr[c->efc_address + r]
                                  : first->values + (size_t)r * (size_t)first->count;
  }
}

// Rows [t1 t2 n] of a contact whose trees have all their columns there; false: they have not.
static bool fill_whole_trees(const sap_mj* a, const mjData* d, const mjContact* c, int32_t ntrees) {
  const sap_mj_row pattern = sap_mj_constraint_row(&a->shadow, d, c->efc_address);
  const bool pyramidal = mj_isPyramidal(&a->shadow) != 0;
  const mjtNum* x[4];
  find_rows(d, c, &pattern, pyramidal ? 4 : 3, x);
  double* to = a->J;
  for (int32_t t = 0; t < ntrees; ++t) {
    const int32_t tree = a->block_trees[t], size = a->tree_size[tree];
    const int32_t at = whole_tree(a, &pattern, tree);
    if (at < 0) {
      return false;
    }
    const mjtNum* const part[4] = {x[0] + at, x[1] + at, x[2] + at, pyramidal ? x[3] + at : NULL};
    mix_rows(part, c, pyramidal, size, to);
    a->block_parts[t] = to;
    to += 3 * size;
  }
  return true;
}

// Rows [t1 t2 n] of a contact, all in one pass.
static void fill_linear_rows(const sap_mj* a, const mjData* d, const mjContact* c, bool pyramidal,
                             int32_t count) {
  const sap_mj_row first = sap_mj_constraint_row(&a->shadow, d, c->efc_address);
  const mjtNum* x[4];
  find_rows(d, c, &first, pyramidal ? 4 : 3, x);
  if (!pyramidal) {
    for (int32_t k = 0; k < count; ++k) {
      const int32_t e = a->entry[k];
      double* to = a->place[k];
      to[0] = x[1][e];
      to[1] = x[2][e];
      to[2] = x[0][e];
    }
    return;
  }
  const double f1 = 0.5 / c->friction[0], f2 = 0.5 / c->friction[1];
  for (int32_t k = 0; k < count; ++k) {
    const int32_t e = a->entry[k];
    double* to = a->place[k];
    to[0] = f1 * x[0][e] - f1 * x[1][e];
    to[1] = f2 * x[2][e] - f2 * x[3][e];
    to[2] = 0.5 * x[0][e] + 0.5 * x[1][e];
  }
}

// Rows first ... first + ld of the order [t1 t2 n spin roll1 roll2].
static void fill_contact_rows(sap_mj* a, const mjData* d, const mjContact* c, int32_t first,
                              int32_t ld, double* const* parts, int32_t ntrees) {
  const sap_mj_row pattern = sap_mj_constraint_row(&a->shadow, d, c->efc_address);
  const int32_t count = find_places(a, &pattern, parts, ntrees, ld);
  const bool pyramidal = c->dim > 1 && mj_isPyramidal(&a->shadow);
  if (first == 0 && ld == 3) {
    fill_linear_rows(a, d, c, pyramidal, count);
    return;
  }
  for (int32_t r = 0; r < ld; ++r) {
    int32_t source[2] = {c->efc_address, 0};
    double factor[2] = {1.0, 0.0};
    const int32_t sources = c->dim > 1 ? source_rows(c, pyramidal, first + r, source, factor) : 1;
    const mjtNum* x = sap_mj_constraint_row(&a->shadow, d, source[0]).values;
    const mjtNum* y = sap_mj_constraint_row(&a->shadow, d, source[sources - 1]).values;
    for (int32_t k = 0; k < count; ++k) {
      const int32_t e = a->entry[k];
      a->place[k][r] = sources == 1 ? x[e] : factor[0] * x[e] + factor[1] * y[e];
    }
  }
}

// For three rows on the trees found, without asking for more.
static bool has_room(const sap_mj* a, int32_t ntrees) {
  int64_t columns = 0;
  for (int32_t i = 0; i < ntrees; ++i) {
    columns += a->tree_size[a->block_trees[i]];
  }
  return 3 * columns <= a->J_capacity;
}

// Trees of the contact's bodies; those of flexes are in its rows, which are all there are of them.
static int32_t find_contact_trees(sap_mj* a, const mjData* d, const mjContact* c) {
  int32_t ntrees = 0;
  if (!sap_mj_contact_is_of_geoms(c)) {
    const int32_t rows = sap_mj_contact_row_count(&a->shadow, c);
    for (int32_t r = 0; r < rows; ++r) {
      const sap_mj_row row = sap_mj_constraint_row(&a->shadow, d, c->efc_address + r);
      ntrees = sap_mj_find_trees(a, &row, ntrees);
    }
    return ntrees;
  }
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t tree = a->body_tree[a->model->geom_bodyid[sap_mj_contact_geom(c, side)]];
    if (tree >= 0 && a->tree_seen[tree] < 0) {
      a->tree_seen[tree] = ntrees;
      a->block_trees[ntrees++] = tree;
    }
  }
  return ntrees;
}

int32_t sap_mj_gather_contact(sap_mj* a, const mjData* d, const mjContact* c, sap_error* error) {
  const int32_t ntrees = find_contact_trees(a, d, c);
  if (c->dim == 3 && has_room(a, ntrees) && fill_whole_trees(a, d, c, ntrees)) {
    sap_mj_forget_trees(a, ntrees);
    return ntrees;
  }
  // Rows beyond the third stand behind the others, in parts of their own.
  const int32_t dim = c->dim, linear = dim < 3 ? dim : 3, angular = dim - linear;
  const sap_status status = sap_mj_make_parts(a, ntrees, linear, error);
  double* behind = a->J;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < ntrees; ++i) {
    behind += linear * a->tree_size[a->block_trees[i]];
  }
  for (int32_t i = 0; status == SAP_STATUS_OK && angular > 0 && i < ntrees; ++i) {
    const int32_t size = angular * a->tree_size[a->block_trees[i]];
    memset(behind, 0, (size_t)size * sizeof(double));
    a->angular_parts[i] = behind;
    behind += size;
  }
  if (status == SAP_STATUS_OK) {
    fill_contact_rows(a, d, c, 0, linear, (double* const*)a->block_parts, ntrees);
  }
  if (status == SAP_STATUS_OK && angular > 0) {
    fill_contact_rows(a, d, c, linear, angular, (double* const*)a->angular_parts, ntrees);
  }
  sap_mj_forget_trees(a, ntrees);
  return status == SAP_STATUS_OK ? ntrees : -1;
}

double sap_mj_contact_row_times(const sap_mj* a, const mjData* d, const mjContact* c, int32_t r,
                                const double* v) {
  int32_t source[2];
  double factor[2], sum = 0.0;
  const int32_t count = source_rows(c, mj_isPyramidal(&a->shadow) != 0, r, source, factor);
  for (int32_t k = 0; k < count; ++k) {
    const sap_mj_row row = sap_mj_constraint_row(&a->shadow, d, source[k]);
    sum += factor[k] * sap_mj_row_times(&row, v);
  }
  return sum;
}

double sap_mj_contact_row_of(const sap_mj* a, const mjContact* c, int32_t r, const double* rows) {
  int32_t source[2];
  double factor[2], sum = 0.0;
  const int32_t count = source_rows(c, mj_isPyramidal(&a->shadow) != 0, r, source, factor);
  for (int32_t k = 0; k < count; ++k) {
    sum += factor[k] * rows[source[k]];
  }
  return sum;
}
