// SPDX-License-Identifier: BSD-3-Clause
// Factors of the diagonal blocks of A, tree by tree.
#ifndef SAP_PROBLEM_TREE_FACTOR_H
#define SAP_PROBLEM_TREE_FACTOR_H

#include "linalg/dense.h"
#include "problem/problem_data.h"

enum { SAP_SMALL_TREE = SAP_SMALL };  // up to a free body: loops of our own, along branches beyond

// x = L^-1 (row `row` of J)', n entries.
static inline void sap_tree_forward_solve(const double* L, int32_t n, const double* J,
                                          int32_t nrows, double* x) {
  for (int32_t i = 0; i < n; ++i) {
    x[i] = J[(size_t)i * (size_t)nrows];
  }
  for (int32_t j = 0; j < n; ++j) {
    const double* Lj = L + (size_t)j * (size_t)n;
    const double xj = x[j] * Lj[j];
    x[j] = xj;
    for (int32_t i = j + 1; i < n; ++i) {
      x[i] -= Lj[i] * xj;
    }
  }
}

// The factor of a large tree, from the cache if it is there.
sap_status sap_problem_branch_factor(const sap_problem* problem, int32_t tree,
                                     sap_branch_factor* factor, sap_error* error);

#endif
