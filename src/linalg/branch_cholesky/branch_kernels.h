// SPDX-License-Identifier: BSD-3-Clause
// The functions of branch_factor.h, compiled for several instruction sets and chosen at run time.
#ifndef SAP_LINALG_BRANCH_CHOLESKY_BRANCH_KERNELS_H
#define SAP_LINALG_BRANCH_CHOLESKY_BRANCH_KERNELS_H

#include "linalg/branch_cholesky/branch_factor.h"

typedef struct sap_branch_kernels {
  const char* name;  // instruction set
  bool (*factorize)(const double* A, double* L, int32_t* runs, int32_t n);
  void (*solve)(const sap_branch_factor* factor, double* x, double* work);
  void (*add_three_rows)(const sap_branch_factor* factor, const double* J, double* work,
                         double W[9]);
  void (*solve_row)(const sap_branch_factor* factor, const double* J, size_t nrows, double* x);
  double (*row_square)(const sap_branch_factor* factor, const double* J, double* x);
} sap_branch_kernels;

// `index` from 0, fastest first; NULL past the last that this processor can run.
const sap_branch_kernels* sap_branch_kernels_get(int32_t index);

extern const sap_branch_kernels sap_branch_kernels_baseline;
#if defined(SAP_KERNELS_X86)
extern const sap_branch_kernels sap_branch_kernels_avx2;
#endif

#endif
