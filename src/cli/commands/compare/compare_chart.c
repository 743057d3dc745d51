// SPDX-License-Identifier: BSD-3-Clause
// Lines as they are collected, and charts of them with their numbers beside as CSV.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/path.h"
#include "cli/thin_line.h"
#include "core/csv.h"
#include "core/file.h"

enum { POINTS = 400, PANELS_MAX = COMPARE_QUANTITIES_MAX };

bool compare_line_add(compare_lines* lines, int panel, const char* label, int64_t count,
                      const double* x, const double* y) {
  if (lines->count == lines->capacity) {
    const int capacity = 2 * lines->capacity + 16;
    compare_line* grown = realloc(lines->lines, (size_t)capacity * sizeof *grown);
    if (grown == NULL) {
      return false;
    }
    lines->lines = grown;
    lines->capacity = capacity;
  }
  compare_line* line = &lines->lines[lines->count];
  *line = (compare_line){.panel = panel, .count = count};
  (void)snprintf(line->label, sizeof line->label, "%.*s", COMPARE_LABEL_SIZE - 1, label);
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

void compare_lines_clear(compare_lines* lines) {
  for (int i = 0; i < lines->count; ++i) {
    free(lines->lines[i].x);
    free(lines->lines[i].y);
  }
  free(lines->lines);
  *lines = (compare_lines){0};
}

const char* compare_unit_of(const char* name) {
  static const char* const units[][2] = {
      {"dt", " [s]"}, {"mass", " [kg]"}, {"stiffness", " [N/m]"}, {"relaxation_time", " [s]"}};
  const char* slash = strrchr(name, '/');
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
    if (strcmp(slash != NULL ? slash + 1 : name, units[i][0]) == 0) {
      return units[i][1];
    }
  }
  return "";
}

bool compare_lines_spread(const compare_lines* lines, int panel) {
  double least = (double)INFINITY, most = 0.0;
  for (int i = 0; i < lines->count; ++i) {
    const compare_line* line = &lines->lines[i];
    for (int64_t k = 0; line->panel == panel && k < line->count; ++k) {
      const double y = line->y[k];
      least = isfinite(y) ? fmin(least, y) : least;
      most = isfinite(y) ? fmax(most, y) : most;
    }
  }
  return !(least > 0.0) || most > 2.0 * least;
}

static void put_text(FILE* file, const char* text) {
  (void)fputc('"', file);
  sap_csv_put(file, text);
  (void)fputs("\",", file);
}

static void print_csv(const compare_lines* lines, const sap_chart_panel* panels, FILE* file) {
  (void)fputs("panel,line,x_label,x,y_label,y\n", file);
  for (int i = 0; i < lines->count; ++i) {
    const compare_line* line = &lines->lines[i];
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

static sap_status write_csv(const compare_lines* lines, const sap_chart_panel* panels,
                            const char* path, sap_error* error) {
  sap_file* file = NULL;
  char* name = cli_sibling_path(path, ".csv");
  sap_status status = name != NULL ? sap_file_create(name, &file, error) : cli_no_memory(error);
  if (status == SAP_STATUS_OK) {
    print_csv(lines, panels, sap_file_stream(file));
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  free(name);
  return status;
}

sap_status compare_chart_write(const compare_lines* lines, sap_chart_panel* panels, int count,
                               const char* path, sap_error* error) {
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
      const compare_line* line = &lines->lines[i];
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
  // At most three side by side can be read.
  const sap_status status = alike && count <= 3
                                ? sap_chart_write(path, panels, count, error)
                                : sap_chart_write_stacked(path, panels, count, error);
  free(series);
  free(points);
  return status == SAP_STATUS_OK ? write_csv(lines, panels, path, error) : status;
}
