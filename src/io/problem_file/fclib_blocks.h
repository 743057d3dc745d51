// SPDX-License-Identifier: BSD-3-Clause
// Trees and constraint blocks of a global problem: read from /sapstep, or derived from M, H and G.
#ifndef SAP_IO_PROBLEM_FILE_FCLIB_BLOCKS_H
#define SAP_IO_PROBLEM_FILE_FCLIB_BLOCKS_H

#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5

enum { SAP_FCLIB_SET, SAP_FCLIB_NROWS, SAP_FCLIB_NTREES, SAP_FCLIB_FIELDS };

typedef struct sap_fclib_global {
  int32_t nv, ncontacts, nfree, nother;  // nother: rows of K
  sap_fclib_matrix M, H, G, K;
  sap_fclib_reals mu, f, w, b, R, v_star, v_guess;
  sap_fclib_reals G_R, K_R, K_v_hat, K_lower, K_upper;
  bool exact;  // the file has /sapstep/blocks, which defines trees and blocks
  sap_fclib_integers tree_sizes, tree_start, tree_of;  // tree_of: tree of each velocity
  sap_fclib_integers blocks, block_trees;              // SAP_FCLIB_FIELDS per block
  uint64_t* keys;                                      // NULL: none
} sap_fclib_global;

// Fills tree_sizes, tree_start and tree_of.
sap_status sap_fclib_find_trees(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error);
// Fills blocks, block_trees and keys; checks that they match H, G and K.
sap_status sap_fclib_find_blocks(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error);
// Adds the blocks to the problem in the order of the table.
sap_status sap_fclib_add_blocks(const sap_fclib_file* file, const sap_fclib_global* g,
                                sap_problem* problem, sap_error* error);
#endif

#endif
