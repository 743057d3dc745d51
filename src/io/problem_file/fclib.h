// SPDX-License-Identifier: BSD-3-Clause
// Contact problems as HDF5 in FCLIB's layout (fclib 3.1; Acary, Bremond, Huber 2014).
//   /fclib_local   u = W r + V l + q,  0 = V' r + R l + s          matrices W [V R], vectors mu q
//   [s] /fclib_global  M v = H r + G l + f,  u = H' v + w,  0 = G' v + b    M H [G], vectors mu f w
//   [b] a matrix       {m n nz nzmax p i x}: nz >= 0 triplets (p columns, i rows), -1 CSC, -2 CSR
//   /spacedim 3;  components of r, u, q, w are N T1 T2, ours T1 T2 N
//   /solution      {v u r l};  /guesses/1, 2, ... likewise
// Our extensions: vectors/R, the regularization of r (without it a problem is rigid), and in
// /sapstep the data that restore a problem bit by bit:
//   dt, tree_sizes, v_star, v_guess
//   blocks       set, nrows, ntrees of each block
//   block_trees  trees of each block;  keys
//   G_R          regularization of free rows, whose Jacobians are in G
//   K, K_R, K_v_hat, K_lower, K_upper   rows other than friction cones and free rows
#ifndef SAP_IO_PROBLEM_FILE_FCLIB_H
#define SAP_IO_PROBLEM_FILE_FCLIB_H

#include <sapstep/problem_file.h>

#include "core/file.h"

// Recognise HDF5 by the name's ending, and by the first bytes of a readable file.
bool sap_fclib_is_name(const char* path);  // .hdf5, .h5
bool sap_fclib_is_file(const char* path);
// Reads a problem. Messages begin with the path and name the dataset. After a failure the problem
// may be partly filled.
sap_status sap_fclib_read_problem(const char* path, sap_problem* problem, sap_error* error);

// Implements sap_problem_file_solution for HDF5 files.
sap_status sap_fclib_read_solution(const char* path, const sap_problem* problem, int32_t index,
                                   sap_solution* solution, bool* found, sap_error* error);

typedef struct sap_fclib_writer sap_fclib_writer;
sap_status sap_fclib_writer_create(sap_fclib_writer** out, sap_error* error);
void sap_fclib_writer_destroy(sap_fclib_writer* writer);
// Writes one problem, as /fclib_local if it has a mobility.
sap_status sap_fclib_write_problem(sap_fclib_writer* writer, const sap_problem* problem,
                                   sap_error* error);
// Writes the solution of the problem written before.
sap_status sap_fclib_write_solution(sap_fclib_writer* writer, const sap_problem* problem,
                                    const sap_solution* solution, sap_error* error);
// Writes all bytes to the stream. The caller checks the stream for errors.
sap_status sap_fclib_write_bytes(sap_fclib_writer* writer, FILE* stream, sap_error* error);

#endif
