// SPDX-License-Identifier: BSD-3-Clause
// Lemke's complementary pivoting on the tableau [I, -M, -1 | q].            Cottle, Pang, Stone
// 1992 Ties of the ratio test are broken lexicographically by the rows of the basis' inverse, which
// excludes cycling: contact problems are degenerate.
// cost: 2 n^2 per pivot, usually n to 3 n pivots.
#include "solvers/dual/lemke.h"

#include <math.h>
#include <string.h>

// D's blocks are scaled to 1, and what is left of entries that should vanish lies below the least
// pivot. A pivot on such a rest spoils the tableau, and unequal rests of equal ratios make it
// cycle: where the solution or the pivots of a try show that, all is done again with the next least
// pivot.
static const double LEAST_PIVOTS[] = {1e-11, 1e-9, 1e-7, 1e-5};
enum {
  TRIES = sizeof LEAST_PIVOTS / sizeof *LEAST_PIVOTS,
  PIVOTS_PER_UNKNOWN = 10  // of a try that is not the last
};
static const double TIE = 1e-12;      // ratios nearer than this are equal
static const double ACCURACY = 1e-9;  // of the solution, relative to the largest |q|

// Row i of the tableau: w columns (n), z columns (n), z0, right-hand side.
static double* row_of(const sap_lcp* lcp, int32_t i) {
  return lcp->tableau + (size_t)i * (2 * (size_t)lcp->n + 2);
}

static void fill(const sap_lcp* lcp) {
  const size_t n = (size_t)lcp->n;
  for (size_t i = 0; i < n; ++i) {
    double* row = row_of(lcp, (int32_t)i);
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
  double* chosen = row_of(lcp, at);
  const double inverse = 1.0 / chosen[column];
  for (int32_t j = 0; j < width; ++j) {
    chosen[j] *= inverse;
  }
  chosen[column] = 1.0;
  for (int32_t i = 0; i < lcp->n; ++i) {
    double* row = row_of(lcp, i);
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

// Is row a, divided by its entry in `column`, lexicographically before row b?
static bool before(const sap_lcp* lcp, int32_t a, int32_t b, int32_t column) {
  const double *x = row_of(lcp, a), *y = row_of(lcp, b);
  const int32_t last = 2 * lcp->n + 1;
  double difference = x[last] / x[column] - y[last] / y[column];
  if (fabs(difference) > TIE) {
    return difference < 0.0;
  }
  if (lcp->basis[a] == 2 * lcp->n || lcp->basis[b] == 2 * lcp->n) {
    return lcp->basis[a] == 2 * lcp->n;  // z0 leaves as soon as it may
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
    if (row_of(lcp, i)[column] > least_pivot && (best < 0 || before(lcp, i, best, column))) {
      best = i;
    }
  }
  return best;
}

static void read_solution(const sap_lcp* lcp) {
  memset(lcp->z, 0, (size_t)lcp->n * sizeof(double));
  for (int32_t i = 0; i < lcp->n; ++i) {
    if (lcp->basis[i] >= lcp->n && lcp->basis[i] < 2 * lcp->n) {
      lcp->z[lcp->basis[i] - lcp->n] = fmax(row_of(lcp, i)[2 * lcp->n + 1], 0.0);
    }
  }
}

static sap_lcp_end try_pivots(const sap_lcp* lcp, double least_pivot, int32_t* pivots) {
  const int32_t n = lcp->n, artificial = 2 * n, limit = *pivots;
  int32_t worst = -1;
  fill(lcp);
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

// Whether min(z, M z + q) vanishes, from M itself: does not trust the tableau.
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
