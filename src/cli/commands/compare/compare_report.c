// SPDX-License-Identifier: BSD-3-Clause
// Tables of a comparison: a row per problem and contender, and the summary. Charts: natural maps
// over the limit, times of scenes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/files.h"
#include "core/file.h"

static const cli_column row_columns[] = {
    CLI_TEXTS("file"),
    CLI_INTEGERS("index"),
    CLI_TEXTS("solver"),
    CLI_TEXTS("start"),
    CLI_TEXTS("outcome"),
    CLI_INTEGERS("iterations"),
    CLI_REALS("time_us", 5),
    CLI_REALS("ccp_map", 3),
    CLI_REALS("ncp_map", 3),
    CLI_REALS("momentum", 3),
    CLI_REALS("slackness", 3),
    CLI_REALS("set_violation_Ns", 3),
    CLI_REALS("ncp_dual_mps", 3),
    CLI_REALS("ncp_complementarity_J", 3),
    CLI_REALS("signorini_J", 3),
    CLI_REALS("dissipation_J", 4),
    CLI_REALS("v_difference", 3),
    CLI_INTEGERS("cones"),
};

cli_table* compare_rows_create(void) {
  return cli_table_create(row_columns, sizeof row_columns / sizeof row_columns[0]);
}

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

void compare_rows_add(compare_job* job, const compare_contender* contender,
                      const compare_where* where, const sap_problem* problem, const sap_residual* r,
                      double difference) {
  CLI_CELLS(job->rows, CLI_T(where->name), CLI_I(where->index), CLI_T(contender->name),
            CLI_T(compare_start_names[contender->warm ? COMPARE_WARM : COMPARE_COLD]),
            CLI_T(sap_outcome_text(job->report.outcome)), CLI_I(job->report.iterations),
            CLI_R(1e6 * job->report.time), CLI_R(cli_residual_map(r, false)),
            CLI_R(cli_residual_map(r, true)), CLI_R(r->momentum), CLI_R(r->slackness),
            CLI_R(r->set_violation), CLI_R(r->ncp_dual), CLI_R(r->ncp_complementarity),
            CLI_R(r->signorini), CLI_R(r->dissipation), CLI_R(difference),
            CLI_I(count_cones(problem)));
}

void compare_scene_name(const char* path, char out[COMPARE_LABEL_SIZE]) {
  const char* at = path + strlen(path);
  for (int parts = 0; at > path; --at) {
    parts += at[-1] == '/' ? 1 : 0;
    if (parts == 2) {
      break;
    }
  }
  (void)snprintf(out, COMPARE_LABEL_SIZE, "%.*s", COMPARE_LABEL_SIZE - 1, at);
}

// The columns of the summary, with the residuals before the last.
static const cli_column summary_columns[] = {CLI_TEXTS("scene"),
                                             CLI_TEXTS("class"),
                                             CLI_TEXTS("solver"),
                                             CLI_TEXTS("start"),
                                             CLI_INTEGERS("problems"),
                                             CLI_INTEGERS("refused"),
                                             CLI_INTEGERS("solved_1e-4"),
                                             CLI_INTEGERS("solved_1e-8"),
                                             CLI_REALS("iterations_mean", 4),
                                             CLI_INTEGERS("iterations_max"),
                                             CLI_REALS("time_median_us", 4),
                                             CLI_REALS("time_max_us", 4),
                                             CLI_REALS("penetration_m", 3)};
enum {
  SUMMARY_LAST = sizeof summary_columns / sizeof *summary_columns - 1,
  COLUMNS = SUMMARY_LAST + CLI_RESIDUALS + 1
};

// Lists the columns; those that say nothing, or would make a table too wide, have no name.
static void list_columns(const compare_job* job, cli_column columns[COLUMNS]) {
  const compare_options* o = &job->options;
  const bool wide = o->format != CLI_FORMAT_TABLE;
  memcpy(columns, summary_columns, sizeof summary_columns);
  columns[0].name = job->scene_count > 1 || (o->scenes && wide) ? columns[0].name : NULL;
  columns[1].name = o->classes ? columns[1].name : NULL;
  columns[COLUMNS - 1] = summary_columns[SUMMARY_LAST];
  columns[COLUMNS - 1].name = o->scenes ? columns[COLUMNS - 1].name : NULL;
  for (int i = 0; i < CLI_RESIDUALS; ++i) {
    const char* name = wide || cli_residuals[i].narrow ? cli_residuals[i].name : NULL;
    columns[SUMMARY_LAST + i] = (cli_column){name, CLI_CELL_REAL, 3};
  }
}

static void print_group(const compare_job* job, const compare_where* where, int contender,
                        const compare_group* g, cli_table* table) {
  const compare_options* o = &job->options;
  const compare_contender* c = &job->contenders[contender];
  const double nan = (double)NAN, n = (double)g->problems;
  char name[COMPARE_LABEL_SIZE];
  compare_scene_name(o->operands[where->scene], name);
  CLI_CELLS(table, CLI_T(name), CLI_T(compare_class_names[where->class]), CLI_T(c->name),
            CLI_T(compare_start_names[c->warm ? COMPARE_WARM : COMPARE_COLD]), CLI_I(g->problems),
            CLI_I(g->refused), CLI_I(g->solved_4), CLI_I(g->solved_8),
            CLI_R(n > 0.0 ? (double)g->iterations / n : nan), CLI_I(g->iterations_max),
            CLI_R(1e6 * compare_median_time(g)), CLI_R(n > 0.0 ? 1e6 * g->time_max : nan));
  for (int i = 0; i < CLI_RESIDUALS; ++i) {
    cli_table_real(table, n > 0.0 ? g->worst[i] : nan);
  }
  cli_table_real(table, n > 0.0 ? g->penetration : nan);
}

void compare_print_summary(const compare_job* job) {
  cli_column columns[COLUMNS];
  list_columns(job, columns);
  cli_table* table = cli_table_create(columns, COLUMNS);
  const int classes = job->options.classes ? COMPARE_CLASSES : 1;
  compare_where where = {0};
  for (where.scene = 0; where.scene < job->scene_count; ++where.scene) {
    for (int k = 0; k < classes; ++k) {
      where.class = (compare_class)k;
      for (int i = 0; i < job->count; ++i) {
        const compare_group* g = compare_group_of(job, &where, i);
        if (classes == 1 || g->problems + g->refused > 0) {
          print_group(job, &where, i, g, table);
        }
      }
    }
  }
  cli_table_print(table, job->options.format, stdout);
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

typedef struct point {
  double map, time;  // NaN: not measured
} point;

struct compare_convergence {
  int32_t problems, room;
  point* points;  // [(problem contenders + contender) LIMITS + limit]
};

// A limit beyond what the solver needs repeats its last point.
static sap_status measure_convergence(const compare_job* job, int contender,
                                      const sap_problem* problem, point* out, sap_error* error) {
  const compare_contender* c = &job->contenders[contender];
  sap_solver_options options = c->options;
  sap_solution solution = {0};
  sap_report report = {0};
  sap_status status = SAP_STATUS_OK;
  bool ended = false;
  for (int k = 0; k < LIMITS && status == SAP_STATUS_OK; ++k) {
    out[k] = k > 0 && ended ? out[k - 1] : (point){(double)NAN, (double)NAN};
    if (ended || limits[k] > c->options.max_sweeps) {
      continue;
    }
    options.max_sweeps = options.max_iterations = limits[k];
    sap_solver* solver = NULL;
    sap_residual r;
    status = sap_solver_create(c->info->name, &options, &solver, error);
    double time = (double)INFINITY;
    for (int i = 0; i < REPEATS && status == SAP_STATUS_OK; ++i) {
      sap_solver_forget(solver);
      status = sap_solver_solve(solver, problem, &solution, &report, error);
      time = fmin(time, report.time);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_residuals(problem, solution.v, solution.gamma, &r, error);
    }
    if (status == SAP_STATUS_OK) {
      out[k].map = c->nonlinear ? r.ncp_natural_map_scaled : r.ccp_natural_map_scaled;
      out[k].time = time;
      ended = report.outcome != SAP_OUTCOME_ITERATION_LIMIT;
    }
    sap_solver_destroy(solver);
  }
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  for (int k = 0; status == SAP_STATUS_UNSUPPORTED && k < LIMITS; ++k) {
    out[k] = (point){(double)NAN, (double)NAN};
  }
  return status == SAP_STATUS_UNSUPPORTED ? SAP_STATUS_OK : status;
}

sap_status compare_convergence_add(compare_job* job, const sap_problem* problem, sap_error* error) {
  if (job->convergence == NULL) {
    job->convergence = cli_new(1, sizeof *job->convergence);
  }
  compare_convergence* all = job->convergence;
  const int32_t each = job->count * LIMITS;
  if (all->problems >= PROBLEMS_MAX) {
    return SAP_STATUS_OK;
  }
  CLI_GROW(&all->points, &all->room, (all->problems + 1) * each);
  for (int i = 0; i < job->count; ++i) {
    SAP_TRY(measure_convergence(job, i, problem, &all->points[all->problems * each + i * LIMITS],
                                error));
  }
  all->problems += 1;
  return SAP_STATUS_OK;
}

static void add_lines(compare_job* job, int contender, cli_lines* lines) {
  const compare_convergence* all = job->convergence;
  double x[LIMITS], y[LIMITS], t[LIMITS], maps[PROBLEMS_MAX], times[PROBLEMS_MAX];
  int count = 0;
  for (int k = 0; k < LIMITS; ++k) {
    for (int64_t p = 0; p < all->problems; ++p) {
      const size_t at = ((size_t)p * (size_t)job->count + (size_t)contender) * LIMITS + (size_t)k;
      maps[p] = all->points[at].map;
      times[p] = all->points[at].time;
    }
    x[count] = limits[k];
    const double map = compare_median(maps, all->problems);
    y[count] = map < LEAST_MAP ? LEAST_MAP : map;
    t[count] = 1e6 * compare_median(times, all->problems);
    // The line ends where it no longer falls.
    const bool falls = count == 0 || y[count] < y[count - 1];
    count += falls && y[count] <= GREATEST_MAP ? 1 : 0;
  }
  const char* label = job->contenders[contender].name;
  cli_line_add(lines, 0, label, count, x, y);
  cli_line_add(lines, 1, label, count, t, y);
}

sap_status compare_convergence_write(compare_job* job, sap_error* error) {
  cli_lines lines = {0};
  SAP_FAIL_IF(job->convergence == NULL, error, SAP_STATUS_ARGUMENT,
              "--convergence: no step had a contact problem");
  for (int i = 0; i < job->count; ++i) {
    if (!job->contenders[i].warm || job->options.start != COMPARE_BOTH) {
      add_lines(job, i, &lines);
    }
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
  return cli_lines_write(&lines, panels, 2, job->options.convergence, true, error);
}

// Median times of solvers on scenes, cold beside warm.

sap_status compare_timings_write(compare_job* job, sap_error* error) {
  const compare_options* o = &job->options;
  const int first = o->start == COMPARE_WARM ? 1 : 0, last = o->start == COMPARE_COLD ? 0 : 1;
  static const char* const titles[] = {"Cold start", "Warm start"};
  char names[COMPARE_SCENES_MAX][COMPARE_LABEL_SIZE];
  const char* x_names[COMPARE_SCENES_MAX];
  const int scenes = job->scene_count < COMPARE_SCENES_MAX ? job->scene_count : COMPARE_SCENES_MAX;
  cli_lines lines = {0};
  sap_chart_panel panels[2] = {{0}};
  for (int s = 0; s < scenes; ++s) {
    compare_scene_name(o->operands[s], names[s]);
    x_names[s] = names[s];
  }
  for (int i = 0; i < job->count; ++i) {
    const compare_contender* c = &job->contenders[i];
    double x[COMPARE_SCENES_MAX], y[COMPARE_SCENES_MAX];
    for (int s = 0; s < scenes; ++s) {
      const compare_where where = {.scene = s};
      x[s] = s;
      y[s] = 1e6 * compare_median_time(compare_group_of(job, &where, i));
    }
    cli_line_add(&lines, (c->warm ? 1 : 0) - first, c->name, scenes, x, y);
  }
  for (int p = first; p <= last; ++p) {
    panels[p - first] = (sap_chart_panel){.title = titles[p],
                                          .x_label = "",
                                          .y_label = "median time of a solve [µs]",
                                          .log_y = true,
                                          .markers = true,
                                          .x_names = x_names,
                                          .x_name_count = scenes};
  }
  return cli_lines_write(&lines, panels, last - first + 1, o->timings, true, error);
}
