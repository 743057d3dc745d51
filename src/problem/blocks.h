// SPDX-License-Identifier: BSD-3-Clause
// Constraint blocks of a problem: checks, copies, products with J.
#pragma once

#include "problem/problem_data.h"

// Check that trees are in range and distinct and Jacobians are given; messages begin with
// "block `index`: ".
sap_status sap_problem_check_shape(const sap_problem* problem, const sap_block* block,
                                   sap_error* error);
// The same, and that Jacobians are finite.
sap_status sap_problem_check_jacobians(const sap_problem* problem, const sap_block* block,
                                       sap_error* error);

// Adds a block whose shape and Jacobians have been checked, as sap_problem_checked_scale does.
// column: as sap_block_data has it.
sap_status sap_problem_add_scaled(sap_problem* problem, const sap_block* block, int32_t column,
                                  sap_error* error);
// Copies a checked block to the end.
sap_status sap_problem_append_block(sap_problem* problem, const sap_block* block, sap_error* error);

// Returns the data of a block of the problem.
sap_block sap_problem_view(const sap_problem* problem, const sap_block_data* block);

// Rows of a block by tree.
typedef struct sap_rows_view {
  int32_t nrows, ntrees;
  const int32_t* trees;
  const double* const* jacobians;
} sap_rows_view;
// out = J v (nrows); v NULL: 0.
void sap_problem_rows_times(const sap_problem* problem, const sap_rows_view* rows, const double* v,
                            double* out);
// The same with two vectors.
void sap_problem_rows_times_both(const sap_problem* problem, const sap_rows_view* rows,
                                 const double* v, const double* u, double* out_v, double* out_u);
// vc = J v of a block (its nrows).
void sap_problem_block_velocity(const sap_problem* problem, const sap_block_data* block,
                                const double* v, double* vc);
