// SPDX-License-Identifier: BSD-3-Clause
// sapstep compare: the same contact problems by several solvers, judged by the same residuals.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/sapstep.h>

#include "cli/lines.h"
#include "cli/options.h"
#include "cli/residual_list.h"
#include "cli/table.h"
#include "core/file.h"

enum { CONTENDERS_MAX = 64 };

// A solver, and its row of the summary.
typedef struct contender {
  const sap_solver_info* info;
  const char* name;  // with its options: "admm-ncp:penalty=fixed"
  sap_solver_options options;
  sap_solver* solver;
  int64_t problems, refused, solved_4, solved_8, iterations, iterations_max;
  double* times;           // of solves [s]                                         (problems)
  int32_t times_capacity;  //
  double worst[CLI_RESIDUALS];
} contender;

// Start of a solve: nothing, or the solution of the previous problem.
typedef enum compare_start { COMPARE_COLD, COMPARE_WARM } compare_start;
static const char* const start_names[] = {"cold", "warm", NULL};

typedef struct point {
  double map, time;  // NaN: not measured
} point;

typedef struct compare_job {
  compare_start start;
  bool summary;
  sap_solver_options options;
  const char *convergence, *lines, *rows;  // paths, NULL: none
  cli_format format;

  contender contenders[CONTENDERS_MAX];
  int count;
  cli_table* table;  // a row per problem and contender; NULL: not wanted
  sap_problem* problem;
  sap_solution solution, first;
  sap_report report;
  // Of --convergence: [(problem count + contender) LIMITS + limit]
  int32_t measured, point_room;
  point* points;
} compare_job;

// --- command line ---

// Takes NAME[:OPTION=VALUE...],...
static const char* take_names(void* options, const char* argument) {
  compare_job* job = options;
  char *rest = cli_copy(argument), *name;
  job->count = 0;
  while ((name = strsep(&rest, ",")) != NULL) {
    sap_solver_options ignored = sap_solver_options_default();
    SAP_RETURN_IF(job->count == CONTENDERS_MAX || cli_read_solver(name, &ignored) == NULL,
                  "names that 'sapstep solvers' lists, with options as in admm-ncp:penalty=fixed");
    job->contenders[job->count++].name = name;
  }
  return NULL;
}

#define AT(member) .offset = offsetof(compare_job, member)
static const cli_option option_list[] = {
    {"solvers", "NAME,...",
     "solvers, see 'sapstep solvers', with options of their own as in\nadmm-ncp:penalty=fixed "
     "(all)",
     CLI_CALL, .take = take_names},
    {"start", "cold|warm",
     "cold: every problem anew; warm: from the impulses of the previous\nproblem (cold)", CLI_WORD,
     AT(start), .words = start_names},
    {"summary", NULL, "a row per solver instead of one per problem and solver", CLI_FLAG,
     AT(summary)},
    {"rows", "FILE", "write a row per problem and solver as CSV", CLI_PATH, AT(rows)},
    {"convergence", "FILE", "write a chart of how the natural map falls with iterations and time",
     CLI_PATH, AT(convergence)},
    {"lines", "FILE", "write the lines of that chart as CSV", CLI_PATH, AT(lines)},
    CLI_FORMAT_ROW(compare_job, cli_formats, "table, json or csv (table)"),
    {0},
};

// Tight enough to show which problems are solved to 1e-8. Problems are checked once for all
// solvers, outside of the measured times.
static sap_solver_options default_options(void) {
  sap_solver_options options = sap_solver_options_default();
  options.check_input = false;
  options.relative_tolerance = 1e-9;
  return options;
}

static CLI_DEFINE_DEFAULT(default_of, sap_solver_options, default_options())

    // --- tables ---

    static const char row_columns[] =
        "file index# solver start outcome iterations# time_us:5 ccp_map:3 ncp_map:3 momentum:3 "
        "slackness:3 set_violation_Ns:3 ncp_dual_mps:3 ncp_complementarity_J:3 signorini_J:3 "
        "dissipation_J:4 v_difference:3 cones#";

// Contacts with friction.
static int32_t count_cones(const sap_problem* problem) {
  int32_t count = 0;
  for (int32_t i = 0; i < sap_problem_block_count(problem); ++i) {
    sap_block block;
    if (sap_problem_block(problem, i, &block, NULL, NULL) == SAP_STATUS_OK) {
      count += block.set == SAP_SET_FRICTION_CONE ? 1 : 0;
    }
  }
  return count;
}

// Returns the relative difference of the velocities from those of the first contender.
static double difference(const sap_solution* a, const sap_solution* b) {
  double sum = 0.0, norm = 0.0;
  for (int32_t i = 0; i < a->nv; ++i) {
    sum += (a->v[i] - b->v[i]) * (a->v[i] - b->v[i]);
    norm += b->v[i] * b->v[i];
  }
  return sum > 0.0 ? sqrt(sum / norm) : 0.0;
}

static void add_row(compare_job* job, const contender* c, const char* path, int64_t index,
                    const sap_residual* r) {
  CLI_CELLS(job->table, CLI_T(path), CLI_I(index), CLI_T(c->name), CLI_T(start_names[job->start]),
            CLI_T(sap_outcome_text(job->report.outcome)), CLI_I(job->report.iterations),
            CLI_R(1e6 * job->report.time), CLI_R(cli_residual_map(r, false)),
            CLI_R(cli_residual_map(r, true)), CLI_R(r->momentum), CLI_R(r->slackness),
            CLI_R(r->set_violation), CLI_R(r->ncp_dual), CLI_R(r->ncp_complementarity),
            CLI_R(r->signorini), CLI_R(r->dissipation),
            CLI_R(difference(&job->solution, &job->first)), CLI_I(count_cones(job->problem)));
}

// Adds a solve to the contender's row of the summary.
static void count_solve(contender* c, const sap_report* report, const sap_residual* residual) {
  CLI_GROW(&c->times, &c->times_capacity, c->problems + 1);
  c->times[c->problems] = report->time;
  const double map = cli_residual_map(residual, c->info->signorini);
  c->problems += 1;
  c->solved_4 += map <= 1e-4 ? 1 : 0;
  c->solved_8 += map <= 1e-8 ? 1 : 0;
  c->iterations += report->iterations;
  c->iterations_max =
      report->iterations > c->iterations_max ? report->iterations : c->iterations_max;
  for (int i = 0; i < CLI_RESIDUALS; ++i) {
    c->worst[i] = fmax(c->worst[i], cli_residual_value(residual, i));
  }
}

// The columns of the summary, before those of the residuals.
static const char summary_columns[] =
    "solver start problems# refused# solved_1e-4# solved_1e-8# iterations_mean:4 "
    "iterations_max# time_median_us:4 time_max_us:4";

static void print_summary(compare_job* job) {
  const bool wide = job->format != CLI_FORMAT_TABLE;  // a table for the eye lacks some residuals
  cli_table* table = cli_table_create(summary_columns);
  for (int i = 0; i < CLI_RESIDUALS; ++i) {
    if (wide || cli_residuals[i].narrow) {
      cli_table_column(table, cli_residuals[i].name, CLI_CELL_REAL, 3);
    }
  }
  SAP_EACH(contender, c, job->contenders, job->count) {
    const double n = (double)c->problems, nan = (double)NAN;
    const double middle = cli_quantile(c->times, c->problems, 0.5);  // sorts them
    CLI_CELLS(table, CLI_T(c->name), CLI_T(start_names[job->start]), CLI_I(c->problems),
              CLI_I(c->refused), CLI_I(c->solved_4), CLI_I(c->solved_8),
              CLI_R(n > 0.0 ? (double)c->iterations / n : nan), CLI_I(c->iterations_max),
              CLI_R(1e6 * middle), CLI_R(n > 0.0 ? 1e6 * c->times[c->problems - 1] : nan));
    for (int i = 0; i < CLI_RESIDUALS; ++i) {
      if (wide || cli_residuals[i].narrow) {
        CLI_CELLS(table, CLI_R(n > 0.0 ? c->worst[i] : nan));
      }
    }
  }
  cli_table_print(table, job->format, stdout);
}

// --- convergence ---
//
// How the natural map of a solver's own model falls with iterations and time: problems are solved
// anew with ever higher limits, and what comes back, the best found until then, is judged as any
// other solution. Lines are medians over the problems.

enum { LIMITS = 27, PROBLEMS_MAX = 1000, REPEATS = 3 };  // the shortest time of three

// Exact results are drawn at this value, so that a logarithmic axis shows them.
#define LEAST_MAP 1e-17
// Relative to impulses that are hardly there yet: not shown.
#define GREATEST_MAP 1e3

// About sqrt(2) apart.
static const int32_t limits[LIMITS] = {1,   2,    3,    4,    6,    8,    11,   16,   23,
                                       32,  45,   64,   91,   128,  181,  256,  362,  512,
                                       724, 1024, 1448, 2048, 2896, 4096, 5793, 8192, 10000};

// Solves the problem with a limit; *more: the limit ended it.
static sap_status measure_limit(compare_job* job, const contender* c, int32_t limit, point* out,
                                bool* more, sap_error* error) {
  sap_solver_options options = c->options;
  sap_solver* solver = NULL;
  sap_residual r;
  options.max_sweeps = options.max_iterations = limit;
  sap_status status = sap_solver_create(c->info->name, &options, &solver, error);
  double time = (double)INFINITY;
  for (int i = 0; i < REPEATS && status == SAP_STATUS_OK; ++i) {
    sap_solver_forget(solver);
    status = sap_solver_solve(solver, job->problem, &job->solution, &job->report, error);
    time = fmin(time, job->report.time);
  }
  SAP_THEN(status, sap_residuals(job->problem, job->solution.v, job->solution.gamma, &r, error));
  if (status == SAP_STATUS_OK) {
    out->map = c->info->signorini ? r.ncp_natural_map_scaled : r.ccp_natural_map_scaled;
    out->time = time;
    *more = job->report.outcome == SAP_OUTCOME_ITERATION_LIMIT;
  }
  sap_solver_destroy(solver);
  return status;
}

// A limit beyond what the solver needs repeats its last point.
static sap_status measure_convergence(compare_job* job, sap_error* error) {
  const int32_t each = job->count * LIMITS;
  if (job->measured >= PROBLEMS_MAX) {
    return SAP_STATUS_OK;
  }
  CLI_GROW(&job->points, &job->point_room, (job->measured + 1) * each);
  for (int i = 0; i < job->count; ++i) {
    const contender* c = &job->contenders[i];
    point* out = &job->points[job->measured * each + i * LIMITS];
    bool more = true;
    for (int k = 0; k < LIMITS; ++k) {
      out[k] = k > 0 && !more ? out[k - 1] : (point){(double)NAN, (double)NAN};
      if (more && limits[k] <= c->options.max_sweeps) {
        const sap_status status = measure_limit(job, c, limits[k], &out[k], &more, error);
        more = more && status != SAP_STATUS_UNSUPPORTED;  // it refuses the problem
        SAP_TRY(status == SAP_STATUS_UNSUPPORTED ? SAP_STATUS_OK : status);
      }
    }
  }
  job->measured += 1;
  return SAP_STATUS_OK;
}

static void add_lines(const compare_job* job, int index, cli_lines* lines) {
  double x[LIMITS], y[LIMITS], t[LIMITS], maps[PROBLEMS_MAX], times[PROBLEMS_MAX];
  int count = 0;
  for (int k = 0; k < LIMITS; ++k) {
    for (int32_t p = 0; p < job->measured; ++p) {
      const point* at = &job->points[(p * job->count + index) * LIMITS + k];
      maps[p] = at->map;
      times[p] = at->time;
    }
    x[count] = limits[k];
    const double map = cli_quantile(maps, job->measured, 0.5);
    y[count] = map < LEAST_MAP ? LEAST_MAP : map;
    t[count] = 1e6 * cli_quantile(times, job->measured, 0.5);
    // The line ends where it no longer falls.
    const bool falls = count == 0 || y[count] < y[count - 1];
    count += falls && y[count] <= GREATEST_MAP ? 1 : 0;
  }
  cli_line_add(lines, 0, job->contenders[index].name, count, x, y);
  cli_line_add(lines, 1, job->contenders[index].name, count, t, y);
}

static sap_status write_convergence(const compare_job* job, sap_error* error) {
  cli_lines lines = {0};
  for (int i = 0; i < job->count; ++i) {
    add_lines(job, i, &lines);
  }
  sap_chart_panel panels[2] = {{.title = "Residual over iterations",
                                .x_label = "iterations",
                                .y_label = "natural map of the own model",
                                .log_x = true,
                                .log_y = true,
                                .markers = true}};
  panels[1] = panels[0];
  panels[1].title = "Residual over time";
  panels[1].x_label = "time [µs]";
  return cli_lines_write(&lines, panels, 2, job->convergence, job->lines, error);
}

// --- one problem, all solvers, one judge ---

// Keeps the first contender's velocities, for the differences of the others.
static sap_status keep_first(compare_job* job, sap_error* error) {
  SAP_TRY(sap_solution_resize(&job->first, job->solution.nv, job->solution.nrows, error));
  if (job->solution.nv > 0) {
    memcpy(job->first.v, job->solution.v, (size_t)job->solution.nv * sizeof(double));
  }
  return SAP_STATUS_OK;
}

// Solves the problem with all contenders and computes the same residuals for each. A solver that
// does not accept the problem's blocks counts as refused. A problem without blocks has v = v*.
static sap_status compare_problem(compare_job* job, const char* path, int64_t index,
                                  sap_error* error) {
  bool have_first = false;
  SAP_TRY(sap_problem_check(job->problem, error));
  for (int i = 0; i < job->count && sap_problem_block_count(job->problem) > 0; ++i) {
    contender* c = &job->contenders[i];
    sap_residual residual;
    if (job->start == COMPARE_COLD) {
      sap_solver_forget(c->solver);
    }
    sap_status status =
        sap_solver_solve(c->solver, job->problem, &job->solution, &job->report, error);
    if (status == SAP_STATUS_UNSUPPORTED) {
      c->refused += 1;
      continue;
    }
    SAP_THEN(status,
             sap_residuals(job->problem, job->solution.v, job->solution.gamma, &residual, error));
    if (status == SAP_STATUS_OK && !have_first) {
      status = keep_first(job, error);
      have_first = true;
    }
    SAP_TRY_OR(status, sap_error_prefix(error, "%s", c->info->name));
    count_solve(c, &job->report, &residual);
    if (job->table != NULL) {
      add_row(job, c, path, index, &residual);
    }
  }
  const bool measured = job->convergence != NULL || job->lines != NULL;
  return measured && sap_problem_block_count(job->problem) > 0 ? measure_convergence(job, error)
                                                               : SAP_STATUS_OK;
}

static int compare_file(compare_job* job, const char* path) {
  sap_error error = {0};
  int64_t index = 0;
  for (int64_t at = 0; at >= 0; ++index) {
    SAP_RETURN_IF(sap_problem_file_read_next(path, &at, job->problem, &error) != SAP_STATUS_OK,
                  cli_report(&error));
    if (compare_problem(job, path, index, &error) != SAP_STATUS_OK) {
      cli_message("%s: %s", path, error.message);
      return cli_exit_code(error.status);
    }
  }
  return CLI_OK;
}

// --- the command ---

// Creates the named contenders in their order; without names all solvers.
static sap_status create_contenders(compare_job* job, sap_error* error) {
  const int32_t all = job->count == 0 ? sap_solver_count() : 0;
  for (; job->count < all && job->count < CONTENDERS_MAX; ++job->count) {
    job->contenders[job->count].name = sap_solver_get_info(job->count)->name;
  }
  SAP_EACH(contender, c, job->contenders, job->count) {
    c->options = job->options;
    c->info = cli_read_solver(c->name, &c->options);
    SAP_TRY(sap_solver_create(c->info->name, &c->options, &c->solver, error));
  }
  return sap_problem_create(&job->problem, error);
}

static sap_status write_rows(const compare_job* job, sap_error* error) {
  sap_file* file;
  SAP_TRY(sap_file_create(job->rows, &file, error));
  cli_table_print(job->table, CLI_FORMAT_CSV, sap_file_stream(file));
  return sap_file_finish(file, SAP_STATUS_OK, error);
}

// Prints the table first, so that a failing output does not lose the results.
static int finish(compare_job* job) {
  sap_error error = {0};
  if (job->summary) {
    print_summary(job);
  } else {
    cli_table_print(job->table, job->format, stdout);
  }
  const int code = cli_flush();
  SAP_RETURN_IF((job->rows != NULL && write_rows(job, &error) != SAP_STATUS_OK) ||
                    write_convergence(job, &error) != SAP_STATUS_OK,
                cli_report(&error));
  return code;
}

static int compare(compare_job* job, char** paths, int count) {
  sap_error error;
  SAP_RETURN_IF(create_contenders(job, &error) != SAP_STATUS_OK, cli_report(&error));
  if (!job->summary || job->rows != NULL) {
    job->table = cli_table_create(row_columns);
  }
  int code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < count; ++i) {
    code = compare_file(job, paths[i]);
  }
  return code == CLI_OK ? finish(job) : code;
}

static int run(const cli_command* command, int argc, char** argv) {
  compare_job* job = cli_new(1, sizeof *job);
  cli_parser parser;
  job->options = default_options();
  SAP_RETURN_IF(!cli_parse(&parser, command, job, argc, argv), parser.exit_code);
  const int code = compare(job, parser.operands, parser.noperands);
  sap_problem_destroy(job->problem);
  for (int i = 0; i < job->count; ++i) {
    sap_solver_destroy(job->contenders[i].solver);
  }
  sap_solution_clear(&job->solution);
  sap_solution_clear(&job->first);
  sap_report_clear(&job->report);
  return code;
}

const cli_command cli_command_compare = {
    .name = "compare",
    .operands = "FILE...",
    .summary = "compare solvers on stored problems",
    .text = cli_text_compare,
    .options = option_list,
    .tables = {CLI_TABLE(sap_solver_option_table, compare_job, options, default_of)},
    .run = run,
};
