// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel sweeps over the items of an island. A local rule solves one friction cone from its
// own block of D and its own g.
#ifndef SAP_SOLVERS_DUAL_GAUSS_SEIDEL_H
#define SAP_SOLVERS_DUAL_GAUSS_SEIDEL_H

#include <math.h>

#include "solvers/dual/dual.h"

// Computes the next impulses of a friction cone. z: its impulses; g: D z + q of its rows. Interval
// rows are solved exactly without a rule.
typedef void (*sap_local_rule)(const sap_dual* d, const sap_delassus_item* item, const double* z,
                               const double* g, double* next);

// Sweeps once over all items and sets d->change to the relative change of the impulses. Each change
// is scaled by options->over_relaxation. Returns the rise of the dual cost 1/2 z' D z + q' z [J].
double sap_gauss_seidel_sweep(sap_dual* d, sap_local_rule rule);
// Sweeps until sap_dual_check ends it.
sap_status sap_gauss_seidel(sap_dual* d, sap_local_rule rule, sap_error* error);

// Returns the largest eigenvalue of the tangents' 2 x 2 block of a D_ii of 3 rows.
static inline double sap_tangent_eigenvalue(const double D[9]) {
  return 0.5 * (D[0] + D[4]) + hypot(0.5 * (D[0] - D[4]), D[1]);
}

#endif
