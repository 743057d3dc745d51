// SPDX-License-Identifier: BSD-3-Clause
// Orders, table and chart of a convergence study.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/converge/converge.h"
#include "cli/lines.h"

// Errors less than this many times the difference of the references are left out. The error of the
// finer reference, of order p, is 1/(2^p - 1) of that difference: at most a tenth of such an error.
#define REFERENCE_MARGIN 10.0

static converge_fit fit_order(const double* dt, const double* error, int count) {
  double n = 0.0, sum_x = 0.0, sum_y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
  for (int pass = 0; pass < 2; ++pass) {
    const double mean_x = n > 0.0 ? sum_x / n : 0.0, mean_y = n > 0.0 ? sum_y / n : 0.0;
    for (int i = 0; i < count; ++i) {
      if (!(error[i] > 0.0) || !isfinite(error[i])) {
        continue;
      }
      const double x = log(dt[i]), y = log(error[i]);
      if (pass == 0) {
        n += 1.0;
        sum_x += x;
        sum_y += y;
      } else {
        xx += (x - mean_x) * (x - mean_x);
        xy += (x - mean_x) * (y - mean_y);
        yy += (y - mean_y) * (y - mean_y);
      }
    }
  }
  const double nan = (double)NAN;
  converge_fit fit = {nan, nan, (int)n};
  if (n >= 2.0) {
    fit.order = xy / xx;
  }
  if (n >= 3.0) {
    fit.uncertainty = sqrt(fmax(0.0, yy - fit.order * xy) / (n - 2.0) / xx);
  }
  return fit;
}

// One error norm of a series, level by level; NaN: the run failed, or the reference is too coarse.
typedef struct column {
  double all[CONVERGE_LEVELS_MAX];   // as measured
  double good[CONVERGE_LEVELS_MAX];  // those that count
  bool coarse[CONVERGE_LEVELS_MAX];  // the reference, for this one
  converge_fit fit;
} column;

typedef struct series {
  double dt[CONVERGE_LEVELS_MAX], seconds[CONVERGE_LEVELS_MAX];
  bool coarse[CONVERGE_LEVELS_MAX];  // the reference, for any norm that the orders are of
  column position, velocity;
} series;

// A quantity that a scheme solves exactly has errors of round-off, which no reference makes
// smaller.
static void fill(const converge_study* s, column* c, const series* of, int level, double error,
                 double reference, double roundoff) {
  const bool close = error < REFERENCE_MARGIN * reference;
  c->all[level] = error;
  c->good[level] = close ? (double)NAN : error;
  c->coarse[level] = close && error > roundoff;
  if (level == s->options.levels - 1) {
    c->fit = fit_order(of->dt, c->good, s->options.levels);
  }
}

static void evaluate(const converge_study* s, int index, series* out) {
  for (int l = 0; l < s->options.levels; ++l) {
    const converge_case* c = converge_at(s, index, l);
    const double nan = (double)NAN;
    out->dt[l] = c->dt;
    out->seconds[l] = c->done ? c->result.seconds : nan;
    fill(s, &out->position, out, l, c->done ? c->result.errors.position : nan,
         s->reference_error.position, s->roundoff.position);
    fill(s, &out->velocity, out, l, c->done ? c->result.errors.velocity : nan,
         s->reference_error.velocity, s->roundoff.velocity);
    out->coarse[l] = c->done && (out->position.coarse[l] || out->velocity.coarse[l]);
  }
}

static double local_order(const column* c, const double* dt, int level) {
  return level == 0 ? (double)NAN
                    : log(c->good[level - 1] / c->good[level]) / log(dt[level - 1] / dt[level]);
}

static const char* scheme_of(const converge_case* c) {
  return c->accuracy > 0.0 ? "adaptive" : sap_scheme_text(c->scheme);
}

static const char* verdict(const converge_case* c, bool coarse) {
  return !c->done                    ? (c->error.message[0] != '\0' ? c->error.message : "not run")
         : coarse                    ? "reference too coarse"
         : c->result.unconverged > 0 ? "solver not converged"
                                     : "ok";
}

// --- peers ---

// Reads a line NAME,SETTING,SECONDS,SOLVES,ERROR of finite numbers; false: it is none.
static bool read_point(const char* line, converge_point* point) {
  double solves = 0.0;
  const int read = sscanf(line, "%63[^,],%lf,%lf,%lf,%lf", point->name, &point->setting,
                          &point->seconds, &solves, &point->error);
  const double sum = point->setting + point->seconds + point->error;
  const bool good = read == 5 && isfinite(sum) && solves >= 0.0 && solves < 1e15;
  point->solves = good ? (int64_t)solves : 0;
  return good;
}

bool converge_ask_peers(converge_study* s) {
  const converge_options* o = &s->options;
  s->points = cli_new(CONVERGE_POINTS_MAX, sizeof *s->points);
  for (int i = 0; i < o->npeers; ++i) {
    char line[4096];
    const int size = snprintf(line, sizeof line, "%s '%s' %.17g %.17g", o->peers[i], o->scene.path,
                              o->duration, o->dt);
    FILE* peer =
        size < (int)sizeof line && strchr(o->scene.path, '\'') == NULL ? popen(line, "r") : NULL;
    const int before = s->npoints;
    while (peer != NULL && fgets(line, sizeof line, peer) != NULL) {
      if (s->npoints < CONVERGE_POINTS_MAX && read_point(line, &s->points[s->npoints])) {
        ++s->npoints;
      }
    }
    if (peer == NULL || pclose(peer) != 0 || s->npoints == before) {
      cli_message("peer '%s' failed", o->peers[i]);
      return false;
    }
  }
  return true;
}

static void print_points(const converge_study* s, cli_table* table, bool fits) {
  const double nan = (double)NAN;
  SAP_EACH(const converge_point, c, s->points, s->npoints) {
    CLI_CELLS(table, CLI_T(c->name), CLI_T(""), CLI_T(""), CLI_R(c->setting), CLI_R(c->error),
              CLI_R(nan), CLI_R(nan), CLI_R(nan), CLI_R(nan), CLI_R(nan), CLI_R(nan), CLI_R(nan),
              CLI_R(nan), CLI_R(nan), CLI_I(c->solves), CLI_R(c->seconds), CLI_T("peer"));
    if (fits) {
      CLI_CELLS(table, CLI_R(nan), CLI_R(nan), CLI_R(nan), CLI_R(nan));
    }
  }
}

// Adds a line for each run of points with one name.
static void draw_points(const converge_study* s, cli_lines* lines) {
  double x[CONVERGE_POINTS_MAX], y[CONVERGE_POINTS_MAX];
  for (int i = 0, count = 0; i < s->npoints; ++i) {
    x[count] = s->points[i].seconds;
    y[count++] = s->points[i].error;
    if (i + 1 == s->npoints || strcmp(s->points[i].name, s->points[i + 1].name) != 0) {
      cli_line_add(lines, 2, s->points[i].name, count, x, y);
      count = 0;
    }
  }
}

static void print_rows(const converge_study* s, const series* all) {
  static const char columns[] =
      "scheme contact_stage solver dt_s:6 position_l2:4 position_order:3 velocity_l2:4 "
      "velocity_order:3 position_end:4 velocity_end:4 energy_drift_J:3 penetration_m:3 "
      "constraint_drift:3 newton_mean:3 solves# time_s:3 outcome";
  // Aligned output prints the fits as a second table.
  const bool fits = s->options.format != CLI_FORMAT_TABLE;
  static const char* const fit_columns[] = {"position_fit", "position_fit_error", "velocity_fit",
                                            "velocity_fit_error"};
  cli_table* table = cli_table_create(columns);
  for (int i = 0; fits && i < 4; ++i) {
    cli_table_column(table, fit_columns[i], CLI_CELL_REAL, 0);
  }
  const double nan = (double)NAN;
  for (int i = 0; i < s->series; ++i) {
    for (int l = 0; l < s->options.levels; ++l) {
      const converge_case* c = converge_at(s, i, l);
      CLI_CELLS(table, CLI_T(scheme_of(c)), CLI_T(sap_stage_text(c->stage)), CLI_T(c->solver),
                CLI_R(c->dt), CLI_R(all[i].position.all[l]),
                CLI_R(local_order(&all[i].position, all[i].dt, l)), CLI_R(all[i].velocity.all[l]),
                CLI_R(local_order(&all[i].velocity, all[i].dt, l)),
                CLI_R(c->done ? c->result.errors.position_end : nan),
                CLI_R(c->done ? c->result.errors.velocity_end : nan),
                CLI_R(c->done ? c->result.energy_drift : nan), CLI_R(c->result.penetration),
                CLI_R(c->result.drift), CLI_R(c->result.newton), CLI_I(c->result.solves),
                CLI_R(c->result.seconds), CLI_T(verdict(c, all[i].coarse[l])));
      if (fits) {
        CLI_CELLS(table, CLI_R(all[i].position.fit.order), CLI_R(all[i].position.fit.uncertainty),
                  CLI_R(all[i].velocity.fit.order), CLI_R(all[i].velocity.fit.uncertainty));
      }
    }
  }
  print_points(s, table, fits);
  cli_table_print(table, s->options.format, stdout);
}

static void print_orders(const converge_study* s, const series* all) {
  static const char columns[] =
      "scheme contact_stage solver position_order:4 uncertainty:2 velocity_order:4 "
      "uncertainty:2 points#";
  cli_table* table = cli_table_create(columns);
  for (int i = 0; i < s->series; ++i) {
    const converge_case* c = converge_at(s, i, 0);
    CLI_CELLS(table, CLI_T(scheme_of(c)), CLI_T(sap_stage_text(c->stage)), CLI_T(c->solver),
              CLI_R(all[i].position.fit.order), CLI_R(all[i].position.fit.uncertainty),
              CLI_R(all[i].velocity.fit.order), CLI_R(all[i].velocity.fit.uncertainty),
              CLI_I(all[i].position.fit.points));
  }
  (void)printf("\n");
  cli_table_print(table, CLI_FORMAT_TABLE, stdout);
}

enum { LABEL_SIZE = 96 };

static void label(const converge_study* s, const converge_case* c, const converge_fit* fit,
                  char text[LABEL_SIZE]) {
  (void)snprintf(
      text, LABEL_SIZE, "%s%s%s%s%s, order %.2f", scheme_of(c), s->options.nstages > 1 ? ", " : "",
      s->options.nstages > 1 ? sap_stage_text(c->stage) : "", s->options.nsolvers > 1 ? ", " : "",
      s->options.nsolvers > 1 ? c->solver : "", fit->order);
}

static sap_status write_chart(const converge_study* s, const series* all, sap_error* error) {
  const int levels = s->options.levels;
  cli_lines lines = {0};
  for (int i = 0; i < s->series; ++i) {
    char text[LABEL_SIZE];
    label(s, converge_at(s, i, 0), &all[i].position.fit, text);
    cli_line_add(&lines, 0, text, levels, all[i].dt, all[i].position.all);
    cli_line_add(&lines, 1, text, levels, all[i].dt, all[i].velocity.all);
    cli_line_add(&lines, 2, text, levels, all[i].seconds, all[i].position.all);
  }
  draw_points(s, &lines);
  sap_chart_panel panels[3] = {{.title = "Positions",
                                .x_label = "time step [s]",
                                .y_label = "L2 error [m, rad]",
                                .log_x = true,
                                .log_y = true,
                                .markers = true,
                                .slopes = 2}};
  panels[1] = panels[0];
  panels[1].title = "Velocities";
  panels[1].y_label = "L2 error [m/s, rad/s]";
  panels[2] = panels[0];
  panels[2].title = "Work";
  panels[2].x_label = "time of the run [s]";
  panels[2].slopes = 0;
  const int count = s->options.adaptive.accuracy > 0.0 || s->npoints > 0 ? 3 : 2;
  return cli_lines_write(&lines, panels, count, s->options.svg, NULL, error);
}

// Prints messages about doubtful results; returns the exit code.
static int judge(const converge_study* s, const series* all) {
  int coarse = 0, failed = 0, unconverged = 0;
  for (int i = 0; i < s->series; ++i) {
    for (int l = 0; l < s->options.levels; ++l) {
      const converge_case* c = converge_at(s, i, l);
      coarse += all[i].coarse[l];
      failed += !c->done;
      unconverged += c->result.unconverged > 0;
    }
  }
  const int runs = s->series * s->options.levels;
  if (coarse > 0) {
    cli_message(
        "%d of %d errors are less than ten times what the references with dt = %g and %g s "
        "differ by (positions %.2g, velocities %.2g): they are left out of the orders; "
        "--reference-ratio %d is recommended",
        coarse, runs, s->cases[0].dt, s->cases[1].dt, s->reference_error.position,
        s->reference_error.velocity, 4 * s->options.ratio);
  }
  if (failed > 0) {
    cli_message("%d of %d runs failed", failed, runs);
  }
  if (unconverged > 0) {
    cli_message("in %d of %d runs some steps did not converge", unconverged, runs);
  }
  return coarse + failed + unconverged > 0 ? CLI_UNCONVERGED : CLI_OK;
}

int converge_report(const converge_study* s) {
  series* all = cli_new((size_t)s->series, sizeof *all);
  sap_error error = {0};
  for (int i = 0; i < s->series; ++i) {
    evaluate(s, i, &all[i]);
  }
  int code = judge(s, all);
  print_rows(s, all);
  if (s->options.format == CLI_FORMAT_TABLE) {
    print_orders(s, all);
  }
  if (s->options.svg != NULL && write_chart(s, all, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  }
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}
