// SPDX-License-Identifier: BSD-3-Clause
// Implicit complementarity.                                                        Todorov 2010
// Impulses and velocities are functions of one vector p that are complementary for every p
// (below). The equation of motion is left:
//   r(p) = D z + q - g = (D - I) z(p) + p + q = 0                                            (15)
// Least squares l = 1/2 r' r by Gauss-Newton with
//   H = J' J + lambda I,  J = (D - I) T + I,  T = dz/dp
//   - The Newton point is taken if l falls by half of the model's decrease; lambda falls then.
//   - Else the best point of the dogleg p - Cauchy - Newton is taken. Its segments are cut at
//     edges, with a cubic in each piece, so that p may come to lie on an edge.         III-C
//   - On an edge from which l rises to both sides J is the mean (26) and steps stay in its tangent
//     space: H and the gradient are projected by I - d d', d the edge's normal; then points are
//     projected on the edge, a plane or a cone.                                              III-D
// Start: p of the guess, or of sticking everywhere, p = -D^-1 q.                             III-F
// If no better point is found, or l creeps along the valleys that many contacts of few bodies make,
// the minimisation restarts elsewhere (V-A): at the best impulses after sweeps of exact contacts,
// twice as many every time.
// cost: 4/3 n^3 per iteration.  fails: local minima of l, where J is singular: STALLED.
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "core/platform.h"
#include "linalg/dense.h"
#include "problem/delassus.h"
#include "solvers/dual/dual.h"

// Edges where the impulse of one item has a kink. A cone: the plane p_n = 0 and, where p_n > 0,
// the cone |p_t| = mu p_n. An interval: its two bounds.
typedef enum edge_kind {
  EDGE_NONE,
  EDGE_PLANE,  // p_n = 0; the lower bound
  EDGE_CONE,   // |p_t| = mu p_n; the upper bound
} edge_kind;

// Computes the unit normal of an edge at p, and the regions that it points to and from. Returns
// false at the apex.
static bool edge_normal(const sap_delassus_item* item, const double* p, edge_kind edge,
                        double* normal, sap_region sides[2]) {
  memset(normal, 0, (size_t)item->nrows * sizeof(double));
  sides[0] = SAP_REGION_STICK;
  sides[1] = SAP_REGION_OFF;
  if (!item->is_cone) {
    normal[0] = edge == EDGE_PLANE ? 1.0 : -1.0;
    return true;
  }
  const double length = sqrt(sap_cone_n_dot(item->nrows, p, p));
  if (edge == EDGE_PLANE) {
    normal[SAP_NORMAL_ROW] = 1.0;
    sides[0] = SAP_REGION_SLIP;  // close to the plane the cone is narrow
    return length > 0.0;
  }
  sides[1] = SAP_REGION_SLIP;
  if (!(length > 0.0)) {
    return false;
  }
  const double inverse = 1.0 / sqrt(1.0 + item->mu * item->mu);
  for (int32_t r = 0; r < item->nrows; ++r) {
    normal[r] = inverse * (r == SAP_NORMAL_ROW ? item->mu : -p[r] / length);
  }
  return true;
}

// Moves p to the nearest point of the edge unless that is the apex.
static void edge_project(const sap_delassus_item* item, edge_kind edge, double* p) {
  if (!item->is_cone) {
    p[0] = edge == EDGE_PLANE ? item->lower : item->upper;
    return;
  }
  if (edge == EDGE_PLANE) {
    p[SAP_NORMAL_ROW] = 0.0;
    return;
  }
  const double length = sqrt(sap_cone_n_dot(item->nrows, p, p)), mu = item->mu;
  const double normal = (p[SAP_NORMAL_ROW] + mu * length) / (1.0 + mu * mu);
  if (!(normal > 0.0) || !(length > 0.0)) {
    return;
  }
  for (int32_t r = 0; r < item->nrows; ++r) {
    p[r] = r == SAP_NORMAL_ROW ? normal : p[r] * (mu * normal / length);
  }
}

// Adds a crossing if it lies on the segment; returns the number of crossings.
static int32_t add_crossing(double alpha, edge_kind kind, int32_t count, double out[3],
                            edge_kind edge[3]) {
  if (alpha > 0.0 && alpha < 1.0) {
    out[count] = alpha;
    edge[count] = kind;
    return count + 1;
  }
  return count;
}

// Finds where p + alpha u, 0 < alpha < 1, crosses edges; at most 3, unordered.      todorov (27)
static int32_t edge_crossings(const sap_delassus_item* item, const double* p, const double* u,
                              double alpha[3], edge_kind edge[3]) {
  int32_t count = 0;
  if (!item->is_cone) {
    if (u[0] != 0.0) {
      count = add_crossing((item->lower - p[0]) / u[0], EDGE_PLANE, count, alpha, edge);
      count = add_crossing((item->upper - p[0]) / u[0], EDGE_CONE, count, alpha, edge);
    }
    return count;
  }
  if (u[SAP_NORMAL_ROW] != 0.0) {
    count = add_crossing(-p[SAP_NORMAL_ROW] / u[SAP_NORMAL_ROW], EDGE_PLANE, count, alpha, edge);
  }
  if (!(item->mu > 0.0)) {
    return count;
  }
  const double mu_2 = item->mu * item->mu;  // a alpha^2 + 2 b alpha + c = 0
  double a = mu_2 * u[SAP_NORMAL_ROW] * u[SAP_NORMAL_ROW],
         b = mu_2 * u[SAP_NORMAL_ROW] * p[SAP_NORMAL_ROW];
  double c = mu_2 * p[SAP_NORMAL_ROW] * p[SAP_NORMAL_ROW];
  for (int32_t r = 0; r < item->nrows; ++r) {
    if (r != SAP_NORMAL_ROW) {
      a -= u[r] * u[r];
      b -= u[r] * p[r];
      c -= p[r] * p[r];
    }
  }
  const double root = b * b - a * c;
  if (!(root >= 0.0)) {
    return count;
  }
  const double t = -(b + copysign(sqrt(root), b));
  const double solutions[2] = {a != 0.0 ? t / a : -1.0, t != 0.0 ? c / t : -1.0};
  for (int i = 0; i < 2; ++i) {
    if (p[SAP_NORMAL_ROW] + solutions[i] * u[SAP_NORMAL_ROW] > 0.0) {
      count = add_crossing(solutions[i], EDGE_CONE, count, alpha, edge);
    }
  }
  return count;
}

static const double LEAST_LAMBDA = 1e-14, MOST_LAMBDA = 1e3;  // D's blocks are scaled to 1
static const double FIRST_LAMBDA = 1e-10, FALL = 0.1, RISE = 10.0;
static const double WELL = 0.5;       // sufficient part of the model's decrease
static const double STICKING = 1e-9;  // shift of D for the first guess

typedef struct implicit {
  double *D, *J, *H;                                                 // (n n)
  double *p, *r, *h, *gradient;                                      // h = (D - I) r
  double *newton, *cauchy, *z, *trial, *r_trial, *direction, *best;  // (n)
  double* normal;        // d of the edge on which each item stays, else 0 (n)
  int32_t* edge;         // edge_kind on which each item lies (nitems)
  double lambda, value;  // l(p)
  double best_value;     // least l of the search
  int32_t best_item;     // item whose crossing is the best point, -1: none
  edge_kind best_edge;
} implicit;

// Returns l at p and sets r and m->z; items on an edge are first projected on it.
static double evaluate_map(sap_dual* d, implicit* m, double* p, double* r) {
  const int32_t n = d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    if (m->edge[k] != EDGE_NONE) {
      edge_project(item, (edge_kind)m->edge[k], p + item->first);
    }
    sap_split_project(item, p + item->first, m->z + item->first);
  }
  for (int32_t i = 0; i < n; ++i) {
    r[i] = d->op.q[i] + p[i] - m->z[i];
  }
  cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, 1.0, m->D, n, m->z, 1, 1.0, r, 1);
  return 0.5 * cblas_ddot(n, r, 1, r, 1);
}

// h = (D - I) r
static void find_h(const sap_dual* d, const implicit* m, const double* r, double* h) {
  memcpy(h, r, (size_t)d->op.n * sizeof(double));
  cblas_dgemv(CblasColMajor, CblasTrans, d->op.n, d->op.n, 1.0, m->D, d->op.n, r, 1, -1.0, h, 1);
}

// Returns r' J u of one item's u: h' T u + r' u.
static double item_slope(const sap_delassus_item* item, const double* T, const double* h,
                         const double* r, const double* u) {
  const int32_t n = item->nrows;
  double sum = 0.0;
  for (int32_t c = 0; c < n; ++c) {
    double column = r[c];
    for (int32_t i = 0; i < n; ++i) {
      column += h[i] * T[c * n + i];
    }
    sum += column * u[c];
  }
  return sum;
}

static void keep_if_better(implicit* m, int32_t n, double value, int32_t item, edge_kind edge) {
  if (value < m->best_value) {
    m->best_value = value;
    m->best_item = item;
    m->best_edge = edge;
    memcpy(m->best, m->trial, (size_t)n * sizeof(double));
  }
}

// Returns l at m->trial = from + alpha (to - from).
static double value_at(sap_dual* d, implicit* m, const double* from, double alpha) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->trial[i] = from[i] + alpha * m->direction[i];
  }
  d->evaluations += 1;
  return evaluate_map(d, m, m->trial, m->r_trial);
}

// Returns l' along the direction at m->trial, in the smooth piece that contains the point `inside`.
// m->r_trial must be that of m->trial.
static double derivative(sap_dual* d, implicit* m, const double* from, double inside) {
  double T[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX], x[SAP_CONE_ROWS_MAX], sum = 0.0;
  find_h(d, m, m->r_trial, m->z);
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    const int32_t f = item->first;
    for (int32_t r = 0; r < item->nrows; ++r) {
      x[r] = from[f + r] + inside * m->direction[f + r];
    }
    sap_split_jacobian(item, m->trial + f, sap_split_region(item, x), T);
    sum += item_slope(item, T, m->z + f, m->r_trial + f, m->direction + f);
  }
  return sum;
}

// Returns the minimum of the cubic through two values with slopes; NaN: none.
static double cubic_minimum(double a, double b, const double value[2], const double rise[2]) {
  const double d1 = rise[0] + rise[1] - 3.0 * (value[0] - value[1]) / (a - b);
  const double d2 = sqrt(d1 * d1 - rise[0] * rise[1]);
  return b - (b - a) * (rise[1] + d2 - d1) / (rise[1] - rise[0] + 2.0 * d2);
}

// Returns the first crossing after `alpha`; 1 and no item if there is none. Items on an edge move
// along it.
static double next_crossing(const sap_dual* d, const implicit* m, const double* from, double alpha,
                            int32_t* item, edge_kind* edge) {
  double next = 1.0;
  *item = -1;
  *edge = EDGE_NONE;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const int32_t f = d->op.items[k].first;
    double crossings[3];
    edge_kind kinds[3];
    const int32_t count =
        m->edge[k] != EDGE_NONE
            ? 0
            : edge_crossings(&d->op.items[k], from + f, m->direction + f, crossings, kinds);
    for (int32_t i = 0; i < count; ++i) {
      if (crossings[i] > alpha && crossings[i] < next) {
        next = crossings[i];
        *item = k;
        *edge = kinds[i];
      }
    }
  }
  return next;
}

// Cuts from - to at the edges and minimises l in every piece. A value below m->best_value becomes
// the best.                                                                    todorov III-C
static void search_segment(sap_dual* d, implicit* m, const double* from, const double* to) {
  static const double SHORT = 1e-12;  // pieces shorter than this have no inner minimum
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->direction[i] = to[i] - from[i];
  }
  double a = 0.0, value[2], rise[2];
  value[0] = value_at(d, m, from, a);
  while (a < 1.0) {
    int32_t item;
    edge_kind edge;
    const double b = next_crossing(d, m, from, a, &item, &edge), middle = 0.5 * (a + b);
    const bool search = b - a > SHORT;
    if (search) {
      value[0] = value_at(d, m, from, a);
      rise[0] = derivative(d, m, from, middle);
    }
    value[1] = value_at(d, m, from, b);
    keep_if_better(m, d->op.n, value[1], item, edge);
    if (search) {
      rise[1] = derivative(d, m, from, middle);
      const double least = cubic_minimum(a, b, value, rise);
      if (least > a && least < b) {
        keep_if_better(m, d->op.n, value_at(d, m, from, least), -1, EDGE_NONE);
      }
    }
    a = b;
  }
}

static sap_status reserve_implicit(sap_dual* d, implicit* m) {
  const int64_t n = d->op.n;
  return SAP_CARVE(&d->pool, &d->work, d->error, SAP_ARRAY(&m->D, n * n), SAP_ARRAY(&m->J, n * n),
                   SAP_ARRAY(&m->H, n * n), SAP_ARRAY(&m->p, n), SAP_ARRAY(&m->r, n),
                   SAP_ARRAY(&m->h, n), SAP_ARRAY(&m->gradient, n), SAP_ARRAY(&m->newton, n),
                   SAP_ARRAY(&m->cauchy, n), SAP_ARRAY(&m->z, n), SAP_ARRAY(&m->trial, n),
                   SAP_ARRAY(&m->r_trial, n), SAP_ARRAY(&m->direction, n), SAP_ARRAY(&m->best, n),
                   SAP_ARRAY(&m->normal, n), SAP_ARRAY(&m->edge, d->op.nitems));
}

static void leave_edge(const sap_delassus_item* item, implicit* m, int32_t k) {
  m->edge[k] = EDGE_NONE;
  memset(m->normal + item->first, 0, (size_t)item->nrows * sizeof(double));
}

// Sets T and the normal of an item. An item on an edge stays there if the edge is active. (25)-(26)
static void choose_slope(const sap_dual* d, implicit* m, int32_t k, double* T) {
  const sap_delassus_item* item = &d->op.items[k];
  const double *p = m->p + item->first, *h = m->h + item->first, *r = m->r + item->first;
  double *normal = m->normal + item->first, T2[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX];
  sap_region sides[2];
  if (m->edge[k] == EDGE_NONE || !edge_normal(item, p, (edge_kind)m->edge[k], normal, sides)) {
    leave_edge(item, m, k);
    sap_split_jacobian(item, p, sap_split_region(item, p), T);
    return;
  }
  sap_split_jacobian(item, p, sides[0], T);
  sap_split_jacobian(item, p, sides[1], T2);
  const double rise1 = item_slope(item, T, h, r, normal),
               rise2 = -item_slope(item, T2, h, r, normal);
  const bool active = rise1 >= 0.0 && rise2 >= 0.0;
  const double sum = rise1 + rise2;
  const double first = active ? (sum > 0.0 ? rise2 / sum : 0.5) : (rise1 < rise2 ? 1.0 : 0.0);
  for (int32_t i = 0; i < item->nrows * item->nrows; ++i) {
    T[i] = first * T[i] + (1.0 - first) * T2[i];
  }
  if (!active) {
    leave_edge(item, m, k);
  }
}

// J = (D - I) T + I, column block by column block.
static void assemble(const sap_dual* d, implicit* m) {
  const size_t n = (size_t)d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const size_t first = (size_t)item->first, rows = (size_t)item->nrows;
    double T[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX];
    choose_slope(d, m, k, T);
    for (size_t c = 0; c < rows; ++c) {
      double* J = m->J + (first + c) * n;
      memset(J, 0, n * sizeof(double));
      for (size_t r = 0; r < rows; ++r) {
        cblas_daxpy(d->op.n, T[c * rows + r], m->D + (first + r) * n, 1, J, 1);
        J[first + r] -= T[c * rows + r];
      }
      J[first + c] += 1.0;
    }
  }
}

// x = (I - d d') x for every item.
static void project_tangent(const sap_dual* d, const implicit* m, double* x) {
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    double dot = 0.0;
    for (int32_t r = item->first; r < item->first + item->nrows; ++r) {
      dot += m->normal[r] * x[r];
    }
    for (int32_t r = item->first; r < item->first + item->nrows; ++r) {
      x[r] -= dot * m->normal[r];
    }
  }
}

// Factorizes H = (I - d d') J' J (I - d d') + d d' + lambda I.
static bool factorize(sap_dual* d, implicit* m) {
  const int32_t n = d->op.n;
  const size_t size = (size_t)n;
  for (size_t row = 0; row < size; ++row) {  // J (I - d d'), row by row
    double* x = m->trial;
    cblas_dcopy(n, m->J + row, n, x, 1);
    project_tangent(d, m, x);
    cblas_dcopy(n, x, 1, m->J + row, n);
  }
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, n, n, 1.0, m->J, n, 0.0, m->H, n);
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    const int32_t end = item->first + item->nrows;
    for (int32_t c = item->first; c < end; ++c) {
      for (int32_t r = c; r < end; ++r) {
        m->H[(size_t)c * size + (size_t)r] += m->normal[r] * m->normal[c];
      }
    }
  }
  cblas_dgemv(CblasColMajor, CblasTrans, n, n, 1.0, m->J, n, m->r, 1, 0.0, m->gradient, 1);
  d->factorizations += 1;
  return sap_delassus_factorize(m->H, n, m->lambda);
}

static void move_to(sap_dual* d, implicit* m, const double* p) {
  memcpy(m->p, p, (size_t)d->op.n * sizeof(double));
  m->value = evaluate_map(d, m, m->p, m->r);
  memcpy(d->z, m->z, (size_t)d->op.n * sizeof(double));
}

// Sets the Cauchy point p - (g' g/g' H g) g from the factor of H.
static void find_cauchy(const sap_dual* d, implicit* m) {
  const int32_t n = d->op.n;
  memcpy(m->trial, m->gradient, (size_t)n * sizeof(double));
  cblas_dtrmv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, m->H, n, m->trial, 1);
  const double bend = cblas_ddot(n, m->trial, 1, m->trial, 1);
  const double length_2 = cblas_ddot(n, m->gradient, 1, m->gradient, 1);
  memcpy(m->cauchy, m->p, (size_t)n * sizeof(double));
  cblas_daxpy(n, bend > 0.0 ? -length_2 / bend : 0.0, m->gradient, 1, m->cauchy, 1);
}

// Does one iteration; false if no better point was found.
static bool improve(sap_dual* d, implicit* m) {
  const int32_t n = d->op.n;
  find_h(d, m, m->r, m->h);
  assemble(d, m);
  while (!factorize(d, m)) {
    m->lambda = fmax(RISE * m->lambda, FIRST_LAMBDA);
    if (!(m->lambda <= MOST_LAMBDA)) {
      return false;
    }
  }
  memcpy(m->newton, m->gradient, (size_t)n * sizeof(double));
  sap_dense_factor_solve(n, m->H, m->newton);
  const double predicted = 0.5 * cblas_ddot(n, m->gradient, 1, m->newton, 1);
  cblas_dscal(n, -1.0, m->newton, 1);
  cblas_daxpy(n, 1.0, m->p, 1, m->newton, 1);
  memcpy(m->trial, m->newton, (size_t)n * sizeof(double));
  d->evaluations += 1;
  if (m->value - evaluate_map(d, m, m->trial, m->r_trial) >= WELL * predicted && predicted > 0.0) {
    m->lambda = fmax(FALL * m->lambda, LEAST_LAMBDA);
    move_to(d, m, m->trial);
    return true;
  }
  m->lambda = fmin(fmax(RISE * m->lambda, FIRST_LAMBDA), MOST_LAMBDA);
  find_cauchy(d, m);
  m->best_value = m->value;
  m->best_item = -1;
  search_segment(d, m, m->p, m->cauchy);
  search_segment(d, m, m->cauchy, m->newton);
  if (!(m->best_value < m->value)) {
    return false;
  }
  if (m->best_item >= 0) {
    m->edge[m->best_item] = (int32_t)m->best_edge;
  }
  move_to(d, m, m->best);
  return true;
}

static void forget_edges(const sap_dual* d, implicit* m) {
  memset(m->edge, 0, (size_t)d->op.nitems * sizeof *m->edge);
}

// Starts from p = z - g of the impulses in d->z.
static void start_from_impulses(sap_dual* d, implicit* m) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->trial[i] = d->z[i] - d->op.q[i];
  }
  cblas_dgemv(CblasColMajor, CblasNoTrans, d->op.n, d->op.n, -1.0, m->D, d->op.n, d->z, 1, 1.0,
              m->trial, 1);
  move_to(d, m, m->trial);
}

// Starts from the guess, or from sticking everywhere if the guess is zero.
static void set_start(sap_dual* d, implicit* m) {
  const size_t n = (size_t)d->op.n;
  sap_delassus_dense(&d->op, m->D);
  m->lambda = FIRST_LAMBDA;
  forget_edges(d, m);
  memcpy(m->H, m->D, n * n * sizeof(double));
  const bool guessed = cblas_dasum(d->op.n, d->z, 1) > 0.0;
  if (guessed || !sap_delassus_factorize(m->H, d->op.n, STICKING)) {
    start_from_impulses(d, m);
    return;
  }
  memcpy(m->trial, d->op.q, n * sizeof(double));
  sap_dense_factor_solve(d->op.n, m->H, m->trial);
  cblas_dscal(d->op.n, -1.0, m->trial, 1);
  move_to(d, m, m->trial);
}

// Restarts from the best impulses after FIRST_SWEEPS 2^index sweeps.
static void restart(sap_dual* d, implicit* m, int index) {
  enum { FIRST_SWEEPS = 50 };
  memcpy(d->z, d->z_best, (size_t)d->op.n * sizeof(double));
  for (int i = 0; i < 1 << index && sap_clock_seconds() < d->deadline; ++i) {
    sap_nbgs_sweeps(d, FIRST_SWEEPS);
  }
  m->lambda = FIRST_LAMBDA;
  forget_edges(d, m);
  start_from_impulses(d, m);
}

sap_status sap_implicit_complementarity(sap_dual* d) {
  enum {
    PATIENCE = 8,  // iterations in a row without a better point, or without l falling to a half
    RESTARTS = 8
  };
  implicit m;
  SAP_TRY(reserve_implicit(d, &m));
  set_start(d, &m);
  int failures = 0, idle = 0, restarts = 0;
  double mark = m.value;
  while (sap_dual_continues(d, d->options->max_iterations, 1.0)) {
    failures = improve(d, &m) ? 0 : failures + 1;
    d->iterations += 1;
    const bool falls = m.value <= 0.5 * mark;
    idle = falls ? 0 : idle + 1;
    mark = falls ? m.value : mark;
    if (failures >= PATIENCE || idle >= PATIENCE) {
      if (restarts == RESTARTS) {
        d->outcome = SAP_OUTCOME_STALLED;
        return SAP_STATUS_OK;
      }
      restart(d, &m, restarts++);
      failures = idle = 0;
      mark = m.value;
    } else if (failures > 0) {
      forget_edges(d, &m);
    }
  }
  return d->status;
}
