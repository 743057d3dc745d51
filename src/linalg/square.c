// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/square.h"

#include <stddef.h>

const sap_square_kernels* sap_square_kernels_get(int32_t index) {
  const sap_square_kernels* sets[2] = {NULL};
  int32_t count = 0;
#if defined(SAP_KERNELS_X86)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    sets[count++] = &sap_square_kernels_avx2;
  }
#endif
  sets[count++] = &sap_square_kernels_baseline;
  return index >= 0 && index < count ? sets[index] : NULL;
}

void sap_square_add(int32_t n, const double* A, const double* x, double* y) {
  sap_square_kernels_get(0)->add(n, A, x, y);
}

void sap_square_add_three_rows(const double L[36], const double J[18], double W[9]) {
  sap_square_kernels_get(0)->add_three_rows(L, J, W);
}

void sap_square_add_lower(int32_t n, const double* A, const double* x, double* y) {
  sap_square_kernels_get(0)->add_lower(n, A, x, y);
}

void sap_square_mirror(int32_t n, const double* A, int32_t ld, double* out) {
  sap_square_kernels_get(0)->mirror(n, A, ld, out);
}
