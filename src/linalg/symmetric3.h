// SPDX-License-Identifier: BSD-3-Clause
// Eigenvalues of symmetric 3x3 matrices {xx yy zz xy xz yz}, ascending, and eigenvectors (columns
// of V, column-major, NULL: not wanted), by Jacobi rotations: accurate to round-off of the largest,
// also for repeated ones. A diagonal matrix keeps its axes.
#ifndef SAP_LINALG_SYMMETRIC3_H
#define SAP_LINALG_SYMMETRIC3_H

void sap_symmetric3_eigen(const double S[6], double eigenvalues[3], double V[9]);

#endif
