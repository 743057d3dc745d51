// SPDX-License-Identifier: BSD-3-Clause
// Contact problems of a run as files that `sapstep solve` and `sapstep compare` read.
#ifndef SAP_CLI_COMMANDS_RUN_RUN_DUMP_H
#define SAP_CLI_COMMANDS_RUN_RUN_DUMP_H

#include <sapstep/problem_file.h>

// Writes the problem of step `step` (from 1) to FOLDER/step_NNNNNN.hdf5; the folder is made when it
// is not there.
sap_status run_dump(const char* folder, long long step, const sap_problem* problem,
                    sap_error* error);

#endif
