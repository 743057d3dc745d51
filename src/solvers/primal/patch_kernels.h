// SPDX-License-Identifier: BSD-3-Clause
// J' G J of a patch's cones, compiled for several instruction sets and chosen at run time. All sets
// do the same operations in the same order and give the same bits.
#ifndef SAP_SOLVERS_PRIMAL_PATCH_KERNELS_H
#define SAP_SOLVERS_PRIMAL_PATCH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sap_patch_square {
  const double* J;  // three rows of ncols per cone
  const double* G;  // 6 per cone; the diagonal is 0 where the cone is not active
  int32_t count;    // cones
  int32_t ncols;
  bool free_bodies;  // one or two free bodies: the diagonal blocks are formed whole
  double* S;         // ncols x ncols; written on and below the diagonal if any cone is active
  double* W;         // 3 ncols of scratch
} sap_patch_square;

typedef struct sap_patch_kernels {
  const char* name;                           // instruction set
  bool (*square)(const sap_patch_square* p);  // whether any cone is active
} sap_patch_kernels;

// `index` from 0, fastest first; NULL past the last that this processor can run.
const sap_patch_kernels* sap_patch_kernels_get(int32_t index);

extern const sap_patch_kernels sap_patch_kernels_baseline;
#if defined(SAP_KERNELS_X86)
extern const sap_patch_kernels sap_patch_kernels_avx2;
#endif

#endif
