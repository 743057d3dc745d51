// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/primal/patch_kernels.h"

const sap_patch_kernels* sap_patch_kernels_get(int32_t index) {
  const sap_patch_kernels* sets[2] = {NULL};
  int32_t count = 0;
#if defined(SAP_KERNELS_X86)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    sets[count++] = &sap_patch_kernels_avx2;
  }
#endif
  sets[count++] = &sap_patch_kernels_baseline;
  return index >= 0 && index < count ? sets[index] : NULL;
}
