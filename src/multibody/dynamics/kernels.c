// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/kernels.h"

const sap_dynamics_kernels* sap_dynamics_kernels_get(int32_t index) {
  const sap_dynamics_kernels* sets[2] = {NULL};
  int32_t count = 0;
#if defined(SAP_KERNELS_X86)
  if (__builtin_cpu_supports("avx2")) {
    sets[count++] = &sap_dynamics_kernels_avx2;
  }
#endif
  sets[count++] = &sap_dynamics_kernels_baseline;
  return index >= 0 && index < count ? sets[index] : NULL;
}
