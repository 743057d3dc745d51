// SPDX-License-Identifier: BSD-3-Clause
// One run of a convergence study. States are compared at the multiples of the largest step, which
// all runs share, by sap_system.position_difference, so that rotations are compared as rotations.
#define _POSIX_C_SOURCE 200809L
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/converge/converge.h"
#include "cli/commands/run/run_statistics.h"
#include "cli/expression.h"
#include "cli/progress.h"
#include "core/platform.h"

// Everything that a run owns.
typedef struct work {
  sap_multibody* multibody;
  sap_stepper* stepper;
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

void converge_compare(const converge_study* study, sap_multibody* multibody, const double* samples,
                      converge_errors* out) {
  const sap_system* system = sap_multibody_system(multibody);
  const size_t size = (size_t)system->nq + (size_t)system->nv;
  double* delta = malloc(((size_t)system->nv + 1) * sizeof *delta);
  converge_errors sums = {0.0, 0.0, 0.0, 0.0};
  for (int64_t k = 0; k < study->samples; ++k) {
    const double* reference = study->cases[0].samples + size * (size_t)k;
    const double* other = samples + size * (size_t)k;
    double squares[2] = {(double)NAN, (double)NAN};
    if (delta != NULL) {
      measure(system, reference, reference + system->nq, other, other + system->nq, delta, squares);
    }
    accumulate(&sums, squares);
  }
  free(delta);
  *out = means(&sums, study->samples);
}

void converge_find_roundoff(converge_study* study) {
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

void converge_extrapolate(converge_study* study, sap_multibody* multibody) {
  const sap_system* system = sap_multibody_system(multibody);
  const size_t size = (size_t)system->nq + (size_t)system->nv;
  double* delta = malloc((size + 1) * sizeof *delta);
  for (int64_t k = 0; delta != NULL && k < study->samples; ++k) {
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
  free(delta);
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
  for (int i = 0; i < study->options.nexact; ++i) {
    const converge_exact* exact = &study->options.exact[i];
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
  w->delta = malloc(((size_t)system->nv + 1) * sizeof(double));
  if (c->series < 0) {
    c->samples = malloc(size * (size_t)study->samples * sizeof(double));
  }
  if (w->delta == NULL || (c->series < 0 && c->samples == NULL)) {
    return cli_no_memory(&c->error);
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

static sap_status advance(converge_study* study, converge_case* c, work* w, double* iterations) {
  sap_step_report report;
  SAP_TRY(sap_stepper_step(w->stepper, &w->state, &report, &c->error));
  ++c->steps;
  atomic_fetch_add_explicit(&study->steps, 1, memory_order_relaxed);
  *iterations += run_newton_iterations(&report);
  if (report.solver != NULL && report.solver->outcome != SAP_OUTCOME_CONVERGED &&
      report.solver->outcome != SAP_OUTCOME_ROUNDOFF) {
    ++c->unconverged;
  }
  c->penetration = fmax(c->penetration, run_penetration(sap_multibody_contacts(w->multibody),
                                                        sap_multibody_contact_count(w->multibody)));
  return SAP_STATUS_OK;
}

void converge_case_run(converge_study* study, converge_case* c) {
  work w = {0};
  double iterations = 0.0;
  const double begun = sap_clock_seconds();
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
      c->drift = fmax(c->drift, gap);
    }
    if (interrupt_came()) {
      break;
    }
  }
  c->done = status == SAP_STATUS_OK && c->steps == study->samples * c->stride;
  if (c->done) {
    c->errors = means(&w.squares, study->samples);
    c->energy_drift = energy(&w) - before;
  }
  c->newton = c->steps > 0 ? iterations / (double)c->steps : (double)NAN;
  c->seconds = sap_clock_seconds() - begun;
  if (c->done && study->journal != NULL) {
    converge_keep(study, c);
  }
  sap_stepper_destroy(w.stepper);
  sap_multibody_destroy(w.multibody);
  sap_state_clear(&w.state);
  free(w.delta);
}
