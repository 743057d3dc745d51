// SPDX-License-Identifier: BSD-3-Clause
// A sweep as a chart: each measure over a parameter of the grid, a line for each combination of the
// others, means over samples.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/chart.h>

#include "cli/commands/sweep/sweep.h"

enum { LINES_MAX = 12, LABEL_SIZE = 256, LOG_RATIO = 20 };

typedef struct drawing {
  const sweep_study* study;
  const sweep_row* rows;
  int x;           // the parameter
  int64_t points;  // of the grid
  int32_t lines;
  char labels[LINES_MAX][LABEL_SIZE];
  int32_t counts[LINES_MAX];
  double* values;  // x and y of all points, measure by measure, line by line
} drawing;

// The first of the grid whose values are numbers, and most of them; -1: none.
static int find_x(const sweep_study* s) {
  int best = -1;
  for (int i = 0; i < s->parameter_count; ++i) {
    const sweep_parameter* p = &s->parameters[i];
    if (p->kind == SWEEP_GRID && p->numeric && p->count > 1 &&
        (best < 0 || p->count > s->parameters[best].count)) {
      best = i;
    }
  }
  return best;
}

// "scheme midpoint, dt 0.01": the others of the grid at a point.
static void label_of(const drawing* d, int64_t point, char out[LABEL_SIZE]) {
  const sweep_study* s = d->study;
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < s->parameter_count; ++i) {
    char value[SWEEP_TEXT_SIZE];
    if (s->parameters[i].kind == SWEEP_GRID && i != d->x && used < LABEL_SIZE) {
      sweep_value(s, i, point * s->samples, value);
      const int n = snprintf(out + used, LABEL_SIZE - used, "%s%s %s", used > 0 ? ", " : "",
                             s->parameters[i].name, value);
      used += n > 0 ? (size_t)n : 0;
    }
  }
}

static int32_t line_of(drawing* d, int64_t point) {
  char label[LABEL_SIZE];
  label_of(d, point, label);
  for (int32_t i = 0; i < d->lines; ++i) {
    if (strcmp(d->labels[i], label) == 0) {
      return i;
    }
  }
  (void)memcpy(d->labels[d->lines], label, LABEL_SIZE);
  return d->lines++;
}

// The mean of a measure over the samples of a point.
static double mean_of(const drawing* d, int64_t point, int measure) {
  double sum = 0.0, n = 0.0;
  for (int64_t i = point * d->study->samples; i < (point + 1) * d->study->samples; ++i) {
    const double x = d->rows[i].index >= 0 ? d->rows[i].measures[measure] : (double)NAN;
    sum += isfinite(x) ? x : 0.0;
    n += isfinite(x) ? 1.0 : 0.0;
  }
  return n > 0.0 ? sum / n : (double)NAN;
}

static double* values_of(const drawing* d, int measure, int32_t line) {
  const size_t most = (size_t)d->study->parameters[d->x].count;
  return d->values + ((size_t)measure * LINES_MAX + (size_t)line) * 2 * most;
}

static void collect(drawing* d) {
  const int32_t most = d->study->parameters[d->x].count;
  for (int64_t point = 0; point < d->points; ++point) {
    const int32_t line = line_of(d, point), k = d->counts[line]++;
    char value[SWEEP_TEXT_SIZE];
    sweep_value(d->study, d->x, point * d->study->samples, value);
    for (int m = 0; m < d->study->measure_count; ++m) {
      double* xy = values_of(d, m, line);
      xy[k] = strtod(value, NULL);
      xy[most + k] = mean_of(d, point, m);
    }
  }
}

// Whether all values are positive and spread over a ratio that a linear axis would hide.
static bool spread(const drawing* d, int measure, bool of_x) {
  const int32_t most = d->study->parameters[d->x].count;
  double low = (double)INFINITY, high = 0.0;
  for (int32_t i = 0; i < d->lines; ++i) {
    const double* v = values_of(d, measure, i) + (of_x ? 0 : most);
    for (int32_t k = 0; k < d->counts[i]; ++k) {
      low = isfinite(v[k]) ? fmin(low, v[k]) : low;
      high = isfinite(v[k]) ? fmax(high, v[k]) : high;
    }
  }
  return low > 0.0 && high > LOG_RATIO * low;
}

static sap_status write(const drawing* d, const char* path, sap_error* error) {
  sap_chart_series series[SWEEP_MEASURES_MAX][LINES_MAX];
  sap_chart_panel panels[SWEEP_MEASURES_MAX];
  char y_labels[SWEEP_MEASURES_MAX][LABEL_SIZE];
  const sweep_study* s = d->study;
  const int32_t most = s->parameters[d->x].count;
  const char* slash = strrchr(s->scene, '/');
  const char* scene = slash != NULL ? slash + 1 : s->scene;  // a line alone is named by that
  for (int m = 0; m < s->measure_count; ++m) {
    const char* name = s->measures[m].name;
    for (int32_t i = 0; i < d->lines; ++i) {
      const double* xy = values_of(d, m, i);
      const char* label = d->labels[i][0] != '\0' ? d->labels[i] : scene;
      series[m][i] = (sap_chart_series){label, d->counts[i], xy, xy + most};
    }
    (void)snprintf(y_labels[m], LABEL_SIZE, "%s%s", name, sweep_measure_unit(name));
    panels[m] = (sap_chart_panel){.title = name,
                                  .x_label = s->parameters[d->x].name,
                                  .y_label = y_labels[m],
                                  .log_x = spread(d, m, true),
                                  .log_y = spread(d, m, false),
                                  .markers = true,
                                  .series_count = d->lines,
                                  .series = series[m]};
  }
  return s->measure_count <= 3 ? sap_chart_write(path, panels, s->measure_count, error)
                               : sap_chart_write_stacked(path, panels, s->measure_count, error);
}

bool sweep_chart_possible(const sweep_study* study, sap_error* error) {
  const int x = find_x(study);
  if (x < 0) {
    (void)sap_fail(error, SAP_STATUS_ARGUMENT,
                   "%.200s: --svg draws over a grid of numbers, and the study has none",
                   study->path);
    return false;
  }
  const int64_t lines = study->cases / study->samples / study->parameters[x].count;
  if (lines > LINES_MAX) {
    (void)sap_fail(error, SAP_STATUS_ARGUMENT,
                   "%.200s: --svg would draw %lld lines over %s, at most %d can be told apart",
                   study->path, (long long)lines, study->parameters[x].name, LINES_MAX);
    return false;
  }
  return true;
}

sap_status sweep_chart_write(const sweep_study* study, const sweep_row* rows, const char* path,
                             sap_error* error) {
  drawing* d = calloc(1, sizeof *d);
  if (d == NULL) {
    return cli_no_memory(error);
  }
  sap_status status;
  *d = (drawing){
      .study = study, .rows = rows, .x = find_x(study), .points = study->cases / study->samples};
  d->values = calloc((size_t)study->measure_count * LINES_MAX * 2,
                     (size_t)study->parameters[d->x].count * sizeof *d->values);
  if (d->values != NULL) {
    collect(d);
    status = write(d, path, error);
  } else {
    status = cli_no_memory(error);
  }
  free(d->values);
  free(d);
  return status;
}
