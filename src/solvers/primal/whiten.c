// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/primal/whiten.h"

#include <string.h>

#include "problem/factor.h"
#include "problem/problem_data.h"

bool sap_whiten_velocity(sap_newton* n) {
  memset(n->sweep_w, 0, (size_t)n->ntrees * SAP_WHITE_COLUMNS * sizeof(double));
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const double* L;
    if (sap_problem_tree_factor(n->problem, n->trees[t], &L, NULL) != SAP_STATUS_OK) {
      return false;
    }
    const int32_t size = n->size[t];
    const double* v = n->v_star + n->start[t];
    double* w = n->sweep_w + (size_t)t * SAP_WHITE_COLUMNS;
    for (int32_t j = 0; j < size; ++j, L += size) {
      w[j] = v[j] / L[j];  // the diagonal holds reciprocals
      for (int32_t i = j + 1; i < size; ++i) {
        w[j] += L[i] * v[i];
      }
    }
  }
  return true;
}

void sap_whiten_back(const sap_newton* n, double* v) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const double* L;
    (void)sap_problem_tree_factor(n->problem, n->trees[t], &L, NULL);  // there since whitened
    const int32_t size = n->size[t];
    double* x = v + n->start[t];
    const double* w = n->sweep_w + (size_t)t * SAP_WHITE_COLUMNS;
    for (int32_t j = size; j-- > 0;) {
      const double* Lj = L + j * size;
      double sum = w[j];
      for (int32_t i = j + 1; i < size; ++i) {
        sum -= Lj[i] * x[i];
      }
      x[j] = sum * Lj[j];
    }
  }
}

// L^-1 (SAP_WHITE_COLUMNS x SAP_WHITE_COLUMNS, column by column) of a tree's factor.
static inline void invert_factor(const double* restrict L, int32_t size, double* restrict inverse) {
  memset(inverse, 0, SAP_WHITE_COLUMNS * SAP_WHITE_COLUMNS * sizeof *inverse);
  for (int32_t j = 0; j < size; ++j) {
    double* x = inverse + j * SAP_WHITE_COLUMNS;
    x[j] = L[j * size + j];  // a reciprocal
    for (int32_t k = j; k < size; ++k) {
      x[k] = k > j ? x[k] * L[k * size + k] : x[k];
      for (int32_t i = k + 1; i < size; ++i) {
        x[i] -= L[k * size + i] * x[k];
      }
    }
  }
}

void sap_whiten_factors(sap_newton* n) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const double* L;
    (void)sap_problem_tree_factor(n->problem, n->trees[t], &L, NULL);
    double* inverse = n->sweep_factor + (size_t)t * SAP_WHITE_COLUMNS * SAP_WHITE_COLUMNS;
    if (n->size[t] == SAP_WHITE_COLUMNS) {
      invert_factor(L, SAP_WHITE_COLUMNS, inverse);
    } else {
      invert_factor(L, n->size[t], inverse);
    }
  }
}

static inline void whiten_row(const double* restrict inverse, int32_t size,
                              const double* restrict row, double* restrict X) {
  double x[SAP_WHITE_COLUMNS] = {0.0};
  for (int32_t j = 0; j < size; ++j) {
    for (int32_t i = 0; i < SAP_WHITE_COLUMNS; ++i) {
      x[i] += inverse[j * SAP_WHITE_COLUMNS + i] * row[j];
    }
  }
  memcpy(X, x, sizeof x);
}

void sap_whiten_rows(const sap_newton* n, const sap_patch* patch, const double* J, int32_t nrows,
                     double* X) {
  for (int32_t t = 0; t < patch->ntrees; ++t) {
    const int32_t tree = n->patch_trees[patch->first_tree + t], size = n->size[tree];
    const double* inverse = n->sweep_factor + (size_t)tree * SAP_WHITE_COLUMNS * SAP_WHITE_COLUMNS;
    for (int32_t r = 0; r < nrows; ++r, X += SAP_WHITE_COLUMNS) {
      const double* row = J + (size_t)r * (size_t)patch->ncols;
      if (size == SAP_WHITE_COLUMNS) {
        whiten_row(inverse, SAP_WHITE_COLUMNS, row, X);
      } else {
        whiten_row(inverse, size, row, X);
      }
    }
    J += size;
  }
}
