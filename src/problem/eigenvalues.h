// SPDX-License-Identifier: BSD-3-Clause
// Eigenvalues of small symmetric matrices.
#ifndef SAP_PROBLEM_EIGENVALUES_H
#define SAP_PROBLEM_EIGENVALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linalg/dense.h"

// Returns the largest eigenvalue of a full n x n matrix, n <= SAP_EIGEN_MAX; NaN if an entry is not
// finite.
double sap_largest_eigenvalue(const double* a, int32_t n);

#endif
