// SPDX-License-Identifier: BSD-3-Clause
// A = M + h D + h^2 K by trees, and the right-hand side h f - h^2 K v0 of the free motion.
// D and K of joints stand on the diagonal, those of tendons and servos are rank one.
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

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

static double* diagonal_entry(const sap_mj* a, int32_t i, int32_t j) {
  const int32_t tree = a->dof_tree[i], first = a->tree_start[tree];
  return a->A + a->A_start[tree] + (j - first) * a->tree_size[tree] + (i - first);
}

// MuJoCo's nonzeros of M, in its order, to their places in A.
void sap_mj_place_mass(sap_mj* a) {
  const mjModel* m = a->model;
  for (int32_t i = 0; i < a->nv; ++i) {
    const int32_t tree = a->dof_tree[i], first = a->tree_start[tree], n = a->tree_size[tree];
    const int32_t row = a->A_start[tree] + (i - first);
#if SAP_MJ_SINCE(3, 9, 0)
    for (int32_t k = m->M_rowadr[i]; k < m->M_rowadr[i] + m->M_rownnz[i]; ++k) {
      a->mass_place[k] = row + (m->M_colind[k] - first) * n;
    }
#else
    int32_t k = m->dof_Madr[i];
    for (int32_t column = i; column >= 0; column = m->dof_parentid[column]) {
      a->mass_place[k++] = row + (column - first) * n;
    }
#endif
  }
}

void sap_mj_add_mass(sap_mj* a, const mjData* d) {
#if SAP_MJ_SINCE(3, 9, 0)
  const mjtNum* M = d->M;
#else
  const mjtNum* M = d->qM;
#endif
  if (a->A_is_filled) {
    memset(a->A, 0, (size_t)a->A_start[a->ntrees] * sizeof(double));
    a->A_is_filled = false;
  }
  a->is_free_of_laws = true;
  a->coupling_count = 0;
  a->coupling_value_count = 0;
  const int32_t count = sap_mj_mass_count(a->model);
  for (int32_t k = 0; k < count; ++k) {
    a->A[a->mass_place[k]] = M[k];
  }
}

// Values of a new coupling of two trees, zeroed; NULL: no memory.
static double* append_coupling(sap_mj* a, int32_t tree_a, int32_t tree_b, sap_error* error) {
  const int32_t count = a->tree_size[tree_a] * a->tree_size[tree_b];
  const int32_t start = a->coupling_value_count;
  if (SAP_GROW(&a->couplings, &a->coupling_capacity, a->coupling_count + 1, error) !=
          SAP_STATUS_OK ||
      SAP_GROW(&a->coupling_values, &a->coupling_value_capacity, start + count, error) !=
          SAP_STATUS_OK) {
    return NULL;
  }
  a->couplings[a->coupling_count++] = (sap_mj_coupling){tree_a, tree_b, start};
  a->coupling_value_count += count;
  memset(a->coupling_values + start, 0, (size_t)count * sizeof(double));
  return a->coupling_values + start;
}

// The same of two trees, a > b, that may have one already.
static double* coupling_of(sap_mj* a, int32_t tree_a, int32_t tree_b, sap_error* error) {
  for (int32_t c = 0; c < a->coupling_count; ++c) {
    if (a->couplings[c].tree_a == tree_a && a->couplings[c].tree_b == tree_b) {
      return a->coupling_values + a->couplings[c].start;
    }
  }
  return append_coupling(a, tree_a, tree_b, error);
}

// A += factor row' row.
sap_status sap_mj_add_rank_one(sap_mj* a, const sap_mj_row* row, double factor, sap_error* error) {
  a->A_is_filled = true;
  a->is_free_of_laws = false;
  for (int32_t p = 0; p < row->count; ++p) {
    const double value = factor * row->values[p];
    if (value == 0.0) {
      continue;
    }
    const int32_t i = row->columns != NULL ? row->columns[p] : p;
    const int32_t tree = a->dof_tree[i];
    for (int32_t q = 0; q < row->count; ++q) {
      const int32_t j = row->columns != NULL ? row->columns[q] : q;
      if (j > i || row->values[q] == 0.0) {
        continue;
      }
      if (a->dof_tree[j] == tree) {
        *diagonal_entry(a, i, j) += value * row->values[q];
        continue;
      }
      double* block = coupling_of(a, tree, a->dof_tree[j], error);
      if (block == NULL) {
        return SAP_STATUS_MEMORY;
      }
      const int32_t column = j - a->tree_start[a->dof_tree[j]];
      block[column * a->tree_size[tree] + (i - a->tree_start[tree])] += value * row->values[q];
    }
  }
  return SAP_STATUS_OK;
}

// Coupling of two trees, which is the last that was made or a new one: elastics come first, those
// of a pair of trees together.
static double* next_coupling(sap_mj* a, int32_t tree_a, int32_t tree_b, sap_error* error) {
  const sap_mj_coupling* last = a->coupling_count > 0 ? &a->couplings[a->coupling_count - 1] : NULL;
  return last != NULL && last->tree_a == tree_a && last->tree_b == tree_b
             ? a->coupling_values + last->start
             : append_coupling(a, tree_a, tree_b, error);
}

// h^2 K + h D of flexes, and -h^2 K v0.
static sap_status add_elastics(sap_mj* a, const mjData* d, sap_error* error) {
  const double h = a->model->opt.timestep;
  if (a->elastic_count == 0) {
    return SAP_STATUS_OK;
  }
  a->A_is_filled = true;
  a->is_free_of_laws = false;
  for (int32_t i = 0; i < a->elastic_count; ++i) {
    const sap_mj_elastic* e = &a->elastics[i];
    const int32_t tree_a = e->tree_a, tree_b = e->tree_b;
    const int32_t row = e->a - a->tree_start[tree_a], column = e->b - a->tree_start[tree_b];
    double* block =
        tree_a == tree_b ? a->A + a->A_start[tree_a] : next_coupling(a, tree_a, tree_b, error);
    if (block == NULL) {
      return SAP_STATUS_MEMORY;
    }
    for (int32_t k = 0; k < 9; ++k) {
      const int32_t r = row + k / 3, c = column + k % 3;
      if (tree_a != tree_b || r >= c) {
        block[c * a->tree_size[tree_a] + r] += h * (h * e->K[k] + e->D[k]);
      }
    }
  }
  sap_mj_elastic_times(a, false, -h * h, d->qvel, a->rhs);
  return SAP_STATUS_OK;
}

sap_status sap_mj_add_elements(sap_mj* a, const mjData* d, sap_error* error) {
  const double h = a->model->opt.timestep;
  for (int32_t i = 0; i < a->nv; ++i) {
    a->rhs[i] = h * d->qfrc_smooth[i];
  }
  if (!a->options.implicit) {
    return SAP_STATUS_OK;
  }
  sap_status status = add_elastics(a, d, error);
  for (int32_t i = 0; i < a->nv; ++i) {
    const double slope = a->dof_damping[i] + h * a->dof_stiffness[i];
    if (slope > 0.0) {
      a->is_free_of_laws = false;
      *diagonal_entry(a, i, i) += h * slope;
      a->rhs[i] -= h * h * a->dof_stiffness[i] * d->qvel[i];
    }
  }
  for (int32_t t = 0; status == SAP_STATUS_OK && t < (int32_t)a->model->ntendon; ++t) {
    const double k = a->tendon_stiffness[t], b = a->tendon_damping[t];
    if (k > 0.0 || b > 0.0) {
      const sap_mj_row row = sap_mj_tendon_row(&a->shadow, d, t);
      status = sap_mj_add_rank_one(a, &row, h * (b + h * k), error);
      sap_mj_row_add(&row, -h * h * k * sap_mj_row_times(&row, d->qvel), a->rhs);
    }
  }
  return status;
}
