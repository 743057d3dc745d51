// SPDX-License-Identifier: BSD-3-Clause
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/lines.h"
#include "core/file.h"
#include "core/memory.h"

enum { TITLE_SIZE = 160 };

bool profile_add_problem(profile* p, int nsolvers) {
  p->nsolvers = nsolvers;
  if (SAP_GROW(&p->times, &p->capacity, (p->nproblems + 1) * nsolvers, NULL) != SAP_STATUS_OK) {
    return false;
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
  sap_free(p->times);
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
  sap_status status = sap_file_create(cli_sibling_path(path, ".csv"), &file, error);
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
  SAP_TRY(sap_chart_write(path, &panel, 1, false, error));
  return write_profile_csv(p, names, series, path, error);
}

sap_status profile_write(const profile* p, const char* const* names, double tolerance,
                         const char* path, sap_error* error) {
  static const double MARGIN = 2.0;  // past the last ratio
  const size_t n = (size_t)p->nproblems, points = 2 * n + 1, solvers = (size_t)p->nsolvers;
  double* memory = cli_new(solvers * (n + 2 * points), sizeof *memory);
  int64_t* counts = cli_new(solvers, sizeof *counts);
  sap_chart_series* series = cli_new(solvers, sizeof *series);
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
  return write_both(p, names, tolerance, series, path, error);
}
