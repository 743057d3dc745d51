// SPDX-License-Identifier: BSD-3-Clause
// Every solver steps the scene itself: what becomes of it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/commands/run/run_statistics.h"
#include "cli/expression.h"
#include "cli/progress.h"

// A run with the values of all quantities after each step.
typedef struct follower {
  compare_job* job;
  const compare_where* where;
  int contender;
  compare_group* group;
  compare_run run;
  compare_probe probes[COMPARE_QUANTITIES_MAX];
  sap_state start;
  const compare_reference* reference;
  double* times;   // (planned)
  double* values;  // quantity by quantity                                 (quantities, planned)
} follower;

static sap_status judge(follower* f, const sap_step_report* report, sap_residual* residual,
                        sap_error* error) {
  sap_status status =
      sap_residuals(report->problem, report->solution->v, report->solution->gamma, residual, error);
  if (status == SAP_STATUS_OK &&
      !compare_count(f->group, &f->job->contenders[f->contender], report->solver, residual)) {
    status = cli_no_memory(error);
  }
  return status;
}

static sap_status follow_step(follower* f, sap_error* error) {
  const compare_options* o = &f->job->options;
  const int64_t step = f->group->steps;
  sap_step_report report;
  sap_residual residual;
  sap_status status = compare_run_step(o, &f->run, &report, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_collect(f->run.multibody, &report, error);
  }
  if (status == SAP_STATUS_OK && report.blocks > 0) {
    status = judge(f, &report, &residual, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  f->group->penetration =
      fmax(f->group->penetration, run_penetration(sap_multibody_contacts(f->run.multibody),
                                                  sap_multibody_contact_count(f->run.multibody)));
  const compare_sample sample = {
      .report = &report,
      .residual = report.blocks > 0 ? &residual : NULL,
      .deviation = f->reference->q != NULL
                       ? compare_reference_deviation(f->reference, &f->run, step + 1)
                       : (double)NAN,
      .start = &f->start};
  f->times[step] = f->run.state.t;
  for (int i = 0; status == SAP_STATUS_OK && i < o->quantity_count; ++i) {
    status = compare_probe_value(&f->probes[i], &f->run, &sample,
                                 f->values + f->run.planned * i + step, error);
  }
  f->group->steps += 1;
  return status;
}

static double statistic(const follower* f, int quantity) {
  const double* values = f->values + f->run.planned * quantity;
  const int64_t n = f->group->steps;
  const compare_statistic kind = f->job->options.quantities[quantity].statistic;
  double sum = 0.0, largest = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += kind == COMPARE_INTEGRAL ? fabs(values[i]) * f->run.dt : values[i];
    largest = fabs(values[i]) <= fabs(largest) ? largest : values[i];
  }
  return kind == COMPARE_INTEGRAL ? sum
         : kind == COMPARE_MEAN   ? (n > 0 ? sum / (double)n : (double)NAN)
         : kind == COMPARE_END    ? (n > 0 ? values[n - 1] : (double)NAN)
                                  : largest;  // in magnitude
}

// Lines over time, and statistics for those over what varies.
static bool keep_lines(follower* f) {
  const compare_options* o = &f->job->options;
  char label[3 * COMPARE_LABEL_SIZE], scene[COMPARE_LABEL_SIZE];
  compare_scene_name(f->where->name, scene);
  (void)snprintf(label, sizeof label, "%s%s%s%s%s%s%.40s", f->job->scene_count > 1 ? scene : "",
                 f->job->scene_count > 1 ? " " : "", f->job->contenders[f->contender].label,
                 o->vary != NULL ? ", " : "", o->vary != NULL ? o->vary : "",
                 o->vary != NULL ? " " : "", o->vary != NULL ? o->values[f->where->value] : "");
  bool good = true;
  for (int i = 0, panel = 0; i < o->quantity_count; ++i) {
    const compare_quantity* q = &o->quantities[i];
    f->group->statistics[i] = statistic(f, i);
    if (q->drawn) {
      const double* x = q->over >= 0 ? f->values + f->run.planned * q->over : f->times;
      good = good && (q->statistic != COMPARE_OVER_TIME ||
                      compare_line_add(&f->job->lines, panel, label, f->group->steps, x,
                                       f->values + f->run.planned * i));
      ++panel;
    }
  }
  return good;
}

static sap_status begin(follower* f, sap_error* error) {
  const compare_options* o = &f->job->options;
  const compare_contender* c = &f->job->contenders[f->contender];
  const compare_stepping stepping = {
      .solver = c->info->name, .solver_options = &c->options, .value = f->where->value};
  sap_status status = compare_run_open(o, f->where->name, &stepping, &f->run, error);
  for (int i = 0; status == SAP_STATUS_OK && i < o->quantity_count; ++i) {
    status = compare_probe_find(&o->quantities[i], f->run.model, &f->probes[i], error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_state_resize(&f->start, f->run.state.nq, f->run.state.nv, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_state_copy(&f->run.state, &f->start, error);
  }
  const size_t planned = (size_t)f->run.planned;
  f->times = malloc((planned + 1) * sizeof *f->times);
  f->values = malloc((planned * (size_t)o->quantity_count + 1) * sizeof *f->values);
  if (status == SAP_STATUS_OK && (f->times == NULL || f->values == NULL)) {
    status = cli_no_memory(error);
  }
  return status;
}

// A step that fails ends the run of this solver alone; what it would not take counts as refused.
static sap_status follow(follower* f, progress* bar, sap_error* error) {
  sap_status status = begin(f, error);
  const char* name = f->job->contenders[f->contender].label;
  const bool begun = status == SAP_STATUS_OK || f->run.refused;
  while (status == SAP_STATUS_OK && f->group->steps < f->run.planned) {
    status = follow_step(f, error);
    if (progress_due(bar)) {
      progress_draw(bar, (double)f->group->steps / (double)f->run.planned, name);
    }
  }
  if (begun && status != SAP_STATUS_OK && status != SAP_STATUS_MEMORY) {
    progress_end(bar);
    cli_message("%s: step %lld: %s", name, (long long)f->group->steps + 1, error->message);
    const bool refused = f->run.refused || status == SAP_STATUS_UNSUPPORTED;
    f->group->refused += refused ? 1 : 0;
    f->group->failed = !refused;
    status = SAP_STATUS_OK;
  }
  if (status == SAP_STATUS_OK && !keep_lines(f)) {
    status = cli_no_memory(error);
  }
  compare_run_close(&f->run);
  sap_state_clear(&f->start);
  free(f->times);
  free(f->values);
  return status;
}

int compare_self(compare_job* job, int scene) {
  const compare_options* o = &job->options;
  compare_reference reference = {0};
  sap_error error = {0};
  sap_status status = SAP_STATUS_OK;
  bool failed = false;
  progress bar;
  progress_begin(&bar);
  for (int c = 0; c < job->count && status == SAP_STATUS_OK; ++c) {
    for (int value = 0; value < o->value_count && status == SAP_STATUS_OK; ++value) {
      const compare_where where = {.scene = scene, .value = value, .name = o->operands[scene]};
      if (compare_reference_wanted(o)) {
        status = compare_reference_make(job, where.name, value, c, &reference, &error);
      }
      follower f = {.job = job,
                    .where = &where,
                    .contender = c,
                    .group = compare_group_of(job, &where, c),
                    .reference = &reference};
      if (status == SAP_STATUS_OK) {
        status = follow(&f, &bar, &error);
      }
      failed = failed || f.group->failed;
    }
  }
  progress_end(&bar);
  compare_reference_clear(&reference);
  return status != SAP_STATUS_OK ? cli_report(&error) : failed ? CLI_UNCONVERGED : CLI_OK;
}

// Points of an exact line.
enum { EXACT_POINTS = 201 };

static bool add_exact(compare_job* job, int panel, const char* formula) {
  double t[EXACT_POINTS], y[EXACT_POINTS];
  for (int i = 0; i < EXACT_POINTS; ++i) {
    const char* wrong;
    t[i] = job->options.duration * i / (EXACT_POINTS - 1);
    y[i] = expression_value(formula, t[i], &wrong);
  }
  return compare_line_add(&job->lines, panel, "exact", EXACT_POINTS, t, y);
}

// A line per scene and solver over the varied values, or over their order where they are no
// numbers.
static bool add_statistics(compare_job* job, int panel, int quantity) {
  const compare_options* o = &job->options;
  bool good = true;
  for (int scene = 0; scene < job->scene_count; ++scene) {
    for (int c = 0; c < job->count; ++c) {
      double x[COMPARE_VALUES_MAX], y[COMPARE_VALUES_MAX];
      for (int value = 0; value < o->value_count; ++value) {
        const compare_where where = {.scene = scene, .value = value};
        const compare_group* g = compare_group_of(job, &where, c);
        char* end = NULL;
        x[value] = o->vary != NULL ? strtod(o->values[value], &end) : 0.0;
        x[value] = end != NULL && *end == '\0' ? x[value] : value;
        y[value] = g->steps > 0 && !g->failed ? g->statistics[quantity] : (double)NAN;
      }
      char label[2 * COMPARE_LABEL_SIZE], name[COMPARE_LABEL_SIZE];
      compare_scene_name(o->operands[scene], name);
      (void)snprintf(label, sizeof label, "%s%s%s", job->contenders[c].label,
                     job->scene_count > 1 ? ", " : "", job->scene_count > 1 ? name : "");
      good = good && compare_line_add(&job->lines, panel, label, o->value_count, x, y);
    }
  }
  return good;
}

sap_status compare_self_write(compare_job* job, sap_error* error) {
  const compare_options* o = &job->options;
  sap_chart_panel panels[COMPARE_QUANTITIES_MAX] = {{0}};
  char labels[COMPARE_QUANTITIES_MAX][COMPARE_LABEL_SIZE],
      x_labels[COMPARE_QUANTITIES_MAX][COMPARE_LABEL_SIZE];
  int count = 0;
  bool good = true;
  for (int i = 0; i < o->quantity_count && good; ++i) {
    const compare_quantity* q = &o->quantities[i];
    if (!q->drawn) {
      continue;
    }
    sap_chart_panel* p = &panels[count];
    int residual = 0;
    while (residual < COMPARE_RESIDUALS && strcmp(q->name, compare_residuals[residual].name) != 0) {
      ++residual;
    }
    const bool varied = q->statistic != COMPARE_OVER_TIME;
    compare_quantity_label(q, labels[count]);
    (void)snprintf(x_labels[count], COMPARE_LABEL_SIZE, "%.60s%s",
                   varied && o->vary != NULL ? o->vary : "time [s]",
                   varied && o->vary != NULL ? compare_unit_of(o->vary) : "");
    if (q->over >= 0) {
      compare_quantity_label(&o->quantities[q->over], x_labels[count]);
    }
    p->title = q->name;
    p->y_label = labels[count];
    p->x_label = x_labels[count];
    p->log_x = varied;
    p->log_y = residual < COMPARE_RESIDUALS || varied;
    p->markers = varied;
    p->dashes = !varied;
    p->slopes = varied && strcmp(q->name, "deviation") == 0 ? 1 : 0;
    good = (!varied || add_statistics(job, count, i)) &&
           (q->exact == NULL || varied || add_exact(job, count, q->exact));
    p->log_y = p->log_y && (!varied || compare_lines_spread(&job->lines, count));
    ++count;
  }
  if (!good) {
    return cli_no_memory(error);
  }
  return compare_chart_write(&job->lines, panels, count, o->svg, error);
}
