// SPDX-License-Identifier: BSD-3-Clause
// Line searches of SAP along dv, l(a) = l(v + a dv).            Castro et al. 2022, Sec. IV-C
//   l(a)   = e0 + a a0 + a^2/2 a1 + sum l_i(u - a d)   [J]
//   l'(a)  = a0 + a a1 - d . gamma(a)                  [J]
//   l''(a) = a1 + d . G(a) d > 0                       [J]
// with a0 = dv . A (v - v*), a1 = dv . A dv, u = v_hat - J v, d = J dv computed beforehand.
// cost: O(rows) per evaluation.
#include "solvers/primal/line_search.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "solvers/primal/patch_vector.h"

typedef struct line {
  const sap_newton* n;
  double a0, a1;
} line;

static sap_cone_slope sum_cones(const sap_newton* n, double alpha) {
  const int32_t nc = n->ncones;
  const sap_cone_rows cones = {nc, n->cone_law};
  double *slope = n->cone_parts, *curvature = n->cone_parts + nc;
  n->cone_kernels->slopes(&cones, n->cone_u, n->cone_d, alpha, slope, curvature);
  for (int32_t c = 0; n->npotentials > 0 && c < nc; ++c) {
    if (n->cones[c].potential != NULL) {
      const double d[3] = {n->cone_d[c], n->cone_d[nc + c], n->cone_d[2 * nc + c]};
      const double u[3] = {n->cone_u[c] - alpha * d[0], n->cone_u[nc + c] - alpha * d[1],
                           n->cone_u[2 * nc + c] - alpha * d[2]};
      curvature[c] = 0.0;
      slope[c] = sap_potential_slope(n->cones[c].potential, 3, u, d, &curvature[c]);
    }
  }
  return n->cone_kernels->sum_slopes(nc, slope, curvature);
}

// Returns gamma . d of a cone of n rows at u - alpha d; adds d' G d.
static double slope_of_cone_n(const sap_newton* newton, const sap_cone_n* cone_n, double alpha,
                              double* curvature) {
  const int32_t n = cone_n->nrows;
  const sap_cone* cone = &cone_n->cone;
  const double *u0 = newton->row_u + cone_n->first, *d = newton->row_d + cone_n->first;
  double u[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    u[i] = u0[i] - alpha * d[i];
  }
  if (cone->potential != NULL) {
    return sap_potential_slope(cone->potential, n, u, d, curvature);
  }
  const double ur2 = sap_cone_n_dot(n, u, u), ud = sap_cone_n_dot(n, u, d),
               dd = sap_cone_n_dot(n, d, d);
  const double un = u[SAP_NORMAL_ROW], dn = d[SAP_NORMAL_ROW];
  switch (sap_cone_classify(cone, ur2, un)) {
    case SAP_CONE_STICTION:
      *curvature += dd * cone->inverse_Rt + dn * dn * cone->inverse_Rn;
      return ud * cone->inverse_Rt + un * dn * cone->inverse_Rn;
    case SAP_CONE_NONE:
      return 0.0;
    case SAP_CONE_SLIDING:
      break;
  }
  const double inverse = 1.0 / sqrt(ur2);
  const double along = ud * inverse;  // t^ . d
  const double gamma_n = sap_cone_sliding_normal(cone, ur2 * inverse, un);
  const double push = dn + cone->mu * along;
  *curvature += cone->k * push * push + cone->mu * gamma_n * inverse * (dd - along * along);
  return gamma_n * push;
}

// Returns l'(alpha), 0 if it is round-off; sets l''(alpha).
static double evaluate_slope(void* context, double alpha, double* derivative) {
  line* l = context;
  const sap_newton* n = l->n;
  const sap_cone_slope cones = sum_cones(n, alpha);
  double curvature = l->a1 + cones.curvature;
  double slope = cones.slope, magnitude = cones.magnitude;
  for (int32_t k = 0; k < n->ncones_n; ++k) {
    const double part = slope_of_cone_n(n, &n->cones_n[k], alpha, &curvature);
    slope += part;
    magnitude += fabs(part);
  }
  for (int32_t k = 0; k < n->nintervals; ++k) {
    const sap_interval* interval = &n->intervals[k];
    const double d = n->row_d[k];
    const double u = n->row_u[k] - alpha * d;
    const double part =
        d * sap_interval_impulse(u, interval->inverse_R, interval->lower, interval->upper);
    slope += part;
    magnitude += fabs(part);
    if (sap_interval_is_inside(u, interval->inverse_R, interval->lower, interval->upper)) {
      curvature += d * d * interval->inverse_R;
    }
  }
  *derivative = curvature;
  const double total = l->a0 + alpha * l->a1 - slope;
  magnitude += fabs(l->a0) + alpha * l->a1;
  return fabs(total) <= 4.0 * DBL_EPSILON * magnitude ? 0.0 : total;
}

sap_step sap_newton_exact_search(const sap_newton* n, double slope, double curvature,
                                 double tolerance) {
  line l = {n, sap_row_dot(n->dv, n->momentum, n->nv), curvature};
  double derivative;
  const double f = evaluate_slope(&l, 1.0, &derivative);
  // upper bound of the minimum: l' >= slope + a a1 since G >= 0
  const double bound = 2.0 * fmax(1.0, -slope / curvature);
  const sap_root_problem problem = {.f = evaluate_slope,
                                    .context = &l,
                                    .lower = 0.0,
                                    .upper = f > 0.0 ? 1.0 : bound,
                                    .f_lower = slope,
                                    .x = 1.0,
                                    .f_x = f,
                                    .derivative_x = derivative,
                                    .f_tolerance = -tolerance * slope,
                                    .x_tolerance = 0.0};
  const sap_root root = sap_find_root(&problem);
  return (sap_step){root.x, root.evaluations + 1};
}

// Returns l(alpha) - e0.
static double evaluate_cost(const line* l, double alpha) {
  const sap_newton* n = l->n;
  const int32_t nc = n->ncones;
  double cost = alpha * (l->a0 + 0.5 * alpha * l->a1);
  for (int32_t c = 0; c < nc; ++c) {
    double u[3], gamma[3];
    for (int32_t r = 0; r < 3; ++r) {
      u[r] = n->cone_u[r * nc + c] - alpha * n->cone_d[r * nc + c];
    }
    cost += sap_cone_impulse(&n->cones[c], u, gamma);
  }
  for (int32_t k = 0; k < n->ncones_n; ++k) {
    const sap_cone_n* cone_n = &n->cones_n[k];
    double u[SAP_CONE_ROWS_MAX] = {0.0}, gamma[SAP_CONE_ROWS_MAX];
    for (int32_t r = 0; r < cone_n->nrows; ++r) {
      u[r] = n->row_u[cone_n->first + r] - alpha * n->row_d[cone_n->first + r];
    }
    cost += sap_cone_n_impulse(&cone_n->cone, cone_n->nrows, u, gamma);
  }
  for (int32_t k = 0; k < n->nintervals; ++k) {
    const sap_interval* interval = &n->intervals[k];
    const double u = n->row_u[k] - alpha * n->row_d[k];
    const double gamma =
        sap_interval_impulse(u, interval->inverse_R, interval->lower, interval->upper);
    cost += gamma * (u - 0.5 * interval->R * gamma);
  }
  return cost;
}

// Tries the steps a_max, rho a_max, ..., Newton's step 1 among them, and takes the first that
// satisfies Armijo's rule and after which l rises again. Armijo's rule alone would always take
// a_max > 1 and spoil the quadratic convergence.
sap_step sap_newton_backtracking_search(const sap_newton* n, const sap_solver_options* options,
                                        double slope, double curvature) {
  const line l = {n, sap_row_dot(n->dv, n->momentum, n->nv), curvature};
  const double start = evaluate_cost(&l, 0.0);
  double alpha = options->backtracking_maximum;
  double cost = evaluate_cost(&l, alpha);
  int32_t evaluations = 2;
  while (alpha > DBL_EPSILON) {
    const double next = alpha * options->backtracking_factor;
    const double shorter = alpha > 1.0 && next < 1.0 ? 1.0 : next;
    const double shorter_cost = evaluate_cost(&l, shorter);
    ++evaluations;
    const bool armijo = cost < start + options->backtracking_decrease * alpha * slope;
    if (armijo && shorter_cost >= cost) {
      break;
    }
    alpha = shorter;
    cost = shorter_cost;
  }
  return (sap_step){alpha, evaluations};
}

// Safeguarded Newton (the idea of rtsafe): a bracket [a, b] with f(a) f(b) < 0 that only shrinks.
// A Newton step is taken if it stays inside and is at most half the step before the last one; else
// the bracket is halved. Every second evaluation halves the bracket or the step.
sap_root sap_find_root(const sap_root_problem* problem) {
  double lower = problem->lower, upper = problem->upper;
  double x = problem->x, f = problem->f_x, derivative = problem->derivative_x;
  double last_step = upper - lower, step_before = last_step;
  sap_root best = {x, f, 0};
  while (fabs(f) > problem->f_tolerance) {
    if ((f < 0.0) == (problem->f_lower < 0.0)) {
      lower = x;
    } else {
      upper = x;
    }
    // Where no number lies between the ends, the middle is one of them.
    const double middle = lower + 0.5 * (upper - lower);
    if (!(middle > lower && middle < upper) || upper - lower <= problem->x_tolerance) {
      break;
    }
    const double newton = -f / derivative;
    if (fabs(newton) <= 0.5 * DBL_EPSILON * fabs(x)) {
      break;
    }
    double next = x + newton;
    const bool good = next > lower && next < upper && fabs(newton) <= 0.5 * fabs(step_before);
    if (!good) {  // also where newton is NaN
      next = middle;
    }
    step_before = last_step;
    last_step = next - x;
    x = next;
    f = problem->f(problem->context, x, &derivative);
    best.evaluations += 1;
    if (fabs(f) <= fabs(best.f)) {
      best.x = x;
      best.f = f;
    }
  }
  return best;
}
