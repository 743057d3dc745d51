// SPDX-License-Identifier: BSD-3-Clause
// ADMM on a part of the rows, started where it ended the last time.      see admm.c; lelidec Alg. 7
// cost: two triangular solves per iteration, a factorization per change of rho.
#include "solvers/dual/stage_qp.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "solvers/dual/pyramid.h"

static const double ETA = 1e-6;        // proximal weight; the smallest eigenvalue may be 0
static const double IMBALANCE = 10.0;  // ratio of residuals that changes rho
enum { ADAPT_EVERY = 10 };

static bool takes(const sap_delassus_item* item, int32_t row, bool friction) {
  return !item->is_cone ||
         (friction ? row != SAP_NORMAL_ROW && item->mu > 0.0 : row == SAP_NORMAL_ROW);
}

int32_t sap_stage_qp_rows(const sap_dual* d, bool friction) {
  int32_t n = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    for (int32_t r = 0; r < d->op.items[k].nrows; ++r) {
      n += takes(&d->op.items[k], r, friction) ? 1 : 0;
    }
  }
  return n;
}

int64_t sap_stage_qp_reals(int32_t n) {
  return 2 * (int64_t)n * n + 6 * (int64_t)n;
}

static sap_status factorize(sap_stage_qp* s, sap_dual* d, sap_error* error) {
  const size_t n = (size_t)s->n;
  memcpy(s->factor, s->D, n * n * sizeof(double));
  d->factorizations += 1;
  return sap_delassus_factorize(s->factor, s->n, s->rho + ETA)
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_NOT_SPD, "D + %g I is not positive definite",
                        s->rho + ETA);
}

static void gather(const sap_stage_qp* s, const double* z, double* out) {
  for (int32_t i = 0; i < s->n; ++i) {
    out[i] = z[s->rows[i]];
  }
}

// q of the part: D z + q less its own symmetric share, so that where z stays the program is that of
// D as it is.
static void find_linear(sap_stage_qp* s, const sap_dual* d, const double* D) {
  const int32_t n = d->op.n;
  for (int32_t i = 0; i < s->n; ++i) {
    s->q[i] = d->op.q[s->rows[i]] + cblas_ddot(n, D + s->rows[i], n, d->z, 1);
  }
  gather(s, d->z, s->y);
  cblas_dsymv(CblasColMajor, CblasLower, s->n, -1.0, s->D, s->n, s->y, 1, 1.0, s->q, 1);
}

sap_status sap_stage_qp_begin(sap_stage_qp* s, sap_dual* d, const double* D, double largest,
                              int32_t* rows, double* reals, sap_error* error) {
  const size_t n = (size_t)s->n;
  s->rows = rows;
  s->D = reals;
  s->factor = s->D + n * n;
  double** const vectors[] = {&s->q, &s->x, &s->y, &s->w, &s->x_last, &s->y_last};
  double* next = s->factor + n * n;
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i, next += n) {
    *vectors[i] = next;
  }
  int32_t count = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    for (int32_t r = 0; r < item->nrows; ++r) {
      if (takes(item, r, s->friction)) {
        s->rows[count++] = item->first + r;
      }
    }
  }
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < n; ++i) {
      const size_t a = (size_t)s->rows[i], b = (size_t)s->rows[j], all = (size_t)d->op.n;
      s->D[j * n + i] = 0.5 * (D[b * all + a] + D[a * all + b]);
    }
  }
  // tsounis (172), as in admm.c
  const bool spectral = d->options->penalty == SAP_PENALTY_SPECTRAL;
  const double L = fmax(largest, ETA), kappa = L / ETA;
  s->rho = d->options->penalty_value > 0.0 ? d->options->penalty_value
           : spectral                      ? sqrt(L * ETA) * pow(kappa, 0.2)
                                           : 1.0;
  s->change = spectral ? pow(kappa, 0.05) : 1.5;
  gather(s, d->z, s->x);
  memset(s->w, 0, n * sizeof(double));
  return s->n > 0 ? factorize(s, d, error) : SAP_STATUS_OK;
}

void sap_stage_project_tangents(const sap_delassus_item* item, int32_t sides, double normal,
                                const double* x, double* out) {
  const double radius = item->mu * fmax(normal, 0.0);
  if (sides > 0) {
    sap_polygon_project(radius, sides, x, out);
    for (int32_t r = SAP_NORMAL_ROW + 1; r < item->nrows; ++r) {
      out[r] = fmax(-radius, fmin(radius, x[r]));
    }
    return;
  }
  double length_2 = 0.0;
  for (int32_t r = 0; r < item->nrows; ++r) {
    length_2 += r == SAP_NORMAL_ROW ? 0.0 : x[r] * x[r];
  }
  const double length = sqrt(length_2);
  const double shrink = length > radius ? radius / length : 1.0;
  for (int32_t r = 0; r < item->nrows; ++r) {
    out[r] = r == SAP_NORMAL_ROW ? out[r] : shrink * x[r];
  }
}

// y = P(y), item by item in the order of the rows.
static void project(const sap_stage_qp* s, const sap_dual* d, double* y) {
  int32_t at = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    if (!item->is_cone) {
      sap_dual_project(item, y + at, y + at);
      at += 1;
    } else if (!s->friction) {
      y[at] = fmax(y[at], 0.0);
      at += 1;
    } else if (item->mu > 0.0) {
      double x[SAP_CONE_ROWS_MAX] = {0.0}, out[SAP_CONE_ROWS_MAX] = {0.0};
      for (int32_t r = 0; r < item->nrows; ++r) {
        x[r] = r == SAP_NORMAL_ROW ? 0.0 : y[at + r - (r > SAP_NORMAL_ROW ? 1 : 0)];
      }
      sap_stage_project_tangents(item, s->sides, d->z[item->first + SAP_NORMAL_ROW], x, out);
      for (int32_t r = 0; r < item->nrows; ++r) {
        if (r != SAP_NORMAL_ROW) {
          y[at++] = out[r];
        }
      }
    }
  }
}

// One iteration of ADMM; squares of |x - y| and |eta (x - x-) + rho (y - y-)|.
static void iterate(sap_stage_qp* s, sap_dual* d, double* primal_2, double* dual_2) {
  const int32_t n = s->n;
  memcpy(s->x_last, s->x, (size_t)n * sizeof(double));
  memcpy(s->y_last, s->y, (size_t)n * sizeof(double));
  for (int32_t i = 0; i < n; ++i) {
    s->x[i] = ETA * s->x_last[i] + s->rho * s->y[i] + s->w[i] - s->q[i];
  }
  sap_dense_factor_solve(n, s->factor, s->x);
  for (int32_t i = 0; i < n; ++i) {
    s->w[i] -= s->rho * s->x[i];
    s->y[i] = -s->w[i] / s->rho;
  }
  project(s, d, s->y);
  cblas_daxpy(n, s->rho, s->y, 1, s->w, 1);
  *primal_2 = *dual_2 = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    const double primal = s->x[i] - s->y[i];
    const double dual = ETA * (s->x[i] - s->x_last[i]) + s->rho * (s->y[i] - s->y_last[i]);
    *primal_2 += primal * primal;
    *dual_2 += dual * dual;
  }
  d->evaluations += 1;
}

sap_status sap_stage_qp_solve(sap_stage_qp* s, sap_dual* d, const double* D, double tolerance,
                              int32_t limit, sap_error* error) {
  const int32_t n = s->n;
  if (n == 0) {
    return SAP_STATUS_OK;
  }
  find_linear(s, d, D);
  project(s, d, s->y);
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 1; i <= limit && status == SAP_STATUS_OK; ++i) {
    double primal_2, dual_2;
    iterate(s, d, &primal_2, &dual_2);
    const double size_2 = cblas_ddot(n, s->y, 1, s->y, 1) + DBL_MIN;
    if (fmax(primal_2, dual_2) <= tolerance * tolerance * size_2) {
      break;
    }
    const double threshold = IMBALANCE * IMBALANCE;
    const bool up = primal_2 > threshold * dual_2, down = dual_2 > threshold * primal_2;
    if (d->options->penalty != SAP_PENALTY_FIXED && i % ADAPT_EVERY == 0 && (up || down)) {
      s->rho = up ? s->rho * s->change : s->rho / s->change;
      status = factorize(s, d, error);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    d->z[s->rows[i]] = s->y[i];
  }
  return status;
}
