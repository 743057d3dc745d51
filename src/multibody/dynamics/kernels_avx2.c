// SPDX-License-Identifier: BSD-3-Clause
// The dynamics' kernels for instruction set avx2; its flag stands in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_DYNAMICS_NAME "avx2"
#define SAP_DYNAMICS_TABLE sap_dynamics_kernels_avx2
#include "multibody/dynamics/kernels.inc"
#else
typedef int sap_dynamics_kernels_avx2_absent;  // C wants a declaration
#endif
