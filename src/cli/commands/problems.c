// SPDX-License-Identifier: BSD-3-Clause
// Commands on contact problems in files: solve and solvers.
#include <stdio.h>

#include <sapstep/problem_file.h>
#include <sapstep/solver.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/table.h"

// --- sapstep solve ---

static const char columns[] =
    "file nv# nc# outcome iterations# cost_J:10 momentum_error:3 row:3 row_mps:3 tree:3 "
    "tree_mps:3 time_us:6";

typedef struct solve_job {
  const char* solver_name;
  sap_solver_options options;
  cli_format format;
  const char* output;  // NULL: none
  int32_t repeat;

  sap_solver* solver;
  sap_problem* problem;
  cli_table* table;
  sap_solution solution;
  sap_report report;
  bool unconverged;
} solve_job;

#define AT(member) .offset = offsetof(solve_job, member)
static const cli_option solve_options[] = {
    CLI_SOLVER_ROW(solve_job, solver_name),
    CLI_FORMAT_ROW(solve_job, cli_formats,
                   "table, json or csv (table); json is one array with an object\nper problem"),
    {"output", "FILE",
     "write the problem and its solution to FILE (FCLIB), which\ntakes one problem", CLI_TEXT,
     AT(output)},
    {"repeat", "N",
     "solve each problem N times from the same start and\nprint the shortest time (1)", CLI_INTEGER,
     AT(repeat), 1, 1000000},
    {0},
};

// Solves the problem at hand `repeat` times; *time is the shortest [s].
static sap_status solve_repeatedly(solve_job* job, double* time, sap_error* error) {
  for (int32_t i = 0; i < job->repeat; ++i) {
    SAP_TRY(sap_solver_solve(job->solver, job->problem, &job->solution, &job->report, error));
    *time = i == 0 || job->report.time < *time ? job->report.time : *time;
  }
  return SAP_STATUS_OK;
}

static sap_status solve_problem(solve_job* job, const char* path, sap_error* error) {
  double time = 0.0;
  sap_residual residual;
  SAP_TRY(solve_repeatedly(job, &time, error));
  SAP_TRY(sap_residuals(job->problem, job->solution.v, job->solution.gamma, &residual, error));
  const sap_outcome outcome = job->report.outcome;
  const bool ncp = sap_solver_find(job->solver_name)->signorini;
  CLI_CELLS(job->table, CLI_T(path), CLI_I(sap_problem_velocity_count(job->problem)),
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
  SAP_RETURN_IF(status == SAP_STATUS_ARGUMENT || status == SAP_STATUS_UNSUPPORTED,
                cli_usage_error(command, "%s", error.message));
  SAP_THEN(status, sap_problem_create(&job->problem, &error));
  SAP_RETURN_IF(status != SAP_STATUS_OK, cli_report(&error));
  job->table = cli_table_create(columns);
  return CLI_OK;
}

static void destroy(solve_job* job) {
  sap_problem_destroy(job->problem);
  sap_solver_destroy(job->solver);
  sap_solution_clear(&job->solution);
  sap_report_clear(&job->report);
}

// Prints the table and only then puts the output in place, so that it never appears after a
// failure.
static int finish(solve_job* job) {
  cli_table_print(job->table, job->format, stdout);
  const int exit_code = cli_flush();
  if (exit_code != CLI_OK) {
    return exit_code;
  }
  sap_error error;
  if (job->output != NULL &&
      sap_problem_file_write(job->output, job->problem, &job->solution, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  return job->unconverged ? CLI_UNCONVERGED : CLI_OK;
}

static int solve_file(solve_job* job, const char* path) {
  sap_error error = {0};
  for (int64_t at = 0; at >= 0;) {
    SAP_RETURN_IF(sap_problem_file_read_next(path, &at, job->problem, &error) != SAP_STATUS_OK,
                  cli_report(&error));
    if (solve_problem(job, path, &error) != SAP_STATUS_OK) {
      cli_message("%s: %s", path, error.message);
      return cli_exit_code(error.status);
    }
    if (at >= 0 && job->output != NULL) {
      cli_message("%s: --output takes a file of one problem", path);
      return CLI_USAGE;
    }
  }
  return CLI_OK;
}

static int run_solve(const cli_command* command, int argc, char** argv) {
  solve_job job = {.solver_name = "sap", .options = sap_solver_options_default(), .repeat = 1};
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &job, argc, argv), parser.exit_code);
  SAP_RETURN_IF(job.output != NULL && parser.noperands > 1,
                cli_usage_error(command, "--output takes the problem of one FILE"));
  int exit_code = create(&job, command);
  for (int i = 0; i < parser.noperands && exit_code == CLI_OK; ++i) {
    exit_code = solve_file(&job, parser.operands[i]);
  }
  exit_code = exit_code == CLI_OK ? finish(&job) : exit_code;
  destroy(&job);
  return exit_code;
}

const cli_command cli_command_solve = {
    .name = "solve",
    .operands = "FILE...",
    .summary = "solve contact problems stored in files",
    .text = cli_text_solve,
    .options = solve_options,
    .tables = {CLI_TABLE(sap_solver_option_table, solve_job, options, cli_solver_default)},
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
    CLI_FORMAT_ROW(solvers_job, cli_formats, "table, json or csv (table)"),
    {0},
};

static cli_table* list_presets(void) {
#define SAP_X(name, source, settings) CLI_T(name), CLI_T(source), CLI_T(settings),
  static const cli_value cells[] = {SAP_PRESET_LIST(SAP_X)};
  cli_table* table = cli_table_create("name source sets");
  cli_table_cells(table, cells, sizeof cells / sizeof *cells);
  return table;
}

static cli_table* list_solvers(void) {
  cli_table* table = cli_table_create("name model principles blocks stepping reference");
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    CLI_CELLS(table, CLI_T(info->name), CLI_T(info->model), CLI_T(info->principles));
    char blocks[96];
    (void)snprintf(blocks, sizeof blocks, "%s%s", info->blocks, info->needs_R ? "; R > 0" : "");
    CLI_CELLS(table, CLI_T(blocks), CLI_T(info->rigid ? "Moreau-Jean" : "semi-implicit"),
              CLI_T(info->reference));
  }
  return table;
}

static int run_solvers(const cli_command* command, int argc, char** argv) {
  solvers_job job = {.format = CLI_FORMAT_TABLE};
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &job, argc, argv), parser.exit_code);
  const bool both = !job.presets && job.format == CLI_FORMAT_TABLE;
  if (!job.presets) {
    cli_table_print(list_solvers(), job.format, stdout);
  }
  if (both) {
    (void)printf("\npresets of 'run', 'converge' and 'bench', --preset NAME:\n\n");
  }
  if (both || job.presets) {
    cli_table_print(list_presets(), job.format, stdout);
  }
  return CLI_OK;
}

const cli_command cli_command_solvers = {
    .name = "solvers",
    .operands = "",
    .summary = "list the contact solvers and the physical laws each one satisfies",
    .text = cli_text_solvers,
    .options = solvers_options,
    .run = run_solvers,
};
