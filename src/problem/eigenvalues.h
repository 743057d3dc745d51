// SPDX-License-Identifier: BSD-3-Clause
// Eigenvalues of small symmetric matrices.
#ifndef SAP_PROBLEM_EIGENVALUES_H
#define SAP_PROBLEM_EIGENVALUES_H

#include "linalg/dense.h"

// Computes the eigenvalues of a 3x3 matrix (lower triangle), ascending.
void sap_eigenvalues_3(const double a[9], double values[3]);
// Returns the largest eigenvalue of a full n x n matrix, n <= 6; NaN or infinite if an entry is.
double sap_largest_eigenvalue(const double* a, int32_t n);

#endif
