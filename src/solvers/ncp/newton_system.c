// SPDX-License-Identifier: BSD-3-Clause
// The equations, their merit, and steps along a direction.
#include "solvers/ncp/newton_system.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "problem/problem_data.h"

sap_status sap_newton_start(sap_dual* d, sap_newton_system* s, sap_error* error) {
  *s = (sap_newton_system){0};
  sap_status status = sap_delassus_sparse_assemble(&d->sparse, &d->op, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int64_t n = d->op.n, nitems = d->op.nitems, values = (int64_t)d->sparse.nvalues;
  const int64_t entries = d->sparse.pattern.column_start[nitems];
  status = sap_dual_reals(d, (9 + SAP_CONE_ROWS_MAX) * n + 2 * values, &s->F, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_integers(d, 3 * nitems + 1 + entries, &s->sizes, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&d->reduced_start, &d->reduced_start_capacity, entries, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  s->dz = s->F + n;
  s->g = s->dz + n;
  s->dg = s->g + n;
  s->z_ref = s->dg + n;
  s->trial = s->z_ref + n;
  s->g_trial = s->trial + n;
  s->z_mark = s->g_trial + n;
  s->right = s->z_mark + n;
  s->T = s->right + n;
  s->lower = s->T + SAP_CONE_ROWS_MAX * n;
  s->upper = s->lower + values;
  s->reduced = s->sizes + nitems;
  s->column_start = s->reduced + nitems;
  s->row = s->column_start + nitems + 1;
  memcpy(s->z_ref, d->z, (size_t)n * sizeof(double));
  return SAP_STATUS_OK;
}

void sap_newton_item(const sap_delassus_item* item, const double* z, const double* g, double* F,
                     double* T) {
  if (!item->is_cone) {
    const double p = z[0] - g[0];
    sap_dual_project(item, &p, F);
    F[0] = z[0] - F[0];
    if (T != NULL) {
      T[0] = p >= item->lower && p <= item->upper ? 1.0 : 0.0;
    }
    return;
  }
  const int32_t n = item->nrows, normal = SAP_NORMAL_ROW;
  double p[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    p[i] = z[i] - g[i];
  }
  const double pn = p[normal];
  const double radius = pn > 0.0 ? item->mu * pn : 0.0;
  const double length = sqrt(sap_cone_n_dot(n, p, p));
  const bool slides = length > radius;
  const double shrink = slides ? radius / length : 1.0;
  for (int32_t i = 0; i < n; ++i) {
    F[i] = z[i] - shrink * p[i];
  }
  F[normal] = z[normal] - (pn > 0.0 ? pn : 0.0);
  if (T == NULL) {
    return;
  }
  double t[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; slides && i < n; ++i) {
    t[i] = p[i] / length;
  }
  const sap_cone_n_parts parts = {.along = slides ? 0.0 : shrink, .across = shrink};
  sap_cone_n_fill(n, &parts, t, T);
  for (int32_t i = 0; i < n; ++i) {  // unsymmetric: the normal knows nothing of the tangents
    T[normal * n + i] = pn > 0.0 ? item->mu * t[i] : 0.0;
  }
  T[normal * (n + 1)] = pn > 0.0 ? 1.0 : 0.0;
}

// |F|^2 / 2
static double equations(const sap_dual* d, const double* z, const double* g, double* F) {
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    sap_newton_item(item, z + item->first, g + item->first, F + item->first, NULL);
  }
  return 0.5 * cblas_ddot(d->op.n, F, 1, F, 1);
}

double sap_newton_merit(const sap_dual* d, sap_newton_system* s) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    s->g[i] = d->g[i] + s->sigma * (d->z[i] - s->z_ref[i]);
  }
  return equations(d, d->z, s->g, s->F);
}

// Step length; z moves along.
static double move(sap_dual* d, sap_newton_system* s, double merit, bool whole) {
  static const double ARMIJO = 1e-4, SHRINK = 0.5;
  enum { MAXIMUM = 20 };
  const int32_t n = d->op.n;
  if (whole) {
    cblas_daxpy(n, 1.0, s->dz, 1, d->z, 1);
    return 1.0;
  }
  double highest = merit, alpha = 1.0;
  for (int32_t i = 0; i < s->nmerits; ++i) {
    highest = fmax(highest, s->merits[i]);
  }
  sap_delassus_apply(&d->op, s->dz, s->dg);
  cblas_daxpy(n, s->sigma, s->dz, 1, s->dg, 1);
  for (int i = 0; i < MAXIMUM; ++i, alpha *= SHRINK) {
    for (int32_t j = 0; j < n; ++j) {
      s->trial[j] = d->z[j] + alpha * s->dz[j];
      s->g_trial[j] = s->g[j] + alpha * s->dg[j];
    }
    d->evaluations += 1;
    if (equations(d, s->trial, s->g_trial, s->F) <= highest - 2.0 * ARMIJO * alpha * merit) {
      break;
    }
  }
  memcpy(d->z, s->trial, (size_t)n * sizeof(double));
  return alpha;
}

static void remember(sap_newton_system* s, double merit) {
  if (s->nmerits == SAP_NEWTON_MEMORY) {
    memmove(s->merits, s->merits + 1, (SAP_NEWTON_MEMORY - 1) * sizeof(double));
    s->nmerits -= 1;
  }
  s->merits[s->nmerits++] = merit;
}

static sap_status try_step(sap_dual* d, sap_newton_system* s, bool whole, double* alpha,
                           sap_error* error) {
  const double merit = sap_newton_merit(d, s);
  bool found = false;
  remember(s, merit);
  const sap_status status = sap_newton_direction(d, s, &found, error);
  *alpha = status == SAP_STATUS_OK && found ? move(d, s, merit, whole) : 0.0;
  return status;
}

sap_status sap_newton_step(sap_dual* d, sap_newton_system* s, bool whole, double* alpha,
                           sap_error* error) {
  static const double FIRST = 1e-10, FACTOR = 100.0;
  enum { MAXIMUM = 5 };
  const double sigma = s->sigma;
  double shift = FIRST;
  sap_status status = try_step(d, s, whole, alpha, error);
  for (int i = 0; i < MAXIMUM && *alpha == 0.0 && status == SAP_STATUS_OK; ++i, shift *= FACTOR) {
    s->sigma = sigma + shift;
    s->nmerits = 0;
    status = try_step(d, s, whole, alpha, error);
  }
  s->sigma = sigma;
  return status;
}

void sap_newton_return(sap_dual* d, const double* z) {
  memcpy(d->z, z, (size_t)d->op.n * sizeof(double));
  sap_delassus_velocity(&d->op, d->z, d->v);
  sap_delassus_gradient(&d->op, d->v, d->z, d->g);
}
