// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/primal/cone_kernels.h"

#include <stddef.h>

const sap_cone_kernels* sap_cone_kernels_get(int32_t index) {
  const sap_cone_kernels* sets[2] = {NULL};
  int32_t count = 0;
#if defined(SAP_KERNELS_X86)
  if (__builtin_cpu_supports("avx2")) {
    sets[count++] = &sap_cone_kernels_avx2;
  }
#endif
  sets[count++] = &sap_cone_kernels_baseline;
  return index >= 0 && index < count ? sets[index] : NULL;
}
