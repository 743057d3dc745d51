// SPDX-License-Identifier: BSD-3-Clause
// Factors of dense matrices, column-major, ld n; only the lower triangle of a symmetric matrix is
// read. Eigenvalues of small symmetric matrices.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/memory.h"
#include "linalg/branch_factor.h"

enum { SAP_SMALL = 6 };  // a free body's velocities: up to here plain loops are faster than LAPACK

// Factorizes A = L L' in place, n <= SAP_SMALL; a constant n lets the compiler unroll. Returns
// false at a pivot that is not positive and finite.
static inline bool sap_small_cholesky(int32_t n, double* A) {
  for (int32_t j = 0; j < n; ++j) {
    double* Lj = A + j * n;
    for (int32_t k = 0; k < j; ++k) {
      const double* Lk = A + k * n;
      for (int32_t i = j; i < n; ++i) {
        Lj[i] -= Lk[i] * Lk[j];
      }
    }
    const double pivot = sqrt(Lj[j]);
    if (!(pivot > 0.0 && isfinite(pivot))) {
      return false;
    }
    const double inverse = 1.0 / pivot;
    for (int32_t i = j + 1; i < n; ++i) {
      Lj[i] *= inverse;
    }
    Lj[j] = pivot;
  }
  return true;
}

// Factorizes A = L L' in place through LAPACK; n may be 0. Returns the column whose pivot is not
// positive and finite, or -1.
// cost: n^3/3 flops.
int32_t sap_dense_factorize(int32_t n, double* A);
// Solves L L' x = b in place through BLAS.
void sap_dense_factor_solve(int32_t n, const double* L, double* x);

// Solves B x = b in place by LU with partial pivoting; B is overwritten, pivots is (n). Returns
// false if B is singular or not finite.
bool sap_dense_lu_solve(int32_t n, double* B, int32_t* pivots, double* x);

// Rows and columns of a matrix that is zero between its parts: at[start[i] ...] of part i, ascending.
typedef struct sap_matrix_parts {
  int32_t count;
  int32_t *start, *at;  // (count + 1), (n)
} sap_matrix_parts;

// A matrix near an SPD one and the factors of its parts: along branches, or with pivots where these
// are needed.
typedef struct sap_near_spd {
  double* B;  // (n x n), only entries of a part are read
  int32_t n;
  const sap_matrix_parts* parts;  // of the last factors
  double *L, *U;                  // of the parts, one after another; LU with pivots
  int32_t *runs, *pivots;
  bool* pivoted;  // of a part
  double *columns, *work;
} sap_near_spd;

sap_status sap_near_spd_create(int32_t n, sap_pool* pool, sap_near_spd* out, sap_error* error);
// Makes the entries of parts zero.
void sap_near_spd_clear(sap_near_spd* matrix, const sap_matrix_parts* parts);
// Factorizes B; borrows the parts. Returns false if B is singular or not finite.
bool sap_near_spd_factorize(sap_near_spd* matrix, const sap_matrix_parts* parts);
// Solves B X = C, or B' X = C, in place (n x count).
void sap_near_spd_solve(const sap_near_spd* matrix, bool transposed, int32_t count, double* X);

enum { SAP_EIGEN_MAX = 6 };

// Computes the eigenvalues of a full symmetric n x n matrix, n <= SAP_EIGEN_MAX, by Jacobi
// rotations. They are then on the diagonal of a. V (n x n or NULL): eigenvectors, by columns.
void sap_eigen_small(double* a, int32_t n, double* V);
// Returns the largest eigenvalue of a full symmetric n x n matrix, n <= SAP_EIGEN_MAX; NaN if an
// entry is not finite.
double sap_largest_eigenvalue(const double* a, int32_t n);
// Computes the eigenvalues of a symmetric 3x3 matrix {xx yy zz xy xz yz}, ascending, and its
// eigenvectors (columns of V, column-major, NULL: none) by rotations of the largest entry: accurate
// to round-off of the largest eigenvalue, also if eigenvalues repeat; their axes are MuJoCo's then,
// on which its drag depends. A diagonal matrix keeps its axes.
void sap_symmetric3_eigen(const double S[6], double eigenvalues[3], double V[9]);
