// SPDX-License-Identifier: BSD-3-Clause
// Lemke's complementary pivoting on the tableau [I, -M, -1 | q], and the friction pyramid as a
// linear complementarity problem.                                      Cottle, Pang, Stone 1992
// Ties of the ratio test are broken lexicographically by the rows of the basis' inverse. That
// excludes cycling: contact problems are degenerate.
// cost: 2 n^2 per pivot, usually n to 3 n pivots.
#include "solvers/dual/dual.h"

#include <math.h>
#include <string.h>

// D's blocks are scaled to 1. Round-off leaves rests below the least pivot in entries that should
// vanish: pivoting on a rest spoils the tableau, and rests of equal ratios make it cycle. An
// attempt whose solution or number of pivots shows that is repeated with the next least pivot.
static const double LEAST_PIVOTS[] = {1e-11, 1e-9, 1e-7, 1e-5};
enum {
  TRIES = sizeof LEAST_PIVOTS / sizeof *LEAST_PIVOTS,
  PIVOTS_PER_UNKNOWN = 10  // limit of all attempts but the last
};
static const double TIE = 1e-12;      // ratios nearer than this are equal
static const double ACCURACY = 1e-9;  // of the solution, relative to the largest |q|

// Returns row i of the tableau: columns of w (n) and z (n), z0, right-hand side.
static double* tableau_row(const sap_lcp* lcp, int32_t i) {
  return lcp->tableau + (size_t)i * (2 * (size_t)lcp->n + 2);
}

static void fill_tableau(const sap_lcp* lcp) {
  const size_t n = (size_t)lcp->n;
  for (size_t i = 0; i < n; ++i) {
    double* row = tableau_row(lcp, (int32_t)i);
    memset(row, 0, n * sizeof(double));
    row[i] = 1.0;
    for (size_t j = 0; j < n; ++j) {
      row[n + j] = -lcp->M[j * n + i];
    }
    row[2 * n] = -1.0;
    row[2 * n + 1] = lcp->q[i];
    lcp->basis[i] = (int32_t)i;
  }
}

static void pivot(const sap_lcp* lcp, int32_t at, int32_t column) {
  const int32_t width = 2 * lcp->n + 2;
  double* chosen = tableau_row(lcp, at);
  const double inverse = 1.0 / chosen[column];
  for (int32_t j = 0; j < width; ++j) {
    chosen[j] *= inverse;
  }
  chosen[column] = 1.0;
  for (int32_t i = 0; i < lcp->n; ++i) {
    double* row = tableau_row(lcp, i);
    const double factor = row[column];
    if (i == at || factor == 0.0) {
      continue;
    }
    for (int32_t j = 0; j < width; ++j) {
      row[j] -= factor * chosen[j];
    }
    row[column] = 0.0;
  }
  lcp->basis[at] = column;
}

// Returns true if row a, divided by its entry in `column`, is lexicographically before row b.
static bool before(const sap_lcp* lcp, int32_t a, int32_t b, int32_t column) {
  const double *x = tableau_row(lcp, a), *y = tableau_row(lcp, b);
  const int32_t last = 2 * lcp->n + 1;
  double difference = x[last] / x[column] - y[last] / y[column];
  if (fabs(difference) > TIE) {
    return difference < 0.0;
  }
  if (lcp->basis[a] == 2 * lcp->n || lcp->basis[b] == 2 * lcp->n) {
    return lcp->basis[a] == 2 * lcp->n;  // z0 leaves as soon as possible
  }
  for (int32_t j = 0; j < lcp->n; ++j) {
    difference = x[j] / x[column] - y[j] / y[column];
    if (fabs(difference) > TIE) {
      return difference < 0.0;
    }
  }
  return false;
}

static int32_t leaving_row(const sap_lcp* lcp, int32_t column, double least_pivot) {
  int32_t best = -1;
  for (int32_t i = 0; i < lcp->n; ++i) {
    if (tableau_row(lcp, i)[column] > least_pivot && (best < 0 || before(lcp, i, best, column))) {
      best = i;
    }
  }
  return best;
}

static void read_solution(const sap_lcp* lcp) {
  memset(lcp->z, 0, (size_t)lcp->n * sizeof(double));
  for (int32_t i = 0; i < lcp->n; ++i) {
    if (lcp->basis[i] >= lcp->n && lcp->basis[i] < 2 * lcp->n) {
      lcp->z[lcp->basis[i] - lcp->n] = fmax(tableau_row(lcp, i)[2 * lcp->n + 1], 0.0);
    }
  }
}

static sap_lcp_end try_pivots(const sap_lcp* lcp, double least_pivot, int32_t* pivots) {
  const int32_t n = lcp->n, artificial = 2 * n, limit = *pivots;
  int32_t worst = -1;
  fill_tableau(lcp);
  for (int32_t i = 0; i < n; ++i) {
    if (lcp->q[i] < 0.0 && (worst < 0 || lcp->q[i] < lcp->q[worst])) {
      worst = i;
    }
  }
  *pivots = 0;
  sap_lcp_end end = worst < 0 ? SAP_LCP_SOLVED : SAP_LCP_LIMIT;
  int32_t column = artificial, at = worst;
  while (end == SAP_LCP_LIMIT && *pivots < limit) {
    const int32_t leaves = lcp->basis[at];
    pivot(lcp, at, column);
    *pivots += 1;
    if (leaves == artificial) {
      end = SAP_LCP_SOLVED;
      break;
    }
    column = leaves < n ? leaves + n : leaves - n;  // the complement enters
    at = leaving_row(lcp, column, least_pivot);
    if (at < 0) {
      end = SAP_LCP_RAY;
    }
  }
  read_solution(lcp);
  return end;
}

// Returns true if min(z, M z + q) vanishes, computed from M rather than the tableau.
static bool is_accurate(const sap_lcp* lcp) {
  double scale = 0.0;
  for (int32_t i = 0; i < lcp->n; ++i) {
    scale = fmax(scale, fabs(lcp->q[i]));
  }
  for (int32_t i = 0; i < lcp->n; ++i) {
    double w = lcp->q[i];
    for (int32_t j = 0; j < lcp->n; ++j) {
      w += lcp->M[(size_t)j * (size_t)lcp->n + (size_t)i] * lcp->z[j];
    }
    if (!(fabs(lcp->z[i] < w ? lcp->z[i] : w) <= ACCURACY * scale)) {
      return false;
    }
  }
  return true;
}

sap_lcp_end sap_lemke(const sap_lcp* lcp, int32_t* pivots) {
  const int32_t limit = *pivots;
  sap_lcp_end end = SAP_LCP_LIMIT;
  *pivots = 0;
  for (int32_t k = 0; k < TRIES; ++k) {
    int32_t done = limit - *pivots;
    if (k + 1 < TRIES && done / PIVOTS_PER_UNKNOWN > lcp->n) {
      done = PIVOTS_PER_UNKNOWN * lcp->n;
    }
    end = try_pivots(lcp, LEAST_PIVOTS[k], &done);
    *pivots += done;
    if (end == SAP_LCP_SOLVED && is_accurate(lcp)) {
      return end;
    }
    if (*pivots >= limit) {
      break;
    }
  }
  return end == SAP_LCP_SOLVED ? SAP_LCP_INACCURATE : end;
}

// The friction pyramid.                     Stewart, Trinkle 1996; Anitescu, Potra 1997
//   unknowns of a cone: gamma_n, beta_k >= 0 along directions e_k, lambda
//   g_n                    >= 0  _|_  gamma_n
//   e_k . g_t + lambda     >= 0  _|_  beta_k
//   mu gamma_n - sum beta  >= 0  _|_  lambda
// Cones without friction and nonnegative rows have gamma_n alone. D may be singular (M is
// copositive).
// cost: a dense tableau of (2 + directions) unknowns per cone, squared and doubled.

// An unknown: a combination of at most two rows of D; weights 0: the lambda of a cone.
typedef struct column {
  int32_t row[2];
  double weight[2];
} column;

static int32_t unknowns_of(const sap_delassus_item* item, int32_t directions) {
  return item->is_cone && item->mu > 0.0 ? 2 + directions : 1;
}

static column column_of(const sap_delassus_item* item, int32_t directions, int32_t k) {
  const int32_t normal = item->first + item->nrows - 1;
  if (k == 0) {
    return (column){{normal, normal}, {1.0, 0.0}};
  }
  if (k > directions) {
    return (column){{normal, normal}, {0.0, 0.0}};
  }
  const double angle = 6.283185307179586 * (k - 1) / directions;
  return (column){{item->first, item->first + 1}, {cos(angle), sin(angle)}};
}

// Sets M and q of all items: M = C' D C plus the rows and columns of the cones' lambda.
static void assemble(const sap_dual* d, const double* D, int32_t directions, const column* columns,
                     double* M, double* q, int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    const column* cj = &columns[j];
    q[j] = cj->weight[0] * d->op.q[cj->row[0]] + cj->weight[1] * d->op.q[cj->row[1]];
    for (int32_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          const double weight = columns[i].weight[a] * cj->weight[b];
          sum += weight != 0.0
                     ? weight * D[(size_t)cj->row[b] * (size_t)d->op.n + (size_t)columns[i].row[a]]
                     : 0.0;
        }
      }
      M[(size_t)j * (size_t)n + (size_t)i] = sum;
    }
  }
  int32_t first = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const int32_t count = unknowns_of(&d->op.items[k], directions);
    if (count > 1) {
      const size_t multiplier = (size_t)(first + count - 1), size = (size_t)n;
      M[(size_t)first * size + multiplier] = d->op.items[k].mu;
      for (size_t b = (size_t)first + 1; b < multiplier; ++b) {
        M[b * size + multiplier] = -1.0;
        M[multiplier * size + b] = 1.0;
      }
    }
    first += count;
  }
}

// Moves d->z into the pyramids and takes it as an iterate; returns true if it solves the problem.
static bool try_impulses(sap_dual* d, int32_t iterations) {
  static const double STILL[SAP_CONE_ROWS_MAX] = {0.0};
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    double x[SAP_CONE_ROWS_MAX];
    memcpy(x, d->z + item->first, (size_t)item->nrows * sizeof(double));
    if (item->is_cone) {
      sap_dual_edges_law(d, item, x, STILL, d->z + item->first);
    } else {
      sap_dual_project(item, x, d->z + item->first);
    }
  }
  d->iterations = iterations;
  (void)sap_dual_continues(d, iterations, 1.0);
  return d->outcome == SAP_OUTCOME_CONVERGED;
}

// If no attempt solves the problem, the best of the last attempt's impulses, the guess and zero is
// handed on: a ray leaves impulses of any size.
sap_status sap_lemke_solve(sap_dual* d) {
  const int32_t directions = d->options->friction_directions;
  int64_t n = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    n += unknowns_of(&d->op.items[k], directions);
  }
  const int64_t rows = d->op.n;
  sap_lcp lcp = {.n = (int32_t)n};
  column* columns;
  double *D, *M, *q;
  SAP_TRY(SAP_CARVE(&d->pool, &d->work, d->error, SAP_ARRAY(&D, rows * rows), SAP_ARRAY(&M, n * n),
                    SAP_ARRAY(&q, n), SAP_ARRAY(&lcp.z, n),
                    SAP_ARRAY(&lcp.tableau, n * (2 * n + 2)), SAP_ARRAY(&columns, n),
                    SAP_ARRAY(&lcp.basis, n)));
  lcp.M = M;
  lcp.q = q;
  int32_t next = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    for (int32_t u = 0; u < unknowns_of(&d->op.items[k], directions); ++u) {
      columns[next++] = column_of(&d->op.items[k], directions, u);
    }
  }
  sap_delassus_dense(&d->op, D);
  assemble(d, D, directions, columns, M, q, lcp.n);
  int32_t pivots = d->options->max_sweeps;
  sap_dual_set_law(d, sap_dual_edges_law);
  (void)try_impulses(d, 0);
  const sap_lcp_end end = sap_lemke(&lcp, &pivots);
  memset(d->z, 0, (size_t)rows * sizeof(double));
  for (int32_t u = 0; u < lcp.n; ++u) {
    d->z[columns[u].row[0]] += columns[u].weight[0] * lcp.z[u];
    d->z[columns[u].row[1]] += columns[u].weight[1] * lcp.z[u];
  }
  const int32_t done = pivots > 0 ? pivots : 1;
  if (!try_impulses(d, done)) {
    const bool accurate = end == SAP_LCP_SOLVED && d->residual <= ACCURACY && sap_dual_rows_hold(d);
    memset(d->z, 0, (size_t)rows * sizeof(double));
    (void)try_impulses(d, done);
    d->outcome = accurate               ? SAP_OUTCOME_ROUNDOFF
                 : end == SAP_LCP_LIMIT ? SAP_OUTCOME_ITERATION_LIMIT
                                        : SAP_OUTCOME_STALLED;
  }
  return d->status;
}
