// SPDX-License-Identifier: BSD-3-Clause
// Computes the eigenvalues of a symmetric 3x3 matrix {xx yy zz xy xz yz}, ascending, and its
// eigenvectors (columns of V, column-major, NULL: none) by Jacobi rotations: accurate to round-off
// of the largest eigenvalue, also if eigenvalues repeat. A diagonal matrix keeps its axes.
#ifndef SAP_LINALG_SYMMETRIC3_H
#define SAP_LINALG_SYMMETRIC3_H

void sap_symmetric3_eigen(const double S[6], double eigenvalues[3], double V[9]);

#endif
