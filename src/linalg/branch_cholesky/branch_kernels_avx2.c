// SPDX-License-Identifier: BSD-3-Clause
// The branch kernels for instruction set avx2; its flags stand in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_BRANCH_NAME "avx2"
#define SAP_BRANCH_TABLE sap_branch_kernels_avx2
#include "linalg/branch_cholesky/branch_kernels.inc"
#else
typedef int sap_branch_kernels_avx2_absent;  // C wants a declaration
#endif
