// SPDX-License-Identifier: BSD-3-Clause
// The table of a sweep as files, and its summary.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/output.h>

#include "cli/commands/sweep/study.h"
#include "cli/table.h"

enum {
  COLUMNS_MAX = STUDY_PARAMETERS_MAX + STUDY_MEASURES_MAX + 3,
  NAME_SIZE = STUDY_NAME_SIZE + 8
};

typedef struct columns {
  sap_result_column list[COLUMNS_MAX];
  double* numbers[COLUMNS_MAX];
  const char** texts[COLUMNS_MAX];
  char* values[COLUMNS_MAX];  // of texts, STUDY_TEXT_SIZE each
  int32_t count;
} columns;

static bool add_column(columns* c, const char* name, int64_t rows, bool numeric) {
  const int32_t i = c->count++;
  const size_t size = (size_t)rows + 1;
  c->list[i] = (sap_result_column){.name = name};
  if (numeric) {
    c->list[i].values = c->numbers[i] = malloc(size * sizeof(double));
    return c->numbers[i] != NULL;
  }
  c->list[i].texts = c->texts[i] = calloc(size, sizeof(char*));
  return c->texts[i] != NULL;
}

static bool add_parameter(columns* c, const study_spec* s, int parameter) {
  const study_parameter* p = &s->parameters[parameter];
  const int32_t at = c->count;
  char value[STUDY_TEXT_SIZE];
  if (!add_column(c, p->name, s->cases, p->numeric)) {
    return false;
  }
  if (!p->numeric) {
    c->values[at] = malloc((size_t)s->cases * STUDY_TEXT_SIZE);
    if (c->values[at] == NULL) {
      return false;
    }
  }
  for (int64_t i = 0; i < s->cases; ++i) {
    char* text = p->numeric ? value : c->values[at] + (size_t)i * STUDY_TEXT_SIZE;
    study_value(s, parameter, i, text);
    if (p->numeric) {
      c->numbers[at][i] = strtod(text, NULL);
    } else {
      c->texts[at][i] = text;
    }
  }
  return true;
}

static bool fill_columns(columns* c, const study_spec* s, const study_row* rows) {
  if (!add_column(c, "case", s->cases, true)) {
    return false;
  }
  for (int64_t i = 0; i < s->cases; ++i) {
    c->numbers[0][i] = (double)i;
  }
  for (int i = 0; i < s->parameter_count; ++i) {
    if (!add_parameter(c, s, i)) {
      return false;
    }
  }
  for (int k = 0; k < s->measure_count; ++k) {
    const int32_t at = c->count;
    if (!add_column(c, s->measures[k].name, s->cases, true)) {
      return false;
    }
    for (int64_t i = 0; i < s->cases; ++i) {
      c->numbers[at][i] = rows[i].measures[k];
    }
  }
  const int32_t at = c->count;
  if (!add_column(c, "status", s->cases, false) || !add_column(c, "message", s->cases, false)) {
    return false;
  }
  for (int64_t i = 0; i < s->cases; ++i) {
    c->texts[at][i] = study_status_names[rows[i].status];
    c->texts[at + 1][i] = rows[i].message;
  }
  return true;
}

// HDF5 takes '/' in a name for groups. A coordinate may be a parameter, and a measure at the end.
static void name_sets(columns* c, int parameters, char (*names)[NAME_SIZE]) {
  for (int32_t i = 0; i < c->count; ++i) {
    const bool end = i > parameters && strchr(c->list[i].name, '/') != NULL;
    (void)snprintf(names[i], NAME_SIZE, "%s%s", c->list[i].name, end ? "_end" : "");
    for (char* at = names[i]; *at != '\0'; ++at) {
      *at = *at == '/' ? '.' : *at;
    }
    c->list[i].name = names[i];
  }
}

sap_status study_write(const study_spec* study, const study_row* rows, const char* hdf5,
                       const char* csv, sap_error* error) {
  columns c = {0};
  char names[COLUMNS_MAX][NAME_SIZE];
  sap_status status = SAP_STATUS_OK;
  if (fill_columns(&c, study, rows)) {
    name_sets(&c, study->parameter_count, names);
    const sap_result_table table = {
        .columns = c.list, .column_count = c.count, .rows = study->cases, .note = study->text};
    if (csv != NULL) {
      status = sap_result_table_write_csv(csv, &table, error);
    }
    if (status == SAP_STATUS_OK && hdf5 != NULL) {
      status = sap_result_table_write(hdf5, &table, error);
    }
  } else {
    status = cli_no_memory(error);
  }
  for (int32_t i = 0; i < c.count; ++i) {
    free(c.numbers[i]);
    free(c.texts[i]);
    free(c.values[i]);
  }
  return status;
}

static void summarize(const study_spec* s, const study_row* rows, int measure, cli_table* table) {
  double sum = 0.0, least = (double)INFINITY, most = -(double)INFINITY;
  int64_t count = 0;
  for (int64_t i = 0; i < s->cases; ++i) {
    const double x = rows[i].measures[measure];
    if (rows[i].index >= 0 && isfinite(x)) {
      sum += x;
      least = fmin(least, x);
      most = fmax(most, x);
      ++count;
    }
  }
  const double nan = (double)NAN;
  CLI_CELLS(table, CLI_T(s->measures[measure].name), CLI_R(count > 0 ? sum / (double)count : nan),
            CLI_R(count > 0 ? least : nan), CLI_R(count > 0 ? most : nan));
}

// Prints a row per point of the grid with the means over its samples, for grids of readable size.
enum { POINTS_MAX = 200 };
static bool print_points(const study_spec* s, const study_row* rows) {
  const int64_t points = s->cases / s->samples;
  cli_column list[COLUMNS_MAX];
  int count = 0;
  for (int i = 0; i < s->parameter_count; ++i) {
    if (s->parameters[i].kind == STUDY_GRID) {
      list[count++] = (cli_column){s->parameters[i].name, CLI_CELL_TEXT, 0};
    }
  }
  for (int k = 0; k < s->measure_count; ++k) {
    list[count++] = (cli_column){s->measures[k].name, CLI_CELL_REAL, 6};
  }
  if (points < 2 || points > POINTS_MAX) {
    return true;
  }
  cli_table* table = cli_table_create(list, count);
  for (int64_t point = 0; point < points && table != NULL; ++point) {
    for (int i = 0; i < s->parameter_count; ++i) {
      char value[STUDY_TEXT_SIZE];
      if (s->parameters[i].kind == STUDY_GRID) {
        study_value(s, i, point * s->samples, value);
        cli_table_text(table, value);
      }
    }
    for (int k = 0; k < s->measure_count; ++k) {
      double sum = 0.0, n = 0.0;
      for (int64_t i = point * s->samples; i < (point + 1) * s->samples; ++i) {
        const bool good = rows[i].index >= 0 && isfinite(rows[i].measures[k]);
        sum += good ? rows[i].measures[k] : 0.0;
        n += good ? 1.0 : 0.0;
      }
      cli_table_real(table, n > 0.0 ? sum / n : (double)NAN);
    }
  }
  const bool printed = table != NULL && cli_table_print(table, CLI_FORMAT_TABLE, stdout);
  cli_table_destroy(table);
  (void)printf("\n");
  return printed;
}

int study_print(const study_spec* s, const study_row* rows) {
  static const cli_column list[] = {CLI_TEXTS("measure"), CLI_REALS("mean", 6),
                                    CLI_REALS("least", 6), CLI_REALS("most", 6)};
  int64_t counts[STUDY_STATUSES] = {0}, left = 0;
  const study_row* failed = NULL;
  for (int64_t i = 0; i < s->cases; ++i) {
    if (rows[i].index < 0) {
      ++left;
      continue;
    }
    ++counts[rows[i].status];
    failed = failed == NULL && rows[i].status == STUDY_FAILED ? &rows[i] : failed;
  }
  cli_table* table = cli_table_create(list, 4);
  for (int k = 0; k < s->measure_count && table != NULL; ++k) {
    summarize(s, rows, k, table);
  }
  const bool printed =
      print_points(s, rows) && table != NULL && cli_table_print(table, CLI_FORMAT_TABLE, stdout);
  cli_table_destroy(table);
  (void)printf("%lld cases: %lld ok, %lld unconverged, %lld failed\n", (long long)s->cases,
               (long long)counts[STUDY_OK], (long long)counts[STUDY_UNCONVERGED],
               (long long)counts[STUDY_FAILED]);
  if (failed != NULL) {
    cli_message("case %lld: %s", (long long)failed->index, failed->message);
  }
  return !printed                                  ? CLI_INTERNAL
         : left > 0 || counts[STUDY_OK] < s->cases ? CLI_UNCONVERGED
                                                   : CLI_OK;
}

// A sweep as a chart: each measure over a parameter of the grid, a line for each combination of the
// others, means over samples.

enum { LINES_MAX = 12, LABEL_SIZE = 256, LOG_RATIO = 20 };

typedef struct drawing {
  const study_spec* study;
  const study_row* rows;
  int x;           // the parameter
  int64_t points;  // of the grid
  int32_t lines;
  char labels[LINES_MAX][LABEL_SIZE];
  int32_t counts[LINES_MAX];
  double* values;  // x and y of all points, measure by measure, line by line
} drawing;

// The first of the grid whose values are numbers, and most of them; -1: none.
static int find_x(const study_spec* s) {
  int best = -1;
  for (int i = 0; i < s->parameter_count; ++i) {
    const study_parameter* p = &s->parameters[i];
    if (p->kind == STUDY_GRID && p->numeric && p->count > 1 &&
        (best < 0 || p->count > s->parameters[best].count)) {
      best = i;
    }
  }
  return best;
}

// "scheme midpoint, dt 0.01": the others of the grid at a point.
static void label_of(const drawing* d, int64_t point, char out[LABEL_SIZE]) {
  const study_spec* s = d->study;
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < s->parameter_count; ++i) {
    char value[STUDY_TEXT_SIZE];
    if (s->parameters[i].kind == STUDY_GRID && i != d->x && used < LABEL_SIZE) {
      study_value(s, i, point * s->samples, value);
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
    char value[STUDY_TEXT_SIZE];
    study_value(d->study, d->x, point * d->study->samples, value);
    for (int m = 0; m < d->study->measure_count; ++m) {
      double* xy = values_of(d, m, line);
      xy[k] = strtod(value, NULL);
      xy[most + k] = mean_of(d, point, m);
    }
  }
}

// True if all values are positive and spread over a ratio that a linear axis would hide.
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

static sap_status write_panels(const drawing* d, const char* path, sap_error* error) {
  sap_chart_series series[STUDY_MEASURES_MAX][LINES_MAX];
  sap_chart_panel panels[STUDY_MEASURES_MAX];
  char y_labels[STUDY_MEASURES_MAX][LABEL_SIZE];
  const study_spec* s = d->study;
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
    (void)snprintf(y_labels[m], LABEL_SIZE, "%s%s", name, study_measure_unit(name));
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

bool study_chart_possible(const study_spec* study, sap_error* error) {
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

sap_status study_chart_write(const study_spec* study, const study_row* rows, const char* path,
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
    status = write_panels(d, path, error);
  } else {
    status = cli_no_memory(error);
  }
  free(d->values);
  free(d);
  return status;
}
