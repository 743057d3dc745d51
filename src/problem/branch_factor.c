// SPDX-License-Identifier: BSD-3-Clause
#include "problem/branch_factor.h"

#include <math.h>
#include <stddef.h>

bool sap_branch_factor(const double* A, double* L, int32_t* rows, int32_t size) {
  const size_t n = (size_t)size;
  for (size_t j = 0; j < n; ++j) {
    const double* from = A + (n - 1 - j) * n;
    for (size_t i = j; i < n; ++i) {
      L[j * n + i] = from[n - 1 - i];
    }
  }
  for (size_t j = 0; j < n; ++j) {
    double* Lj = L + j * n;
    int32_t* row = rows + j * n;
    if (!(Lj[j] > 0.0)) {
      return false;
    }
    const double inverse = 1.0 / sqrt(Lj[j]);
    int32_t count = 0;
    for (size_t i = j + 1; i < n; ++i) {
      if (Lj[i] != 0.0) {
        ++count;  // count <= i - j: nothing is overwritten that is still needed
        row[count] = (int32_t)i;
        Lj[count] = Lj[i] * inverse;
      }
    }
    Lj[0] = inverse;
    row[0] = count;
    for (int32_t k = 1; k <= count; ++k) {
      const double factor = Lj[k];
      double* Lk = L + (size_t)row[k] * n;
      for (int32_t i = k; i <= count; ++i) {
        Lk[row[i]] -= factor * Lj[i];
      }
    }
  }
  return true;
}

void sap_branch_add_three_rows(const double* L, const int32_t* rows, size_t n, const double* J,
                               double* X, double W[9]) {
  enum { PADDED = 4 };
  for (size_t i = 0; i < n; ++i) {
    const double* from = J + 3 * (n - 1 - i);
    double* x = X + PADDED * i;
    x[0] = from[0];
    x[1] = from[1];
    x[2] = from[2];
    x[3] = 0.0;
  }
  double w[6] = {0};
  for (size_t j = 0; j < n; ++j, L += n, rows += n) {
    double* xj = X + PADDED * j;
    if (xj[0] == 0.0 && xj[1] == 0.0 && xj[2] == 0.0) {
      continue;
    }
    const double x0 = xj[0] * L[0], x1 = xj[1] * L[0], x2 = xj[2] * L[0];
    const double x[PADDED] = {x0, x1, x2, 0.0};
    w[0] += x0 * x0;
    w[1] += x1 * x0;
    w[2] += x2 * x0;
    w[3] += x1 * x1;
    w[4] += x2 * x1;
    w[5] += x2 * x2;
    for (int32_t k = 1; k <= rows[0]; ++k) {
      const double factor = L[k];
      double* restrict xi = X + PADDED * rows[k];
      xi[0] -= factor * x[0];
      xi[1] -= factor * x[1];
      xi[2] -= factor * x[2];
      xi[3] -= factor * x[3];
    }
  }
  const int at[6] = {0, 1, 2, 4, 5, 8};
  for (int k = 0; k < 6; ++k) {
    W[at[k]] += w[k];
  }
}

void sap_branch_solve_row(const double* L, const int32_t* rows, size_t n, const double* J,
                          size_t nrows, double* x) {
  for (size_t i = 0; i < n; ++i) {
    x[i] = J[(n - 1 - i) * nrows];
  }
  for (size_t j = 0; j < n; ++j, L += n, rows += n) {
    if (x[j] != 0.0) {
      const double xj = x[j] * L[0];
      x[j] = xj;
      for (int32_t k = 1; k <= rows[0]; ++k) {
        x[rows[k]] -= L[k] * xj;
      }
    }
  }
}

void sap_branch_solve(const double* L, const int32_t* rows, size_t n, const double* b, double* y,
                      double* x) {
  sap_branch_solve_row(L, rows, n, b, 1, y);
  for (size_t j = n; j-- > 0;) {
    const double* Lj = L + j * n;
    const int32_t* row = rows + j * n;
    double sum = y[j];
    for (int32_t k = 1; k <= row[0]; ++k) {
      sum -= Lj[k] * y[row[k]];
    }
    y[j] = sum * Lj[0];
    x[n - 1 - j] = y[j];
  }
}
