// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factorization of a symmetric block-sparse matrix: one interface, three back-ends
// (LAPACK dense, our block Cholesky, CHOLMOD supernodal), chosen by one rule on size and fill.
#pragma once

#include <sapstep/solver.h>

// Lower triangle by block columns: column j holds its diagonal block first, then blocks (i, j)
// with i > j ascending. Block k's entries are values[value_start[k] ...], column-major with
// leading dimension = its row size; diagonal blocks hold the lower triangle (the rest is ignored).
typedef struct sap_block_pattern {
  int32_t nblocks;              // block rows = block columns (trees of an island)
  const int32_t* sizes;         // scalar size of each block                       (nblocks)
  const int32_t* column_start;  // first entry of a block column                   (nblocks + 1)
  const int32_t* row;           // block row of each entry                         (entries)
  const size_t* value_start;    // where an entry's values start                   (entries)
} sap_block_pattern;

typedef struct sap_cholesky sap_cholesky;

sap_status sap_cholesky_create(sap_cholesky** out, sap_error* error);
void sap_cholesky_destroy(sap_cholesky* cholesky);

// Analyses the pattern; does nothing if pattern and choice equal the last ones (compared by
// content). *analysed (NULL allowed) is true if it did. Reuses its memory.
sap_status sap_cholesky_analyze(sap_cholesky* cholesky, const sap_block_pattern* pattern,
                                sap_linear_solver choice, bool* analysed, sap_error* error);
// Returns the back-end in use; never AUTO.
sap_linear_solver sap_cholesky_choice(const sap_cholesky* cholesky);

// Factorizes. fails: NOT_SPD, with the failed block row in *failed_block (NULL allowed); NOT_FINITE
// if a value is. No heap calls of ours, except the first one of a large system.  fails: MEMORY
sap_status sap_cholesky_factorize(sap_cholesky* cholesky, const double* values,
                                  int32_t* failed_block, sap_error* error);
// Solves A x = b in place, x in the pattern's order (sum of sizes). Needs a successful
// factorization. Returns true, always so unless inexact factors are allowed.
bool sap_cholesky_solve(sap_cholesky* cholesky, double* x);

// Lets large factorizations by blocks be made in single precision or, where they fill much, of
// overlapping parts, until one that does not serve. A solve is then made by conjugate gradients: it
// ends when the residual r has fallen by these parts in the norm sqrt(sum r_i^2/weight_i). If it
// does not it returns false with x = b; the next factorization is more exact. `values` of the
// factorization must live and keep their content until the last solve. weight (sum of sizes) NULL:
// no longer.  fails: MEMORY
sap_status sap_cholesky_allow_inexact(sap_cholesky* cholesky, const double* weight,
                                      sap_error* error);
#define SAP_CHOLESKY_RESIDUAL 1e-5
#define SAP_CHOLESKY_PARTS_RESIDUAL 2e-2
// Returns the part of the residual that a solve leaves: one of these, or 0.
double sap_cholesky_residual(const sap_cholesky* cholesky);
