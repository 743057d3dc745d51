// SPDX-License-Identifier: BSD-3-Clause
// Commands on contact problems in files: solve, solvers, convert.
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/problem_file.h>
#include <sapstep/solver.h>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/file.h"

// --- sapstep solve ---

static const cli_column columns[] = {
    CLI_TEXTS("file"),       CLI_INTEGERS("index"),          CLI_INTEGERS("nv"),
    CLI_INTEGERS("nc"),      CLI_TEXTS("outcome"),           CLI_INTEGERS("iterations"),
    CLI_REALS("cost", 10),   CLI_REALS("momentum_error", 3), CLI_REALS("row", 3),
    CLI_REALS("row_m_s", 3), CLI_REALS("tree", 3),           CLI_REALS("tree_m_s", 3),
    CLI_REALS("time_us", 6),
};

typedef struct solve_job {
  const char* solver_name;
  sap_solver_options options;
  cli_format format;
  const char* output;  // NULL: none
  int32_t repeat;

  sap_solver* solver;
  sap_problem* problem;
  sap_problem_writer* writer;
  cli_table* table;
  sap_solution solution;
  sap_report report;
  bool unconverged;
} solve_job;

#define AT(member) .offset = offsetof(solve_job, member)
static const cli_option solve_options[] = {
    {"solver", "NAME", "the solver, see 'sapstep solvers' (sap)", CLI_SOLVER, AT(solver_name)},
    {"format", "table|csv|json",
     "output format (table); json is one array with an object\nper problem", CLI_WORD, AT(format),
     .words = cli_formats},
    {"output", "FILE",
     "write the solutions to FILE as 'sapstep_solution 1'\nblocks, all or nothing; FILE.hdf5 takes "
     "one problem and its\nsolution (FCLIB)",
     CLI_TEXT, AT(output)},
    {"repeat", "N",
     "solve each problem N times from the same start and\nprint the shortest time (1)", CLI_INTEGER,
     AT(repeat), 1, 1000000},
    {0},
};
#undef AT

// Solves the problem at hand `repeat` times; *time is the shortest [s].
static sap_status solve_repeatedly(solve_job* job, double* time, sap_error* error) {
  for (int32_t i = 0; i < job->repeat && !interrupt_came(); ++i) {
    SAP_TRY(sap_solver_solve(job->solver, job->problem, &job->solution, &job->report, error));
    *time = i == 0 || job->report.time < *time ? job->report.time : *time;
  }
  return SAP_STATUS_OK;
}

static sap_status solve_problem(void* context, const char* path, int64_t index, sap_error* error) {
  solve_job* job = context;
  double time = 0.0;
  sap_residual residual;
  SAP_TRY(solve_repeatedly(job, &time, error));
  if (interrupt_came()) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_residuals(job->problem, job->solution.v, job->solution.gamma, &residual, error));
  if (job->writer != NULL && cli_is_hdf5(job->output)) {
    SAP_TRY(sap_problem_writer_problem(job->writer, job->problem, error));
  }
  if (job->writer != NULL) {
    SAP_TRY(sap_problem_writer_solution(job->writer, &job->solution, error));
  }
  const sap_outcome outcome = job->report.outcome;
  const bool ncp = sap_solver_find(job->solver_name)->signorini;
  CLI_CELLS(job->table, CLI_T(path), CLI_I(index), CLI_I(sap_problem_velocity_count(job->problem)),
            CLI_I(sap_problem_block_count(job->problem)), CLI_T(sap_outcome_text(outcome)),
            CLI_I(job->report.iterations), CLI_R(residual.cost), CLI_R(residual.momentum),
            CLI_R(ncp ? residual.ncp_row : residual.ccp_row),
            CLI_R(ncp ? residual.ncp_row_velocity : residual.ccp_row_velocity),
            CLI_R(residual.tree), CLI_R(residual.tree_velocity), CLI_R(1e6 * time));
  if (outcome != SAP_OUTCOME_CONVERGED && outcome != SAP_OUTCOME_ROUNDOFF) {
    job->unconverged = true;
  }
  return SAP_STATUS_OK;
}

// CLI_OK: go on; otherwise return it.
static int create(solve_job* job, const cli_command* command) {
  sap_error error;
  sap_status status = sap_solver_create(job->solver_name, &job->options, &job->solver, &error);
  if (status == SAP_STATUS_ARGUMENT || status == SAP_STATUS_UNSUPPORTED) {
    return cli_usage_error(command, "%s", error.message);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_create(&job->problem, &error);
  }
  if (status == SAP_STATUS_OK && job->output != NULL) {
    status = sap_problem_writer_open(job->output, &job->writer, &error);
  }
  if (status != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  job->table = cli_table_create(columns, (int)(sizeof columns / sizeof columns[0]));
  if (job->table == NULL) {
    return cli_out_of_memory();
  }
  return CLI_OK;
}

static void destroy(solve_job* job) {
  cli_table_destroy(job->table);
  sap_problem_writer_close(job->writer);
  sap_problem_destroy(job->problem);
  sap_solver_destroy(job->solver);
  sap_solution_clear(&job->solution);
  sap_report_clear(&job->report);
}

// Prints the table and only then puts the output in place, so that it never appears after a
// failure.
static int finish(solve_job* job) {
  if (!cli_table_print(job->table, job->format, stdout)) {
    return cli_out_of_memory();
  }
  const int exit_code = cli_flush();
  if (exit_code != CLI_OK) {
    return exit_code;
  }
  sap_error error;
  if (job->writer != NULL && sap_problem_writer_commit(job->writer, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  return job->unconverged ? CLI_UNCONVERGED : CLI_OK;
}

static int run_solve(const cli_command* command, int argc, char** argv) {
  solve_job job = {.solver_name = "sap", .options = sap_solver_options_default(), .repeat = 1};
  cli_parser parser;
  if (!cli_parse(&parser, command, &job, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands == 0) {
    return cli_usage_error(command, "no FILE given");
  }
  if (job.output != NULL) {
    // An output under way must not stay behind: the solve at hand is the last.
    interrupt_catch(true);
  }
  int exit_code = create(&job, command);
  if (exit_code == CLI_OK) {
    exit_code =
        cli_visit_problems(parser.operands, parser.noperands, job.problem, solve_problem, &job);
  }
  if (exit_code == CLI_OK && interrupt_came()) {
    cli_message("interrupted: nothing is written");
    exit_code = CLI_UNCONVERGED;
  } else if (exit_code == CLI_OK) {
    exit_code = finish(&job);
  }
  destroy(&job);
  return exit_code;
}

const cli_command cli_command_solve = {
    .name = "solve",
    .operands = "FILE...",
    .summary = "solve contact problems stored in files",
    .description =
        "Solves every contact problem ('sapstep_problem 1', several may be stacked in a\n"
        "file, or HDF5 in FCLIB's layout, one in a file) and prints a row for each: file,\n"
        "index in the file from 0, velocities nv, contacts nc, outcome, Newton iterations,\n"
        "cost l(v) [J], relative momentum error |D grad l| / max(|D A v|, |D J' gamma|)\n"
        "computed anew from the solution, and time [us]. Exit status 1 when a problem did\n"
        "not converge. After an error (exit status 3) nothing is printed and nothing\n"
        "written.",
    .examples =
        "  sapstep solve pile.problem\n"
        "  sapstep solve --tolerance 1e-12 --output pile.solution pile.problem\n"
        "  sapstep solve --linear-solver sparse --repeat 10 --format json *.problem\n",
    .options = solve_options,
    .table = sap_solver_option_table,
    .table_offset = offsetof(solve_job, options),
    .table_default = cli_solver_default,
    .run = run_solve,
};

// --- sapstep solvers: the table of contact solvers ---

typedef struct solvers_job {
  cli_format format;
  bool presets;
} solvers_job;

static const cli_option solvers_options[] = {
    {"presets", NULL, "list the presets of 'run --preset' only", CLI_FLAG,
     .offset = offsetof(solvers_job, presets)},
    {"format", "table|csv|json", "output format (table)", CLI_WORD,
     .offset = offsetof(solvers_job, format), .words = cli_formats},
    {0},
};

static cli_table* list_presets(void) {
#define SAP_X(name, source, settings) CLI_T(name), CLI_T(source), CLI_T(settings),
  static const cli_value cells[] = {SAP_PRESET_LIST(SAP_X)};
#undef SAP_X
  static const cli_column three[] = {CLI_TEXTS("name"), CLI_TEXTS("source"), CLI_TEXTS("sets")};
  cli_table* table = cli_table_create(three, 3);
  if (table != NULL) {
    cli_table_cells(table, cells, sizeof cells / sizeof *cells);
  }
  return table;
}

static cli_table* list_solvers(void) {
  static const cli_column solver_columns[] = {CLI_TEXTS("name"),       CLI_TEXTS("model"),
                                              CLI_TEXTS("principles"), CLI_TEXTS("blocks"),
                                              CLI_TEXTS("stepping"),   CLI_TEXTS("reference")};
  cli_table* table = cli_table_create(solver_columns, 6);
  for (int32_t i = 0; i < sap_solver_count() && table != NULL; ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    CLI_CELLS(table, CLI_T(info->name), CLI_T(info->model), CLI_T(info->principles));
    char blocks[96];
    (void)snprintf(blocks, sizeof blocks, "%s%s", info->blocks, info->needs_R ? "; R > 0" : "");
    CLI_CELLS(table, CLI_T(blocks), CLI_T(info->rigid ? "Moreau-Jean" : "semi-implicit"),
              CLI_T(info->reference));
  }
  return table;
}

static bool print_once(cli_table* table, cli_format format) {
  const bool printed = table != NULL && cli_table_print(table, format, stdout);
  cli_table_destroy(table);
  return printed;
}

static int run_solvers(const cli_command* command, int argc, char** argv) {
  solvers_job job = {.format = CLI_FORMAT_TABLE};
  cli_parser parser;
  if (!cli_parse(&parser, command, &job, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands > 0) {
    return cli_usage_error(command, "takes no argument, found '%s'", parser.operands[0]);
  }
  const bool both = !job.presets && job.format == CLI_FORMAT_TABLE;
  bool printed = job.presets || print_once(list_solvers(), job.format);
  if (both) {
    (void)printf("\npresets of 'run', 'converge' and 'bench', --preset NAME:\n\n");
  }
  printed = printed && (!(both || job.presets) || print_once(list_presets(), job.format));
  return printed ? CLI_OK : cli_out_of_memory();
}

const cli_command cli_command_solvers = {
    .name = "solvers",
    .operands = "",
    .summary = "list the contact solvers and the physical laws each one satisfies",
    .description =
        "Lists the solvers that 'solve --solver' takes: the contact model of each, which\n"
        "principles of rigid contact it satisfies, the blocks that it accepts, how 'run' "
        "steps\n"
        "with it (semi-implicit: compliant contact; Moreau-Jean: rigid contact at the level of\n"
        "velocities) and where it was published.",
    .examples =
        "  sapstep solvers\n"
        "  sapstep solvers --presets\n"
        "  sapstep solvers --format json\n",
    .options = solvers_options,
    .run = run_solvers,
};

// --- sapstep convert: from text to HDF5 (FCLIB) and back ---

static const cli_option convert_options[] = {{0}};

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
    .options = convert_options,
    .run = run_convert,
};
