// SPDX-License-Identifier: BSD-3-Clause
// Type II Anderson acceleration (Walker, Ni 2011) by normal equations of at most five unknowns.
#include "solvers/ncp/anderson.h"

#include <math.h>

#include "core/memory.h"

static double* column_f(const sap_anderson* a, int32_t i) {
  return a->memory + (size_t)i * (size_t)a->n;
}

static double* column_T(const sap_anderson* a, int32_t i) {
  return a->memory + (size_t)(SAP_ANDERSON_DEPTH + i) * (size_t)a->n;
}

static double* last_f(const sap_anderson* a) {
  return a->memory + (size_t)(2 * SAP_ANDERSON_DEPTH) * (size_t)a->n;
}

sap_status sap_anderson_begin(sap_anderson* a, int32_t n, sap_error* error) {
  const int64_t needed = (int64_t)n * (2 * SAP_ANDERSON_DEPTH + 2);
  if (needed > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d contacts", n);
  }
  const sap_status status = SAP_GROW(&a->memory, &a->capacity, (int32_t)needed, error);
  a->n = n;
  sap_anderson_restart(a);
  return status;
}

void sap_anderson_restart(sap_anderson* a) {
  a->count = a->next = 0;
  a->has_last = false;
}

// theta of the normal equations by Cholesky; directions that add nothing get 0.
static void solve_normal(double N[SAP_ANDERSON_DEPTH][SAP_ANDERSON_DEPTH], double* theta,
                         int32_t count) {
  static const double LEAST_PIVOT = 1e-12;  // of the diagonal: differences in line with others
  bool used[SAP_ANDERSON_DEPTH];
  for (int32_t j = 0; j < count; ++j) {
    const double diagonal = N[j][j];
    for (int32_t k = 0; k < j; ++k) {
      N[j][j] -= N[j][k] * N[j][k];
    }
    used[j] = N[j][j] > LEAST_PIVOT * diagonal;
    N[j][j] = used[j] ? sqrt(N[j][j]) : 1.0;
    for (int32_t i = j + 1; i < count; ++i) {
      for (int32_t k = 0; k < j; ++k) {
        N[i][j] -= N[i][k] * N[j][k];
      }
      N[i][j] = used[j] ? N[i][j] / N[j][j] : 0.0;
    }
    if (!used[j]) {
      theta[j] = 0.0;
      for (int32_t k = 0; k < j; ++k) {
        N[j][k] = 0.0;
      }
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t k = 0; k < i; ++k) {
      theta[i] -= N[i][k] * theta[k];
    }
    theta[i] /= N[i][i];
  }
  for (int32_t i = count - 1; i >= 0; --i) {
    for (int32_t k = i + 1; k < count; ++k) {
      theta[i] -= N[k][i] * theta[k];
    }
    theta[i] /= N[i][i];
  }
}

void sap_anderson_next(sap_anderson* a, const double* s, const double* T, const double* weights,
                       double* next) {
  const int32_t n = a->n;
  double *f = last_f(a), *T_last = f + n;
  if (a->has_last) {
    double *df = column_f(a, a->next), *dT = column_T(a, a->next);
    for (int32_t i = 0; i < n; ++i) {
      df[i] = T[i] - s[i] - f[i];
      dT[i] = T[i] - T_last[i];
    }
    a->next = (a->next + 1) % SAP_ANDERSON_DEPTH;
    a->count = a->count < SAP_ANDERSON_DEPTH ? a->count + 1 : a->count;
  }
  for (int32_t i = 0; i < n; ++i) {
    f[i] = T[i] - s[i];
    T_last[i] = T[i];
  }
  a->has_last = true;
  double N[SAP_ANDERSON_DEPTH][SAP_ANDERSON_DEPTH] = {{0}}, theta[SAP_ANDERSON_DEPTH] = {0};
  for (int32_t j = 0; j < a->count; ++j) {
    const double* fj = column_f(a, j);
    for (int32_t k = 0; k < n; ++k) {
      theta[j] += weights[k] * weights[k] * fj[k] * f[k];
    }
    for (int32_t i = j; i < a->count; ++i) {
      const double* fi = column_f(a, i);
      for (int32_t k = 0; k < n; ++k) {
        N[i][j] += weights[k] * weights[k] * fj[k] * fi[k];
      }
    }
  }
  solve_normal(N, theta, a->count);
  for (int32_t k = 0; k < n; ++k) {
    double value = T_last[k];
    for (int32_t j = 0; j < a->count; ++j) {
      value -= theta[j] * column_T(a, j)[k];
    }
    next[k] = value;
  }
}

void sap_anderson_clear(sap_anderson* a) {
  sap_free(a->memory);
  *a = (sap_anderson){0};
}
