// SPDX-License-Identifier: BSD-3-Clause
#define SAP_PATCH_NAME "baseline"
#define SAP_PATCH_TABLE sap_patch_kernels_baseline
#include "solvers/primal/patch_kernels.inc"
