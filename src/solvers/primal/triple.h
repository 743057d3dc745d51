// SPDX-License-Identifier: BSD-3-Clause
// Three rows of a cone in the arrays of newton.h: t1, t2, n, nc apart.
#ifndef SAP_SOLVERS_PRIMAL_TRIPLE_H
#define SAP_SOLVERS_PRIMAL_TRIPLE_H

#include <stddef.h>

typedef struct sap_triple {
  double t0, t1, n;
} sap_triple;

static inline sap_triple sap_triple_load(const double* rows, size_t nc, size_t c) {
  return (sap_triple){rows[c], rows[nc + c], rows[2 * nc + c]};
}

static inline void sap_triple_store(double* rows, size_t nc, size_t c, sap_triple x) {
  rows[c] = x.t0;
  rows[nc + c] = x.t1;
  rows[2 * nc + c] = x.n;
}

#endif
