// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes contact problems and solutions: as text, several per file, or as HDF5 (FCLIB).
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
// A contact with spin or rolling friction has 4 or 6 rows, [t1 t2 n spin roll1 roll2], and as many
// numbers for R, vhat and each column of J. treeB = -1: one tree. vc = J_A v_A + J_B v_B. Every
// line ends with a newline, the last one too (a truncated file is refused); blank lines are
// skipped. A must be positive definite and symmetric, |A_ij - A_ji| <= 1e-10 sqrt(A_ii A_jj); the
// lower triangle is used. Written problems are restored bit by bit.
//
// HDF5 in FCLIB's layout, one problem per file, recognized by its first bytes or the ending .hdf5
// or .h5: /fclib_global (M v = H r + f, u = H' v + w, and G, b for bilateral rows) and /fclib_local
// (u = W r + q, and V, R, s), components N T1 T2. A local problem has a mobility in place of A (see
// sap_problem_set_mobility_block) and a tree per contact, whose velocities are u. A global problem
// whose M is not symmetric also gets a mobility. Contacts are rigid unless vectors/R is given; dt
// is 1 s. Errors name file and dataset. Fails with UNSUPPORTED in a build without HDF5.
typedef struct sap_problem_reader sap_problem_reader;

// Opens a file. Fails with IO if it is missing or unreadable.
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
// The file does not hold vc; it is read as zeros.
typedef struct sap_solution_reader sap_solution_reader;
SAP_API sap_status sap_solution_reader_open(const char* path, sap_solution_reader** out,
                                            sap_error* error);
SAP_API sap_status sap_solution_reader_next(sap_solution_reader* reader, sap_solution* solution,
                                            bool* found, sap_error* error);
SAP_API void sap_solution_reader_close(sap_solution_reader* reader);

// Reads /solution (index 0) or /guesses/1, 2, ... (index 1, 2, ...) of an HDF5 file, for `problem`
// as it was read from the same file. *found = false if the file has none; text files never have
// one. v of a local problem is its u; vc = J v; cost is NaN if the file has none. Some FCLIB files
// have r = 0 next to a correct u.
SAP_API sap_status sap_problem_file_solution(const char* path, const sap_problem* problem,
                                             int32_t index, sap_solution* solution, bool* found,
                                             sap_error* error);

// A writer collects its output in a temporary file next to `path`. Commit renames it to `path` and
// reports every write error (full disk) so far; close without commit leaves no trace. A path that
// is not a regular file (a pipe, /dev/stdout) receives everything at commit.
//
// A path that ends in .hdf5 or .h5 is written in FCLIB's layout: one problem (global, or local if
// it has a mobility), then its solution (/solution: v, r, u, l). The problem must exist until then.
// Data that FCLIB cannot express (dt, v_guess, trees, keys, R, limits, boxes) are in /sapstep and
// are restored bit by bit. Not supported: cones of 4 or 6 rows, and contacts with a potential.
typedef struct sap_problem_writer sap_problem_writer;
SAP_API sap_status sap_problem_writer_open(const char* path, sap_problem_writer** out,
                                           sap_error* error);
// Writes a problem. As text, fails with UNSUPPORTED for blocks other than friction cones on one or
// two trees, and for couplings in A.
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
