// SPDX-License-Identifier: BSD-3-Clause
#include "cli/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/files.h"
#include "core/file.h"
#include "core/memory.h"

enum { POINTS = 400 };

int cli_ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static bool never_falls(int64_t n, const double* x) {
  for (int64_t i = 1; i < n; ++i) {
    if (!(x[i] >= x[i - 1])) {
      return false;
    }
  }
  return true;
}

static int32_t every_kth(int64_t n, const double* x, const double* y, int32_t most, double* xs,
                         double* ys) {
  const int64_t stride = n > most ? (n + most - 1) / most : 1;
  int32_t count = 0;
  for (int64_t i = 0; i < n; i += stride) {
    const int64_t at = i + stride < n ? i : n - 1;
    xs[count] = x[at];
    ys[count++] = y[at];
  }
  return count;
}

int32_t cli_thin_line(int64_t n, const double* x, const double* y, int32_t most, double* xs,
                      double* ys) {
  if (n <= most || !never_falls(n, x)) {
    return every_kth(n, x, y, most, xs, ys);
  }
  const int64_t stretch = (n + most / 2 - 1) / (most / 2);
  int32_t count = 0;
  for (int64_t at = 0; at < n; at += stretch) {
    int64_t low = at, high = at;
    for (int64_t i = at; i < n && i < at + stretch; ++i) {
      low = y[i] < y[low] || isnan(y[low]) ? i : low;
      high = y[i] > y[high] || isnan(y[high]) ? i : high;
    }
    const int64_t pair[2] = {low < high ? low : high, low < high ? high : low};
    for (int k = 0; k < (low == high ? 1 : 2); ++k, ++count) {
      xs[count] = x[pair[k]];
      ys[count] = y[pair[k]];
    }
  }
  return count;
}

bool cli_line_add(cli_lines* lines, int panel, const char* label, int64_t count, const double* x,
                  const double* y) {
  if (SAP_GROW(&lines->lines, &lines->capacity, lines->count + 1, NULL) != SAP_STATUS_OK) {
    return false;
  }
  cli_line* line = &lines->lines[lines->count];
  *line = (cli_line){.panel = panel, .count = count};
  (void)snprintf(line->label, sizeof line->label, "%.*s", CLI_LABEL_SIZE - 1, label);
  line->x = malloc(((size_t)count + 1) * sizeof *line->x);
  line->y = malloc(((size_t)count + 1) * sizeof *line->y);
  if (line->x == NULL || line->y == NULL) {
    free(line->x);
    free(line->y);
    return false;
  }
  memcpy(line->x, x, (size_t)count * sizeof *x);
  memcpy(line->y, y, (size_t)count * sizeof *y);
  ++lines->count;
  return true;
}

void cli_lines_clear(cli_lines* lines) {
  for (int i = 0; i < lines->count; ++i) {
    free(lines->lines[i].x);
    free(lines->lines[i].y);
  }
  sap_free(lines->lines);
  *lines = (cli_lines){0};
}

void cli_lines_range(const cli_lines* lines, int panel, bool of_x, double* low, double* high) {
  *low = (double)INFINITY;
  *high = 0.0;
  for (int i = 0; i < lines->count; ++i) {
    const cli_line* line = &lines->lines[i];
    const double* values = of_x ? line->x : line->y;
    for (int64_t k = 0; line->panel == panel && k < line->count; ++k) {
      *low = isfinite(values[k]) ? fmin(*low, values[k]) : *low;
      *high = isfinite(values[k]) ? fmax(*high, values[k]) : *high;
    }
  }
}

static void put_text(FILE* file, const char* text) {
  (void)fputc('"', file);
  sap_csv_put(file, text);
  (void)fputs("\",", file);
}

static void print_csv(const cli_lines* lines, const sap_chart_panel* panels, FILE* file) {
  (void)fputs("panel,line,x_label,x,y_label,y\n", file);
  for (int i = 0; i < lines->count; ++i) {
    const cli_line* line = &lines->lines[i];
    const sap_chart_panel* p = &panels[line->panel];
    for (int64_t k = 0; k < line->count; ++k) {
      put_text(file, p->title);
      put_text(file, line->label);
      put_text(file, p->x_label);
      (void)fprintf(file, "%.17g,", line->x[k]);
      put_text(file, p->y_label);
      (void)fprintf(file, "%.17g\n", line->y[k]);
    }
  }
}

sap_status cli_lines_write_csv(const cli_lines* lines, const sap_chart_panel* panels,
                               const char* path, sap_error* error) {
  sap_file* file = NULL;
  sap_status status = sap_file_create(path, &file, error);
  if (status == SAP_STATUS_OK) {
    print_csv(lines, panels, sap_file_stream(file));
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

sap_status cli_lines_write(const cli_lines* lines, sap_chart_panel* panels, int count,
                           const char* path, bool table, sap_error* error) {
  sap_chart_series* series = calloc((size_t)lines->count + 1, sizeof *series);
  double* points = malloc(((size_t)lines->count + 1) * 2 * POINTS * sizeof *points);
  if (series == NULL || points == NULL) {
    free(series);
    free(points);
    return cli_no_memory(error);
  }
  int used = 0;
  bool alike = true;  // one legend for all
  for (int p = 0; p < count; ++p) {
    panels[p].series = series + used;
    panels[p].series_count = 0;
    for (int i = 0; i < lines->count; ++i) {
      const cli_line* line = &lines->lines[i];
      if (line->panel == p) {
        const int k = panels[p].series_count++;
        double *xs = points + (size_t)used * 2 * POINTS, *ys = xs + POINTS;
        const int32_t drawn = cli_thin_line(line->count, line->x, line->y, POINTS, xs, ys);
        series[used++] = (sap_chart_series){line->label, drawn, xs, ys};
        alike = alike &&
                (k >= panels[0].series_count || strcmp(panels[0].series[k].name, line->label) == 0);
      }
    }
  }
  // At most three panels side by side are readable.
  const sap_status status = alike && count <= 3
                                ? sap_chart_write(path, panels, count, error)
                                : sap_chart_write_stacked(path, panels, count, error);
  free(series);
  free(points);
  if (status != SAP_STATUS_OK || !table) {
    return status;
  }
  char* name = cli_sibling_path(path, ".csv");
  const sap_status written =
      name != NULL ? cli_lines_write_csv(lines, panels, name, error) : cli_no_memory(error);
  free(name);
  return written;
}

// --- performance profiles ---

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
