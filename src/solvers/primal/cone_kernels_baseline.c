// SPDX-License-Identifier: BSD-3-Clause
#define SAP_CONE_NAME "baseline"
#define SAP_CONE_TABLE sap_cone_kernels_baseline
#include "solvers/primal/cone_kernels.inc"
