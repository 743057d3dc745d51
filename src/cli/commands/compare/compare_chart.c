// SPDX-License-Identifier: BSD-3-Clause
// Charts of a comparison: performance profiles, natural maps over the limit, times of scenes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/files.h"
#include "core/file.h"

// --- performance profiles ---

enum { TITLE_SIZE = 160 };

bool profile_add_problem(profile* p, int nsolvers) {
  p->nsolvers = nsolvers;
  if (p->nproblems == p->capacity) {
    const int64_t capacity = 2 * p->capacity + 16;
    double* times = realloc(p->times, (size_t)(capacity * nsolvers) * sizeof *times);
    if (times == NULL) {
      return false;
    }
    p->times = times;
    p->capacity = capacity;
  }
  for (int s = 0; s < nsolvers; ++s) {
    p->times[p->nproblems * nsolvers + s] = (double)NAN;
  }
  p->nproblems += 1;
  return true;
}

void profile_set(profile* p, int solver, double time) {
  p->times[(p->nproblems - 1) * p->nsolvers + solver] = time;
}

void profile_clear(profile* p) {
  free(p->times);
  *p = (profile){0};
}

// Collects the ratios of a solver to the fastest, ascending; returns their number.
static int64_t collect(const profile* p, int solver, double* ratios) {
  int64_t count = 0;
  for (int64_t i = 0; i < p->nproblems; ++i) {
    const double* times = p->times + i * p->nsolvers;
    double best = (double)INFINITY;
    for (int s = 0; s < p->nsolvers; ++s) {
      best = times[s] < best ? times[s] : best;
    }
    if (!isnan(times[solver])) {
      ratios[count++] = best > 0.0 ? times[solver] / best : 1.0;
    }
  }
  qsort(ratios, (size_t)count, sizeof *ratios, cli_ascending);
  return count;
}

// Makes the step function of the ratios from 1 to `end`; returns its number of points.
static int32_t make_stair(const double* ratios, int64_t count, int64_t nproblems, double end,
                          double* x, double* y) {
  int32_t n = 0;
  double share = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    x[n] = ratios[i];
    y[n++] = share;
    share = (double)(i + 1) / (double)nproblems;
    x[n] = ratios[i];
    y[n++] = share;
  }
  x[n] = end;
  y[n++] = share;
  return n;
}

static sap_status write_profile_csv(const profile* p, const char* const* names,
                                    const sap_chart_series* series, const char* path,
                                    sap_error* error) {
  sap_file* file = NULL;
  char* name = cli_sibling_path(path, ".csv");
  sap_status status = name != NULL ? sap_file_create(name, &file, error) : cli_no_memory(error);
  if (status == SAP_STATUS_OK) {
    FILE* stream = sap_file_stream(file);
    (void)fputs("solver,tau,share\n", stream);
    for (int s = 0; s < p->nsolvers; ++s) {
      for (int32_t i = 1; i < series[s].count; i += 2) {
        (void)fprintf(stream, "%s,%.9g,%.9g\n", names[s], series[s].x[i], series[s].y[i]);
      }
    }
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  free(name);
  return status;
}

static sap_status write_both(const profile* p, const char* const* names, double tolerance,
                             const sap_chart_series* series, const char* path, sap_error* error) {
  char title[TITLE_SIZE];
  (void)snprintf(title, sizeof title, "%lld problems solved to %g", (long long)p->nproblems,
                 tolerance);
  const sap_chart_panel panel = {.title = title,
                                 .x_label = "time over that of the fastest",
                                 .y_label = "share solved",
                                 .log_x = true,
                                 .series_count = p->nsolvers,
                                 .series = series};
  SAP_TRY(sap_chart_write(path, &panel, 1, error));
  return write_profile_csv(p, names, series, path, error);
}

sap_status profile_write(const profile* p, const char* const* names, double tolerance,
                         const char* path, sap_error* error) {
  static const double MARGIN = 2.0;  // past the last ratio
  const size_t n = (size_t)p->nproblems, points = 2 * n + 1, solvers = (size_t)p->nsolvers;
  double* memory = calloc(solvers * (n + 2 * points) + 1, sizeof *memory);
  int64_t* counts = calloc(solvers + 1, sizeof *counts);
  sap_chart_series* series = calloc(solvers + 1, sizeof *series);
  sap_status status = SAP_STATUS_OK;
  if (memory == NULL || counts == NULL || series == NULL) {
    status = cli_no_memory(error);
  } else {
    double end = MARGIN;
    for (size_t s = 0; s < solvers; ++s) {
      double* ratios = memory + s * n;
      counts[s] = collect(p, (int)s, ratios);
      end = counts[s] > 0 ? fmax(end, MARGIN * ratios[counts[s] - 1]) : end;
    }
    for (size_t s = 0; s < solvers; ++s) {
      double* x = memory + solvers * n + 2 * s * points;
      series[s] = (sap_chart_series){.name = names[s], .x = x, .y = x + points};
      series[s].count = make_stair(memory + s * n, counts[s], p->nproblems, end, x, x + points);
    }
    status = write_both(p, names, tolerance, series, path, error);
  }
  free(memory);
  free(counts);
  free(series);
  return status;
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
  int64_t problems;
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
    job->convergence = calloc(1, sizeof *job->convergence);
  }
  compare_convergence* all = job->convergence;
  const size_t each = (size_t)job->count * LIMITS;
  if (all != NULL && all->problems >= PROBLEMS_MAX) {
    return SAP_STATUS_OK;
  }
  point* points = all != NULL
                      ? realloc(all->points, ((size_t)all->problems + 1) * each * sizeof *points)
                      : NULL;
  if (points == NULL) {
    return cli_no_memory(error);
  }
  all->points = points;
  for (int i = 0; i < job->count; ++i) {
    SAP_TRY(measure_convergence(job, i, problem,
                                points + (size_t)all->problems * each + (size_t)i * LIMITS, error));
  }
  all->problems += 1;
  return SAP_STATUS_OK;
}

static bool add_lines(compare_job* job, int contender, cli_lines* lines) {
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
  return cli_line_add(lines, 0, label, count, x, y) && cli_line_add(lines, 1, label, count, t, y);
}

sap_status compare_convergence_write(compare_job* job, sap_error* error) {
  cli_lines lines = {0};
  sap_status status = SAP_STATUS_OK;
  if (job->convergence == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "--convergence: no step had a contact problem");
  }
  bool good = true;
  for (int i = 0; i < job->count && good; ++i) {
    good = (job->contenders[i].warm && job->options.start == COMPARE_BOTH) ||
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
  if (good) {
    status = cli_lines_write(&lines, panels, 2, job->options.convergence, true, error);
  } else {
    status = cli_no_memory(error);
  }
  cli_lines_clear(&lines);
  return status;
}

void compare_convergence_destroy(compare_convergence* convergence) {
  if (convergence != NULL) {
    free(convergence->points);
  }
  free(convergence);
}

// Median times of solvers on scenes, cold beside warm.

sap_status compare_timings_write(compare_job* job, sap_error* error) {
  const compare_options* o = &job->options;
  const int first = o->start == COMPARE_WARM ? 1 : 0, last = o->start == COMPARE_COLD ? 0 : 1;
  static const char* const titles[] = {"Cold start", "Warm start"};
  char names[COMPARE_VALUES_MAX][COMPARE_LABEL_SIZE];
  const char* x_names[COMPARE_VALUES_MAX];
  const int scenes = job->scene_count < COMPARE_VALUES_MAX ? job->scene_count : COMPARE_VALUES_MAX;
  cli_lines lines = {0};
  sap_chart_panel panels[2] = {{0}};
  for (int s = 0; s < scenes; ++s) {
    compare_scene_name(o->operands[s], names[s]);
    x_names[s] = names[s];
  }
  bool good = true;
  for (int i = 0; i < job->count && good; ++i) {
    const compare_contender* c = &job->contenders[i];
    double x[COMPARE_VALUES_MAX], y[COMPARE_VALUES_MAX];
    for (int s = 0; s < scenes; ++s) {
      const compare_where where = {.scene = s};
      x[s] = s;
      y[s] = 1e6 * compare_median_time(compare_group_of(job, &where, i));
    }
    good = cli_line_add(&lines, (c->warm ? 1 : 0) - first, c->name, scenes, x, y);
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
  sap_status status = SAP_STATUS_OK;
  if (good) {
    status = cli_lines_write(&lines, panels, last - first + 1, o->timings, true, error);
  } else {
    status = cli_no_memory(error);
  }
  cli_lines_clear(&lines);
  return status;
}
