// SPDX-License-Identifier: BSD-3-Clause
// Products with the Jacobians of patches of 3-row cones, compiled for several instruction sets and
// chosen at run time. The sets differ in the last bits (fused multiply-add).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contact/cone.h"

// The sum of J_c' G_c J_c over the cones of a patch. Columns: a multiple of four, or six per free
// body.
typedef struct sap_patch_square {
  const double* J;  // three rows of ncols per cone
  const double* G;  // 6 per cone; the diagonal is 0 where the cone is not active
  int32_t count;    // cones
  int32_t ncols;
  double* S;  // ncols x ncols; written on and below the diagonal if any cone is active
  double* W;  // 3 ncols of scratch
} sap_patch_square;

// The rows of the cones of a patch.
typedef struct sap_patch_rows {
  const double* J;  // three rows of ncols per cone
  int32_t count;    // cones
  int32_t ncols;
  size_t stride;  // between t1, t2 and n of a cone in arrays over the cones
} sap_patch_rows;

// Some rows and columns of S, to be added to H.
typedef struct sap_patch_part {
  const double* S;
  double* H;
  int32_t ncols, size;  // leading dimensions of S and H
  int32_t rows, columns;
  bool is_triangle;  // only on and below the diagonal
} sap_patch_part;

typedef struct sap_patch_kernels {
  const char* name;  // instruction set
  // Sets S; returns true if any cone is active. ncols: a multiple of four
  bool (*square)(const sap_patch_square* p);
  // Adds the sum on one or two free bodies to H's 6 x 6 blocks: aa, then ba and bb. W is not used.
  void (*add_to_blocks)(const sap_patch_square* p, double* const blocks[3]);
  // Adds a part of S to H.
  void (*add_part)(const sap_patch_part* part);
  // y = J x, x (ncols); ncols: a multiple of four
  void (*multiply)(const sap_patch_rows* p, const double* x, double* y);
  // x = J' y, x (ncols); ncols: a multiple of four; at least one cone
  void (*multiply_transposed)(const sap_patch_rows* p, const double* y, double* x);
  // y = J x and x += J' y on one free body (b NULL) or two with their six velocities at a and b.
  void (*multiply_bodies)(const sap_patch_rows* p, const double* a, const double* b, double* y);
  void (*add_to_bodies)(const sap_patch_rows* p, const double* y, double* a, double* b);
} sap_patch_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_patch_kernels* sap_patch_kernels_get(int32_t index);
