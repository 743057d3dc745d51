// SPDX-License-Identifier: BSD-3-Clause
// The factored problem of a sap_gradient: gradient.c makes it, gradient_products.c uses it.
#ifndef SAP_SOLVERS_GRADIENT_DATA_H
#define SAP_SOLVERS_GRADIENT_DATA_H

#include "core/memory.h"
#include "linalg/sparse_lu.h"
#include "problem/problem_data.h"
#include "solvers/gradient_law.h"
#include "solvers/primal/newton.h"

struct sap_gradient {
  sap_gradient_options options;
  sap_pool pool;               // of the arrays below
  const sap_problem* problem;  // factored last; NULL: none
  int32_t* identity;           // 0, 1, ..: trees and blocks of the one island
  sap_newton newton;
  sap_cholesky* cholesky;
  sap_sparse_lu lu;
  double* upper;  // H's upper triangle, transposed; coulomb only
  // the solution
  double *v, *gamma, *vc;
  double* step;  // v - v*
  double *G, *by_R;
  int8_t* bound;
  sap_contact_slope* contacts;  // (nblocks)
  // of a product
  double *x, *b, *side, *momentum, *impulse;              // (nv)
  double *u, *c, *slope, *rest, *step_rows, *step_slope;  // (nrows)
};

static inline sap_block sap_gradient_block(const sap_problem* p, int32_t index,
                                           int32_t* first_row) {
  sap_block block = {0};
  (void)sap_problem_block(p, index, &block, first_row, NULL);
  return block;
}

// x = H^-1 x, or H'^-1 x.
void sap_gradient_solve(sap_gradient* gradient, double* x, bool transposed);

#endif
