// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/block_cholesky/block_kernels.h"

#include "linalg/block_cholesky/block_kernels_sets.h"

#if defined(SAP_KERNELS_X86)
static bool runs_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}

static bool runs_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

const sap_block_kernels* sap_block_kernels_get(int32_t index) {
  const sap_block_kernels* sets[4] = {NULL};
  int32_t count = 0;
#if defined(SAP_KERNELS_X86)
  if (runs_avx512()) {
    sets[count++] = &sap_block_kernels_avx512;
  }
  if (runs_avx2()) {
    sets[count++] = &sap_block_kernels_avx2;
  }
#endif
  sets[count++] = &sap_block_kernels_baseline;
  return index >= 0 && index < count ? sets[index] : NULL;
}

// What works with 512 bits makes the processor slower for some 0.7 ms, and all that follows with
// it: a fall of forty bodies takes a tenth less time without.
const sap_block_kernels* sap_block_kernels_for(double lane_work) {
  const sap_block_kernels* fastest = sap_block_kernels_get(0);
#if defined(SAP_KERNELS_X86)
  if (fastest == &sap_block_kernels_avx512 && lane_work / fastest->rate < 0.7e-3) {
    return sap_block_kernels_get(1);
  }
#else
  (void)lane_work;
#endif
  return fastest;
}
