// SPDX-License-Identifier: BSD-3-Clause
// Problem files: read and written in one call, and made of text.
#ifndef SAP_TESTS_SUPPORT_PROBLEM_FILES_H
#define SAP_TESTS_SUPPORT_PROBLEM_FILES_H

#include <stdio.h>

#include <sapstep/problem_file.h>

#include "support/scratch.h"

// The test fails unless `problem` is left empty where reading fails.
sap_status problem_file_read(const char* path, sap_problem* problem, sap_error* error);
// The same of a new problem; the test fails unless it can be read.
sap_problem* problem_file_new(const char* path);
// Numbers of a dataset, at most `most`; returns how many there are, -1 without it.
int problem_file_numbers(const char* path, const char* name, int most, double* values);

// --- the text form of the shared data ---
//   sapstep_problem 1
//   dt ntrees
//   n A(n*n, row by row)                      one line per tree
//   v_star (nv)
//   v_guess (nv)
//   ncontacts
//   treeA treeB mu  R(nrows) v_hat(nrows)  J_A(nrows*nA, row by row) [J_B]      treeB = -1: none
//   sapstep_solution 1
//   cost l(v)
//   v (nv)
//   gamma (nrows)

// Opens a file of SAPSTEP_SHARED's contact problems; the test is skipped without it.
FILE* problem_text_open(const char* shared, const char* name, const char* extension);
// Reads the next problem or solution; false at the end. The test fails where the text is wrong.
bool problem_text_next(FILE* file, sap_problem* problem);
bool solution_text_next(FILE* file, sap_solution* solution);
// Writes the problem of a text as a problem file.
void problem_text_put(scratch* s, const char* name, const char* text);

#endif
