// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/conjugate.h"

#include <math.h>
#include <string.h>

#include "linalg/square.h"
#include "math/scalar.h"

// y = A x
static void multiply(const sap_conjugate* c, const double* x, double* y) {
  const sap_pattern_copy* pattern = c->pattern;
  memset(y, 0, (size_t)pattern->n * sizeof *y);
  for (int32_t j = 0; j < pattern->view.nblocks; ++j) {
    const int32_t a = pattern->offset[j], columns = pattern->sizes[j];
    int32_t k = pattern->column_start[j];
    sap_square_add_lower(columns, c->values + pattern->value_start[k], x + a, y + a);
    for (++k; k < pattern->column_start[j + 1]; ++k) {
      const int32_t i = pattern->row[k], b = pattern->offset[i];
      sap_square_add_coupling(pattern->sizes[i], columns, c->values + pattern->value_start[k],
                              x + b, x + a, y + b, y + a);
    }
  }
}

static double measure(const sap_conjugate* c, const double* r) {
  double sum = 0.0;
  for (int32_t i = 0; i < c->pattern->n; ++i) {
    sum += r[i] * r[i] / c->weight[i];
  }
  return sqrt(sum);
}

bool sap_conjugate_solve(const sap_conjugate* c, double* x) {
  const int32_t n = c->pattern->n;
  const size_t size = (size_t)n * sizeof *x;
  double *r = c->work, *z = r + n, *p = z + n, *q = p + n, *sum = q + n;
  const double goal = c->residual * measure(c, x);
  double before = 1.0;
  memcpy(r, x, size);
  memset(p, 0, size);
  memset(sum, 0, size);
  for (int32_t k = 0; k < c->iterations; ++k) {
    memcpy(q, r, size);
    c->precondition(c->context, q, z);
    const double now = sap_dot(n, r, z);
    for (int32_t i = 0; i < n; ++i) {
      p[i] = z[i] + now / before * p[i];
    }
    before = now;
    multiply(c, p, q);
    const double length = now / sap_dot(n, p, q);
    for (int32_t i = 0; i < n; ++i) {
      sum[i] += length * p[i];
      r[i] -= length * q[i];
    }
    if (measure(c, r) <= goal) {
      memcpy(x, sum, size);
      return true;
    }
  }
  return false;
}
