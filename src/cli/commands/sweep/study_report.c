// SPDX-License-Identifier: BSD-3-Clause
// The table of a sweep as files, and its summary.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/sweep/study.h"
#include "cli/expression.h"
#include "cli/files.h"
#include "cli/lines.h"
#include "cli/residual_list.h"
#include "cli/table.h"

enum {
  COLUMNS_MAX = STUDY_PARAMETERS_MAX + STUDY_MEASURES_MAX + 3,
  NAME_SIZE = STUDY_NAME_SIZE + 8
};

typedef struct columns {
  sap_result_column list[COLUMNS_MAX];
  double* numbers[COLUMNS_MAX];
  const char** texts[COLUMNS_MAX];
  int32_t count;
} columns;

static void add_column(columns* c, const char* name, int64_t rows, bool numeric) {
  const int32_t i = c->count++;
  c->list[i] = (sap_result_column){.name = name};
  if (numeric) {
    c->list[i].values = c->numbers[i] = cli_new((size_t)rows, sizeof(double));
  } else {
    c->list[i].texts = c->texts[i] = cli_new((size_t)rows, sizeof(char*));
  }
}

static void add_parameter(columns* c, const study_spec* s, int parameter) {
  const study_parameter* p = &s->parameters[parameter];
  const int32_t at = c->count;
  char value[STUDY_TEXT_SIZE];
  add_column(c, p->name, s->cases, p->numeric);
  for (int64_t i = 0; i < s->cases; ++i) {
    study_value(s, parameter, i, value);
    if (p->numeric) {
      c->numbers[at][i] = strtod(value, NULL);
    } else {
      c->texts[at][i] = cli_copy(value);
    }
  }
}

static void fill_columns(columns* c, const study_spec* s, const study_row* rows) {
  add_column(c, "case", s->cases, true);
  for (int64_t i = 0; i < s->cases; ++i) {
    c->numbers[0][i] = (double)i;
  }
  for (int i = 0; i < s->parameter_count; ++i) {
    add_parameter(c, s, i);
  }
  for (int k = 0; k < s->measure_count; ++k) {
    const int32_t at = c->count;
    add_column(c, s->measures[k].name, s->cases, true);
    for (int64_t i = 0; i < s->cases; ++i) {
      c->numbers[at][i] = rows[i].measures[k];
    }
  }
  const int32_t at = c->count;
  add_column(c, "status", s->cases, false);
  add_column(c, "message", s->cases, false);
  for (int64_t i = 0; i < s->cases; ++i) {
    c->texts[at][i] = study_status_names[rows[i].status];
    c->texts[at + 1][i] = rows[i].message;
  }
}

// HDF5 takes '/' in a name for groups. A coordinate may be a parameter, and a measure at its end.
static void name_sets(columns* c, int parameters, char (*names)[NAME_SIZE]) {
  for (int32_t i = 0; i < c->count; ++i) {
    const char* name = c->list[i].name;
    const bool end = i > parameters && strchr(name, '/') != NULL && strchr(name, ':') == NULL;
    (void)snprintf(names[i], NAME_SIZE, "%s%s", name, end ? ":end" : "");
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
  fill_columns(&c, study, rows);
  name_sets(&c, study->parameter_count, names);
  const sap_result_table table = {
      .columns = c.list, .column_count = c.count, .rows = study->cases, .note = study->text};
  if (csv != NULL) {
    SAP_TRY(sap_result_table_write_csv(csv, &table, error));
  }
  return sap_result_table_write(hdf5, &table, error);
}

enum { AXIS_SIZE = STUDY_NAME_SIZE + 32 };

// Writes "energy [J]", "deviation:integral [m, rad s]".
static void write_axis(const study_spec* s, int quantity, const char* name, bool integral,
                       char out[AXIS_SIZE]) {
  const char* unit = study_quantity_unit(s->quantities[quantity].name);
  (void)snprintf(out, AXIS_SIZE, "%.127s%s%s%s%s", name, unit[0] != '\0' ? " [" : "", unit,
                 unit[0] != '\0' && integral ? " s" : "", unit[0] != '\0' ? "]" : "");
}

static void write_measure(const study_spec* s, int measure, char out[AXIS_SIZE]) {
  const int quantity = s->measures[measure].quantity;
  write_axis(s, quantity, s->measures[measure].name,
             s->measures[measure].statistic == STUDY_INTEGRAL, out);
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
  char name[AXIS_SIZE];
  write_measure(s, measure, name);
  CLI_CELLS(table, CLI_T(name), CLI_R(count > 0 ? sum / (double)count : nan),
            CLI_R(count > 0 ? least : nan), CLI_R(count > 0 ? most : nan));
}

// The median of a measure over the samples of a point: chaotic scenes have outliers.
static double median_of(const study_spec* s, const study_row* rows, int64_t point, int measure) {
  double* values = cli_new((size_t)s->samples, sizeof *values);
  for (int64_t i = 0; i < s->samples; ++i) {
    const study_row* row = &rows[point * s->samples + i];
    values[i] = row->index >= 0 ? row->measures[measure] : (double)NAN;
  }
  return cli_quantile(values, s->samples, 0.5);
}

// Prints a row per point of the grid with the medians over its samples, for grids of readable size.
enum { POINTS_MAX = 200 };
static void print_points(const study_spec* s, const study_row* rows) {
  const int64_t points = s->cases / s->samples;
  if (points < 2 || points > POINTS_MAX) {
    return;
  }
  cli_table* table = cli_table_create("");
  for (int i = 0; i < s->parameter_count; ++i) {
    if (s->parameters[i].kind == STUDY_GRID) {
      cli_table_column(table, s->parameters[i].name, CLI_CELL_TEXT, 0);
    }
  }
  for (int k = 0; k < s->measure_count; ++k) {
    char name[AXIS_SIZE];
    write_measure(s, k, name);
    cli_table_column(table, name, CLI_CELL_REAL, 6);
  }
  for (int64_t point = 0; point < points; ++point) {
    for (int i = 0; i < s->parameter_count; ++i) {
      char value[STUDY_TEXT_SIZE];
      if (s->parameters[i].kind == STUDY_GRID) {
        study_value(s, i, point * s->samples, value);
        CLI_CELLS(table, CLI_T(value));
      }
    }
    for (int k = 0; k < s->measure_count; ++k) {
      CLI_CELLS(table, CLI_R(median_of(s, rows, point, k)));
    }
  }
  cli_table_print(table, CLI_FORMAT_TABLE, stdout);
  (void)printf("\n");
}

int study_print(const study_spec* s, const study_row* rows) {
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
  cli_table* table = cli_table_create("measure mean:6 least:6 most:6");
  for (int k = 0; k < s->measure_count; ++k) {
    summarize(s, rows, k, table);
  }
  if (s->measure_count > 0) {
    print_points(s, rows);
    cli_table_print(table, CLI_FORMAT_TABLE, stdout);
  }
  (void)printf("%lld cases: %lld ok, %lld unconverged, %lld failed\n", (long long)s->cases,
               (long long)counts[STUDY_OK], (long long)counts[STUDY_UNCONVERGED],
               (long long)counts[STUDY_FAILED]);
  if (failed != NULL) {
    cli_message("case %lld: %s", (long long)failed->index, failed->message);
  }
  return left > 0 || counts[STUDY_OK] < s->cases ? CLI_UNCONVERGED : CLI_OK;
}

// A sweep as a chart: the plots, with a line for each case, and each measure over a parameter of
// the grid, with a line for each combination of the others, medians over samples.

enum { LINES_MAX = 12, LOG_RATIO = 20, EXACT_POINTS = 201 };

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
  return s->measure_count > 0 ? best : -1;
}

// Writes "pgs-ncp, dt 0.01", the values of the grid but x at a case; the scene if there are none.
static void label_of(const study_spec* s, int x, int64_t index, char out[CLI_LABEL_SIZE]) {
  size_t used = 0;
  for (int i = 0; i < s->parameter_count; ++i) {
    const char* name = s->parameters[i].name;
    char value[STUDY_TEXT_SIZE];
    if (s->parameters[i].kind == STUDY_GRID && i != x && used < CLI_LABEL_SIZE) {
      const bool plain = strcmp(name, "solver") == 0;
      study_value(s, i, index, value);
      const int n = snprintf(out + used, CLI_LABEL_SIZE - used, "%s%s%s%s", used > 0 ? ", " : "",
                             plain ? "" : name, plain ? "" : " ", value);
      used += n > 0 ? (size_t)n : 0;
    }
  }
  if (used == 0) {
    (void)snprintf(out, CLI_LABEL_SIZE, "%s", cli_base_name(s->scene));
  }
}

// Adds the points that have the label of `first`, a line for each measure.
static void add_lines(const study_spec* s, const study_row* rows, int x, int64_t first,
                      const char* label, cli_lines* lines) {
  const size_t most = (size_t)s->parameters[x].count;
  double* values = cli_new((size_t)(s->measure_count + 1) * most, sizeof *values);
  char value[STUDY_TEXT_SIZE], other[CLI_LABEL_SIZE];
  size_t count = 0;
  for (int64_t p = first; p < s->cases / s->samples && count < most; ++p) {
    label_of(s, x, p * s->samples, other);
    if (strcmp(label, other) == 0) {
      study_value(s, x, p * s->samples, value);
      values[count] = strtod(value, NULL);
      for (int m = 0; m < s->measure_count; ++m) {
        values[(size_t)(m + 1) * most + count] = median_of(s, rows, p, m);
      }
      ++count;
    }
  }
  for (int m = 0; m < s->measure_count; ++m) {
    cli_line_add(lines, s->plot_count + m, label, (int64_t)count, values,
                 values + (size_t)(m + 1) * most);
  }
}

// Adds the lines of the measures: of the first points that have a label.
static void add_measures(const study_spec* s, const study_row* rows, int x, cli_lines* lines) {
  char labels[LINES_MAX][CLI_LABEL_SIZE];
  int32_t count = 0;
  for (int64_t point = 0; point < s->cases / s->samples && count < LINES_MAX; ++point) {
    int32_t same = 0;
    label_of(s, x, point * s->samples, labels[count]);
    while (strcmp(labels[same], labels[count]) != 0) {
      ++same;
    }
    if (same == count) {
      add_lines(s, rows, x, point, labels[count++], lines);
    }
  }
}

static void add_plots(const study_spec* s, const study_row* rows, cli_lines* lines) {
  for (int64_t i = 0; s->plot_count > 0 && i < s->cases; ++i) {
    char label[CLI_LABEL_SIZE];
    label_of(s, -1, i, label);
    for (int p = 0; rows[i].steps > 0 && p < s->plot_count; ++p) {
      const double* x = rows[i].series + 2 * p * rows[i].steps;
      cli_line_add(lines, p, label, rows[i].steps, x, x + rows[i].steps);
    }
  }
  for (int p = 0; p < s->plot_count; ++p) {
    double t[EXACT_POINTS], y[EXACT_POINTS];
    const char* wrong;
    for (int i = 0; s->plots[p].exact != NULL && i < EXACT_POINTS; ++i) {
      t[i] = s->duration * i / (EXACT_POINTS - 1);
      y[i] = expression_value(s->plots[p].exact, t[i], &wrong);
    }
    if (s->plots[p].exact != NULL) {
      cli_line_add(lines, p, "exact", EXACT_POINTS, t, y);
    }
  }
}

// True if all values are positive and spread over a ratio that a linear axis would hide.
static bool is_spread(const cli_lines* lines, int panel, bool of_x) {
  double low, high;
  cli_lines_range(lines, panel, of_x, &low, &high);
  return low > 0.0 && high > LOG_RATIO * low;
}

sap_status study_chart_check(const study_spec* study, sap_error* error) {
  const int x = find_x(study);
  SAP_FAIL_IF(x < 0 && study->plot_count == 0, error, SAP_STATUS_ARGUMENT,
              "%.200s: a chart needs plots or a grid of numbers, and the study has none",
              study->path);
  const int64_t over_x = x >= 0 ? study->cases / study->samples / study->parameters[x].count : 0;
  const int64_t lines = study->plot_count > 0 ? study->cases : over_x;
  SAP_FAIL_IF(lines > LINES_MAX, error, SAP_STATUS_ARGUMENT,
              "%.200s: the chart would have %lld lines over %s, at most %d can be told apart",
              study->path, (long long)lines,
              study->plot_count > 0 ? "time" : study->parameters[x].name, LINES_MAX);
  return SAP_STATUS_OK;
}

// Fills the panels, whose axes are logarithmic where values are spread, of residuals always;
// returns their number.
static int fill_panels(const study_spec* s, const cli_lines* lines, int x,
                       char (*axes)[2][AXIS_SIZE], sap_chart_panel* panels) {
  const int count = s->plot_count + (x >= 0 ? s->measure_count : 0);
  for (int p = 0; p < count; ++p) {
    const bool plot = p < s->plot_count;
    const int m = p - s->plot_count;
    const char* name = plot ? s->plots[p].name : s->measures[m].name;
    const int y = plot ? s->plots[p].y : s->measures[m].quantity;
    if (!plot) {
      write_measure(s, m, axes[p][1]);
    } else {
      write_axis(s, y, name, false, axes[p][1]);
      write_axis(s, s->plots[p].x, s->quantities[s->plots[p].x].name, false, axes[p][0]);
    }
    panels[p] = (sap_chart_panel){.title = name,
                                  .x_label = plot ? axes[p][0] : s->parameters[x].name,
                                  .y_label = axes[p][1],
                                  .log_x = !plot && is_spread(lines, p, true),
                                  .log_y = cli_residual_find(s->quantities[y].name) >= 0 ||
                                           (!plot && is_spread(lines, p, false)),
                                  .markers = !plot,
                                  .dashes = plot};
    panels[p].slopes =
        panels[p].log_x && panels[p].log_y && strcmp(s->quantities[y].name, "deviation") == 0 ? 1
                                                                                              : 0;
  }
  return count;
}

sap_status study_chart_write(const study_spec* s, const study_row* rows, const char* svg,
                             const char* csv, sap_error* error) {
  sap_chart_panel panels[STUDY_PLOTS_MAX + STUDY_MEASURES_MAX];
  char axes[STUDY_PLOTS_MAX + STUDY_MEASURES_MAX][2][AXIS_SIZE];
  cli_lines lines = {0};
  const int x = find_x(s);
  if (svg == NULL && csv == NULL) {
    return SAP_STATUS_OK;
  }
  add_plots(s, rows, &lines);
  if (x >= 0) {
    add_measures(s, rows, x, &lines);
  }
  const int count = fill_panels(s, &lines, x, axes, panels);
  return cli_lines_write(&lines, panels, count, svg, csv, error);
}
