// SPDX-License-Identifier: BSD-3-Clause
// Proximal point on bilateral rows: (D + eps I) z+ = eps z - q by sparse Cholesky. Of a singular D,
// which redundant constraints give, it finds the least change of z that satisfies what can be
// satisfied.                                                    carpentier; tsounis VI-B
// cost: one factorization; a product with D and two triangular solves per iteration.
#include "solvers/dual/proximal.h"

#include <cblas.h>

static sap_status run_proximal(sap_dual* d, sap_error* error) {
  static const double EPSILON = 1e-6;  // of the largest eigenvalue of a row, 1
  sap_status status = sap_delassus_sparse_assemble(&d->sparse, &d->op, error);
  if (status == SAP_STATUS_OK) {
    d->factorizations += 1;
    status = sap_delassus_sparse_factorize(&d->sparse, EPSILON, error);
  }
  while (status == SAP_STATUS_OK) {
    bool done = false;
    status =
        sap_dual_check(d, d->options->max_iterations, d->iterations > 0 ? 1.0 : 0.0, &done, error);
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    // z+ = z - (D + eps I)^-1 g
    sap_delassus_sparse_solve(&d->sparse, d->g);
    cblas_daxpy(d->op.n, -1.0, d->g, 1, d->z, 1);
    d->iterations += 1;
  }
  return status;
}

SAP_DUAL_ROW(sap_proximal_solve, false, run_proximal)
