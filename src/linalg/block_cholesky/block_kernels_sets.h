// SPDX-License-Identifier: BSD-3-Clause
// One table per file that block_kernels.inc is compiled in. The build defines SAP_KERNELS_X86
// when the compiler takes the flags of the sets beyond the baseline.
#ifndef SAP_LINALG_BLOCK_CHOLESKY_BLOCK_KERNELS_SETS_H
#define SAP_LINALG_BLOCK_CHOLESKY_BLOCK_KERNELS_SETS_H

#include "linalg/block_cholesky/block_kernels.h"

extern const sap_block_kernels sap_block_kernels_baseline;
#if defined(SAP_KERNELS_X86)
extern const sap_block_kernels sap_block_kernels_avx2;
extern const sap_block_kernels sap_block_kernels_avx512;
#endif

#endif
