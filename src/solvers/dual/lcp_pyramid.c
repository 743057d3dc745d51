// SPDX-License-Identifier: BSD-3-Clause
// The friction pyramid as a linear complementarity problem.
//   Stewart, Trinkle 1996; Anitescu, Potra 1997
//   unknowns of a cone: gamma_n, beta_k >= 0 along directions e_k, lambda
//   g_n >= 0 _|_ gamma_n;  e_k . g_t + lambda >= 0 _|_ beta_k;  mu gamma_n - sum beta >= 0 _|_
//   lambda
// Cones without friction and nonnegative rows have gamma_n alone. D may be singular (M is
// copositive). cost: a dense tableau of (2 + directions) unknowns per cone, squared and doubled.
#include <math.h>
#include <string.h>

#include "solvers/dual/lemke.h"

// Where an unknown stands: a combination of at most two rows of D, or the multiplier of a cone.
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

// M and q of all items: M = C' D C plus the coupling of cones' multipliers.
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

static sap_status run_lemke(sap_dual* d, sap_error* error) {
  const int32_t directions = d->options->friction_directions;
  int64_t n = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    n += unknowns_of(&d->op.items[k], directions);
  }
  const int64_t rows = d->op.n, per_column = (int64_t)(sizeof(column) / sizeof(double)) + 1;
  sap_lcp lcp = {0};
  double* D;
  sap_status status =
      sap_dual_reals(d, rows * rows + n * n + 2 * n + n * (2 * n + 2) + per_column * n, &D, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_integers(d, n, &lcp.basis, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double *M = D + rows * rows, *q = M + n * n;
  lcp.n = (int32_t)n;
  lcp.M = M;
  lcp.q = q;
  lcp.z = q + n;
  lcp.tableau = lcp.z + n;
  column* columns = (column*)(void*)(lcp.tableau + n * (2 * n + 2));
  int32_t next = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    for (int32_t u = 0; u < unknowns_of(&d->op.items[k], directions); ++u) {
      columns[next++] = column_of(&d->op.items[k], directions, u);
    }
  }
  sap_delassus_dense(&d->op, D);
  assemble(d, D, directions, columns, M, q, lcp.n);
  int32_t pivots = d->options->max_sweeps;
  const sap_lcp_end end = sap_lemke(&lcp, &pivots);
  memset(d->z, 0, (size_t)rows * sizeof(double));
  for (int32_t u = 0; u < lcp.n; ++u) {
    d->z[columns[u].row[0]] += columns[u].weight[0] * lcp.z[u];
    d->z[columns[u].row[1]] += columns[u].weight[1] * lcp.z[u];
  }
  d->iterations = pivots;
  d->fixed_point = true;  // it solves its own model; there is nothing to go on with
  bool done;
  status = sap_dual_check(d, pivots, 1.0, &done, error);
  d->outcome = end == SAP_LCP_SOLVED  ? SAP_OUTCOME_CONVERGED
               : end == SAP_LCP_LIMIT ? SAP_OUTCOME_ITERATION_LIMIT
                                      : SAP_OUTCOME_STALLED;
  return status;
}

SAP_DUAL_ROW(sap_lemke_solve, true, run_lemke)
