// SPDX-License-Identifier: BSD-3-Clause
// cost: a dense LU factorization, 2/3 n^3, per step.
#include "solvers/ncp/newton_system.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "problem/wide_cone.h"

sap_status sap_newton_start(sap_dual* d, sap_newton_system* s, sap_error* error) {
  const int64_t n = d->op.n;
  *s = (sap_newton_system){0};
  sap_status status = sap_dual_reals(d, 2 * n * n + 8 * n, &s->D, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_integers(d, n, &s->pivots, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  s->J = s->D + n * n;
  s->F = s->J + n * n;
  s->dz = s->F + n;
  s->g = s->dz + n;
  s->dg = s->g + n;
  s->z_ref = s->dg + n;
  s->trial = s->z_ref + n;
  s->g_trial = s->trial + n;
  s->z_mark = s->g_trial + n;
  sap_delassus_dense(&d->op, s->D);
  memcpy(s->z_ref, d->z, (size_t)n * sizeof(double));
  return SAP_STATUS_OK;
}

// F of one item and, where T is given, dP/dp (nrows x nrows, column-major).
static void item_equation(const sap_delassus_item* item, const double* z, const double* g,
                          double* F, double* T) {
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
  double p[SAP_WIDE_ROWS] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    p[i] = z[i] - g[i];
  }
  const double pn = p[normal];
  const double radius = pn > 0.0 ? item->mu * pn : 0.0;
  const double length = sqrt(sap_wide_dot(n, p, p));
  const bool slides = length > radius;
  const double shrink = slides ? radius / length : 1.0;
  for (int32_t i = 0; i < n; ++i) {
    F[i] = z[i] - shrink * p[i];
  }
  F[normal] = z[normal] - (pn > 0.0 ? pn : 0.0);
  if (T == NULL) {
    return;
  }
  double t[SAP_WIDE_ROWS] = {0.0};
  for (int32_t i = 0; slides && i < n; ++i) {
    t[i] = p[i] / length;
  }
  const sap_wide_parts parts = {.along = slides ? 0.0 : shrink, .across = shrink};
  sap_wide_fill(n, &parts, t, T);
  for (int32_t i = 0; i < n; ++i) {  // unsymmetric: the normal knows nothing of the tangents
    T[normal * n + i] = pn > 0.0 ? item->mu * t[i] : 0.0;
  }
  T[normal * (n + 1)] = pn > 0.0 ? 1.0 : 0.0;
}

// |F|^2 / 2
static double equations(const sap_dual* d, const double* z, const double* g, double* F) {
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    item_equation(item, z + item->first, g + item->first, F + item->first, NULL);
  }
  return 0.5 * cblas_ddot(d->op.n, F, 1, F, 1);
}

double sap_newton_merit(const sap_dual* d, sap_newton_system* s) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    s->g[i] = d->g[i] + s->sigma * (d->z[i] - s->z_ref[i]);
  }
  return equations(d, d->z, s->g, s->F);
}

// J = (I - T) + T (D + sigma I), row block by row block.
static void assemble(const sap_dual* d, sap_newton_system* s) {
  const size_t n = (size_t)d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const size_t first = (size_t)item->first, rows = (size_t)item->nrows;
    double T[SAP_WIDE_ROWS * SAP_WIDE_ROWS], unused[SAP_WIDE_ROWS];
    item_equation(item, d->z + first, s->g + first, unused, T);
    for (size_t j = 0; j < n; ++j) {
      const double* from = s->D + j * n + first;
      double* to = s->J + j * n + first;
      if (rows == 1) {
        to[0] = T[0] * from[0];
      } else {
        for (size_t r = 0; r < rows; ++r) {
          double sum = 0.0;
          for (size_t c = 0; c < rows; ++c) {
            sum += T[c * rows + r] * from[c];
          }
          to[r] = sum;
        }
      }
    }
    for (size_t c = 0; c < rows; ++c) {
      for (size_t r = 0; r < rows; ++r) {
        const double unit = r == c ? 1.0 : 0.0;
        s->J[(first + c) * n + first + r] += unit - (1.0 - s->sigma) * T[c * rows + r];
      }
    }
  }
}

// dz, false when J is singular.
static bool find_direction(sap_dual* d, sap_newton_system* s) {
  const int32_t n = d->op.n;
  assemble(d, s);
  d->factorizations += 1;
  for (int32_t i = 0; i < n; ++i) {
    s->dz[i] = -s->F[i];
  }
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, s->J, n, s->pivots) != 0 ||
      LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, s->J, n, s->pivots, s->dz, n) != 0) {
    return false;
  }
  return isfinite(cblas_dasum(n, s->dz, 1)) != 0;
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

static double try_step(sap_dual* d, sap_newton_system* s, bool whole) {
  const double merit = sap_newton_merit(d, s);
  remember(s, merit);
  return find_direction(d, s) ? move(d, s, merit, whole) : 0.0;
}

double sap_newton_step(sap_dual* d, sap_newton_system* s, bool whole) {
  static const double FIRST = 1e-10, FACTOR = 100.0;
  enum { MAXIMUM = 5 };
  const double sigma = s->sigma;
  double alpha = try_step(d, s, whole), shift = FIRST;
  for (int i = 0; i < MAXIMUM && alpha == 0.0; ++i, shift *= FACTOR) {
    s->sigma = sigma + shift;
    s->nmerits = 0;
    alpha = try_step(d, s, whole);
  }
  s->sigma = sigma;
  return alpha;
}

void sap_newton_return(sap_dual* d, const double* z) {
  memcpy(d->z, z, (size_t)d->op.n * sizeof(double));
  sap_delassus_velocity(&d->op, d->z, d->v);
  sap_delassus_gradient(&d->op, d->v, d->z, d->g);
}
