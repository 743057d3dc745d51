// SPDX-License-Identifier: BSD-3-Clause
// sapstep sweep: many runs of a scene, over grids and at random.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/path.h"
#include "core/file.h"

enum { OPTION_OUTPUT = 1, OPTION_CSV, OPTION_SVG, OPTION_JOBS, OPTION_RESTART };

static const cli_option option_list[] = {
    {"output", "FILE", OPTION_OUTPUT, "the table as HDF5, also -o (the study's name with .h5)"},
    {"csv", "FILE", OPTION_CSV, "the table as CSV, too; without HDF5 it is the only one"},
    {"svg", "FILE", OPTION_SVG, "a chart: the measures over the longest grid of numbers"},
    {"jobs", "N", OPTION_JOBS, "cases at the same time (one per processor; 1 under mpirun)"},
    {"restart", NULL, OPTION_RESTART, "forget the cases that an earlier sweep has finished"},
    {NULL, NULL, 0, NULL},
};

typedef struct sweep_options {
  const char *study, *output, *csv, *svg;
  int32_t jobs;  // 0: choose
  bool restart;
} sweep_options;

static bool read_options(const cli_command* command, int argc, char** argv, sweep_options* o,
                         int* code) {
  cli_parser parser;
  const char* argument;
  int id;
  cli_parser_begin(&parser, command, NULL, argc, argv);
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    if (id == OPTION_RESTART) {
      o->restart = true;
    } else if (id == OPTION_JOBS) {
      if (!cli_read_integer(argument, &o->jobs) || o->jobs < 1 || o->jobs > 256) {
        *code = cli_usage_error(command, "--jobs '%s' must be an integer 1 to 256", argument);
        return false;
      }
    } else {
      *(id == OPTION_OUTPUT ? &o->output : id == OPTION_CSV ? &o->csv : &o->svg) = argument;
    }
  }
  if (id == CLI_PARSE_LEAVE) {
    *code = parser.exit_code;
    return false;
  }
  if (parser.noperands != 1) {
    *code = cli_usage_error(command, "one study file is needed");
    return false;
  }
  o->study = parser.operands[0];
  return true;
}

static int count_jobs(const sweep_options* o) {
  const long processors = sweep_mpi_size() > 1 ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
  return o->jobs > 0 ? o->jobs : processors > 0 && processors < 256 ? (int)processors : 1;
}

// Rank 0 after the cases: the tables, and the end of the journal.
static int finish(const sweep_study* study, const sweep_options* o, const char* output,
                  const char* journal, const sweep_row* rows, int code) {
  sap_error error = {0};
  if (code == CLI_UNCONVERGED) {
    cli_message("%s; the finished cases are kept in '%s': the same command goes on from there",
                interrupt_came() ? "interrupted" : "cases could not be run", journal);
  }
  if (code != CLI_OK) {
    return code;
  }
  const char* hdf5 =
      o->output == NULL && o->csv != NULL && !sap_recorder_available() ? NULL : output;
  if (sweep_write(study, rows, hdf5, o->csv, &error) != SAP_STATUS_OK ||
      (o->svg != NULL && sweep_chart_write(study, rows, o->svg, &error) != SAP_STATUS_OK)) {
    return cli_report(&error);
  }
  (void)remove(journal);
  return sweep_print(study, rows);
}

// The table takes the study's name, and the journal that of the table; the scene is the study's.
static sap_status check_outputs(const sweep_study* study, const sweep_options* o,
                                const char* output, const char* journal, sap_error* error) {
  const cli_path paths[] = {
      {"the study", o->study, CLI_PATH_READ},  {"the scene", study->scene, CLI_PATH_READ},
      {"the table", output, CLI_PATH_WRITTEN}, {"the journal", journal, CLI_PATH_WRITTEN},
      {"--csv", o->csv, CLI_PATH_WRITTEN},     {"--svg", o->svg, CLI_PATH_WRITTEN}};
  if (o->output == NULL && sap_file_regular(o->study, NULL) != SAP_STATUS_OK) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "a study from a pipe gives the table no name: --output is needed");
  }
  struct stat info;
  if (stat(output, &info) == 0 && !S_ISREG(info.st_mode)) {
    return sap_fail(error, SAP_STATUS_IO, "cannot write the table '%.300s': it is no regular file",
                    output);
  }
  return cli_check_paths(paths, (int)(sizeof paths / sizeof *paths), error);
}

// From a study that all ranks have read to its table.
static int execute(const sweep_study* study, const sweep_options* o) {
  char* sibling = cli_sibling_path(o->study, ".h5");
  const char* output = o->output != NULL ? o->output : sibling;
  char* path = malloc((output != NULL ? strlen(output) : 0) + 16);
  sweep_row* rows = malloc((size_t)study->cases * sizeof *rows);
  sweep_journal* journal = NULL;
  sap_error error = {0};
  int code = CLI_OK;
  if (output == NULL || path == NULL || rows == NULL) {
    code = cli_out_of_memory();
  } else if (sweep_mpi_rank() == 0) {
    (void)sprintf(path, "%s.journal", output);
    if (check_outputs(study, o, output, path, &error) != SAP_STATUS_OK ||
        sweep_journal_open(path, study, o->restart, rows, &journal, &error) != SAP_STATUS_OK) {
      code = cli_report(&error);
    }
  }
  if (sweep_mpi_agree(code == CLI_OK, study->hash)) {
    code = sweep_jobs_run(study, count_jobs(o), journal, rows);
    if (sweep_mpi_rank() == 0) {
      code = finish(study, o, output, path, rows, code);
    }
  } else if (code == CLI_OK) {
    code = CLI_FILE;  // another rank said why
  }
  sweep_journal_close(journal);
  free(rows);
  free(path);
  free(sibling);
  return code;
}

static int sweep(const cli_command* command, int argc, char** argv) {
  sweep_options options = {0};
  sap_error error = {0};
  int code;
  if (!read_options(command, argc, argv, &options, &code)) {
    return code;
  }
  sweep_study* study = calloc(1, sizeof *study);
  if (study == NULL) {
    return cli_out_of_memory();
  }
  sweep_mpi_begin();
  interrupt_catch(false);
  const bool good = sweep_study_read(options.study, study, &error) &&
                    (options.svg == NULL || sweep_chart_possible(study, &error));
  if (!good && sweep_mpi_rank() == 0) {
    (void)cli_report(&error);
  }
  code = CLI_FILE;
  if (sweep_mpi_agree(good, study->hash)) {
    code = execute(study, &options);
  } else if (good && sweep_mpi_rank() == 0) {
    cli_message("the ranks read different studies or scenes");
  }
  sweep_study_clear(study);
  free(study);
  sweep_mpi_end();
  return code;
}

const cli_command cli_command_sweep = {
    .name = "sweep",
    .operands = "STUDY",
    .summary = "run a scene many times, over grids of values and at random",
    .description =
        "A study is a text; # begins a comment:\n"
        "  scene FILE                      relative to the study\n"
        "  duration S                      simulated time of a case [s] (1)\n"
        "  set NAME VALUE                  in all cases\n"
        "  grid NAME VALUE...              all combinations of grid values are run\n"
        "  random NAME uniform|log A B     between A and B; log: its logarithm is uniform\n"
        "  random NAME normal MEAN SD\n"
        "  random NAME choose VALUE...\n"
        "  samples N                       cases of random values per point of the grid (1)\n"
        "  seed N                          of the random numbers (0)\n"
        "  measure NAME...                 columns of the table\n"
        "  keyframe NAME, floor Z, lenient, floating_base   as of 'sapstep run'\n"
        "Parameters: dt, theta, theta_vq, scheme, solver, contact_stage, contact_model, sigma,\n"
        "beta, friction, stiffness, relaxation_time, dissipation, stiction_tolerance,\n"
        "static_friction; options of solvers (relative_tolerance); where joints start, q/JOINT,\n"
        "v/JOINT[part]; any value of the scene, ELEMENT/NAME/ATTRIBUTE: geom/ball/density,\n"
        "body/box/inertial/mass, option/*/gravity[2] (* means all, [i] one of a list).\n"
        "Measures: kinetic_end, potential_end, energy_end, energy_drift, kinetic_max [J],\n"
        "penetration_max, penetration_end [m], slip_end [m/s], iterations_mean,\n"
        "iterations_median, iterations_max, contacts_mean, contacts_max, momentum_error_max,\n"
        "hessian_condition (of the last step), unconverged_steps, steps, center_x, center_y,\n"
        "center_z [m], mass [kg], and q/JOINT, v/JOINT[part] at the end.\n"
        "The table has a row per case, whatever ran it: the same bytes for any number of jobs or\n"
        "MPI ranks. A failed case has its message there, and the exit code is 1. Finished cases\n"
        "are kept in FILE.journal until the table is written: after a kill the same command goes\n"
        "on. Over machines: mpirun -n 16 sapstep sweep STUDY, in a folder that all see.",
    .examples =
        "  sapstep sweep examples/studies/clutter_friction.study -o friction.h5\n"
        "  mpirun -n 8 sapstep sweep examples/studies/clutter_friction.study -o friction.h5\n",
    .options = option_list,
    .run = sweep,
};
