// SPDX-License-Identifier: BSD-3-Clause
// Problem files read and written in one call.
#ifndef SAP_TESTS_SUPPORT_PROBLEM_FILES_H
#define SAP_TESTS_SUPPORT_PROBLEM_FILES_H

#include <sapstep/problem_file.h>

// The first problem of a file. The test fails unless a problem is found exactly when the status is
// OK, and `problem` is left empty otherwise.
sap_status problem_file_read(const char* path, sap_problem* problem, sap_error* error);
// The same of a new problem; the test fails unless it can be read.
sap_problem* problem_file_new(const char* path);
// A problem and, unless NULL, its solution.
sap_status problem_file_write(const char* path, const sap_problem* problem,
                              const sap_solution* solution, sap_error* error);

#endif
