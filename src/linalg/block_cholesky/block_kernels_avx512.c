// SPDX-License-Identifier: BSD-3-Clause
// The block kernels for instruction set avx512; its flags stand in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_KERNELS_NAME "avx512"
#define SAP_KERNELS_RATE 1.75e9
#define SAP_KERNELS_TABLE sap_block_kernels_avx512
#include "linalg/block_cholesky/block_kernels.inc"
#else
typedef int sap_block_kernels_avx512_absent;  // C wants a declaration
#endif
