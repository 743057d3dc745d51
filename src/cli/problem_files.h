// SPDX-License-Identifier: BSD-3-Clause
// Goes through the contact problems of files.
#ifndef SAP_CLI_PROBLEM_FILES_H
#define SAP_CLI_PROBLEM_FILES_H

#include <sapstep/problem.h>

// What is done with problem `index` of a file.
typedef sap_status (*problem_visit)(void* context, const char* path, int64_t index,
                                    sap_error* error);

// Reads the problems of all files, one after the other, into `problem` and visits each. The first
// failure ends it with a message that names file and problem. Returns an exit code.
int problem_files_visit(char* const* paths, int count, sap_problem* problem, problem_visit visit,
                        void* context);

#endif
