// SPDX-License-Identifier: BSD-3-Clause
// The cone kernels for instruction set avx2; its flag stands in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_CONE_NAME "avx2"
#define SAP_CONE_TABLE sap_cone_kernels_avx2
#include "solvers/primal/cone_kernels.inc"
#else
typedef int sap_cone_kernels_avx2_absent;  // C wants a declaration
#endif
