// SPDX-License-Identifier: BSD-3-Clause
// Trees and constraint blocks of a global problem: read from /sapstep, or derived from M, H and G.
#ifndef SAP_IO_PROBLEM_FILE_FCLIB_BLOCKS_H
#define SAP_IO_PROBLEM_FILE_FCLIB_BLOCKS_H

#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5

enum { SAP_FCLIB_SET, SAP_FCLIB_NROWS, SAP_FCLIB_NTREES, SAP_FCLIB_FIELDS };

// The rows of the blocks of one kind. Of cones the file has N T1 T2 and w = -v_hat, of free rows
// b = -v_hat. A problem that is read has our order and sign.
typedef struct sap_fclib_rows {
  sap_fclib_matrix J;  // H, G or K: one column per row of J
  sap_fclib_reals R, v_hat;
} sap_fclib_rows;

typedef struct sap_fclib_global {
  sap_fclib_matrix M;
  sap_fclib_rows rows[SAP_FCLIB_KINDS];
  sap_fclib_reals mu, f, v_star, v_guess;
  sap_fclib_reals lower, upper;  // of rows of other kinds
  bool exact;                    // the file has /sapstep/blocks, which defines trees and blocks
  sap_fclib_integers tree_sizes;
  int32_t* tree_start;                     // (ntrees + 1)
  int32_t* tree_of;                        // tree of each velocity                  (nv)
  sap_fclib_integers blocks, block_trees;  // SAP_FCLIB_FIELDS per block
  uint64_t* keys;                          // NULL: none
} sap_fclib_global;

// Fills tree_sizes, tree_start and tree_of.
sap_status sap_fclib_find_trees(sap_fclib_file* file, sap_fclib_global* g);
// Fills blocks, block_trees and keys; checks that they match H, G and K.
sap_status sap_fclib_find_blocks(sap_fclib_file* file, sap_fclib_global* g);
// Adds the blocks to the problem in the order of the table.
sap_status sap_fclib_add_blocks(sap_fclib_file* file, const sap_fclib_global* g,
                                sap_problem* problem);
#endif

#endif
