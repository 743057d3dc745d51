// SPDX-License-Identifier: BSD-3-Clause
// Projections, the natural map and the stopping test of solvers in impulse space.
#include "solvers/dual/dual.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "core/clock.h"
#include "problem/problem_data.h"

sap_status sap_dual_reals(sap_dual* d, int64_t count, double** out, sap_error* error) {
  const sap_status status = SAP_RESERVE(&d->work, &d->work_capacity, count, error);
  *out = d->work;
  return status;
}

sap_status sap_dual_integers(sap_dual* d, int64_t count, int32_t** out, sap_error* error) {
  const sap_status status = SAP_RESERVE(&d->integers, &d->integers_capacity, count, error);
  *out = d->integers;
  return status;
}

// |x_t| <= mu x_n: inside; the polar cone mu |x_t| <= -x_n: 0; else the nearest ray of the surface.
static void project_cone(double mu, int32_t nrows, const double* x, double* out) {
  const double xt = sqrt(sap_cone_n_dot(nrows, x, x)), xn = x[SAP_NORMAL_ROW];
  double tangent = 1.0, normal = xn;
  if (mu * xt <= -xn) {
    tangent = normal = 0.0;
  } else if (!sap_cone_holds(mu, xt, xn)) {
    normal = (xn + mu * xt) / (1.0 + mu * mu);
    tangent = mu * normal / xt;
  }
  for (int32_t i = 0; i < nrows; ++i) {
    out[i] = tangent * x[i];
  }
  out[SAP_NORMAL_ROW] = normal;
}

void sap_dual_project(const sap_delassus_item* item, const double* x, double* out) {
  if (item->is_cone) {
    project_cone(item->mu, item->nrows, x, out);
  } else {
    out[0] = x[0] < item->lower ? item->lower : (x[0] > item->upper ? item->upper : x[0]);
  }
}

void sap_dual_project_all(const sap_dual* d, const double* x, double* out) {
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    sap_dual_project(item, x + item->first, out + item->first);
  }
}

// z - P(z - g) of one item, as g + (x - P(x)) with x = z - g: exact inside the set, however large
// z.
static void item_map(const sap_delassus_item* item, const double* z, const double* g, bool ncp,
                     double* out) {
  double x[SAP_CONE_ROWS_MAX] = {0.0}, step[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t r = 0; r < item->nrows; ++r) {
    step[r] = g[r];
  }
  if (ncp && item->is_cone) {
    step[SAP_NORMAL_ROW] += item->mu * sqrt(sap_cone_n_dot(item->nrows, g, g));
  }
  for (int32_t r = 0; r < item->nrows; ++r) {
    x[r] = z[r] - step[r];
  }
  sap_dual_project(item, x, out);
  for (int32_t r = 0; r < item->nrows; ++r) {
    out[r] = step[r] + (x[r] - out[r]);
  }
}

// Squares of |map|, |gamma| in impulses and of |map| in scaled impulses.
typedef struct map_sums {
  double map_2, gamma_2, scaled_2;
} map_sums;

// Of d->z and d->g, with De Saxce's correction where d->ncp says so.
static map_sums natural_map(sap_dual* d) {
  const double *z = d->z, *g = d->g;
  map_sums sums = {0};
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    double* map = d->map + item->first;
    item_map(item, z + item->first, g + item->first, d->ncp, map);
    double map_2 = 0.0, z_2 = 0.0;
    for (int32_t r = 0; r < item->nrows; ++r) {
      map_2 += map[r] * map[r];
      z_2 += z[item->first + r] * z[item->first + r];
    }
    sums.scaled_2 += map_2;
    sums.map_2 += item->scale * item->scale * map_2;
    sums.gamma_2 += item->scale * item->scale * z_2;
  }
  return sums;
}

static double relative(const map_sums* sums) {
  const double ratio = sqrt(sums->map_2) / sqrt(fmax(sums->gamma_2, DBL_MIN));
  return ratio <= DBL_MAX ? ratio : DBL_MAX;
}

// The natural map is near the precision of its sums and does not halve any more.
static bool at_roundoff(sap_dual* d) {
  static const double NEAR_ROUNDOFF =
      1e-12;  // some thousand eps: sums over a block and its neighbours
  enum { PATIENCE = 500 };
  d->idle += 1;
  if (d->residual <= 0.5 * d->mark) {
    d->mark = d->residual;
    d->idle = 0;
  }
  return d->idle >= PATIENCE && d->best <= NEAR_ROUNDOFF;
}

// Dual value -(1/2 z' D z + q' z), the cost at a convex solution.
static double dual_value(const sap_dual* d) {
  double sum = 0.0;
  for (int32_t i = 0; i < d->op.n; ++i) {
    sum -= 0.5 * d->z[i] * (d->g[i] + d->op.q[i]);
  }
  return sum;
}

sap_status sap_dual_check(sap_dual* d, int32_t limit, double step_length, bool* done,
                          sap_error* error) {
  sap_delassus_velocity(&d->op, d->z, d->v);
  sap_delassus_gradient(&d->op, d->v, d->z, d->g);
  const map_sums sums = natural_map(d);
  d->residual = relative(&sums);
  if (!isfinite(sums.map_2) || !isfinite(sums.gamma_2)) {
    d->outcome = SAP_OUTCOME_STALLED;  // diverged; the best iterate is finite
    *done = true;
    return SAP_STATUS_OK;
  }
  // Without a solution impulses grow for ever, and the relative map falls: what is left of q
  // decides.
  const bool meaningful = sums.scaled_2 <= d->options->relative_tolerance * d->q_2;
  const double least = d->options->absolute_tolerance * d->options->absolute_tolerance;
  const bool solved =
      sums.scaled_2 <= least || (d->residual <= d->options->relative_tolerance && meaningful);
  // nothing but round-off is left: impulses that are round-off themselves never come to rest
  const bool still =
      d->iterations > 0 && (d->change <= d->options->relative_tolerance || sums.scaled_2 <= least);
  const bool converged = d->fixed_point ? still : solved;
  if (d->iterations == 0 || d->fixed_point || converged || sums.scaled_2 < d->best_2) {
    d->best = d->residual;
    d->best_2 = sums.scaled_2;
    memcpy(d->z_best, d->z, (size_t)d->op.n * sizeof(double));
  }
  *done = true;
  if (converged) {
    d->outcome = SAP_OUTCOME_CONVERGED;
  } else if (!d->fixed_point && at_roundoff(d)) {
    d->outcome = SAP_OUTCOME_ROUNDOFF;
  } else if (d->iterations >= limit) {
    d->outcome = SAP_OUTCOME_ITERATION_LIMIT;
  } else if (sap_clock_seconds() >= d->deadline) {
    d->outcome = SAP_OUTCOME_TIME_LIMIT;
  } else {
    *done = false;
  }
  if (d->history == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_history_row row = {.cost = dual_value(d),
                               .gradient_2 = sums.map_2,
                               .impulse_2 = sums.gamma_2,
                               .step_length = step_length};
  return sap_history_add(d->history, &row, error);
}
