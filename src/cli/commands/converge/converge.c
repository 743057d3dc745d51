// SPDX-License-Identifier: BSD-3-Clause
// sapstep converge: measures the order of convergence in the time step. States are compared at the
// multiples of the largest step, which all runs share, by sap_system.position_difference, so that
// rotations are compared as rotations.
#include "cli/commands/converge/converge.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/commands/run/run_loop.h"
#include "cli/expression.h"

// --- one run ---

// Everything that a run owns.
typedef struct work {
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_adaptive* adaptive;  // NULL: steps of one length
  sap_state state;
  double* delta;            // (nv)
  converge_errors squares;  // summed over samples; position_end: the last
} work;

// Computes the squares of |q (-) q_ref| and |v - v_ref|.
static void measure(const sap_system* system, const double* q_ref, const double* v_ref,
                    const double* q, const double* v, double* delta, double squares[2]) {
  squares[0] = squares[1] = 0.0;
  if (system->position_difference(system->context, q_ref, q, delta) != 0) {
    squares[0] = (double)NAN;
  }
  for (int32_t i = 0; i < system->nv; ++i) {
    squares[0] += delta[i] * delta[i];
    squares[1] += (v[i] - v_ref[i]) * (v[i] - v_ref[i]);
  }
}

static void accumulate(converge_errors* sums, const double squares[2]) {
  sums->position += squares[0];
  sums->velocity += squares[1];
  sums->position_end = sqrt(squares[0]);
  sums->velocity_end = sqrt(squares[1]);
}

static converge_errors means(const converge_errors* sums, int64_t samples) {
  return (converge_errors){sqrt(sums->position / (double)samples),
                           sqrt(sums->velocity / (double)samples), sums->position_end,
                           sums->velocity_end};
}

// Measures samples (q, v at every sample) against the finer reference.
static void converge_compare(const converge_study* study, sap_multibody* multibody,
                             const double* samples, converge_errors* out) {
  const sap_system* system = sap_multibody_system(multibody);
  const size_t size = (size_t)system->nq + (size_t)system->nv;
  double* delta = cli_new((size_t)system->nv, sizeof *delta);
  converge_errors sums = {0.0, 0.0, 0.0, 0.0};
  for (int64_t k = 0; k < study->samples; ++k) {
    const double* reference = study->cases[0].samples + size * (size_t)k;
    const double* other = samples + size * (size_t)k;
    double squares[2];
    measure(system, reference, reference + system->nq, other, other + system->nq, delta, squares);
    accumulate(&sums, squares);
  }
  *out = means(&sums, study->samples);
}

// Estimates the round-off of the finer reference: eps of its L2 norms in each of its steps.
static void converge_find_roundoff(converge_study* study) {
  const sap_state* start = &study->start;
  const size_t nq = (size_t)start->nq, nv = (size_t)start->nv;
  converge_errors sums = {0.0, 0.0, 0.0, 0.0};
  for (int64_t k = 0; k < study->samples; ++k) {
    const double* x = study->cases[0].samples + (nq + nv) * (size_t)k;
    double squares[2] = {0.0, 0.0};
    for (size_t i = 0; i < nq + nv; ++i) {
      squares[i < nq ? 0 : 1] += x[i] * x[i];
    }
    accumulate(&sums, squares);
  }
  const double eps = DBL_EPSILON * (double)study->samples * (double)study->cases[0].stride;
  study->roundoff = means(&sums, study->samples);
  study->roundoff.position *= eps;
  study->roundoff.velocity *= eps;
}

// Replaces the finer reference by the extrapolation of both at second order: x + (x - coarser)/3.
static void converge_extrapolate(converge_study* study, sap_multibody* multibody) {
  const sap_system* system = sap_multibody_system(multibody);
  const size_t size = (size_t)system->nq + (size_t)system->nv;
  double* delta = cli_new(size, sizeof *delta);
  for (int64_t k = 0; k < study->samples; ++k) {
    double* fine = study->cases[0].samples + size * (size_t)k;
    const double* coarse = study->cases[1].samples + size * (size_t)k;
    double* q = delta + system->nv;
    (void)system->position_difference(system->context, coarse, fine, delta);
    memcpy(q, fine, (size_t)system->nq * sizeof *q);
    (void)system->integrate_positions(system->context, q, delta, 1.0 / 3.0, fine);
    for (int32_t i = 0; i < system->nv; ++i) {
      fine[system->nq + i] += (fine[system->nq + i] - coarse[system->nq + i]) / 3.0;
    }
  }
}

// Returns the velocity by differences of fourth order. For motions up to some hundred rad/s the
// error h^4 x^(5)/30 and the round-off eps/h are both below 1e-10 of the velocity.
static double rate(const char* expression, double t) {
  const double h = 1e-5;
  const char* error;
  const double near =
      expression_value(expression, t + h, &error) - expression_value(expression, t - h, &error);
  const double far = expression_value(expression, t + 2.0 * h, &error) -
                     expression_value(expression, t - 2.0 * h, &error);
  return (8.0 * near - far) / (12.0 * h);
}

static void sample(converge_study* study, converge_case* c, work* w, int64_t k) {
  const sap_system* system = sap_multibody_system(w->multibody);
  const size_t size = (size_t)system->nq + (size_t)system->nv;
  double squares[2] = {0.0, 0.0};
  if (c->samples != NULL) {
    double* to = c->samples + size * (size_t)k;
    memcpy(to, w->state.q, (size_t)system->nq * sizeof *to);
    memcpy(to + system->nq, w->state.v, (size_t)system->nv * sizeof *to);
    return;
  }
  if (study->options.nexact == 0) {
    const double* reference = study->cases[0].samples + size * (size_t)k;
    measure(system, reference, reference + system->nq, w->state.q, w->state.v, w->delta, squares);
  }
  const double t = (double)((k + 1) * c->stride) * c->dt;
  SAP_EACH(const converge_exact, exact, study->options.exact, study->options.nexact) {
    const char* error;
    const double dq = w->state.q[exact->q] - expression_value(exact->expression, t, &error);
    const double dv = w->state.v[exact->v] - rate(exact->expression, t);
    squares[0] += dq * dq;
    squares[1] += dv * dv;
  }
  accumulate(&w->squares, squares);
}

static sap_status begin(const converge_study* study, converge_case* c, work* w) {
  sap_stepper_options options = study->options.stepper;
  options.dt = c->dt;
  options.contact_stage = c->stage;
  options.solver = c->solver;
  SAP_TRY(sap_stepper_options_set_scheme(&options, c->scheme, &c->error));
  SAP_TRY(sap_multibody_create(study->model, &w->multibody, &c->error));
  const sap_system* system = sap_multibody_system(w->multibody);
  const size_t size = (size_t)system->nq + (size_t)system->nv;
  SAP_TRY(sap_stepper_create(system, &options, &w->stepper, &c->error));
  if (c->accuracy > 0.0) {
    sap_adaptive_options adaptive = study->options.adaptive;
    adaptive.accuracy = c->accuracy;
    SAP_TRY(sap_adaptive_create(w->stepper, &adaptive, NULL, &w->adaptive, &c->error));
  }
  w->delta = cli_allocate((size_t)system->nv, sizeof(double));
  if (c->series < 0) {
    c->samples = cli_new(size * (size_t)study->samples, sizeof(double));
  }
  SAP_TRY(sap_state_resize_with(&w->state, study->start.nq, study->start.nv, study->start.na,
                                &c->error));
  return sap_state_copy(&study->start, &w->state, &c->error);
}

static double energy(work* w) {
  const sap_system* system = sap_multibody_system(w->multibody);
  double kinetic = (double)NAN, potential = 0.0;
  (void)system->energies(system->context, w->state.t, w->state.q, w->state.v, &kinetic, &potential);
  return kinetic + potential;
}

// Makes a step, or those from one sample to the next.
static sap_status make_step(converge_case* c, work* w, sap_step_report* report) {
  const double end = (double)(c->result.steps + 1) * c->dt;
  if (w->adaptive == NULL) {
    c->result.solves += 1;
    return sap_stepper_step(w->stepper, &w->state, report, &c->error);
  }
  while (w->state.t < end) {
    sap_adaptive_report step;
    SAP_TRY(sap_adaptive_step(w->adaptive, &w->state, end, &step, &c->error));
    c->result.solves += step.solves;
    *report = step.step;
  }
  return SAP_STATUS_OK;
}

static sap_status advance(converge_study* study, converge_case* c, work* w, double* iterations) {
  sap_step_report report;
  SAP_TRY(make_step(c, w, &report));
  ++c->result.steps;
  atomic_fetch_add_explicit(&study->steps, 1, memory_order_relaxed);
  *iterations += run_newton_iterations(&report);
  c->result.unconverged += run_unconverged(&report) ? 1 : 0;
  c->result.penetration =
      fmax(c->result.penetration, run_penetration(sap_multibody_contacts(w->multibody),
                                                  sap_multibody_contact_count(w->multibody)));
  return SAP_STATUS_OK;
}

static double processor_seconds(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Steps a case and fills its results. References keep their samples.
static void converge_case_run(converge_study* study, converge_case* c) {
  work w = {0};
  double iterations = 0.0;
  const double begun = processor_seconds();
  sap_status status = begin(study, c, &w);
  const double before = status == SAP_STATUS_OK ? energy(&w) : 0.0;
  for (int64_t k = 0; status == SAP_STATUS_OK && k < study->samples; ++k) {
    for (int64_t i = 0; status == SAP_STATUS_OK && i < c->stride; ++i) {
      status = advance(study, c, &w, &iterations);
    }
    if (status == SAP_STATUS_OK) {
      double gap = 0.0;
      sample(study, c, &w, k);
      (void)sap_multibody_closure(w.multibody, w.state.q, &gap, NULL);
      c->result.drift = fmax(c->result.drift, gap);
    }
    if (interrupt_came()) {
      break;
    }
  }
  c->done = status == SAP_STATUS_OK && c->result.steps == study->samples * c->stride;
  if (c->done) {
    c->result.errors = means(&w.squares, study->samples);
    c->result.energy_drift = energy(&w) - before;
  }
  c->result.newton = c->result.steps > 0 ? iterations / (double)c->result.steps : (double)NAN;
  c->result.seconds = processor_seconds() - begun;
  if (c->accuracy > 0.0 && c->done) {
    c->dt *= (double)c->result.steps / (double)c->result.solves;
  }
  sap_adaptive_destroy(w.adaptive);
  sap_stepper_destroy(w.stepper);
  sap_multibody_destroy(w.multibody);
  sap_state_clear(&w.state);
  free(w.delta);
}

// --- runs in threads ---
//
// Each run owns all that it writes, so that the results do not depend
// on their number; the calling thread draws the progress.

typedef struct jobs {
  converge_study* study;
  int last;
} jobs;

static void run_cases(void* context) {
  const jobs* j = context;
  for (;;) {
    const int index = atomic_fetch_add(&j->study->next, 1);
    if (index >= j->last || interrupt_came()) {
      return;
    }
    if (!j->study->cases[index].done) {
      converge_case_run(j->study, &j->study->cases[index]);
    }
  }
}

static int64_t planned(const converge_study* study) {
  int64_t steps = 0;
  for (int i = 0; i < study->count; ++i) {
    steps += study->samples * study->cases[i].stride;
  }
  return steps;
}

static bool watch(void* context) {
  const jobs* j = context;
  converge_study* study = j->study;
  const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
  (void)nanosleep(&pause, NULL);
  if (progress_due(&study->bar)) {
    char note[64];
    const int next = atomic_load(&study->next);
    (void)snprintf(note, sizeof note, "run %d of %d", next < j->last ? next : j->last,
                   study->count);
    progress_draw(&study->bar, (double)atomic_load(&study->steps) / (double)planned(study), note);
  }
  return false;
}

static bool run_jobs(converge_study* study, int first, int last) {
  jobs j = {.study = study, .last = last};
  const int wanted = study->options.jobs < last - first ? study->options.jobs : last - first;
  atomic_store(&study->next, first);
  if (wanted > 0) {
    cli_run_threads(wanted, run_cases, study->bar.shown ? watch : NULL, &j);
  }
  return !interrupt_came();
}

// --- the command ---

static bool can_combine(sap_scheme scheme, sap_stage stage) {
  sap_stepper_options options = sap_stepper_options_default();
  options.contact_stage = stage;
  return sap_stepper_options_set_scheme(&options, scheme, NULL) == SAP_STATUS_OK &&
         sap_stepper_options_check(&options, NULL) == SAP_STATUS_OK;
}

// Lists the possible combinations as series, with a message for each impossible one.
static bool list_series(converge_study* s, converge_case* series) {
  const converge_options* o = &s->options;
  s->series = 0;
  for (int i = 0; i < o->nschemes; ++i) {
    for (int j = 0; j < o->nstages; ++j) {
      if (!can_combine(o->schemes[i], o->stages[j])) {
        cli_message("left out: %s has no theta point to evaluate contact at",
                    sap_scheme_text(o->schemes[i]));
        continue;
      }
      for (int k = 0; k < o->nsolvers; ++k) {
        series[s->series] = (converge_case){.series = s->series,
                                            .scheme = o->schemes[i],
                                            .stage = o->stages[j],
                                            .solver = o->solvers[k]};
        ++s->series;
      }
    }
  }
  if (o->adaptive.accuracy > 0.0) {
    series[s->series] = (converge_case){.series = s->series,
                                        .scheme = SAP_SCHEME_MIDPOINT,
                                        .stage = SAP_STAGE_AUTO,
                                        .solver = o->solvers[0],
                                        .accuracy = o->adaptive.accuracy};
    ++s->series;
  }
  return s->series > 0;
}

static bool list_cases(converge_study* s) {
  converge_case series[SAP_SCHEME_COUNT * SAP_STAGE_COUNT * CONVERGE_SOLVERS_MAX + 1];
  const converge_options* o = &s->options;
  if (!list_series(s, series)) {
    return false;
  }
  s->references = o->nexact == 0 ? 2 : 0;
  s->count = s->references + s->series * o->levels;
  s->cases = cli_new((size_t)s->count, sizeof *s->cases);
  for (int i = 0; i < s->references; ++i) {
    s->cases[i] = (converge_case){
        .series = -1,
        .scheme = SAP_SCHEME_MIDPOINT,
        .solver = o->solvers[0],
        .stride = ((int64_t)1 << (o->levels - 1)) * o->ratio / (i + 1),
    };
    s->cases[i].dt = o->dt / (double)s->cases[i].stride;
  }
  for (int i = s->references; i < s->count; ++i) {
    const int level = o->levels - 1 - (i - s->references) / s->series;
    s->cases[i] = series[(i - s->references) % s->series];
    s->cases[i].stride = s->cases[i].accuracy > 0.0 ? 1 : (int64_t)1 << level;
    s->cases[i].accuracy *= pow(10.0, -level);
    s->cases[i].dt = o->dt / (double)s->cases[i].stride;
  }
  return true;
}

// Runs the references and measures their difference. False: one failed.
static bool make_reference(converge_study* s, int* code) {
  const double nan = (double)NAN;
  s->reference_error = (converge_errors){nan, nan, nan, nan};
  if (s->references == 0) {
    return true;
  }
  if (!run_jobs(s, 0, s->references)) {
    return false;
  }
  sap_error error = {0};
  sap_multibody* multibody = NULL;
  for (int i = 0; i < s->references; ++i) {
    if (!s->cases[i].done) {
      progress_end(&s->bar);
      cli_message("the reference failed: midpoint with dt = %g s: %s", s->cases[i].dt,
                  s->cases[i].error.message);
      *code = s->cases[i].error.status == SAP_STATUS_MEMORY ? CLI_INTERNAL : CLI_UNCONVERGED;
      return false;
    }
  }
  if (sap_multibody_create(s->model, &multibody, &error) != SAP_STATUS_OK) {
    *code = cli_report(&error);
    return false;
  }
  if (s->options.against == CONVERGE_RICHARDSON) {
    converge_extrapolate(s, multibody);
  }
  converge_find_roundoff(s);
  converge_errors* missed = &s->reference_error;
  converge_compare(s, multibody, s->cases[1].samples, missed);
  if (s->options.against == CONVERGE_RICHARDSON) {  // what the finer run misses, a fourth of this
    *missed = (converge_errors){missed->position / 4.0, missed->velocity / 4.0,
                                missed->position_end / 4.0, missed->velocity_end / 4.0};
  }
  sap_multibody_destroy(multibody);
  return true;
}

static int execute(converge_study* s) {
  int code = CLI_OK;
  interrupt_catch();
  progress_begin(&s->bar);
  const bool referenced = make_reference(s, &code);
  const bool complete = referenced && run_jobs(s, s->references, s->count);
  progress_end(&s->bar);
  if (complete && !converge_ask_peers(s)) {
    code = CLI_UNCONVERGED;
  }
  if (interrupt_came()) {
    cli_message("interrupted");
    code = CLI_UNCONVERGED;
  }
  if (!referenced) {
    return code;
  }
  const int reported = converge_report(s);
  return reported > code ? reported : code;
}

static int converge_scene(const cli_command* command, int argc, char** argv) {
  converge_study study = {0};
  int code;
  if (!converge_options_read(command, argc, argv, &study.options, &code)) {
    return code;
  }
  sap_error error = {0};
  if (converge_scene_read(&study, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  } else if (!list_cases(&study)) {
    code = cli_usage_error(command, "no scheme is left");
  } else {
    code = execute(&study);
  }
  sap_state_clear(&study.start);
  sap_model_destroy(study.model);
  return code;
}

const cli_command cli_command_converge = {
    .name = "converge",
    .operands = "SCENE",
    .summary = "measure the order of convergence in the time step",
    .text = cli_text_converge,
    .options = converge_option_list,
    .tables = {CLI_TABLE(sap_stepper_option_table, converge_options, stepper, cli_stepper_default),
               CLI_ADAPTIVE_OPTIONS(converge_options)},
    .hidden = converge_hidden,
    .run = converge_scene,
};
