// SPDX-License-Identifier: BSD-3-Clause
// Problems stacked in a text file, line by line; blank lines are skipped:
//   sapstep_problem 1
//   dt ntrees
//   n A(n*n, row by row)                                                  a line for each tree
//   v_star (nv)
//   v_guess (nv)
//   ncontacts
//   treeA treeB mu R(m) v_hat(m) J_A(m*nA, row by row) [J_B(m*nB)]        treeB -1: one tree
// m: 3, 4 or 6 rows [t1 t2 n spin roll1 roll2].
#pragma once

#include <sapstep/problem.h>

// True if the file begins as such a file does.
bool sap_problem_text_is(const char* path);
// Reads the first problem after `*lines` lines and moves *lines behind it, or to -1 after the last.
// fails: see sap_problem_file_read; errors begin with "path:line".
sap_status sap_problem_text_read(const char* path, int64_t* lines, sap_problem* problem,
                                 sap_error* error);
