// SPDX-License-Identifier: BSD-3-Clause
// One case of a sweep: its values, and the run with them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/run/run_statistics.h"
#include "cli/commands/sweep/sweep.h"
#include "cli/interrupt.h"
#include "cli/options.h"

const char* const sweep_status_names[] = {"ok", "unconverged", "failed"};

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

// A number in [0, 1) that depends on nothing but its arguments.
static double random_number(int32_t seed, int64_t index, int32_t stream) {
  const uint64_t x = mix(mix(mix((uint64_t)seed) ^ (uint64_t)index) ^ (uint64_t)stream);
  return (double)(x >> 11) * 0x1p-53;
}

// Two streams per parameter: the normal distribution takes both (Box and Muller).
static double draw(const sweep_study* study, int parameter, int64_t index) {
  const sweep_parameter* p = &study->parameters[parameter];
  const double u = random_number(study->seed, index, 2 * parameter);
  const double w = random_number(study->seed, index, 2 * parameter + 1);
  const double two_pi = 6.283185307179586;
  switch (p->kind) {
    case SWEEP_UNIFORM:
      return p->a + (p->b - p->a) * u;
    case SWEEP_LOG:
      return p->a * pow(p->b / p->a, u);
    default:
      return p->a + p->b * sqrt(-2.0 * log(1.0 - u)) * cos(two_pi * w);
  }
}

void sweep_value(const sweep_study* study, int parameter, int64_t index,
                 char out[SWEEP_TEXT_SIZE]) {
  const sweep_parameter* p = &study->parameters[parameter];
  int64_t choice = 0;
  if (p->kind == SWEEP_GRID) {  // the last grid line changes fastest
    int64_t point = index / study->samples;
    for (int i = study->parameter_count - 1; i > parameter; --i) {
      if (study->parameters[i].kind == SWEEP_GRID) {
        point /= study->parameters[i].count;
      }
    }
    choice = point % p->count;
  } else if (p->kind == SWEEP_CHOOSE) {
    choice = (int64_t)(random_number(study->seed, index, 2 * parameter) * p->count);
  } else if (p->kind != SWEEP_SET) {
    (void)snprintf(out, SWEEP_TEXT_SIZE, "%.17g", draw(study, parameter, index));
    return;
  }
  (void)snprintf(out, SWEEP_TEXT_SIZE, "%s", p->values[choice]);
}

static sap_status refuse(sap_error* error, const char* format, const char* name) {
  return sap_fail(error, SAP_STATUS_ARGUMENT, format, name);
}

static sap_status set_start(const char* keyframe, const sweep_setup* setup, const sap_model* model,
                            sap_state* state, double* control, sap_error* error) {
  sap_status status;
  if (keyframe == NULL || keyframe[0] == '\0') {
    status = sap_model_get_default_state(model, state, error);
  } else {
    int32_t id;
    status = cli_find_keyframe(model, "the scene", keyframe, &id, error);
    if (status == SAP_STATUS_OK) {
      status = sap_model_get_keyframe(model, id, state, control, error);
    }
  }
  for (int i = 0; status == SAP_STATUS_OK && i < setup->state_count; ++i) {
    sweep_coordinate at;
    if (!sweep_find_coordinate(model, setup->states[i].name, &at)) {
      return refuse(error, "the scene has no coordinate '%s'", setup->states[i].name);
    }
    (at.velocity ? state->v : state->q)[at.index] = setup->states[i].value;
  }
  return status;
}

cli_scene sweep_study_scene(const sweep_study* study) {
  cli_scene scene = cli_scene_default();
  scene.path = study->scene;
  scene.keyframe = study->keyframe;
  scene.lenient = study->lenient;
  scene.floating_base = study->floating_base;
  scene.floor = study->floor;
  return scene;
}

static void ignore(void* context, const char* message) {
  (void)context;
  (void)message;
}

sap_status sweep_read_scene(const cli_scene* scene, sap_message_function warning,
                            const sweep_setup* setup, sap_model** model, sap_state* state,
                            double** control, sap_error* error) {
  cli_scene edited = *scene;
  edited.override = setup->material;
  edited.edits = setup->edits;
  edited.edit_count = setup->edit_count;
  const sap_status status =
      cli_scene_read(&edited, warning != NULL ? warning : ignore, NULL, model, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  *control = calloc((size_t)sap_model_get_sizes(*model).nu + 1, sizeof **control);
  if (*control == NULL) {
    return cli_no_memory(error);
  }
  return set_start(scene->keyframe, setup, *model, state, *control, error);
}

// What a run owns.
typedef struct work {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
  double* control;
  sweep_sums sums;
} work;

sap_stepper_options sweep_stepper_options(const sweep_setup* setup, const sap_model* model) {
  const sap_model_options* scene = sap_model_get_options(model);
  sap_stepper_options options = setup->stepper;
  options.dt = setup->has_dt ? options.dt : scene->timestep;
  sap_regularization* r = &options.regularization;
  r->sigma = setup->has_sigma ? r->sigma : scene->regularization.sigma;
  r->beta = setup->has_beta ? r->beta : scene->regularization.beta;
  return options;
}

static sap_status begin(const sweep_study* study, sweep_setup* setup, work* w, sap_error* error) {
  const cli_scene scene = sweep_study_scene(study);
  sap_status status =
      sweep_read_scene(&scene, NULL, setup, &w->model, &w->state, &w->control, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  setup->stepper = sweep_stepper_options(setup, w->model);
  status = sap_multibody_create(w->model, &w->multibody, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_set_control(w->multibody, w->control, error);
  }
  return status == SAP_STATUS_OK ? sap_stepper_create(sap_multibody_system(w->multibody),
                                                      &setup->stepper, &w->stepper, error)
                                 : status;
}

// Of the last step's Hessian, where it is measured.
static sap_status condition(const sweep_study* study, const sap_step_report* report,
                            sweep_sums* sums, sap_error* error) {
  sums->hessian_condition = (double)NAN;
  for (int i = 0; i < study->measure_count; ++i) {
    if (report->problem != NULL && sweep_measure_of_hessian(study->measures[i].name)) {
      const double* v =
          report->solution != NULL ? report->solution->v : sap_problem_v_star(report->problem);
      return sap_problem_condition(report->problem, v, &sums->hessian_condition, error);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status step(work* w, sap_step_report* last, sap_error* error) {
  sweep_sums* s = &w->sums;
  sap_step_report report;
  sap_diagnostics d;
  sap_status status = sap_stepper_step(w->stepper, &w->state, &report, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_collect(w->multibody, &report, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_diagnose(w->multibody, &w->state, &d, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  *last = report;
  const int32_t iterations = run_newton_iterations(&report);
  const int32_t contacts = sap_multibody_contact_count(w->multibody);
  ++s->steps;
  s->iterations += iterations;
  ++s->histogram[iterations < SWEEP_HISTOGRAM ? iterations : SWEEP_HISTOGRAM - 1];
  s->iterations_max = iterations > s->iterations_max ? iterations : s->iterations_max;
  s->contacts += contacts;
  s->contacts_max = contacts > s->contacts_max ? contacts : s->contacts_max;
  s->kinetic_max = fmax(s->kinetic_max, d.kinetic);
  s->penetration_max =
      fmax(s->penetration_max, run_penetration(sap_multibody_contacts(w->multibody), contacts));
  if (report.solver != NULL) {
    s->momentum_error_max = fmax(s->momentum_error_max, report.solver->momentum_error);
    const sap_outcome outcome = report.solver->outcome;
    s->unconverged += outcome != SAP_OUTCOME_CONVERGED && outcome != SAP_OUTCOME_ROUNDOFF;
  }
  return SAP_STATUS_OK;
}

static sap_status advance(const sweep_study* study, double dt, work* w, sap_error* error) {
  sap_diagnostics d;
  sap_status status = sap_multibody_diagnose(w->multibody, &w->state, &d, error);
  if (status == SAP_STATUS_OK) {
    w->sums.kinetic_start = w->sums.kinetic_max = d.kinetic;
    w->sums.potential_start = d.potential_gravity + d.potential_springs;
    status = sap_multibody_detect(w->multibody, w->state.q, error);
  }
  const int64_t steps = cli_step_count(study->duration, dt);
  sap_step_report last = {0};
  while (status == SAP_STATUS_OK && w->sums.steps < steps && !interrupt_came()) {
    status = step(w, &last, error);
  }
  return status == SAP_STATUS_OK ? condition(study, &last, &w->sums, error) : status;
}

void sweep_case_run(const sweep_study* study, int64_t index, sweep_row* row) {
  char values[SWEEP_PARAMETERS_MAX][SWEEP_TEXT_SIZE];
  sweep_setup setup;
  work w = {0};
  sap_error error = {0};
  memset(row, 0, sizeof *row);
  row->index = index;
  for (int i = 0; i < study->measure_count; ++i) {
    row->measures[i] = (double)NAN;
  }
  sweep_setup_begin(&setup);
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; status == SAP_STATUS_OK && i < study->parameter_count; ++i) {
    sweep_value(study, i, index, values[i]);
    const char* wrong = sweep_setup_take(&setup, study->parameters[i].name, values[i]);
    if (wrong != NULL) {
      status = SAP_STATUS_ARGUMENT;
      (void)snprintf(error.message, sizeof error.message, "%.100s = %.127s must be %.200s",
                     study->parameters[i].name, values[i], wrong);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = begin(study, &setup, &w, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = advance(study, setup.stepper.dt, &w, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = sweep_measure(study, &w.sums, w.multibody, w.model, &w.state, row->measures, &error);
  }
  row->status = status != SAP_STATUS_OK  ? SWEEP_FAILED
                : w.sums.unconverged > 0 ? SWEEP_UNCONVERGED
                                         : SWEEP_OK;
  if (status != SAP_STATUS_OK) {
    (void)snprintf(row->message, sizeof row->message, "%.*s", SWEEP_MESSAGE_SIZE - 1,
                   error.message);
  }
  // A case that was broken off is none, and neither is one that memory was short for.
  if (interrupt_came() || status == SAP_STATUS_MEMORY) {
    row->index = -1;
  }
  sap_stepper_destroy(w.stepper);
  sap_multibody_destroy(w.multibody);
  sap_model_destroy(w.model);
  sap_state_clear(&w.state);
  free(w.control);
}
