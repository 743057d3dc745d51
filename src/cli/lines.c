// SPDX-License-Identifier: BSD-3-Clause
#include "cli/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/file.h"

enum { POINTS = 400 };

int cli_ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double cli_quantile(double* values, int64_t count, double part) {
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (isfinite(values[i])) {
      values[n++] = values[i];
    }
  }
  if (n == 0) {
    return (double)NAN;
  }
  qsort(values, (size_t)n, sizeof *values, cli_ascending);
  const double at = part * (double)(n - 1);
  const int64_t low = (int64_t)at, high = low + 1 < n ? low + 1 : low;
  return values[low] + (at - (double)low) * (values[high] - values[low]);
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

void cli_line_add(cli_lines* lines, int panel, const char* label, int64_t count, const double* x,
                  const double* y) {
  CLI_GROW(&lines->lines, &lines->capacity, lines->count + 1);
  cli_line* line = &lines->lines[lines->count++];
  *line = (cli_line){.panel = panel, .count = count};
  (void)snprintf(line->label, sizeof line->label, "%.*s", CLI_LABEL_SIZE - 1, label);
  line->x = cli_new((size_t)count, sizeof *line->x);
  line->y = cli_new((size_t)count, sizeof *line->y);
  memcpy(line->x, x, (size_t)count * sizeof *x);
  memcpy(line->y, y, (size_t)count * sizeof *y);
}

void cli_lines_range(const cli_lines* lines, int panel, bool of_x, double* low, double* high) {
  *low = (double)INFINITY;
  *high = 0.0;
  SAP_EACH(const cli_line, line, lines->lines, lines->count) {
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
  SAP_EACH(const cli_line, line, lines->lines, lines->count) {
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

static sap_status write_csv(const cli_lines* lines, const sap_chart_panel* panels, const char* path,
                            sap_error* error) {
  sap_file* file = NULL;
  SAP_TRY(sap_file_create(path, &file, error));
  print_csv(lines, panels, sap_file_stream(file));
  return sap_file_finish(file, SAP_STATUS_OK, error);
}

sap_status cli_lines_write(const cli_lines* lines, sap_chart_panel* panels, int count,
                           const char* chart, const char* csv, sap_error* error) {
  sap_chart_series* series = cli_new((size_t)lines->count, sizeof *series);
  double* points = cli_new((size_t)lines->count * 2 * POINTS, sizeof *points);
  int used = 0;
  bool alike = true;  // one legend for all
  for (int p = 0; p < count; ++p) {
    panels[p].series = series + used;
    panels[p].series_count = 0;
    SAP_EACH(const cli_line, line, lines->lines, lines->count) {
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
  if (csv != NULL) {  // first: it needs no gnuplot
    SAP_TRY(write_csv(lines, panels, csv, error));
  }
  // At most three panels side by side are readable.
  return chart != NULL ? sap_chart_write(chart, panels, count, !alike || count > 3, error)
                       : SAP_STATUS_OK;
}
