// SPDX-License-Identifier: BSD-3-Clause
// Contact problems and solutions as text, several stacked in a file.
#ifndef SAPSTEP_PROBLEM_FILE_H
#define SAPSTEP_PROBLEM_FILE_H

#include <sapstep/base.h>
#include <sapstep/problem.h>
#include <sapstep/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

// Format "sapstep_problem 1", numbers with 17 digits:
//   sapstep_problem 1
//   dt ntrees
//   n A(n*n, row by row)                      one line per tree
//   v_star (nv)
//   v_guess (nv)
//   ncontacts
//   treeA treeB mu  Rt Rt Rn  vhat_t1 vhat_t2 vhat_n  J_A(3*nA, row by row) [J_B(3*nB)]
// A contact with spin or rolling friction has 4 or 6 rows, [t1 t2 n spin roll1 roll2], and so many
// numbers for R, vhat and each column of J. treeB = -1: one tree. vc = J_A v_A + J_B v_B. Lines end
// where the text above ends them, the last one too (a file cut off is refused); blank lines are
// skipped. A must be positive definite and symmetric, |A_ij - A_ji| <= 1e-10 sqrt(A_ii A_jj); its
// lower triangle counts. What a writer wrote comes back bit by bit.
//
// HDF5 in FCLIB's layout, one problem per file, recognized by its first bytes or the ending .hdf5
// or .h5: /fclib_global (M v = H r + f, u = H' v + w, and G, b for bilateral rows) and /fclib_local
// (u = W r + q, and V, R, s), components N T1 T2. A local problem has a mobility in place of A, see
// sap_problem_set_mobility_block: a tree per contact, whose velocities are u. So has a global one
// whose M is not symmetric, which is taken as it is. Contacts are rigid unless vectors/R says
// otherwise; dt is 1 s. Errors name file and dataset. UNSUPPORTED in a build without HDF5.
typedef struct sap_problem_reader sap_problem_reader;

// IO: missing or unreadable.
SAP_API sap_status sap_problem_reader_open(const char* path, sap_problem_reader** out,
                                           sap_error* error);
// Reads the next problem into `problem`. *found = false at the end of the file; a file without any
// problem is an error. Errors name file:line, leave `problem` reset to empty and end the reading.
SAP_API sap_status sap_problem_reader_next(sap_problem_reader* reader, sap_problem* problem,
                                           bool* found, sap_error* error);
SAP_API void sap_problem_reader_close(sap_problem_reader* reader);

// Format "sapstep_solution 1":
//   sapstep_solution 1
//   cost l(v)
//   v (nv)
//   gamma (nrows)
// vc is not in the file and comes back as zeros.
typedef struct sap_solution_reader sap_solution_reader;
SAP_API sap_status sap_solution_reader_open(const char* path, sap_solution_reader** out,
                                            sap_error* error);
SAP_API sap_status sap_solution_reader_next(sap_solution_reader* reader, sap_solution* solution,
                                            bool* found, sap_error* error);
SAP_API void sap_solution_reader_close(sap_solution_reader* reader);

// What stands beside the problem of an HDF5 file: /solution (index 0) or /guesses/1, 2, ... (index
// 1, 2, ...), of `problem` as it was read from there. *found = false where the file has none, text
// files never do. v of a local problem is its u; vc = J v; cost is NaN where the file has none.
// Authors of FCLIB files may leave r all zeros beside a u that is right.
SAP_API sap_status sap_problem_file_solution(const char* path, const sap_problem* problem,
                                             int32_t index, sap_solution* solution, bool* found,
                                             sap_error* error);

// Writers collect in a temporary file beside `path`; commit puts it in place of `path` and
// reports every write error (full disk) that happened; close without commit leaves no trace. A
// path that is no regular file (a pipe, /dev/stdout) receives everything at commit.
//
// A path that ends in .hdf5 or .h5 receives FCLIB's layout: one problem, global or, with a
// mobility, local, and after it its solution (/solution: v, r, u, l). The problem must live until
// then. What FCLIB has no words for (dt, v_guess, trees, keys, R, limits, boxes) stands in /sapstep
// and comes back bit by bit. There, all but cones of 4 or 6 rows and contacts with a potential can
// be held.
typedef struct sap_problem_writer sap_problem_writer;
SAP_API sap_status sap_problem_writer_open(const char* path, sap_problem_writer** out,
                                           sap_error* error);
// UNSUPPORTED when the problem has blocks that the format cannot hold (only friction cones on one
// or two trees, no couplings in A).
SAP_API sap_status sap_problem_writer_problem(sap_problem_writer* writer,
                                              const sap_problem* problem, sap_error* error);
SAP_API sap_status sap_problem_writer_solution(sap_problem_writer* writer,
                                               const sap_solution* solution, sap_error* error);
SAP_API sap_status sap_problem_writer_commit(sap_problem_writer* writer, sap_error* error);
SAP_API void sap_problem_writer_close(sap_problem_writer* writer);

#ifdef __cplusplus
}
#endif

#endif
