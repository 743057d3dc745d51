// SPDX-License-Identifier: BSD-3-Clause
// What is asked of the kinematics that stand; they are made in kinematics.inc.
#include <string.h>

#include "multibody/dynamics/dynamics_data.h"

enum { BODY_WORK = 250, MASS_WORK = 300 };  // instructions of a body and of a link, about

void sap_dynamics_lend_threads(sap_dynamics* d, sap_threads* threads) {
  sap_threads_lend(&d->threads, threads);
}

// Some of the units.
typedef struct unit_task {
  sap_dynamics* d;
  const double* q;
  sap_links_task* task;  // or the kinematics at q
  void* context;
} unit_task;

static void run_units(void* context, int32_t first, int32_t end) {
  const unit_task* of = context;
  sap_dynamics* d = of->d;
  if (of->task == NULL) {
    d->kernels->set_positions(d, (sap_dynamics_range){first, end}, of->q);
  } else {
    const sap_placing_unit* units = d->placing.units;
    of->task(d, (sap_dynamics_range){units[first].link, units[end].link}, of->context);
  }
}

void sap_dynamics_run_links(sap_dynamics* d, int32_t work, sap_links_task* task, void* context) {
  unit_task of = {.d = d, .task = task, .context = context};
  sap_threads_run_parts(d->threads, d->placing.nunits, (int64_t)work * d->nlinks, run_units, &of);
}

void sap_dynamics_set_positions(sap_dynamics* d, const double* q) {
  unit_task of = {.d = d, .q = q};
  sap_threads_run_parts(d->threads, d->placing.nunits, (int64_t)BODY_WORK * d->model->sizes.bodies,
                        run_units, &of);
}

static void fill_mass_matrix(sap_dynamics* d, sap_dynamics_range links, void* context) {
  d->kernels->mass_matrix(d, links, context);
}

void sap_dynamics_fill_mass_matrix(sap_dynamics* d, double* const* diagonal) {
  sap_dynamics_run_links(d, MASS_WORK, fill_mass_matrix, (void*)diagonal);
}

void sap_dynamics_mass_matrix(sap_dynamics* d, double* const* diagonal) {
  for (int32_t t = 0; t < d->model->sizes.trees; ++t) {
    const size_t n = (size_t)d->model->tree_sizes[t];
    memset(diagonal[t], 0, n * n * sizeof *diagonal[t]);
  }
  sap_dynamics_fill_mass_matrix(d, diagonal);
}

void sap_dynamics_add_point_jacobian(const sap_dynamics* d, int32_t body, const double p_W[3],
                                     const double R_WC[9], double sign, double* J) {
  d->kernels->add_point_jacobian(d, body, p_W, R_WC, sign, J);
}

void sap_dynamics_add_angular_jacobian(const sap_dynamics* d, int32_t body, const double R_WC[9],
                                       double sign, int32_t rows, double* J) {
  const sap_model* model = d->model;
  const int32_t tree = model->bodies[body].tree;
  if (tree < 0) {
    return;
  }
  const int32_t root = d->tree_root[tree];
  const int32_t first = model->tree_dofs[tree];
  const int32_t end = d->tree_free[tree] ? first + 6 : first;
  const double* axes[3] = {R_WC + 6, R_WC, R_WC + 3};  // spin about n, rolling about t1, t2
  for (int32_t i = model->bodies[body].last_dof; i >= end; i = model->dof_parent[i]) {
    for (int32_t r = 0; r < rows && !d->locked[i]; ++r) {
      J[rows * (i - first) + r] += sign * sap_v3_dot(axes[r], d->now.S[i]);
    }
  }
  for (int32_t k = 0; k < 3 && end > first && !d->locked[first]; ++k) {
    for (int32_t r = 0; r < rows; ++r) {
      J[rows * (k + 3) + r] += sign * sap_v3_dot(axes[r], d->now.R_WB + 9 * root + 3 * k);
    }
  }
}
