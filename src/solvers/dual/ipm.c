// SPDX-License-Identifier: BSD-3-Clause
// Primal-dual interior point method for the CCP: min 1/2 z' D z + q' z over cones and intervals,
// with the scaling of Nesterov and Todd and Mehrotra's predictor and corrector.
//                                                   Castro et al. 2022, Sec. VI; Vandenberghe 2010
//   D z + q = g;  cones x^ = T z, g = T s^ with T = (mu normal, tangents): both second-order cones
//   (D + T W^-2 T + a/(z - l) + b/(u - z)) dz = ...
// A cone of mu = 0 keeps z_t = 0; a row with equal bounds keeps its value. Cold start only.
// W^-2 spans the square of the distance to the cones' boundary, so that relative natural maps below
// 1e-9 are often out of reach: where the method stalls, sap_convex_newton polishes.
// cost: a dense Cholesky of the island's rows per iteration, 5 to 20 iterations.
#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "linalg/dense.h"
#include "solvers/dual/dual.h"

// Algebra of the second-order cone in n <= 6 dimensions, x_0 >= |x_t|, and the scaling of Nesterov
// and Todd: W s = W^-1 x = lambda.
// Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010

typedef struct soc_scaling {
  double w[SAP_CONE_ROWS_MAX];  // W = beta (2 v v' - J) with v of w; W^2 = beta^2 (2 w w' - J),
                                // J = diag(1, -1, ..., -1), 1 at x_0
  double v[SAP_CONE_ROWS_MAX];
  double beta;
  double lambda[SAP_CONE_ROWS_MAX];
} soc_scaling;

enum { HEAD = SAP_NORMAL_ROW };  // row of x_0

// x_0^2 - |x_t|^2, without cancellation
static double soc_determinant(int32_t n, const double* x) {
  const double length = sqrt(sap_cone_n_dot(n, x, x));
  return (x[HEAD] - length) * (x[HEAD] + length);
}

// y = W x, or W^-1 x.
static void soc_scale(const soc_scaling* s, int32_t n, bool inverse, const double* x, double* y) {
  const double sign = inverse ? -1.0 : 1.0;  // W^-1 = (2 Jv (Jv)' - J)/beta
  const double factor = inverse ? 1.0 / s->beta : s->beta;
  const double dot = 2.0 * (s->v[HEAD] * x[HEAD] + sign * sap_cone_n_dot(n, s->v, x));
  for (int32_t i = 0; i < n; ++i) {
    y[i] = factor * (i == HEAD ? dot * s->v[i] - x[i] : dot * sign * s->v[i] + x[i]);
  }
}

// Computes the scaling of x and s, both inside the cone.
static void soc_make(soc_scaling* out, int32_t n, const double* x, const double* s) {
  const double det_x = sqrt(soc_determinant(n, x)), det_s = sqrt(soc_determinant(n, s));
  double dot = x[HEAD] / det_x * (s[HEAD] / det_s);
  for (int32_t i = 0; i < n; ++i) {
    dot += i == HEAD ? 0.0 : x[i] / det_x * (s[i] / det_s);
  }
  const double gamma = sqrt(0.5 * (1.0 + dot));
  for (int32_t i = 0; i < n; ++i) {
    const double reflected = i == HEAD ? s[i] / det_s : -s[i] / det_s;
    out->w[i] = (x[i] / det_x + reflected) / (2.0 * gamma);
  }
  const double scale = 1.0 / sqrt(2.0 * (out->w[HEAD] + 1.0));
  for (int32_t i = 0; i < n; ++i) {
    out->v[i] = (out->w[i] + (i == HEAD ? 1.0 : 0.0)) * scale;
  }
  out->beta = sqrt(det_x / det_s);
  soc_scale(out, n, false, s, out->lambda);
}

// x o y = (x . y, x_0 y_t + y_0 x_t)
static void soc_product(int32_t n, const double* x, const double* y, double* out) {
  for (int32_t i = 0; i < n; ++i) {
    out[i] = x[HEAD] * y[i] + (i == HEAD ? sap_cone_n_dot(n, x, y) : y[HEAD] * x[i]);
  }
}

// Solves x o y = r for y.
static void soc_divide(int32_t n, const double* x, const double* r, double* y) {
  const double normal = (x[HEAD] * r[HEAD] - sap_cone_n_dot(n, x, r)) / soc_determinant(n, x);
  for (int32_t i = 0; i < n; ++i) {
    y[i] = i == HEAD ? normal : (r[i] - normal * x[i]) / x[HEAD];
  }
}

// Returns the largest alpha <= 1 with x + alpha d in the cone; x inside.
static double soc_step(int32_t n, const double* x, const double* d) {
  const double a = d[HEAD] * d[HEAD] - sap_cone_n_dot(n, d, d);
  const double b = x[HEAD] * d[HEAD] - sap_cone_n_dot(n, x, d);
  const double c = soc_determinant(n, x);
  double alpha = 1.0;
  const double root = b * b - a * c;
  if (root >= 0.0) {  // a alpha^2 + 2 b alpha + c = 0
    const double t = -(b + (b >= 0.0 ? sqrt(root) : -sqrt(root)));
    const double first = a != 0.0 ? t / a : -1.0, second = t != 0.0 ? c / t : -1.0;
    alpha = first > 0.0 && first < alpha ? first : alpha;
    alpha = second > 0.0 && second < alpha ? second : alpha;
  }
  if (d[HEAD] < 0.0 && -x[HEAD] / d[HEAD] < alpha) {
    alpha = -x[HEAD] / d[HEAD];
  }
  return alpha;
}

// The interior point method.

// Items are second-order cones, or rows with bounds (a frictionless cone: its normal).
typedef struct ipm {
  double *D, *K;        // (n n)
  double *x, *dx, *rd;  // (n)
  // [side of the bound] (n); cones use side 0, s^ and lambda \ r
  double *s[2], *ds[2], *r[2];  // multipliers, changes, complementarity
  soc_scaling* cones;           // one per item, unused for rows
  double mu;                    // mean complementarity
  double rank;                  // number of products that mu averages
} ipm;

static bool is_soc(const sap_delassus_item* item) {
  return item->is_cone && item->mu > 0.0;
}
static bool is_fixed(const sap_delassus_item* item) {
  return !item->is_cone && item->lower == item->upper;
}
// Returns true if row i of an item keeps its value: a tangent of a frictionless cone, equal bounds.
static bool is_still(const sap_delassus_item* item, int32_t i) {
  return is_fixed(item) || (item->is_cone && !is_soc(item) && i != HEAD);
}
// Returns the row of an item that has bounds: the only row, or the normal of a frictionless cone.
static int32_t bounded_row(const sap_delassus_item* item) {
  return item->first + (item->is_cone ? SAP_NORMAL_ROW : 0);
}
// Returns the distance of x from the lower (side 0) or the upper bound, or infinity.
static double gap(const sap_delassus_item* item, int side, double x) {
  return side == 0 ? x - (item->is_cone ? 0.0 : item->lower)
                   : (item->is_cone ? HUGE_VAL : item->upper) - x;
}
static bool has_bound(const sap_delassus_item* item, int side) {
  return isfinite(gap(item, side, 0.0)) && !is_fixed(item);
}
static const double SIGN[2] = {1.0, -1.0};  // of the change of a gap with x
// Loops over the bounds that a row has.
#define EACH_BOUND(item, side)             \
  for (int side = 0; (side) < 2; ++(side)) \
    if (has_bound((item), (side)))

// x^ = T z
static void to_cone(const sap_delassus_item* item, const double* z, double* out) {
  for (int32_t i = 0; i < item->nrows; ++i) {
    out[i] = z[item->first + i] * (i == HEAD ? item->mu : 1.0);
  }
}

// out += T' s^
static void add_from_cone(const sap_delassus_item* item, const double* s, double sign,
                          double* out) {
  for (int32_t i = 0; i < item->nrows; ++i) {
    out[item->first + i] += sign * s[i] * (i == HEAD ? item->mu : 1.0);
  }
}

// Computes the dual residual, the scalings and mu at m->x with d->g.
static void evaluate_system(sap_dual* d, ipm* m) {
  double sum = 0.0;
  memcpy(m->rd, d->g, (size_t)d->op.n * sizeof(double));
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = bounded_row(item), f = item->first;
    if (is_soc(item)) {
      double x[SAP_CONE_ROWS_MAX];
      to_cone(item, m->x, x);
      soc_make(&m->cones[k], item->nrows, x, m->s[0] + f);
      add_from_cone(item, m->s[0] + f, -1.0, m->rd);
      sum += x[HEAD] * m->s[0][row] + sap_cone_n_dot(item->nrows, x, m->s[0] + f);
      continue;
    }
    EACH_BOUND(item, i) {
      m->rd[row] -= SIGN[i] * m->s[i][row];
      sum += m->s[i][row] * gap(item, i, m->x[row]);
    }
  }
  m->mu = m->rank > 0.0 ? sum / m->rank : 0.0;
}

static void fix_row(ipm* m, size_t n, int32_t row) {
  for (size_t i = 0; i < n; ++i) {
    m->K[(size_t)row * n + i] = m->K[i * n + (size_t)row] = 0.0;
  }
  m->K[(size_t)row * (n + 1)] = 1.0;
}

// Factorizes K = D + scalings; false if K is not positive definite. A shift at round-off keeps a
// singular D definite.
static bool factorize_system(sap_dual* d, ipm* m) {
  const size_t n = (size_t)d->op.n;
  memcpy(m->K, m->D, n * n * sizeof(double));
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const size_t f = (size_t)item->first, row = (size_t)bounded_row(item);
    if (is_soc(item)) {
      const soc_scaling* c = &m->cones[k];
      const double factor = 1.0 / (c->beta * c->beta);
      for (int32_t b = 0; b < item->nrows; ++b) {  // 2 T J w (T J w)' - T J T
        const size_t j = f + (size_t)b;
        const double wj = b == HEAD ? c->w[b] * item->mu : -c->w[b];
        for (int32_t a = 0; a < item->nrows; ++a) {
          const double wi = a == HEAD ? c->w[a] * item->mu : -c->w[a];
          m->K[j * n + f + (size_t)a] += factor * 2.0 * wi * wj;
        }
        m->K[j * (n + 1)] += b != HEAD ? factor : -factor * item->mu * item->mu;
      }
      continue;
    }
    EACH_BOUND(item, i) {
      m->K[row * (n + 1)] += m->s[i][row] / gap(item, i, m->x[row]);
    }
  }
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    for (int32_t i = 0; i < item->nrows; ++i) {
      if (is_still(item, i)) {
        fix_row(m, n, item->first + i);
      }
    }
  }
  d->factorizations += 1;
  return sap_delassus_factorize(m->K, d->op.n, 16.0 * DBL_EPSILON);
}

// Sets the right-hand sides of complementarity: sigma mu - products, less the predictor's second
// order.
static void set_targets(sap_dual* d, ipm* m, double sigma, bool corrector) {
  const double target = sigma * m->mu;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = bounded_row(item), f = item->first;
    if (is_soc(item)) {
      const soc_scaling* c = &m->cones[k];
      const int32_t n = item->nrows;
      double r[SAP_CONE_ROWS_MAX] = {0.0}, second[SAP_CONE_ROWS_MAX] = {0.0};
      if (corrector) {
        double dx[SAP_CONE_ROWS_MAX], scaled_x[SAP_CONE_ROWS_MAX], scaled_s[SAP_CONE_ROWS_MAX];
        to_cone(item, m->dx, dx);
        soc_scale(c, n, true, dx, scaled_x);
        soc_scale(c, n, false, m->ds[0] + f, scaled_s);
        soc_product(n, scaled_x, scaled_s, second);
      }
      soc_product(n, c->lambda, c->lambda, r);
      for (int32_t i = 0; i < n; ++i) {
        r[i] = (i == HEAD ? target : 0.0) - r[i] - second[i];
      }
      soc_divide(n, c->lambda, r, m->r[0] + f);
      continue;
    }
    EACH_BOUND(item, i) {
      const double second = corrector ? SIGN[i] * m->dx[row] * m->ds[i][row] : 0.0;
      m->r[i][row] = target - m->s[i][row] * gap(item, i, m->x[row]) - second;
    }
  }
}

// Computes dx and ds.
static void find_step(sap_dual* d, ipm* m) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->dx[i] = -m->rd[i];
  }
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = bounded_row(item), f = item->first;
    if (is_soc(item)) {
      soc_scale(&m->cones[k], item->nrows, true, m->r[0] + f, m->ds[0] + f);  // W^-1 (lambda \ r)
      add_from_cone(item, m->ds[0] + f, 1.0, m->dx);
      continue;
    }
    EACH_BOUND(item, i) {
      m->dx[row] += SIGN[i] * m->r[i][row] / gap(item, i, m->x[row]);
    }
    for (int32_t i = 0; i < item->nrows; ++i) {
      m->dx[f + i] = is_still(item, i) ? 0.0 : m->dx[f + i];
    }
  }
  sap_dense_factor_solve(d->op.n, m->K, m->dx);
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = bounded_row(item), f = item->first;
    if (is_soc(item)) {
      double x[SAP_CONE_ROWS_MAX] = {0.0}, half[SAP_CONE_ROWS_MAX] = {0.0},
             change[SAP_CONE_ROWS_MAX];
      to_cone(item, m->dx, x);
      soc_scale(&m->cones[k], item->nrows, true, x, half);
      soc_scale(&m->cones[k], item->nrows, true, half, change);
      for (int32_t i = 0; i < item->nrows; ++i) {
        m->ds[0][f + i] -= change[i];
      }
      continue;
    }
    m->ds[0][row] = m->ds[1][row] = 0.0;
    EACH_BOUND(item, i) {
      const double change = m->s[i][row] * (SIGN[i] * m->dx[row]);
      m->ds[i][row] = (m->r[i][row] - change) / gap(item, i, m->x[row]);
    }
  }
}

static double shorten_step(double alpha, double value, double change) {
  return value + alpha * change < 0.0 ? -value / change : alpha;
}

// Returns the largest step <= 1 that stays in all cones.
static double longest_step(const sap_dual* d, const ipm* m) {
  double alpha = 1.0;
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    const int32_t row = bounded_row(item), f = item->first;
    if (is_soc(item)) {
      double x[SAP_CONE_ROWS_MAX], dx[SAP_CONE_ROWS_MAX];
      to_cone(item, m->x, x);
      to_cone(item, m->dx, dx);
      alpha = fmin(alpha, fmin(soc_step(item->nrows, x, dx),
                               soc_step(item->nrows, m->s[0] + f, m->ds[0] + f)));
      continue;
    }
    EACH_BOUND(item, i) {
      alpha = shorten_step(alpha, gap(item, i, m->x[row]), SIGN[i] * m->dx[row]);
      alpha = shorten_step(alpha, m->s[i][row], m->ds[i][row]);
    }
  }
  return alpha;
}

static const double BOUNDARY = 0.99;  // part of the way to the boundary

static sap_status reserve_ipm(sap_dual* d, ipm* m) {
  const int64_t n = d->op.n;
  return SAP_CARVE(&d->pool, &d->work, d->error, SAP_ARRAY(&m->D, n * n), SAP_ARRAY(&m->K, n * n),
                   SAP_ARRAY(&m->x, n), SAP_ARRAY(&m->dx, n), SAP_ARRAY(&m->rd, n),
                   SAP_ARRAY(&m->s[0], n), SAP_ARRAY(&m->ds[0], n), SAP_ARRAY(&m->s[1], n),
                   SAP_ARRAY(&m->ds[1], n), SAP_ARRAY(&m->r[0], n), SAP_ARRAY(&m->r[1], n),
                   SAP_ARRAY(&m->cones, d->op.nitems));
}

// Starts every item in the middle of its set, at the size of the impulse that stops it.
static void set_start(sap_dual* d, ipm* m) {
  double largest = 0.0;
  for (int32_t i = 0; i < d->op.n; ++i) {
    largest = fmax(largest, fabs(d->op.q[i]));
  }
  memset(m->x, 0, (size_t)d->op.n * sizeof(double));
  m->rank = 0.0;
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    const int32_t row = bounded_row(item);
    double size = 1e-3 * largest;
    for (int32_t r = 0; r < item->nrows; ++r) {
      size = fmax(size, fabs(d->op.q[item->first + r]));
    }
    size = size > 0.0 ? size : 1.0;
    if (is_soc(item)) {
      m->x[row] = size / fmin(item->mu, 1.0);
      m->s[0][row] = size;
      m->rank += 1.0;
      continue;
    }
    const bool lower = has_bound(item, 0), upper = has_bound(item, 1);
    m->s[0][row] = m->s[1][row] = size;
    m->x[row] = is_fixed(item)   ? item->lower
                : lower && upper ? 0.5 * (item->lower + item->upper)
                : lower          ? size - gap(item, 0, 0.0)
                : upper          ? item->upper - size
                                 : 0.0;
    m->rank += (lower ? 1.0 : 0.0) + (upper ? 1.0 : 0.0);
  }
}

sap_status sap_ipm(sap_dual* d) {
  static const double LEAST_STEP = 1e-8;
  const size_t n = (size_t)d->op.n;
  ipm m;
  SAP_TRY(reserve_ipm(d, &m));
  memset(m.s[0], 0, 4 * n * sizeof(double));
  sap_delassus_dense(&d->op, m.D);
  set_start(d, &m);
  double alpha = 0.0;
  memcpy(d->z, m.x, n * sizeof(double));
  while (sap_dual_continues(d, d->options->max_iterations, alpha)) {
    evaluate_system(d, &m);
    if (!factorize_system(d, &m)) {
      return sap_convex_newton(d);
    }
    set_targets(d, &m, 0.0, false);
    find_step(d, &m);
    const double affine = longest_step(d, &m);
    set_targets(d, &m, (1.0 - affine) * (1.0 - affine) * (1.0 - affine), true);
    find_step(d, &m);
    const double longest = longest_step(d, &m);
    alpha = longest < 1.0 ? BOUNDARY * longest : 1.0;
    if (!(alpha >= LEAST_STEP)) {
      return sap_convex_newton(d);
    }
    for (size_t i = 0; i < n; ++i) {
      m.x[i] += alpha * m.dx[i];
      m.s[0][i] += alpha * m.ds[0][i];
      m.s[1][i] += alpha * m.ds[1][i];
    }
    memcpy(d->z, m.x, n * sizeof(double));
    d->iterations += 1;
  }
  return d->status;
}
