// SPDX-License-Identifier: BSD-3-Clause
// The table of a sweep as files, and its summary.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/table.h"

enum {
  COLUMNS_MAX = SWEEP_PARAMETERS_MAX + SWEEP_MEASURES_MAX + 3,
  NAME_SIZE = SWEEP_NAME_SIZE + 8
};

typedef struct columns {
  sap_result_column list[COLUMNS_MAX];
  double* numbers[COLUMNS_MAX];
  const char** texts[COLUMNS_MAX];
  char* values[COLUMNS_MAX];  // of texts, SWEEP_TEXT_SIZE each
  int32_t count;
} columns;

static bool add(columns* c, const char* name, int64_t rows, bool numeric) {
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

static bool add_parameter(columns* c, const sweep_study* s, int parameter) {
  const sweep_parameter* p = &s->parameters[parameter];
  const int32_t at = c->count;
  char value[SWEEP_TEXT_SIZE];
  if (!add(c, p->name, s->cases, p->numeric)) {
    return false;
  }
  if (!p->numeric) {
    c->values[at] = malloc((size_t)s->cases * SWEEP_TEXT_SIZE);
    if (c->values[at] == NULL) {
      return false;
    }
  }
  for (int64_t i = 0; i < s->cases; ++i) {
    char* text = p->numeric ? value : c->values[at] + (size_t)i * SWEEP_TEXT_SIZE;
    sweep_value(s, parameter, i, text);
    if (p->numeric) {
      c->numbers[at][i] = strtod(text, NULL);
    } else {
      c->texts[at][i] = text;
    }
  }
  return true;
}

static bool fill(columns* c, const sweep_study* s, const sweep_row* rows) {
  if (!add(c, "case", s->cases, true)) {
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
    if (!add(c, s->measures[k].name, s->cases, true)) {
      return false;
    }
    for (int64_t i = 0; i < s->cases; ++i) {
      c->numbers[at][i] = rows[i].measures[k];
    }
  }
  const int32_t at = c->count;
  if (!add(c, "status", s->cases, false) || !add(c, "message", s->cases, false)) {
    return false;
  }
  for (int64_t i = 0; i < s->cases; ++i) {
    c->texts[at][i] = sweep_status_names[rows[i].status];
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

sap_status sweep_write(const sweep_study* study, const sweep_row* rows, const char* hdf5,
                       const char* csv, sap_error* error) {
  columns c = {0};
  char names[COLUMNS_MAX][NAME_SIZE];
  sap_status status = SAP_STATUS_OK;
  if (fill(&c, study, rows)) {
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

static void summarize(const sweep_study* s, const sweep_row* rows, int measure, cli_table* table) {
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
  cli_table_text(table, s->measures[measure].name);
  cli_table_real(table, count > 0 ? sum / (double)count : nan);
  cli_table_real(table, count > 0 ? least : nan);
  cli_table_real(table, count > 0 ? most : nan);
}

// A row per point of the grid with the means over its samples, where that is a table to be read.
enum { POINTS_MAX = 200 };
static bool print_points(const sweep_study* s, const sweep_row* rows) {
  const int64_t points = s->cases / s->samples;
  cli_column list[COLUMNS_MAX];
  int count = 0;
  for (int i = 0; i < s->parameter_count; ++i) {
    if (s->parameters[i].kind == SWEEP_GRID) {
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
      char value[SWEEP_TEXT_SIZE];
      if (s->parameters[i].kind == SWEEP_GRID) {
        sweep_value(s, i, point * s->samples, value);
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

int sweep_print(const sweep_study* s, const sweep_row* rows) {
  static const cli_column list[] = {{"measure", CLI_CELL_TEXT, 0},
                                    {"mean", CLI_CELL_REAL, 6},
                                    {"least", CLI_CELL_REAL, 6},
                                    {"most", CLI_CELL_REAL, 6}};
  int64_t counts[SWEEP_STATUSES] = {0}, left = 0;
  const sweep_row* failed = NULL;
  for (int64_t i = 0; i < s->cases; ++i) {
    if (rows[i].index < 0) {
      ++left;
      continue;
    }
    ++counts[rows[i].status];
    failed = failed == NULL && rows[i].status == SWEEP_FAILED ? &rows[i] : failed;
  }
  cli_table* table = cli_table_create(list, 4);
  for (int k = 0; k < s->measure_count && table != NULL; ++k) {
    summarize(s, rows, k, table);
  }
  const bool printed =
      print_points(s, rows) && table != NULL && cli_table_print(table, CLI_FORMAT_TABLE, stdout);
  cli_table_destroy(table);
  (void)printf("%lld cases: %lld ok, %lld unconverged, %lld failed\n", (long long)s->cases,
               (long long)counts[SWEEP_OK], (long long)counts[SWEEP_UNCONVERGED],
               (long long)counts[SWEEP_FAILED]);
  if (failed != NULL) {
    cli_message("case %lld: %s", (long long)failed->index, failed->message);
  }
  return !printed                                  ? CLI_INTERNAL
         : left > 0 || counts[SWEEP_OK] < s->cases ? CLI_UNCONVERGED
                                                   : CLI_OK;
}
