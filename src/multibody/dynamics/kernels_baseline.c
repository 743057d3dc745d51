// SPDX-License-Identifier: BSD-3-Clause
// The dynamics' kernels for instruction set baseline; its flags stand in cmake/linalg.cmake.
#define SAP_DYNAMICS_NAME "baseline"
#define SAP_DYNAMICS_TABLE sap_dynamics_kernels_baseline
#include "multibody/dynamics/kernels.inc"
