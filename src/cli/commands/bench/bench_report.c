// SPDX-License-Identifier: BSD-3-Clause
// What `sapstep bench` prints and draws.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/bench/bench.h"

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double bench_quantile(const double* values, int32_t count, double part) {
  static double sorted[BENCH_REPETITIONS_MAX];
  if (count == 0) {
    return (double)NAN;
  }
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare);
  const double at = part * (count - 1);
  const int32_t low = (int32_t)at, high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

const char* bench_base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

void bench_report_side(bench* b, int index) {
  const bench_side* s = &b->sides[index];
  cli_table_text(b->table, bench_base_name(b->request.scene));
  cli_table_text(b->table, index == 0 ? "sapstep" : b->peers[index - 1].name);
  cli_table_integer(b->table, s->count);
  cli_table_real(b->table, 1e6 * bench_quantile(s->step, s->count, 0.5));
  cli_table_real(b->table, 1e6 * bench_quantile(s->step, s->count, 0.0));
  cli_table_real(b->table, bench_quantile(s->ratio, s->count, 0.5));
  cli_table_real(b->table, bench_quantile(s->ratio, s->count, 0.25));
  cli_table_real(b->table, bench_quantile(s->ratio, s->count, 0.75));
  const bool any = s->count > 0;
  const double nan = (double)NAN;
  // The last repetition's share of the median.
  cli_table_real(
      b->table,
      any ? 1e6 * bench_quantile(s->step, s->count, 0.5) * (s->last.solver / s->last.step) : nan);
  cli_table_real(b->table, any ? s->last.contacts : nan);
  cli_table_real(b->table, any ? s->last.iterations : nan);
  cli_table_real(b->table, any ? s->last.residual : nan);
  cli_table_real(b->table, b->request.dt);
}

// The chart's lines go from left to right.
static void sort_by_contacts(bench* b) {
  for (int k = 1; k < b->nscenes; ++k) {
    for (int j = k; j > 0 && b->contacts[j - 1] > b->contacts[j]; --j) {
      double* rows[BENCH_SIDES_MAX + 1] = {b->contacts};
      memcpy(rows + 1, b->medians, sizeof b->medians);
      for (int i = 0; i <= BENCH_SIDES_MAX; ++i) {
        const double swap = rows[i][j];
        rows[i][j] = rows[i][j - 1];
        rows[i][j - 1] = swap;
      }
    }
  }
}

sap_status bench_draw(bench* b, sap_error* error) {
  sort_by_contacts(b);
  sap_chart_series series[BENCH_SIDES_MAX];
  for (int i = 0; i <= b->npeers; ++i) {
    series[i] = (sap_chart_series){.name = i == 0 ? "sapstep" : b->peers[i - 1].name,
                                   .count = b->nscenes,
                                   .x = b->contacts,
                                   .y = b->medians[i]};
  }
  const sap_chart_panel panel = {.title = "Time per step",
                                 .x_label = "contacts of sapstep, mean",
                                 .y_label = "time per step [us], median",
                                 .log_x = true,
                                 .log_y = true,
                                 .markers = true,
                                 .series_count = b->npeers + 1,
                                 .series = series};
  return sap_chart_write(b->svg, &panel, 1, error);
}

bool bench_allocate(bench* b, int nscenes) {
  static const cli_column columns[] = {
      {"scene", CLI_CELL_TEXT, 0},          {"engine", CLI_CELL_TEXT, 0},
      {"repetitions", CLI_CELL_INTEGER, 0}, {"step_us", CLI_CELL_REAL, 4},
      {"step_min_us", CLI_CELL_REAL, 4},    {"ratio", CLI_CELL_REAL, 3},
      {"ratio_q1", CLI_CELL_REAL, 3},       {"ratio_q3", CLI_CELL_REAL, 3},
      {"solver_us", CLI_CELL_REAL, 4},      {"contacts", CLI_CELL_REAL, 4},
      {"iterations", CLI_CELL_REAL, 3},     {"residual", CLI_CELL_REAL, 3},
      {"dt_s", CLI_CELL_REAL, 4},
  };
  b->table = cli_table_create(columns, sizeof columns / sizeof *columns);
  b->contacts = calloc((size_t)nscenes, sizeof *b->contacts);
  bool complete = b->table != NULL && b->contacts != NULL;
  for (int i = 0; i < BENCH_SIDES_MAX; ++i) {
    b->medians[i] = calloc((size_t)nscenes, sizeof *b->medians[i]);
    complete = complete && b->medians[i] != NULL;
  }
  return complete;
}
