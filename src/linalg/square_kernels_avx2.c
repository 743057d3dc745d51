// SPDX-License-Identifier: BSD-3-Clause
// The products of square.h for instruction set avx2; its flags stand in cmake/linalg.cmake.
#if defined(SAP_KERNELS_X86)
#define SAP_SQUARE_NAME "avx2"
#define SAP_SQUARE_TABLE sap_square_kernels_avx2
#include "linalg/square_kernels.inc"
#else
typedef int sap_square_kernels_avx2_absent;  // C wants a declaration
#endif
