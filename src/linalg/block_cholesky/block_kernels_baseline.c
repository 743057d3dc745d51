// SPDX-License-Identifier: BSD-3-Clause
// The block kernels for instruction set baseline; its flags stand in cmake/linalg.cmake.
#define SAP_KERNELS_NAME "baseline"
#define SAP_KERNELS_RATE 0.44e9
#define SAP_KERNELS_TABLE sap_block_kernels_baseline
#include "linalg/block_cholesky/block_kernels.inc"
