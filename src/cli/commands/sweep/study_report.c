// SPDX-License-Identifier: BSD-3-Clause
// The table of a sweep as files, and its summary.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/sweep/study.h"
#include "cli/files.h"
#include "cli/lines.h"
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

// The mean of a measure over the samples of a point.
static double mean_of(const study_spec* s, const study_row* rows, int64_t point, int measure) {
  double sum = 0.0, n = 0.0;
  for (int64_t i = point * s->samples; i < (point + 1) * s->samples; ++i) {
    const double x = rows[i].index >= 0 ? rows[i].measures[measure] : (double)NAN;
    sum += isfinite(x) ? x : 0.0;
    n += isfinite(x) ? 1.0 : 0.0;
  }
  return n > 0.0 ? sum / n : (double)NAN;
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
      cli_table_real(table, mean_of(s, rows, point, k));
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

enum { LINES_MAX = 12, LOG_RATIO = 20 };

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
static void label_of(const study_spec* s, int x, int64_t point, char out[CLI_LABEL_SIZE]) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < s->parameter_count; ++i) {
    char value[STUDY_TEXT_SIZE];
    if (s->parameters[i].kind == STUDY_GRID && i != x && used < CLI_LABEL_SIZE) {
      study_value(s, i, point * s->samples, value);
      const int n = snprintf(out + used, CLI_LABEL_SIZE - used, "%s%s %s", used > 0 ? ", " : "",
                             s->parameters[i].name, value);
      used += n > 0 ? (size_t)n : 0;
    }
  }
}

// Adds the line of the points that have the label of `first`, a line for each measure.
static bool add_lines(const study_spec* s, const study_row* rows, int x, int64_t first,
                      const char* label, cli_lines* lines) {
  const size_t most = (size_t)s->parameters[x].count;
  double* values = malloc((size_t)(s->measure_count + 1) * most * sizeof *values);
  char value[STUDY_TEXT_SIZE], other[CLI_LABEL_SIZE];
  size_t count = 0;
  for (int64_t p = first; values != NULL && p < s->cases / s->samples && count < most; ++p) {
    label_of(s, x, p, other);
    if (strcmp(label, other) == 0) {
      study_value(s, x, p * s->samples, value);
      values[count] = strtod(value, NULL);
      for (int m = 0; m < s->measure_count; ++m) {
        values[(size_t)(m + 1) * most + count] = mean_of(s, rows, p, m);
      }
      ++count;
    }
  }
  bool good = values != NULL;
  for (int m = 0; good && m < s->measure_count; ++m) {  // a line alone is named by its scene
    good = cli_line_add(lines, m, label[0] != '\0' ? label : cli_base_name(s->scene),
                        (int64_t)count, values, values + (size_t)(m + 1) * most);
  }
  free(values);
  return good;
}

// True if all values are positive and spread over a ratio that a linear axis would hide.
static bool is_spread(const cli_lines* lines, int panel, bool of_x) {
  double low, high;
  cli_lines_range(lines, panel, of_x, &low, &high);
  return low > 0.0 && high > LOG_RATIO * low;
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

sap_status study_chart_write(const study_spec* s, const study_row* rows, const char* path,
                             sap_error* error) {
  sap_chart_panel panels[STUDY_MEASURES_MAX];
  char labels[LINES_MAX][CLI_LABEL_SIZE], y_labels[STUDY_MEASURES_MAX][STUDY_NAME_SIZE + 16];
  cli_lines lines = {0};
  const int x = find_x(s);
  int32_t count = 0;
  bool good = true;
  for (int64_t point = 0; good && point < s->cases / s->samples && count < LINES_MAX; ++point) {
    int32_t same = 0;
    label_of(s, x, point, labels[count]);
    while (strcmp(labels[same], labels[count]) != 0) {
      ++same;
    }
    if (same == count) {
      good = add_lines(s, rows, x, point, labels[count++], &lines);
    }
  }
  for (int m = 0; m < s->measure_count; ++m) {
    const char* name = s->measures[m].name;
    (void)snprintf(y_labels[m], sizeof y_labels[m], "%s%s", name, study_measure_unit(name));
    panels[m] = (sap_chart_panel){.title = name,
                                  .x_label = s->parameters[x].name,
                                  .y_label = y_labels[m],
                                  .log_x = is_spread(&lines, m, true),
                                  .log_y = is_spread(&lines, m, false),
                                  .markers = true};
  }
  const sap_status status =
      good ? cli_lines_write(&lines, panels, s->measure_count, path, false, error)
           : cli_no_memory(error);
  cli_lines_clear(&lines);
  return status;
}
