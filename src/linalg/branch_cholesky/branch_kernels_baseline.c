// SPDX-License-Identifier: BSD-3-Clause
// The branch kernels for instruction set baseline; its flags stand in cmake/linalg.cmake.
#define SAP_BRANCH_NAME "baseline"
#define SAP_BRANCH_TABLE sap_branch_kernels_baseline
#include "linalg/branch_cholesky/branch_kernels.inc"
