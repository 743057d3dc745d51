// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/branch_cholesky/branch_factor.h"

#include "linalg/branch_cholesky/branch_kernels.h"

const sap_branch_kernels* sap_branch_kernels_get(int32_t index) {
  const sap_branch_kernels* sets[2] = {NULL};
  int32_t count = 0;
#if defined(SAP_KERNELS_X86)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    sets[count++] = &sap_branch_kernels_avx2;
  }
#endif
  sets[count++] = &sap_branch_kernels_baseline;
  return index >= 0 && index < count ? sets[index] : NULL;
}

bool sap_branch_factorize(const double* A, double* L, int32_t* runs, int32_t n) {
  return sap_branch_kernels_get(0)->factorize(A, L, runs, n);
}

void sap_branch_solve(const sap_branch_factor* factor, double* x, double* work) {
  sap_branch_kernels_get(0)->solve(factor, x, work);
}

void sap_branch_add_three_rows(const sap_branch_factor* factor, const double* J, double* work,
                               double W[9]) {
  sap_branch_kernels_get(0)->add_three_rows(factor, J, work, W);
}

void sap_branch_solve_row(const sap_branch_factor* factor, const double* J, size_t nrows,
                          double* x) {
  sap_branch_kernels_get(0)->solve_row(factor, J, nrows, x);
}

double sap_branch_row_square(const sap_branch_factor* factor, const double* J, double* work) {
  return sap_branch_kernels_get(0)->row_square(factor, J, work);
}
