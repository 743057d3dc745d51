// SPDX-License-Identifier: BSD-3-Clause
// The patch kernels for instruction set avx2; its flag stands in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_PATCH_NAME "avx2"
#define SAP_PATCH_TABLE sap_patch_kernels_avx2
#include "solvers/primal/patch_kernels.inc"
#else
typedef int sap_patch_kernels_avx2_absent;  // C wants a declaration
#endif
