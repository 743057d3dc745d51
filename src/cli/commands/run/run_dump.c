// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "cli/commands/run/run_dump.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"

enum { FOLDER_MODE = 0777 };

static sap_status fail(sap_error* error, const char* format, const char* path) {
  return sap_fail(error, SAP_STATUS_IO, format, path, strerror(errno));
}

sap_status run_dump(const char* folder, long long step, const sap_problem* problem,
                    sap_error* error) {
  char path[PATH_MAX];
  if (mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST) {
    return fail(error, "cannot make the folder '%.200s': %s", folder);
  }
  const int length = snprintf(path, sizeof path, "%s/step_%06lld.hdf5", folder, step);
  if (length < 0 || length >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return fail(error, "cannot write into '%.200s': %s", folder);
  }
  sap_problem_writer* writer = NULL;
  sap_status status = sap_problem_writer_open(path, &writer, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_writer_problem(writer, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_writer_commit(writer, error);
  }
  sap_problem_writer_close(writer);
  return status;
}
