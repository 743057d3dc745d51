// SPDX-License-Identifier: BSD-3-Clause
// Constraint blocks of a problem: checks, copies, products with J.
#ifndef SAP_PROBLEM_BLOCKS_H
#define SAP_PROBLEM_BLOCKS_H

#include "problem/problem_data.h"

// Check that trees are in range and distinct and Jacobians are given; messages begin with
// "block `index`: ".
sap_status sap_problem_check_shape(const sap_problem* problem, const sap_block* block,
                                   sap_error* error);
// The same, and that Jacobians are finite.
sap_status sap_problem_check_jacobians(const sap_problem* problem, const sap_block* block,
                                       sap_error* error);

// The place of a block: counts of what is before it. They may exceed int32_t until room is made.
typedef struct sap_block_place {
  int64_t block, row, tree, value;
} sap_block_place;
sap_block_place sap_problem_end(const sap_problem* problem);
void sap_problem_set_end(sap_problem* problem, const sap_block_place* end);
// Moves `at` behind a block of that shape.
void sap_problem_pass_block(const sap_problem* problem, int32_t nrows, int32_t ntrees,
                            const int32_t* trees, sap_block_place* at);
sap_status sap_problem_reserve_blocks(sap_problem* problem, const sap_block_place* end,
                                      sap_error* error);
// Copies a checked block to its place, for which there is room. Several threads may call it for
// different places.
void sap_problem_put_block(sap_problem* problem, const sap_block* block, const sap_block_place* at);
// Copies a checked block to the end.
sap_status sap_problem_append_block(sap_problem* problem, const sap_block* block, sap_error* error);

// Rows of a block by tree.
typedef struct sap_rows_view {
  int32_t nrows, ntrees;
  const int32_t* trees;
  const double* const* jacobians;
} sap_rows_view;
// out = J v (nrows); v NULL: 0.
void sap_problem_rows_times(const sap_problem* problem, const sap_rows_view* rows, const double* v,
                            double* out);
// vc = J v of a block (its nrows).
void sap_problem_block_velocity(const sap_problem* problem, const sap_block_data* block,
                                const double* v, double* vc);

#endif
