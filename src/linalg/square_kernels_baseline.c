// SPDX-License-Identifier: BSD-3-Clause
// The products of square.h for instruction set baseline; its flags stand in cmake/linalg.cmake.
#define SAP_SQUARE_NAME "baseline"
#define SAP_SQUARE_TABLE sap_square_kernels_baseline
#include "linalg/square_kernels.inc"
