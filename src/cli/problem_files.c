// SPDX-License-Identifier: BSD-3-Clause
#include "cli/problem_files.h"

#include <sapstep/problem_file.h>

#include "cli/command.h"

static int visit_file(const char* path, sap_problem* problem, problem_visit visit, void* context) {
  sap_error error;
  sap_problem_reader* reader;
  if (sap_problem_reader_open(path, &reader, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  int exit_code = CLI_OK;
  for (int64_t index = 0;; ++index) {
    bool found = false;
    if (sap_problem_reader_next(reader, problem, &found, &error) != SAP_STATUS_OK) {
      exit_code = cli_report(&error);
      break;
    }
    if (!found) {
      break;
    }
    if (visit(context, path, index, &error) != SAP_STATUS_OK) {
      cli_message("%s: problem %lld: %s", path, (long long)index, error.message);
      exit_code = cli_exit_code(error.status);
      break;
    }
  }
  sap_problem_reader_close(reader);
  return exit_code;
}

int problem_files_visit(char* const* paths, int count, sap_problem* problem, problem_visit visit,
                        void* context) {
  int exit_code = CLI_OK;
  for (int i = 0; i < count && exit_code == CLI_OK; ++i) {
    exit_code = visit_file(paths[i], problem, visit, context);
  }
  return exit_code;
}
