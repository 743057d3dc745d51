// SPDX-License-Identifier: BSD-3-Clause
// How the natural map of a solver's own model falls with iterations and time: problems are solved
// anew with ever higher limits, and what comes back, the best found until then, is judged as any
// other solution. Lines are medians over the problems.
#include <math.h>
#include <stdlib.h>

#include "cli/commands/compare/compare.h"

enum { LIMITS = 27, PROBLEMS_MAX = 1000, REPEATS = 3 };  // the shortest time of three

// What is exact stands here, so that a logarithmic axis shows it.
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
static sap_status measure(const compare_job* job, int contender, const sap_problem* problem,
                          point* out, sap_error* error) {
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
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < job->count && status == SAP_STATUS_OK; ++i) {
    status =
        measure(job, i, problem, points + (size_t)all->problems * each + (size_t)i * LIMITS, error);
  }
  all->problems += 1;
  return status;
}

static bool add_lines(compare_job* job, int contender, compare_lines* lines) {
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
  return compare_line_add(lines, 0, label, count, x, y) &&
         compare_line_add(lines, 1, label, count, t, y);
}

sap_status compare_convergence_write(compare_job* job, sap_error* error) {
  compare_lines lines = {0};
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
    status = compare_chart_write(&lines, panels, 2, job->options.convergence, error);
  } else {
    status = cli_no_memory(error);
  }
  compare_lines_clear(&lines);
  return status;
}

void compare_convergence_destroy(compare_convergence* convergence) {
  if (convergence != NULL) {
    free(convergence->points);
  }
  free(convergence);
}
