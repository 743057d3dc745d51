// SPDX-License-Identifier: BSD-3-Clause
// Parameters and measures of a study, and the run of one case.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/run/run_loop.h"
#include "cli/commands/sweep/study.h"
#include "cli/options.h"
#include "cli/progress.h"

// --- parameters ---

static const struct {
  const char* name;
  size_t offset;  // in sap_material
  bool open;      // 0 is not allowed
  const char* unit;
} materials[] = {
    {"friction", offsetof(sap_material, friction), false, ""},
    {"stiffness", offsetof(sap_material, stiffness), true, "[N/m]"},
    {"relaxation_time", offsetof(sap_material, relaxation_time), false, "[s]"},
    {"dissipation", offsetof(sap_material, dissipation), false, "[s/m]"},
    {"stiction_tolerance", offsetof(sap_material, stiction_tolerance), true, "[m/s]"},
    {"static_friction", offsetof(sap_material, static_friction), false, ""},
};
enum { MATERIALS = sizeof materials / sizeof materials[0] };

void study_setup_begin(study_setup* setup) {
  *setup = (study_setup){.material = sap_material_unset()};
  setup->stepper = cli_stepper_options();
  setup->stepper.accepted_error = (double)INFINITY;  // studies tell how far solvers come
}

static void append_name(char* out, size_t size, const char* text) {
  const size_t used = strlen(out);
  (void)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", text);
}

void study_list_parameters(char* out, size_t size) {
  out[0] = '\0';
  append_name(out, size, "scheme, solver");
  const sap_option_table table = sap_stepper_option_table();
  const int32_t own = table.count - sap_solver_option_table().count;
  for (int32_t i = 0; i < own; ++i) {
    append_name(out, size, table.options[i].name);
  }
  for (int i = 0; i < MATERIALS; ++i) {
    append_name(out, size, materials[i].name);
  }
  append_name(out, size, "solver options of 'sapstep run --help' (relative_tolerance, ...)");
  append_name(out, size, "preset, q/JOINT, v/JOINT, q/JOINT[part]");
  append_name(out, size, "ELEMENT/NAME/ATTRIBUTE of the scene (geom/ball/density)");
}

static const char* take_material(study_setup* setup, int index, const char* text) {
  static char allowed[SAP_OPTION_TEXT_SIZE];
  double value;
  const bool open = materials[index].open;
  if (!cli_read_real(text, &value) || !(open ? value > 0.0 : value >= 0.0)) {
    sap_range_allowed(0.0, 1e300, open, materials[index].unit, allowed);
    return allowed;
  }
  memcpy((char*)&setup->material + materials[index].offset, &value, sizeof value);
  return NULL;
}

static const char* take_path(study_setup* setup, const char* name, const char* value) {
  if (strncmp(name, "q/", 2) != 0 && strncmp(name, "v/", 2) != 0) {
    setup->edits[setup->edit_count++] = (sap_scene_edit){.path = name, .value = value};
    return NULL;
  }
  double number;
  if (!cli_read_real(value, &number)) {
    return "a finite number";
  }
  setup->states[setup->state_count].name = name;
  setup->states[setup->state_count++].value = number;
  return NULL;
}

const char* study_setup_take(study_setup* setup, const char* name, const char* value) {
  static const cli_option own[] = {
      {.name = "scheme", .kind = CLI_SCHEME},
      {.name = "preset", .kind = CLI_PRESET},
      {.name = "solver", .kind = CLI_SOLVER, .offset = offsetof(sap_stepper_options, solver)},
  };
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
    if (strcmp(name, own[i].name) == 0) {
      return cli_take_option(&own[i], &setup->stepper, value);
    }
  }
  for (int i = 0; i < MATERIALS; ++i) {
    if (strcmp(name, materials[i].name) == 0) {
      return take_material(setup, i, value);
    }
  }
  bool known;
  const char* allowed =
      cli_set_option(sap_stepper_option_table(), &setup->stepper, name, value, &known);
  return known ? allowed : strchr(name, '/') != NULL ? take_path(setup, name, value) : "";
}

bool study_find_coordinate(const sap_model* model, const char* name, study_coordinate* out) {
  static const int sizes[][2] = {[SAP_JOINT_FREE] = {7, 6},
                                 [SAP_JOINT_BALL] = {4, 3},
                                 [SAP_JOINT_HINGE] = {1, 1},
                                 [SAP_JOINT_SLIDE] = {1, 1}};
  char joint[STUDY_NAME_SIZE];
  int32_t part = 0, q, v;
  if ((strncmp(name, "q/", 2) != 0 && strncmp(name, "v/", 2) != 0) ||
      strlen(name) >= STUDY_NAME_SIZE) {
    return false;
  }
  strcpy(joint, name + 2);
  char* open = strrchr(joint, '[');
  if (open != NULL) {
    *open++ = '\0';
    char* close = strchr(open, ']');
    if (close == NULL || close[1] != '\0') {
      return false;
    }
    *close = '\0';
    if (!cli_read_integer(open, &part)) {
      return false;
    }
  }
  sap_joint_type type;
  const int32_t id = sap_model_find(model, SAP_ELEMENT_JOINT, joint);
  if (id < 0 || sap_model_joint_address(model, id, &type, NULL, &q, &v, NULL) != SAP_STATUS_OK) {
    return false;
  }
  out->velocity = name[0] == 'v';
  out->index = (out->velocity ? v : q) + part;
  return part >= 0 && part < sizes[type][out->velocity ? 1 : 0];
}

// --- measures ---
//
// Nothing here depends on the clock: a case always gives the same bits.

// The one list of measures: X(name, "unit", value)
#define MEASURES(X)                                                                       \
  X(kinetic_end, " [J]", d->kinetic)                                                      \
  X(potential_end, " [J]", potential)                                                     \
  X(energy_end, " [J]", d->kinetic + potential)                                           \
  X(energy_drift, " [J]", d->kinetic + potential - s->kinetic_start - s->potential_start) \
  X(kinetic_max, " [J]", s->kinetic_max)                                                  \
  X(penetration_max, " [m]", s->penetration_max)                                          \
  X(penetration_end, " [m]", run_penetration(contacts, count))                            \
  X(slip_end, " [m/s]", mean_slip(contacts, count))                                       \
  X(iterations_mean, "", mean_count(s->iterations, s->steps))                             \
  X(iterations_median, "", median_iterations(s))                                          \
  X(iterations_max, "", (double)s->iterations_max)                                        \
  X(contacts_mean, "", mean_count(s->contacts, s->steps))                                 \
  X(contacts_max, "", (double)s->contacts_max)                                            \
  X(momentum_error_max, "", s->momentum_error_max)                                        \
  X(hessian_condition, "", s->hessian_condition)                                          \
  X(unconverged_steps, "", (double)s->unconverged)                                        \
  X(steps, "", (double)s->steps)                                                          \
  X(center_x, " [m]", d->p_WCm[0])                                                        \
  X(center_y, " [m]", d->p_WCm[1])                                                        \
  X(center_z, " [m]", d->p_WCm[2])                                                        \
  X(mass, " [kg]", d->mass)

static const struct {
  const char *name, *unit;
} measures[] = {
#define SAP_X(name, unit, value) {#name, unit},
    MEASURES(SAP_X)
#undef SAP_X
};
enum { MEASURE_COUNT = sizeof measures / sizeof measures[0] };

static int find_measure(const char* name) {
  int i = 0;
  while (i < MEASURE_COUNT && strcmp(measures[i].name, name) != 0) {
    ++i;
  }
  return i;
}

bool study_measure_known(const sap_model* model, const char* name) {
  study_coordinate coordinate;
  return find_measure(name) < MEASURE_COUNT || study_find_coordinate(model, name, &coordinate);
}

const char* study_measure_unit(const char* name) {
  const int id = find_measure(name);
  return id < MEASURE_COUNT ? measures[id].unit : "";
}

void study_list_measures(char* out, size_t size) {
  size_t used = 0;
  for (int i = 0; i < MEASURE_COUNT && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", measures[i].name);
  }
  if (used < size) {
    (void)snprintf(out + used, size - used, "q/JOINT, v/JOINT[part] at the end");
  }
}

// True if the measure needs the condition number of the last step's Hessian.
static bool study_measure_of_hessian(const char* name) {
  return strcmp(name, "hessian_condition") == 0;
}

// Returns the mean tangential speed over the contacts [m/s]; 0 without any.
static double mean_slip(const sap_contact* contacts, int32_t count) {
  double sum = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    sum += hypot(contacts[i].vc[0], contacts[i].vc[1]);
  }
  return count > 0 ? sum / count : 0.0;
}

static double mean_count(int64_t sum, int64_t count) {
  return count > 0 ? (double)sum / (double)count : (double)NAN;
}

// Returns the median number of iterations of the steps, the lower one of two.
static double median_iterations(const study_sums* s) {
  int64_t below = 0;
  for (int i = 0; i < STUDY_HISTOGRAM; ++i) {
    below += s->histogram[i];
    if (2 * below >= s->steps) {
      return s->steps > 0 ? i : (double)NAN;
    }
  }
  return (double)NAN;
}

static void measure_all(const study_sums* s, const sap_diagnostics* d,
                        const sap_multibody* multibody, double out[MEASURE_COUNT]) {
  const double potential = d->potential_gravity + d->potential_springs;
  const sap_contact* contacts = sap_multibody_contacts(multibody);
  const int32_t count = sap_multibody_contact_count(multibody);
#define SAP_X(name, unit, value) *out++ = (value);
  MEASURES(SAP_X)
#undef SAP_X
}

static sap_status study_measure(const study_spec* study, const study_sums* sums,
                                sap_multibody* multibody, const sap_model* model,
                                const sap_state* state, double* out, sap_error* error) {
  sap_diagnostics d;
  SAP_TRY(sap_multibody_diagnose(multibody, state, &d, error));
  double all[MEASURE_COUNT];
  measure_all(sums, &d, multibody, all);
  for (int i = 0; i < study->measure_count; ++i) {
    study_coordinate at;
    const int id = find_measure(study->measures[i].name);
    if (id < MEASURE_COUNT) {
      out[i] = all[id];
    } else if (study_find_coordinate(model, study->measures[i].name, &at)) {
      out[i] = at.velocity ? state->v[at.index] : state->q[at.index];
    }
  }
  return SAP_STATUS_OK;
}

// --- cases ---

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

static sap_status set_start(const char* keyframe, const study_setup* setup, const sap_model* model,
                            sap_state* state, double* control, sap_error* error) {
  if (keyframe == NULL) {
    SAP_TRY(sap_model_get_default_state(model, state, error));
  } else {
    int32_t id;
    SAP_TRY(cli_find_keyframe(model, "the scene", keyframe, &id, error));
    SAP_TRY(sap_model_get_keyframe(model, id, state, control, error));
  }
  for (int i = 0; i < setup->state_count; ++i) {
    study_coordinate at;
    if (!study_find_coordinate(model, setup->states[i].name, &at)) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "the scene has no coordinate '%s'",
                      setup->states[i].name);
    }
    (at.velocity ? state->v : state->q)[at.index] = setup->states[i].value;
  }
  return SAP_STATUS_OK;
}

cli_scene study_scene(const study_spec* study) {
  cli_scene scene = cli_scene_default();
  scene.path = study->scene;
  scene.keyframe = study->keyframe;
  scene.lenient = study->lenient;
  scene.floating_base = study->floating_base;
  scene.floor = study->floor;
  return scene;
}

sap_status study_read_scene(const cli_scene* scene, sap_message_function warning,
                            const study_setup* setup, sap_model** model, sap_state* state,
                            double** control, sap_error* error) {
  cli_scene edited = *scene;
  edited.override = setup->material;
  edited.edits = setup->edits;
  edited.edit_count = setup->edit_count;
  SAP_TRY(
      cli_scene_read(&edited, warning != NULL ? warning : cli_ignore_warning, NULL, model, error));
  *control = calloc((size_t)sap_model_get_sizes(*model).nu + 1, sizeof **control);
  if (*control == NULL) {
    return cli_no_memory(error);
  }
  return set_start(scene->keyframe, setup, *model, state, *control, error);
}

// Everything that a run owns.
typedef struct work {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
  double* control;
  study_sums sums;
} work;

sap_stepper_options study_stepper_options(const study_setup* setup, const sap_model* model) {
  sap_stepper_options options = setup->stepper;
  cli_scene_stepper(model, &options);
  return options;
}

static sap_status begin_case(const study_spec* study, study_setup* setup, work* w,
                             sap_error* error) {
  const cli_scene scene = study_scene(study);
  SAP_TRY(study_read_scene(&scene, NULL, setup, &w->model, &w->state, &w->control, error));
  setup->stepper = study_stepper_options(setup, w->model);
  SAP_TRY(sap_multibody_create(w->model, &w->multibody, error));
  SAP_TRY(sap_multibody_set_control(w->multibody, w->control, error));
  return sap_stepper_create(sap_multibody_system(w->multibody), &setup->stepper, &w->stepper,
                            error);
}

// Finds the condition number of the last step's Hessian, if it is measured.
static sap_status find_condition(const study_spec* study, const sap_step_report* report,
                                 study_sums* sums, sap_error* error) {
  sums->hessian_condition = (double)NAN;
  for (int i = 0; i < study->measure_count; ++i) {
    if (report->problem != NULL && study_measure_of_hessian(study->measures[i].name)) {
      const double* v =
          report->solution != NULL ? report->solution->v : sap_problem_v_star(report->problem);
      return sap_problem_condition(report->problem, v, &sums->hessian_condition, error);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status step_case(work* w, sap_step_report* last, sap_error* error) {
  study_sums* s = &w->sums;
  sap_step_report report;
  sap_diagnostics d;
  SAP_TRY(sap_stepper_step(w->stepper, &w->state, &report, error));
  SAP_TRY(sap_multibody_collect(w->multibody, &report, error));
  SAP_TRY(sap_multibody_diagnose(w->multibody, &w->state, &d, error));
  *last = report;
  const int32_t iterations = run_newton_iterations(&report);
  const int32_t contacts = sap_multibody_contact_count(w->multibody);
  ++s->steps;
  s->iterations += iterations;
  ++s->histogram[iterations < STUDY_HISTOGRAM ? iterations : STUDY_HISTOGRAM - 1];
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

static sap_status advance(const study_spec* study, double dt, work* w, sap_error* error) {
  sap_diagnostics d;
  SAP_TRY(sap_multibody_diagnose(w->multibody, &w->state, &d, error));
  w->sums.kinetic_start = w->sums.kinetic_max = d.kinetic;
  w->sums.potential_start = d.potential_gravity + d.potential_springs;
  SAP_TRY(sap_multibody_detect(w->multibody, w->state.q, error));
  const int64_t steps = cli_step_count(study->duration, dt);
  sap_step_report last = {0};
  while (w->sums.steps < steps && !interrupt_came()) {
    SAP_TRY(step_case(w, &last, error));
  }
  return find_condition(study, &last, &w->sums, error);
}

void study_case_run(const study_spec* study, int64_t index, study_row* row) {
  char values[STUDY_PARAMETERS_MAX][STUDY_TEXT_SIZE];
  study_setup setup;
  work w = {0};
  sap_error error = {0};
  memset(row, 0, sizeof *row);
  row->index = index;
  for (int i = 0; i < study->measure_count; ++i) {
    row->measures[i] = (double)NAN;
  }
  study_setup_begin(&setup);
  sap_status status = SAP_STATUS_OK;
  const int count = study->parameter_count;
  for (int k = 0; status == SAP_STATUS_OK && k < 2 * count; ++k) {
    const int i = k % count;
    if ((strcmp(study->parameters[i].name, "preset") == 0) != (k < count)) {
      continue;  // presets first
    }
    study_value(study, i, index, values[i]);
    const char* wrong = study_setup_take(&setup, study->parameters[i].name, values[i]);
    if (wrong != NULL) {
      status = SAP_STATUS_ARGUMENT;
      (void)snprintf(error.message, sizeof error.message, "%.100s = %.127s must be %.200s",
                     study->parameters[i].name, values[i], wrong);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = begin_case(study, &setup, &w, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = advance(study, setup.stepper.dt, &w, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = study_measure(study, &w.sums, w.multibody, w.model, &w.state, row->measures, &error);
  }
  row->status = status != SAP_STATUS_OK  ? STUDY_FAILED
                : w.sums.unconverged > 0 ? STUDY_UNCONVERGED
                                         : STUDY_OK;
  if (status != SAP_STATUS_OK) {
    (void)snprintf(row->message, sizeof row->message, "%.*s", STUDY_MESSAGE_SIZE - 1,
                   error.message);
  }
  // A case that was interrupted or ran out of memory is not a result.
  if (interrupt_came() || status == SAP_STATUS_MEMORY) {
    row->index = -1;
  }
  sap_stepper_destroy(w.stepper);
  sap_multibody_destroy(w.multibody);
  sap_model_destroy(w.model);
  sap_state_clear(&w.state);
  free(w.control);
}
