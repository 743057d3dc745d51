// SPDX-License-Identifier: BSD-3-Clause
// sapstep compare: the same contact problems by several solvers, judged by the same residuals.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/problem_file.h>
#include <sapstep/solver.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/profile.h"
#include "cli/table.h"

enum { ID_SOLVERS = 1, ID_FORMAT, ID_SUMMARY, ID_PROFILE, ID_PROFILE_TOLERANCE };
enum { MAXIMUM_SOLVERS = 64 };

static const cli_option options[] = {
    {"solvers", "NAME,NAME,...", ID_SOLVERS, "which, see 'sapstep solvers' (all)"},
    {"format", "table|csv|json", ID_FORMAT, "how to print (table)"},
    {"summary", NULL, ID_SUMMARY, "a row per solver instead of one per problem and solver"},
    {"profile", "FILE.svg", ID_PROFILE,
     "write a performance profile (Dolan, More): the share of problems\nsolved within tau times "
     "the "
     "time of the fastest, and FILE.csv"},
    {"profile-tolerance", "X", ID_PROFILE_TOLERANCE,
     "natural map that counts as solved there (1e-8)"},
    {0},
};

static const cli_column columns[] = {
    {"file", CLI_CELL_TEXT, 0},          {"index", CLI_CELL_INTEGER, 0},
    {"solver", CLI_CELL_TEXT, 0},        {"outcome", CLI_CELL_TEXT, 0},
    {"iterations", CLI_CELL_INTEGER, 0}, {"time_us", CLI_CELL_REAL, 5},
    {"ccp_map", CLI_CELL_REAL, 3},       {"ncp_map", CLI_CELL_REAL, 3},
    {"momentum", CLI_CELL_REAL, 3},      {"set_violation_Ns", CLI_CELL_REAL, 3},
    {"signorini_J", CLI_CELL_REAL, 3},   {"dissipation_J", CLI_CELL_REAL, 4},
    {"v_difference", CLI_CELL_REAL, 3},
};

static const cli_column summary_columns[] = {
    {"solver", CLI_CELL_TEXT, 0},
    {"problems", CLI_CELL_INTEGER, 0},
    {"refused", CLI_CELL_INTEGER, 0},
    {"solved_1e-4", CLI_CELL_INTEGER, 0},
    {"solved_1e-8", CLI_CELL_INTEGER, 0},
    {"iterations_mean", CLI_CELL_REAL, 4},
    {"iterations_max", CLI_CELL_INTEGER, 0},
    {"time_us", CLI_CELL_REAL, 5},
};

typedef struct contender {
  const sap_solver_info* info;
  sap_solver* solver;
  bool nonlinear;  // solves the NCP: judged by that natural map
  int64_t problems, refused, solved_4, solved_8, iterations, iterations_max;
  double time;
} contender;

typedef struct compare_job {
  const char* names;  // NULL: all
  sap_solver_options options;
  cli_format format;
  bool summary;
  const char* profile_path;  // NULL: none
  double profile_tolerance;
  profile profile;
  contender contenders[MAXIMUM_SOLVERS];
  int count;
  sap_problem* problem;
  cli_table* table;
  sap_solution solution, first;
  sap_report report;
} compare_job;

static double difference(const sap_solution* a, const sap_solution* b) {
  double sum = 0.0, norm = 0.0;
  for (int32_t i = 0; i < a->nv; ++i) {
    sum += (a->v[i] - b->v[i]) * (a->v[i] - b->v[i]);
    norm += b->v[i] * b->v[i];
  }
  return sum > 0.0 ? sqrt(sum / norm) : 0.0;
}

static double own_map(const contender* c, const sap_residual* residual) {
  return c->nonlinear ? residual->ncp_natural_map_scaled : residual->ccp_natural_map_scaled;
}

static void count_result(contender* c, const sap_report* report, const sap_residual* residual) {
  const double map = own_map(c, residual);
  c->problems += 1;
  c->solved_4 += map <= 1e-4 ? 1 : 0;
  c->solved_8 += map <= 1e-8 ? 1 : 0;
  c->iterations += report->iterations;
  c->iterations_max =
      report->iterations > c->iterations_max ? report->iterations : c->iterations_max;
  c->time += report->time;
}

static void print_result(compare_job* job, const contender* c, const char* path, int64_t index,
                         const sap_residual* r) {
  cli_table_text(job->table, path);
  cli_table_integer(job->table, index);
  cli_table_text(job->table, c->info->name);
  cli_table_text(job->table, sap_outcome_text(job->report.outcome));
  cli_table_integer(job->table, job->report.iterations);
  cli_table_real(job->table, 1e6 * job->report.time);
  cli_table_real(job->table, r->ccp_natural_map_scaled);
  cli_table_real(job->table, r->ncp_natural_map_scaled);
  cli_table_real(job->table, r->momentum);
  cli_table_real(job->table, r->set_violation);
  cli_table_real(job->table, r->signorini);
  cli_table_real(job->table, r->dissipation);
  cli_table_real(job->table, difference(&job->solution, &job->first));
}

// A solver that does not take the problem's blocks has no row and counts as refused.
static sap_status compare_problem(compare_job* job, const char* path, int64_t index,
                                  sap_error* error) {
  bool have_first = false;
  if (job->profile_path != NULL && !profile_add_problem(&job->profile, job->count)) {
    cli_message("out of memory");
    return SAP_STATUS_MEMORY;
  }
  for (int i = 0; i < job->count; ++i) {
    contender* c = &job->contenders[i];
    sap_residual residual;
    sap_status status =
        sap_solver_solve(c->solver, job->problem, &job->solution, &job->report, error);
    if (status == SAP_STATUS_UNSUPPORTED) {
      c->refused += 1;
      continue;
    }
    if (status == SAP_STATUS_OK) {
      status = sap_residuals(job->problem, job->solution.v, job->solution.gamma, &residual, error);
    }
    if (status == SAP_STATUS_OK && !have_first) {
      status = sap_solution_resize(&job->first, job->solution.nv, job->solution.nrows, error);
    }
    if (status != SAP_STATUS_OK) {
      cli_message("%s: problem %lld: %s: %s", path, (long long)index, c->info->name,
                  error->message);
      return status;
    }
    if (!have_first && job->solution.nv > 0) {
      memcpy(job->first.v, job->solution.v, (size_t)job->solution.nv * sizeof(double));
      have_first = true;
    }
    count_result(c, &job->report, &residual);
    if (job->profile_path != NULL && own_map(c, &residual) <= job->profile_tolerance) {
      profile_set(&job->profile, i, job->report.time);
    }
    if (!job->summary) {
      print_result(job, c, path, index, &residual);
    }
  }
  return SAP_STATUS_OK;
}

static int compare_file(compare_job* job, const char* path) {
  sap_error error;
  sap_problem_reader* reader;
  if (sap_problem_reader_open(path, &reader, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  int exit_code = CLI_OK;
  for (int64_t index = 0; exit_code == CLI_OK; ++index) {
    bool found = false;
    if (sap_problem_reader_next(reader, job->problem, &found, &error) != SAP_STATUS_OK) {
      exit_code = cli_report(&error);
    } else if (!found) {
      break;
    } else {
      exit_code = cli_exit_code(compare_problem(job, path, index, &error));
    }
  }
  sap_problem_reader_close(reader);
  return exit_code;
}

// Is `name` in the list "a,b,c"?
static bool listed(const char* names, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = names; at != NULL; at = strchr(at, ',')) {
    at += *at == ',' ? 1 : 0;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
      return true;
    }
  }
  return false;
}

// Every name of the list must be a solver's.
static int check_names(const compare_job* job, const cli_command* command) {
  for (const char* at = job->names; at != NULL && *at != '\0';) {
    const size_t length = strcspn(at, ",");
    bool known = false;
    for (int32_t i = 0; i < sap_solver_count(); ++i) {
      const char* name = sap_solver_get_info(i)->name;
      known = known || (strlen(name) == length && strncmp(at, name, length) == 0);
    }
    if (!known) {
      return cli_usage_error(command, "--solvers: '%.*s' is not a solver, see 'sapstep solvers'",
                             (int)length, at);
    }
    at += length + (at[length] == ',' ? 1 : 0);
  }
  return CLI_OK;
}

static int create(compare_job* job, const cli_command* command) {
  sap_error error;
  if (sap_solver_options_check(&job->options, &error) != SAP_STATUS_OK) {
    return cli_usage_error(command, "%s", error.message);
  }
  const int usage = check_names(job, command);
  if (usage != CLI_OK) {
    return usage;
  }
  for (int32_t i = 0; i < sap_solver_count() && job->count < MAXIMUM_SOLVERS; ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    if (job->names != NULL && !listed(job->names, info->name)) {
      continue;
    }
    contender* c = &job->contenders[job->count];
    if (sap_solver_create(info->name, &job->options, &c->solver, &error) != SAP_STATUS_OK) {
      return cli_report(&error);
    }
    c->info = info;
    c->nonlinear = strstr(info->principles, "Signorini") != NULL;
    job->count += 1;
  }
  if (sap_problem_create(&job->problem, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  job->table = job->summary ? cli_table_create(summary_columns,
                                               sizeof summary_columns / sizeof summary_columns[0])
                            : cli_table_create(columns, sizeof columns / sizeof columns[0]);
  if (job->table == NULL) {
    cli_message("out of memory");
    return CLI_INTERNAL;
  }
  return CLI_OK;
}

static void destroy(compare_job* job) {
  cli_table_destroy(job->table);
  profile_clear(&job->profile);
  sap_problem_destroy(job->problem);
  for (int i = 0; i < job->count; ++i) {
    sap_solver_destroy(job->contenders[i].solver);
  }
  sap_solution_clear(&job->solution);
  sap_solution_clear(&job->first);
  sap_report_clear(&job->report);
}

static int write_profile(const compare_job* job) {
  sap_error error = {0};
  const char* names[MAXIMUM_SOLVERS];
  for (int i = 0; i < job->count; ++i) {
    names[i] = job->contenders[i].info->name;
  }
  return profile_write(&job->profile, names, job->profile_tolerance, job->profile_path, &error) ==
                 SAP_STATUS_OK
             ? CLI_OK
             : cli_report(&error);
}

static int finish(compare_job* job) {
  for (int i = 0; job->summary && i < job->count; ++i) {
    const contender* c = &job->contenders[i];
    cli_table_text(job->table, c->info->name);
    cli_table_integer(job->table, c->problems);
    cli_table_integer(job->table, c->refused);
    cli_table_integer(job->table, c->solved_4);
    cli_table_integer(job->table, c->solved_8);
    cli_table_real(job->table,
                   c->problems > 0 ? (double)c->iterations / (double)c->problems : (double)NAN);
    cli_table_integer(job->table, c->iterations_max);
    cli_table_real(job->table, 1e6 * c->time);
  }
  const int profile_code = job->profile_path != NULL ? write_profile(job) : CLI_OK;
  if (profile_code != CLI_OK) {
    return profile_code;
  }
  if (!cli_table_print(job->table, job->format, stdout)) {
    cli_message("out of memory");
    return CLI_INTERNAL;
  }
  return cli_flush();
}

// CLI_PARSE_END: go on; CLI_PARSE_LEAVE: return parser->exit_code.
static int parse(compare_job* job, cli_parser* parser) {
  const char* argument;
  int id;
  while ((id = cli_parse_next(parser, &argument)) > 0) {
    if (id == ID_SOLVERS) {
      job->names = argument;
    } else if (id == ID_SUMMARY) {
      job->summary = true;
    } else if (id == ID_PROFILE) {
      job->profile_path = argument;
    } else if (id == ID_PROFILE_TOLERANCE) {
      if (!cli_read_real(argument, &job->profile_tolerance) || !(job->profile_tolerance > 0.0)) {
        parser->exit_code = cli_usage_error(
            parser->command, "--profile-tolerance '%s' must be finite and > 0", argument);
        return CLI_PARSE_LEAVE;
      }
    } else {
      const int choice = cli_read_choice(argument, cli_format_names);
      if (choice < 0) {
        parser->exit_code =
            cli_usage_error(parser->command, "--format '%s' must be table, csv or json", argument);
        return CLI_PARSE_LEAVE;
      }
      job->format = (cli_format)choice;
    }
  }
  return id;
}

static int run(const cli_command* command, int argc, char** argv) {
  compare_job job = {.options = sap_solver_options_default(), .profile_tolerance = 1e-8};
  cli_parser parser;
  cli_parser_begin(&parser, command, &job.options, argc, argv);
  if (parse(&job, &parser) == CLI_PARSE_LEAVE) {
    return parser.exit_code;
  }
  if (parser.noperands == 0) {
    return cli_usage_error(command, "no FILE given");
  }
  int exit_code = create(&job, command);
  for (int i = 0; i < parser.noperands && exit_code == CLI_OK; ++i) {
    exit_code = compare_file(&job, parser.operands[i]);
  }
  if (exit_code == CLI_OK) {
    exit_code = finish(&job);
  }
  destroy(&job);
  return exit_code;
}

const cli_command cli_command_compare = {
    .name = "compare",
    .operands = "FILE...",
    .summary = "solve contact problems by several solvers and judge them alike",
    .description =
        "Solves every contact problem of the files by every solver asked for and prints a\n"
        "row for each: outcome, iterations, time [us], relative natural maps of the convex\n"
        "(ccp) and the nonlinear (ncp) contact problem with a step for each block, relative\n"
        "momentum error, distance of the impulses from their sets [N s], largest\n"
        "|g_n gamma_n| [J], dissipation [J], and the relative difference of the velocities\n"
        "from those of the first solver. Solvers that do not take a problem's blocks are\n"
        "left out. With --summary: problems solved to 1e-4 and 1e-8 in the natural map of\n"
        "the solver's own model, mean and most iterations, time of all. FILE is text or HDF5\n"
        "(FCLIB), as 'sapstep run --dump-problems' writes it.",
    .examples =
        "  sapstep compare --summary *.problem\n"
        "  sapstep compare --solvers sap,admm-ccp,apgd --tolerance 1e-10 pile.problem\n",
    .options = options,
    .solver_options = true,
    .run = run,
};
