// SPDX-License-Identifier: BSD-3-Clause
// Eigenvalues of small symmetric matrices.
#ifndef SAP_PROBLEM_EIGENVALUES_H
#define SAP_PROBLEM_EIGENVALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAP_EIGEN_MAX = 6 };

// Computes the eigenvalues of a 3x3 matrix (lower triangle), ascending.
void sap_eigenvalues_3(const double a[9], double values[3]);
// Computes the eigenvalues of a full n x n matrix, n <= 6, by Jacobi rotations: they end on the
// diagonal of a. V (n x n, NULL allowed): columns are the eigenvectors.
void sap_eigen_small(double* a, int32_t n, double* V);
// Returns the largest eigenvalue of a full n x n matrix, n <= 6; NaN or infinite if an entry is.
double sap_largest_eigenvalue(const double* a, int32_t n);

#endif
