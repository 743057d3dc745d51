// SPDX-License-Identifier: BSD-3-Clause
// Scenes stepped for `sapstep compare`: problems of a scene, and runs by each solver itself with
// their deviations from a reference run.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/commands/run/run_loop.h"
#include "cli/expression.h"
#include "cli/options.h"
#include "cli/progress.h"

// The solver that steps a scene, and its settings.
typedef struct compare_stepping {
  const char* solver;                        // NULL: the default
  const sap_solver_options* solver_options;  // NULL: those of the command line
  int value;                                 // of what varies
  double dt;                                 // [s], 0: the scene's or what is set
} compare_stepping;

// Positions of a reference run.
typedef struct compare_reference {
  int solver, value;  // whose: contender (-1: that of --reference), value
  double dt;
  int64_t count;
  int32_t nq;
  double* q;  // after each step, the start first                                 (count, nq)
} compare_reference;

enum { STEPS_MAX = 100 * 1000 * 1000 };

static void warn(void* context, const char* message) {
  (void)context;
  cli_message("warning: %s", message);
}

static sap_status find_forces(const compare_options* o, compare_run* r, sap_error* error) {
  for (int i = 0; i < o->force_count; ++i) {
    r->force_bodies[i] = sap_model_find(r->model, SAP_ELEMENT_BODY, o->forces[i].body);
    if (r->force_bodies[i] < 1) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "--force: the scene has no body '%.200s'",
                      o->forces[i].body);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status open_run(const compare_options* o, const cli_scene* scene,
                           const study_setup* setup, double dt, compare_run* r, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  SAP_TRY(study_read_scene(scene, warn, setup, &r->model, &r->state, &r->control, error));
  SAP_TRY(find_forces(o, r, error));
  SAP_TRY(sap_multibody_create(r->model, &r->multibody, error));
  SAP_TRY(sap_multibody_set_control(r->multibody, r->control, error));
  sap_stepper_options options = study_stepper_options(setup, r->model);
  options.dt = dt > 0.0 ? dt : options.dt;
  r->dt = options.dt;
  r->planned = cli_step_count(o->duration, options.dt);
  if (r->planned > STEPS_MAX) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%g s in steps of %g s are more than %d steps",
                    o->duration, options.dt, STEPS_MAX);
  }
  status = sap_stepper_create(sap_multibody_system(r->multibody), &options, &r->stepper, error);
  r->refused = status == SAP_STATUS_ARGUMENT || status == SAP_STATUS_UNSUPPORTED;
  return status;
}

static void compare_run_close(compare_run* run) {
  sap_stepper_destroy(run->stepper);
  sap_multibody_destroy(run->multibody);
  sap_model_destroy(run->model);
  sap_state_clear(&run->state);
  free(run->control);
  *run = (compare_run){0};
}

static sap_status compare_run_open(const compare_options* o, const char* scene,
                                   const compare_stepping* stepping, compare_run* out,
                                   sap_error* error) {
  *out = (compare_run){0};
  study_setup setup = o->setup;
  if (stepping->solver != NULL) {
    setup.stepper.solver = stepping->solver;
  }
  if (stepping->solver_options != NULL) {
    setup.stepper.solver_options = *stepping->solver_options;
  }
  if (o->vary != NULL) {
    (void)study_setup_take(&setup, o->vary, o->values[stepping->value]);  // tried before
  }
  cli_scene from = o->scene;
  from.path = scene;
  const sap_status status = open_run(o, &from, &setup, stepping->dt, out, error);
  if (status != SAP_STATUS_OK) {
    const bool refused = out->refused;
    compare_run_close(out);
    out->refused = refused;
  }
  return status;
}

// Steps with the forces of the middle of the step: the impulse of a linearly growing force is
// exact.
static sap_status compare_run_step(const compare_options* o, compare_run* run,
                                   sap_step_report* report, sap_error* error) {
  for (int i = 0; i < o->force_count; ++i) {
    double force[3] = {0.0, 0.0, 0.0};
    const char* wrong;
    for (int k = 0; k < o->force_count; ++k) {  // all of the same body: one wrench each
      if (run->force_bodies[k] == run->force_bodies[i]) {
        force[o->forces[k].axis] +=
            expression_value(o->forces[k].formula, run->state.t + 0.5 * run->dt, &wrong);
      }
    }
    SAP_TRY(sap_multibody_set_applied_wrench(run->multibody, run->force_bodies[i], NULL, force,
                                             NULL, error));
  }
  return sap_stepper_step(run->stepper, &run->state, report, error);
}

static sap_status step(compare_job* job, compare_run* run, compare_where* where, int64_t* problems,
                       sap_error* error) {
  sap_step_report report;
  sap_status status = compare_run_step(&job->options, run, &report, error);
  ++where->index;
  if (status != SAP_STATUS_OK || where->index % job->options.every != 0 || report.blocks == 0) {
    return status;
  }
  ++*problems;
  where->class = COMPARE_FREE;
  if (job->options.classes) {
    status = compare_classify(report.problem, run->model, &where->class, error);
  }
  return status == SAP_STATUS_OK ? compare_problem(job, report.problem, where, run->dt, error)
                                 : status;
}

int compare_scene(compare_job* job, int scene) {
  const compare_options* o = &job->options;
  sap_error error = {0};
  compare_run run;
  const compare_stepping stepping = {.solver = o->reference};
  if (compare_run_open(o, o->operands[scene], &stepping, &run, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  for (int i = 0; i < job->count; ++i) {  // keys of another scene mean nothing in this one
    sap_solver_forget(job->contenders[i].solver);
  }
  compare_where where = {.scene = scene, .name = o->operands[scene]};
  progress bar;
  progress_begin(&bar);
  sap_status status = SAP_STATUS_OK;
  int64_t problems = 0;
  while (status == SAP_STATUS_OK && where.index < run.planned) {
    status = step(job, &run, &where, &problems, &error);
    if (progress_due(&bar)) {
      progress_draw(&bar, (double)where.index / (double)run.planned, o->operands[scene]);
    }
  }
  progress_end(&bar);
  compare_run_close(&run);
  if (status != SAP_STATUS_OK) {
    cli_message("%s: step %lld: %s", o->operands[scene], (long long)where.index, error.message);
    return cli_exit_code(status);
  }
  if (problems == 0) {
    cli_message("%s: no contact in %g s at the steps looked at, so there was nothing to solve",
                o->operands[scene], o->duration);
  }
  return CLI_OK;
}

// Records the positions of a reference run, usually with a finer step.

static bool compare_reference_wanted(const compare_options* o) {
  for (int i = 0; i < o->quantity_count; ++i) {
    if (strcmp(o->quantities[i].name, "deviation") == 0) {
      return true;
    }
  }
  return false;
}

static sap_status record_reference(const compare_options* o, compare_run* run, compare_reference* r,
                                   sap_error* error) {
  const size_t nq = (size_t)run->state.nq;
  r->nq = run->state.nq;
  r->q = malloc(((size_t)run->planned + 1) * (nq + 1) * sizeof *r->q);
  if (r->q == NULL) {
    return cli_no_memory(error);
  }
  memcpy(r->q, run->state.q, nq * sizeof *r->q);
  for (r->count = 1; r->count <= run->planned; ++r->count) {
    sap_step_report report;
    SAP_TRY(compare_run_step(o, run, &report, error));
    memcpy(r->q + nq * (size_t)r->count, run->state.q, nq * sizeof *r->q);
  }
  return SAP_STATUS_OK;
}

static void compare_reference_clear(compare_reference* reference) {
  free(reference->q);
  *reference = (compare_reference){0};
}

// With --vary dt one reference is used for all values.
static sap_status compare_reference_make(const compare_job* job, const char* scene, int value,
                                         int contender, compare_reference* reference,
                                         sap_error* error) {
  const compare_options* o = &job->options;
  const bool own = o->reference != NULL && strcmp(o->reference, "own") == 0;
  const int of = own ? contender : -1;
  const int with =
      o->vary != NULL && strcmp(o->vary, "dt") == 0 && o->reference_dt > 0.0 ? 0 : value;
  if (reference->q != NULL && reference->solver == of && reference->value == with) {
    return SAP_STATUS_OK;
  }
  compare_reference_clear(reference);
  const bool first = !own && o->reference == NULL;
  const compare_contender* c = &job->contenders[own ? contender : 0];
  const compare_stepping stepping = {.solver = own || first ? c->info->name : o->reference,
                                     .solver_options = own || first ? &c->options : NULL,
                                     .value = with,
                                     .dt = o->reference_dt};
  compare_run run;
  sap_status status = compare_run_open(o, scene, &stepping, &run, error);
  if (status == SAP_STATUS_OK) {
    *reference = (compare_reference){.solver = of, .value = with, .dt = run.dt};
    status = record_reference(o, &run, reference, error);
    compare_run_close(&run);
  }
  if (status != SAP_STATUS_OK) {
    char text[SAP_ERROR_MESSAGE_SIZE];
    (void)snprintf(text, sizeof text, "reference '%.32s': %.*s", stepping.solver,
                   SAP_ERROR_MESSAGE_SIZE - 64, error->message);
    (void)snprintf(error->message, sizeof error->message, "%s", text);
    compare_reference_clear(reference);
  }
  return status;
}

// Returns |q (-) q_ref| after step `step`; NaN if the reference has no such time.
static double compare_reference_deviation(const compare_reference* r, const compare_run* run,
                                          int64_t step) {
  static const double SAME_TIME = 1e-6;  // of a step of the reference
  const double at = (double)step * run->dt / r->dt, nearest = round(at);
  if (r->q == NULL || !(fabs(at - nearest) < SAME_TIME) || !(nearest < (double)r->count) ||
      r->nq != run->state.nq) {
    return (double)NAN;
  }
  const sap_system* system = sap_multibody_system(run->multibody);
  const double* q = r->q + (size_t)nearest * (size_t)r->nq;
  double* delta = calloc((size_t)system->nv + 1, sizeof *delta);
  double sum = 0.0;
  if (delta == NULL || system->position_difference(system->context, q, run->state.q, delta) != 0) {
    sum = (double)NAN;
  }
  for (int32_t i = 0; delta != NULL && i < system->nv; ++i) {
    sum += delta[i] * delta[i];
  }
  free(delta);
  return sqrt(sum);
}

// --- runs by each solver itself ---

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
  SAP_TRY(sap_residuals(report->problem, report->solution->v, report->solution->gamma, residual,
                        error));
  return compare_count(f->group, &f->job->contenders[f->contender], report->solver, residual)
             ? SAP_STATUS_OK
             : cli_no_memory(error);
}

static sap_status follow_step(follower* f, sap_error* error) {
  const compare_options* o = &f->job->options;
  const int64_t step = f->group->steps;
  sap_step_report report;
  sap_residual residual;
  SAP_TRY(compare_run_step(o, &f->run, &report, error));
  SAP_TRY(sap_multibody_collect(f->run.multibody, &report, error));
  if (report.blocks > 0) {
    SAP_TRY(judge(f, &report, &residual, error));
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
  for (int i = 0; i < o->quantity_count; ++i) {
    SAP_TRY(compare_probe_value(&f->probes[i], &f->run, &sample,
                                f->values + f->run.planned * i + step, error));
  }
  f->group->steps += 1;
  return SAP_STATUS_OK;
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

// Keeps lines over time, and statistics for lines over the varied value.
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
                      cli_line_add(&f->job->lines, panel, label, f->group->steps, x,
                                   f->values + f->run.planned * i));
      ++panel;
    }
  }
  return good;
}

static sap_status begin_following(follower* f, sap_error* error) {
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

// Steps to the end. A failed step ends the run of this solver only; unsupported problems count as
// refused.
static sap_status follow(follower* f, progress* bar, sap_error* error) {
  sap_status status = begin_following(f, error);
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

// Points of the line of an exact solution.
enum { EXACT_POINTS = 201 };

static bool add_exact(compare_job* job, int panel, const char* formula) {
  double t[EXACT_POINTS], y[EXACT_POINTS];
  for (int i = 0; i < EXACT_POINTS; ++i) {
    const char* wrong;
    t[i] = job->options.duration * i / (EXACT_POINTS - 1);
    y[i] = expression_value(formula, t[i], &wrong);
  }
  return cli_line_add(&job->lines, panel, "exact", EXACT_POINTS, t, y);
}

// Adds a line per scene and solver over the varied values, or over their order if they are not
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
      good = good && cli_line_add(&job->lines, panel, label, o->value_count, x, y);
    }
  }
  return good;
}

// Returns the unit of a varied parameter, " [s]"; "" if its name does not tell.
static const char* unit_of(const char* name) {
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

// True if a panel's values differ enough for a logarithmic axis.
static bool is_spread(const cli_lines* lines, int panel) {
  double low, high;
  cli_lines_range(lines, panel, false, &low, &high);
  return !(low > 0.0) || high > 2.0 * low;
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
                   varied && o->vary != NULL ? unit_of(o->vary) : "");
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
    p->log_y = p->log_y && (!varied || is_spread(&job->lines, count));
    ++count;
  }
  if (!good) {
    return cli_no_memory(error);
  }
  return cli_lines_write(&job->lines, panels, count, o->svg, true, error);
}
