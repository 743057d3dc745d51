// SPDX-License-Identifier: BSD-3-Clause
// The block kernels for instruction set avx2; its flags stand in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_KERNELS_NAME "avx2"
#define SAP_KERNELS_RATE 1.5e9
#define SAP_KERNELS_TABLE sap_block_kernels_avx2
#include "linalg/block_cholesky/block_kernels.inc"
#else
typedef int sap_block_kernels_avx2_absent;  // C wants a declaration
#endif
