// SPDX-License-Identifier: BSD-3-Clause
// A case of a study: the values of its parameters, its run, and statistics of its quantities.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/run/run_loop.h"
#include "cli/commands/sweep/study.h"
#include "cli/expression.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/memory.h"
#include "math/scalar.h"

// --- values of parameters ---

const char* const study_status_names[] = {"ok", "unconverged", "failed"};

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mix_bits(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

// Returns a number in [0, 1) that depends only on its arguments.
static double random_number(int32_t seed, int64_t index, int32_t stream) {
  const uint64_t x =
      mix_bits(mix_bits(mix_bits((uint64_t)seed) ^ (uint64_t)index) ^ (uint64_t)stream);
  return (double)(x >> 11) * 0x1p-53;
}

// Draws a value from two streams per parameter: the normal distribution uses both (Box and Muller).
static double draw(const study_spec* study, int parameter, int64_t index) {
  const study_parameter* p = &study->parameters[parameter];
  const double u = random_number(study->seed, index, 2 * parameter);
  const double w = random_number(study->seed, index, 2 * parameter + 1);
  const double two_pi = 6.283185307179586;
  switch (p->kind) {
    case STUDY_UNIFORM:
      return p->a + (p->b - p->a) * u;
    case STUDY_LOG:
      return p->a * pow(p->b / p->a, u);
    default:
      return p->a + p->b * sqrt(-2.0 * log(1.0 - u)) * cos(two_pi * w);
  }
}

void study_value(const study_spec* study, int parameter, int64_t index, char out[STUDY_TEXT_SIZE]) {
  const study_parameter* p = &study->parameters[parameter];
  int64_t choice = 0;
  if (p->kind == STUDY_GRID) {  // the last grid line changes fastest
    int64_t point = index / study->samples;
    for (int i = study->parameter_count - 1; i > parameter; --i) {
      if (study->parameters[i].kind == STUDY_GRID) {
        point /= study->parameters[i].count;
      }
    }
    choice = point % p->count;
  } else if (p->kind == STUDY_CHOOSE) {
    choice = (int64_t)(random_number(study->seed, index, 2 * parameter) * p->count);
  } else if (p->kind != STUDY_SET) {
    (void)snprintf(out, STUDY_TEXT_SIZE, "%.17g", draw(study, parameter, index));
    return;
  }
  (void)snprintf(out, STUDY_TEXT_SIZE, "%s", p->values[choice]);
}

// --- runs ---

// Steps with the forces of the middle of the step: the impulse of a linearly growing force is
// exact.
static sap_status step_run(const study_spec* study, study_run* run, sap_error* error) {
  const study_force* forces = study->forces;
  for (int i = 0; i < study->force_count; ++i) {
    double force[3] = {0.0, 0.0, 0.0};
    const char* wrong;
    for (int k = 0; k < study->force_count; ++k) {  // all of the same body: one wrench
      if (run->force_bodies[k] == run->force_bodies[i]) {
        force[forces[k].axis] +=
            expression_value(forces[k].formula, run->on.state.t + 0.5 * run->on.options.dt, &wrong);
      }
    }
    SAP_TRY(sap_multibody_set_applied_wrench(run->on.multibody, run->force_bodies[i], NULL, force,
                                             NULL, error));
  }
  SAP_TRY(sap_stepper_step(run->on.stepper, &run->on.state, &run->report, error));
  ++run->steps;
  run->unconverged += run_unconverged(&run->report) ? 1 : 0;
  return SAP_STATUS_OK;
}

// Sets the parameters of a case: presets first, the solver last, so that its own options override
// those of all solvers. `solver` NULL: that of the case.
static sap_status set_parameters(const study_spec* study, int64_t index, const char* solver,
                                 char (*values)[STUDY_TEXT_SIZE], study_setup* setup,
                                 sap_error* error) {
  study_setup_begin(study, setup);
  const int count = study->parameter_count;
  for (int k = 0; k < 3 * count; ++k) {
    const int i = k % count;
    const char* name = study->parameters[i].name;
    const int turn = strcmp(name, "preset") == 0 ? 0 : strcmp(name, "solver") == 0 ? 2 : 1;
    if (turn != k / count || (turn == 2 && solver != NULL)) {
      continue;
    }
    study_value(study, i, index, values[i]);
    const char* wrong = study_setup_take(setup, name, values[i]);
    SAP_FAIL_IF(wrong != NULL, error, SAP_STATUS_ARGUMENT, "%.100s = %.127s must be %.200s", name,
                values[i], wrong);
  }
  setup->stepper.solver = solver != NULL ? solver : setup->stepper.solver;
  return SAP_STATUS_OK;
}

static void close_run(study_run* run) {
  cli_run_close(&run->on);
  sap_state_clear(&run->start);
  free(run->delta);
  *run = (study_run){0};
}

// Opens the run of a case: with its own solver and time step, or those given.
static sap_status open_run(const study_spec* study, int64_t index, const char* solver, double dt,
                           study_run* run, sap_error* error) {
  char values[STUDY_PARAMETERS_MAX][STUDY_TEXT_SIZE];
  study_setup setup;
  SAP_TRY(set_parameters(study, index, solver, values, &setup, error));
  setup.stepper.dt = dt > 0.0 ? dt : setup.stepper.dt;
  SAP_TRY(study_open(&setup, &run->on, error));
  for (int i = 0; i < study->force_count; ++i) {
    run->force_bodies[i] = sap_model_find(run->on.model, SAP_ELEMENT_BODY, study->forces[i].body);
  }
  SAP_TRY(sap_state_resize(&run->start, run->on.state.nq, run->on.state.nv, error));
  SAP_TRY(sap_state_copy(&run->on.state, &run->start, error));
  run->delta = cli_allocate((size_t)run->on.state.nv, sizeof *run->delta);
  return sap_multibody_detect(run->on.multibody, run->on.state.q, error);
}

// Advances the reference to the time of the run and computes |q (-) q_reference|; NaN if the
// reference has no such time.
static sap_status find_deviation(const study_spec* study, study_run* run, double* out,
                                 sap_error* error) {
  static const double SAME_TIME = 1e-6;  // of a step of the reference
  study_run* r = run->reference;
  const double at = (double)run->steps * run->on.options.dt / r->on.options.dt, nearest = round(at);
  *out = (double)NAN;
  if (!(fabs(at - nearest) < SAME_TIME) || r->on.state.nq != run->on.state.nq) {
    return SAP_STATUS_OK;
  }
  while ((double)r->steps < nearest && !interrupt_came()) {
    SAP_TRY_OR(step_run(study, r, error), sap_error_prefix(error, "reference"));
  }
  const sap_system* system = sap_multibody_system(run->on.multibody);
  if (system->position_difference(system->context, r->on.state.q, run->on.state.q, run->delta) ==
      0) {
    *out = sqrt(sap_dot(system->nv, run->delta, run->delta));
  }
  return SAP_STATUS_OK;
}

// --- statistics ---
//
// But for time_us nothing here depends on the clock: a case always gives the same bits.

// Sums of a quantity over the steps.
typedef struct study_series {
  study_probe probe;
  double start, last, largest, sum, integral;
  double* values;  // of quantities that are kept                                      (steps)
  int32_t capacity;
} study_series;

// Everything that a case owns.
typedef struct work {
  study_run run, reference;
  study_series series[STUDY_QUANTITIES_MAX];
  int64_t complete;  // steps that are in all series
} work;

static sap_status add_value(study_series* s, bool kept, const study_run* run, double value,
                            sap_error* error) {
  s->last = value;
  s->largest = fabs(value) <= fabs(s->largest) ? s->largest : value;
  s->sum += value;
  s->integral += fabs(value) * run->on.options.dt;
  if (kept) {
    SAP_TRY(SAP_GROW(&s->values, &s->capacity, run->steps, error));
    s->values[run->steps - 1] = value;
  }
  return SAP_STATUS_OK;
}

// Evaluates the quantities after a step: at the end also those that are not needed before.
static sap_status evaluate(const study_spec* study, bool end, work* w, sap_error* error) {
  study_moment moment = {.deviation = (double)NAN};
  if (w->run.reference != NULL) {
    SAP_TRY(find_deviation(study, &w->run, &moment.deviation, error));
  }
  for (int i = 0; i < study->quantity_count; ++i) {
    study_series* s = &w->series[i];
    double value;
    if (!end && !study->quantities[i].each_step && w->run.steps > 0) {
      continue;
    }
    SAP_TRY(study_probe_value(&s->probe, &w->run, &moment, &value, error));
    if (w->run.steps == 0) {
      s->start = s->last = value;
    } else {
      SAP_TRY(add_value(s, study->quantities[i].kept, &w->run, value, error));
    }
  }
  return SAP_STATUS_OK;
}

static double find_statistic(study_series* s, study_statistic statistic, int64_t steps) {
  const double n = (double)steps;
  switch (statistic) {
    case STUDY_END:
      return s->last;
    case STUDY_CHANGE:
      return s->last - s->start;
    case STUDY_MAX:
      return s->largest;
    case STUDY_MEAN:
      return steps > 0 ? s->sum / n : (double)NAN;
    case STUDY_MEDIAN:
      if (steps == 0) {
        return (double)NAN;
      }
      qsort(s->values, (size_t)steps, sizeof *s->values, cli_ascending);
      return s->values[(steps - 1) / 2];
    case STUDY_SUM:
      return s->sum;
    case STUDY_INTEGRAL:
      return s->integral;
  }
  return (double)NAN;
}

static sap_status begin_case(const study_spec* study, int64_t index, work* w, sap_error* error) {
  SAP_TRY(open_run(study, index, NULL, 0.0, &w->run, error));
  for (int i = 0; i < study->quantity_count; ++i) {
    SAP_TRY(
        study_probe_find(study->quantities[i].name, w->run.on.model, &w->series[i].probe, error));
  }
  if (study->reference != NULL) {
    const char* solver = strcmp(study->reference, "own") == 0 ? NULL : study->reference;
    const double dt = study->reference_dt > 0.0 ? study->reference_dt : w->run.on.options.dt;
    w->run.reference = &w->reference;
    SAP_TRY_OR(open_run(study, index, solver, dt, &w->reference, error),
               sap_error_prefix(error, "reference"));
  }
  return SAP_STATUS_OK;
}

static sap_status advance(const study_spec* study, work* w, sap_error* error) {
  const int64_t steps = cli_step_count(study->duration, w->run.on.options.dt);
  SAP_TRY(evaluate(study, steps == 0, w, error));
  while (w->run.steps < steps && !interrupt_came()) {
    SAP_TRY(step_run(study, &w->run, error));
    SAP_TRY(sap_multibody_collect(w->run.on.multibody, &w->run.report, error));
    SAP_TRY(evaluate(study, w->run.steps == steps, w, error));
    w->complete = w->run.steps;
  }
  return SAP_STATUS_OK;
}

size_t study_series_size(const study_spec* study, const study_row* row) {
  return 2 * (size_t)study->plot_count * (size_t)row->steps * sizeof(double);
}

// Copies what the plots need, also of a case that failed in between.
static void keep_series(const study_spec* study, const work* w, study_row* row) {
  row->steps = study->plot_count > 0 ? w->complete : 0;
  row->series = cli_allocate(study_series_size(study, row), 1);
  double* out = row->series;
  for (int p = 0; row->steps > 0 && p < study->plot_count; ++p) {
    const int of[] = {study->plots[p].x, study->plots[p].y};
    for (int k = 0; k < 2; ++k, out += row->steps) {
      memcpy(out, w->series[of[k]].values, (size_t)row->steps * sizeof *out);
    }
  }
}

void study_case_run(const study_spec* study, int64_t index, study_row* row) {
  sap_error error = {0};
  work* w = cli_allocate(1, sizeof *w);
  memset(row, 0, sizeof *row);
  row->index = index;
  for (int i = 0; i < study->measure_count; ++i) {
    row->measures[i] = (double)NAN;
  }
  sap_status status = begin_case(study, index, w, &error);
  if (status == SAP_STATUS_OK) {
    status = advance(study, w, &error);
    keep_series(study, w, row);
  }
  for (int i = 0; status == SAP_STATUS_OK && i < study->measure_count; ++i) {
    row->measures[i] = find_statistic(&w->series[study->measures[i].quantity],
                                      study->measures[i].statistic, w->run.steps);
  }
  row->status = status != SAP_STATUS_OK  ? STUDY_FAILED
                : w->run.unconverged > 0 ? STUDY_UNCONVERGED
                                         : STUDY_OK;
  if (status != SAP_STATUS_OK) {
    (void)snprintf(row->message, sizeof row->message, "%.*s", STUDY_MESSAGE_SIZE - 1,
                   error.message);
  }
  // A case that was interrupted or ran out of memory is not a result.
  if (interrupt_came() || status == SAP_STATUS_MEMORY) {
    row->index = -1;
  }
  for (int i = 0; i < study->quantity_count; ++i) {
    sap_free(w->series[i].values);
  }
  close_run(&w->run);
  close_run(&w->reference);
  free(w);
}
