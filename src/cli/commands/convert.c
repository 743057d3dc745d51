// SPDX-License-Identifier: BSD-3-Clause
// sapstep convert: contact problems from text to HDF5 (FCLIB) and back.
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/problem_file.h>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "core/file.h"

static const cli_option options[] = {{0}};

typedef struct convert_job {
  char** inputs;  // (ninputs)
  int ninputs;
  const char* output;
  bool numbered;  // HDF5 holds one problem: several go to NAME-0.hdf5, NAME-1.hdf5, ...
  long long count;
  sap_problem* problem;
  sap_problem_writer* writer;  // text: all problems
} convert_job;

// The name of the next output.
static void name_output(const convert_job* job, char path[PATH_MAX]) {
  const char* end = strrchr(job->output, '.');
  const int stem = job->numbered ? (int)(end - job->output) : (int)strlen(job->output);
  if (job->numbered) {
    (void)snprintf(path, PATH_MAX, "%.*s-%lld%s", stem, job->output, job->count, end);
  } else {
    (void)snprintf(path, PATH_MAX, "%.*s", stem, job->output);
  }
}

// A numbered output may be called as an input is that has not been read.
static sap_status check_output(const convert_job* job, const char* path, sap_error* error) {
  if (sap_file_regular(path, NULL) != SAP_STATUS_OK) {
    return SAP_STATUS_OK;  // nothing is there yet
  }
  for (int i = 0; i < job->ninputs; ++i) {
    const cli_path paths[] = {{"an input", job->inputs[i], CLI_PATH_READ},
                              {"an output", path, CLI_PATH_WRITTEN}};
    SAP_TRY(cli_check_paths(paths, 2, error));
  }
  return SAP_STATUS_OK;
}

static sap_status write_problem(convert_job* job, sap_error* error) {
  char path[PATH_MAX];
  sap_status status = SAP_STATUS_OK;
  name_output(job, path);
  if (job->writer == NULL) {
    status = check_output(job, path, error);
    if (status == SAP_STATUS_OK) {
      status = sap_problem_writer_open(path, &job->writer, error);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_writer_problem(job->writer, job->problem, error);
  }
  job->count += 1;
  if (status == SAP_STATUS_OK && cli_is_hdf5(job->output)) {
    status = sap_problem_writer_commit(job->writer, error);
    sap_problem_writer_close(job->writer);
    job->writer = NULL;
  }
  return status;
}

// Reads all problems of a file; counts them where there is nothing to write to.
static sap_status read_file(convert_job* job, const char* path, bool write, sap_error* error) {
  sap_problem_reader* reader = NULL;
  sap_status status = sap_problem_reader_open(path, &reader, error);
  while (status == SAP_STATUS_OK) {
    bool found = false;
    status = sap_problem_reader_next(reader, job->problem, &found, error);
    if (status != SAP_STATUS_OK || !found) {
      break;
    }
    if (write) {
      status = write_problem(job, error);
    } else {
      job->count += 1;
    }
  }
  sap_problem_reader_close(reader);
  return status;
}

static sap_status convert(convert_job* job, sap_error* error) {
  const bool hdf5 = cli_is_hdf5(job->output);  // are there several?
  SAP_TRY(sap_problem_create(&job->problem, error));
  for (int i = 0; hdf5 && i < job->ninputs; ++i) {
    SAP_TRY(cli_check_reread(job->inputs[i], error));
    SAP_TRY(read_file(job, job->inputs[i], false, error));
  }
  job->numbered = hdf5 && job->count > 1;
  job->count = 0;
  for (int i = 0; i < job->ninputs; ++i) {
    SAP_TRY(read_file(job, job->inputs[i], true, error));
  }
  if (job->writer != NULL) {
    SAP_TRY(sap_problem_writer_commit(job->writer, error));
  }
  return SAP_STATUS_OK;
}

static int run_convert(const cli_command* command, int argc, char** argv) {
  cli_parser parser;
  if (!cli_parse(&parser, command, NULL, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands < 2) {
    return cli_usage_error(command, "an input and an output are needed");
  }
  sap_error error = {0};
  convert_job job = {.inputs = parser.operands,
                     .ninputs = parser.noperands - 1,
                     .output = parser.operands[parser.noperands - 1]};
  const sap_status status = convert(&job, &error);
  sap_problem_writer_close(job.writer);
  sap_problem_destroy(job.problem);
  return status == SAP_STATUS_OK ? CLI_OK : cli_report(&error);
}

const cli_command cli_command_convert = {
    .name = "convert",
    .operands = "FILE... OUTPUT",
    .summary = "convert contact problems between text and HDF5 (FCLIB)",
    .description =
        "Writes the contact problems of the files to OUTPUT: as HDF5 in FCLIB's layout where\n"
        "its name ends in .hdf5 or .h5, else as text, stacked. Several problems for HDF5 go to\n"
        "NAME-0.hdf5, NAME-1.hdf5 and so on. Text holds friction cones on one or two trees\n"
        "only; what one format cannot hold is refused, and what is written comes back bit by bit.",
    .examples =
        "  sapstep convert pile.problem pile.hdf5\n"
        "  sapstep convert pile-*.hdf5 pile.problem\n",
    .options = options,
    .run = run_convert,
};
