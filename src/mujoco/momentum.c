// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance of a step, by trees:
//   A            = M + h D + h^2 K
//   A (v* - v0)  = h f - h^2 K v0
// D and K of joints are diagonal, those of tendons and servos have rank one.
#include "mujoco/momentum.h"

#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

static double* diagonal_entry(const sap_mj* a, int32_t i, int32_t j) {
  const int32_t tree = a->trees.of_dof[i], first = a->trees.start[tree];
  return a->momentum.A + a->trees.A_start[tree] + (j - first) * a->trees.size[tree] + (i - first);
}

// Stores where each of MuJoCo's nonzeros of M is in A.
void sap_mj_momentum_place_mass(sap_mj* a) {
  const mjModel* m = a->model;
  for (int32_t i = 0; i < a->nv; ++i) {
    const int32_t tree = a->trees.of_dof[i], first = a->trees.start[tree], n = a->trees.size[tree];
    const int32_t row = a->trees.A_start[tree] + (i - first);
#if SAP_MJ_SINCE(3, 9, 0)
    for (int32_t k = m->M_rowadr[i]; k < m->M_rowadr[i] + m->M_rownnz[i]; ++k) {
      a->momentum.mass_place[k] = row + (m->M_colind[k] - first) * n;
    }
#else
    int32_t k = m->dof_Madr[i];
    for (int32_t column = i; column >= 0; column = m->dof_parentid[column]) {
      a->momentum.mass_place[k++] = row + (column - first) * n;
    }
#endif
  }
}

void sap_mj_momentum_add_mass(sap_mj* a, const mjData* d) {
  const mjtNum* M = SAP_MJ_MASS(d);
  if (a->momentum.has_fill) {
    memset(a->momentum.A, 0, (size_t)a->trees.A_start[a->trees.count] * sizeof(double));
    a->momentum.has_fill = false;
  }
  a->momentum.is_plain = true;
  a->momentum.coupling_count = 0;
  a->momentum.coupling_value_count = 0;
  const int32_t count = SAP_MJ_MASS_COUNT(a->model);
  for (int32_t k = 0; k < count; ++k) {
    a->momentum.A[a->momentum.mass_place[k]] = M[k];
  }
}

// Finds the coupling of two trees, tree_a > tree_b, new or not.
static sap_status find_coupling(sap_mj* a, int32_t tree_a, int32_t tree_b, double** block,
                                sap_error* error) {
  sap_mj_momentum* p = &a->momentum;
  for (int32_t c = 0; c < p->coupling_count; ++c) {
    if (p->couplings[c].tree_a == tree_a && p->couplings[c].tree_b == tree_b) {
      *block = p->coupling_values + p->couplings[c].start;
      return SAP_STATUS_OK;
    }
  }
  const int32_t count = a->trees.size[tree_a] * a->trees.size[tree_b];
  const int32_t start = p->coupling_value_count;
  SAP_TRY(SAP_ROOM(&a->pool, &p->couplings, p->coupling_count + 1, error));
  SAP_TRY(SAP_ROOM(&a->pool, &p->coupling_values, start + count, error));
  p->couplings[p->coupling_count++] = (sap_mj_coupling){tree_a, tree_b, start};
  p->coupling_value_count += count;
  *block = memset(p->coupling_values + start, 0, (size_t)count * sizeof(double));
  return SAP_STATUS_OK;
}

sap_status sap_mj_momentum_add_rank_one(sap_mj* a, const sap_mj_row* row, double factor,
                                        sap_error* error) {
  a->momentum.has_fill = true;
  a->momentum.is_plain = false;
  for (int32_t p = 0; p < row->count; ++p) {
    const double value = factor * row->values[p];
    if (value == 0.0) {
      continue;
    }
    const int32_t i = row->columns != NULL ? row->columns[p] : p;
    const int32_t tree = a->trees.of_dof[i];
    for (int32_t q = 0; q < row->count; ++q) {
      const int32_t j = row->columns != NULL ? row->columns[q] : q;
      if (j > i || row->values[q] == 0.0) {
        continue;
      }
      if (a->trees.of_dof[j] == tree) {
        *diagonal_entry(a, i, j) += value * row->values[q];
        continue;
      }
      double* block;
      SAP_TRY(find_coupling(a, tree, a->trees.of_dof[j], &block, error));
      const int32_t column = j - a->trees.start[a->trees.of_dof[j]];
      block[column * a->trees.size[tree] + (i - a->trees.start[tree])] += value * row->values[q];
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_momentum_add_elements(sap_mj* a, const mjData* d, sap_error* error) {
  const double h = a->model->opt.timestep;
  const sap_mj_elements* elements = &a->elements;
  double* rhs = a->momentum.rhs;
  for (int32_t i = 0; i < a->nv; ++i) {
    rhs[i] = h * d->qfrc_smooth[i];
  }
  if (!a->options.implicit) {
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < a->nv; ++i) {
    const double k = elements->dof_stiffness[i], slope = elements->dof_damping[i] + h * k;
    if (slope > 0.0) {
      a->momentum.is_plain = false;
      *diagonal_entry(a, i, i) += h * slope;
      rhs[i] -= h * h * k * d->qvel[i];
    }
  }
  for (int32_t t = 0; t < (int32_t)a->model->ntendon; ++t) {
    const double k = elements->tendon_stiffness[t], b = elements->tendon_damping[t];
    if (k > 0.0 || b > 0.0) {
      const sap_mj_row row = sap_mj_row_trim(a, sap_mj_tendon_row(&a->shadow, d, t));
      SAP_TRY(sap_mj_momentum_add_rank_one(a, &row, h * (b + h * k), error));
      sap_mj_row_add(&row, -h * h * k * sap_mj_row_times(&row, d->qvel), rhs);
    }
  }
  return SAP_STATUS_OK;
}

const double* sap_mj_momentum_change(sap_mj* a, const mjData* d) {
  const size_t bytes = (size_t)a->nv * sizeof(double);
  if (!a->momentum.has_before || memcmp(d->qvel, a->momentum.v_after, bytes) != 0) {
    return NULL;
  }
  for (int32_t i = 0; i < a->nv; ++i) {
    a->momentum.v_guess[i] = d->qvel[i] - a->momentum.v_before[i];
  }
  return a->momentum.v_guess;
}

void sap_mj_momentum_save_velocity(sap_mj* a, const mjData* d, const double* v) {
  const size_t bytes = (size_t)a->nv * sizeof(double);
  if (a->options.remember && bytes > 0) {
    memcpy(a->momentum.v_before, d->qvel, bytes);
    memcpy(a->momentum.v_after, v, bytes);
    a->momentum.has_before = true;
  }
}

static sap_status find_v_star(sap_mj* a, const mjData* d, sap_error* error) {
  const double h = a->model->opt.timestep;
  double* v_star = a->momentum.v_star;
  if (!a->momentum.is_plain) {
    SAP_TRY(sap_problem_solve_momentum(a->problem, a->momentum.rhs, v_star, error));
  }
  for (int32_t i = 0; i < a->nv; ++i) {
    v_star[i] = d->qvel[i] + (a->momentum.is_plain ? h * d->qacc_smooth[i] : v_star[i]);
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_momentum_set_problem(sap_mj* a, const mjData* d, sap_error* error) {
  sap_problem* p = a->problem;
  const sap_mj_momentum* momentum = &a->momentum;
  const int32_t* size = a->trees.size;
  SAP_TRY(sap_problem_reset(p, a->model->opt.timestep, a->trees.count, size, error));
  for (int32_t t = 0; t < a->trees.count; ++t) {
    const double* block = momentum->A + a->trees.A_start[t];
    SAP_TRY(sap_problem_set_momentum_block(p, t, t, block, size[t], error));
  }
  SAP_EACH(const sap_mj_coupling, c, momentum->couplings, momentum->coupling_count) {
    const double* block = momentum->coupling_values + c->start;
    SAP_TRY(sap_problem_set_momentum_block(p, c->tree_a, c->tree_b, block, size[c->tree_a], error));
  }
  SAP_TRY(find_v_star(a, d, error));
  SAP_TRY(sap_problem_set_v_star(p, momentum->v_star, error));
  // The solver starts at v0 extrapolated from the step before, or at v0 if the user has set it.
  const double* change = sap_mj_momentum_change(a, d);
  for (int32_t i = 0; change != NULL && i < a->nv; ++i) {
    a->momentum.v_guess[i] += d->qvel[i];
  }
  SAP_TRY(sap_problem_set_v_guess(p, change != NULL ? a->momentum.v_guess : d->qvel, error));
  sap_contact_scheme scheme = sap_contact_scheme_default();
  scheme.glides = a->solver_info->signorini;
  scheme.v0 = d->qvel;
  return sap_problem_set_law(p, &scheme, error);
}
