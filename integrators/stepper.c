// SPDX-License-Identifier: BSD-3-Clause
// One step of castro's Algorithm 1: free motion, constraints, positions. The new state is copied to
// the caller's at the end, so that a step that fails leaves it untouched.
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/platform.h"
#include "integrators/newton.h"
#include "integrators/stepper.h"
#include "math/scalar.h"
#include "problem/law.h"

// Under error control sticking contacts creep by at most SETTLED times the accuracy in a step, and
// in the time that makes velocities ways, against a load of LOAD [m/s^2], as far as
// sigma >= LEAST_SIGMA can: shorter steps do not creep faster. The shifts against gliding
// are exact to the same length; balance_tolerance is at most BALANCE [1/m] times the accuracy.
// With MOST_BETA stiff contacts have R >= 1e-6 w, as rigid rows: with beta = 1 a body at rest sinks
// by g dt^2/40 and rises in shorter steps, which the estimates take for motion.
static const double SETTLED = 0.05, LOAD = 10.0, LEAST_SIGMA = 1e-6, MOST_BETA = 6e-3;
// Free motion is exact to a FREEth of that share.
static const double BALANCE = 10.0, LEAST_BALANCE = 1e-10, FREE = 1e-3;

#define MOST_STEPS 4503599627370496.0  // 2^52: whole numbers and their quotients are exact below

static sap_status create_parts(sap_stepper* stepper, const sap_system* system,
                               const sap_stepper_options* options, sap_error* error) {
  sap_pool* pool = &stepper->pool;
  pool->owner = "stepper";
  stepper->system = *system;
  stepper->options = *options;
  stepper->solver_hash = sap_hash(SAP_HASH_START, options->solver, strlen(options->solver));
  const int32_t nv = system->nv;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&stepper->q, system->nq),
                           SAP_ARRAY(&stepper->v_vq, nv), SAP_ARRAY(&stepper->q0, system->nq),
                           SAP_ARRAY(&stepper->v0, nv), SAP_ARRAY(&stepper->v, nv),
                           SAP_ARRAY(&stepper->v0_free, nv), SAP_ARRAY(&stepper->act, system->na)));
  SAP_TRY(sap_end_positions_create(nv, pool, &stepper->end_positions, error));
  SAP_TRY(
      sap_relinearize_create(&stepper->system, &stepper->options, pool, &stepper->solution, error));
  stepper->options.solver = sap_solver_find(options->solver)->name;  // outlives the caller's text
  return SAP_STATUS_OK;
}

sap_status sap_stepper_create(const sap_system* system, const sap_stepper_options* options,
                              sap_stepper** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  const sap_stepper_options defaults = sap_stepper_options_default();
  options = options != NULL ? options : &defaults;
  SAP_TRY(sap_system_check(system, error));
  SAP_TRY(sap_stepper_options_check(options, error));
  sap_stepper* stepper;
  SAP_TRY(SAP_NEW(&stepper, 1, "stepper", error));
  SAP_TRY_OR(create_parts(stepper, system, options, error), sap_stepper_destroy(stepper));
  *out = stepper;
  return SAP_STATUS_OK;
}

void sap_stepper_destroy(sap_stepper* stepper) {
  if (stepper == NULL) {
    return;
  }
  sap_relinearize_clear(&stepper->solution);
  sap_free(stepper->memory);
  sap_pool_free(&stepper->pool);
  sap_free(stepper);
}

sap_status sap_stepper_set_dt(sap_stepper* stepper, double dt, sap_error* error) {
  SAP_NOT_NULL(error, stepper);
  SAP_FAIL_IF(!(isfinite(dt) && dt > 0.0), error, SAP_STATUS_ARGUMENT,
              "dt = %g must be finite and > 0 s", dt);
  sap_relinearize* solution = &stepper->solution;
  sap_prediction_rescale(&solution->free_motion.prediction, 1, dt);
  sap_prediction_rescale(&solution->prediction, 1, dt);
  sap_prediction_rescale(&solution->free_motion.linearization.missed, 2, dt);
  stepper->options.dt = dt;
  return SAP_STATUS_OK;
}

sap_stepper_options sap_stepper_given_options(const sap_stepper* stepper) {
  sap_stepper_options options = stepper->options;
  if (stepper->control.archive != NULL) {
    options.dt = stepper->control.dt;
    options.balance_tolerance = stepper->control.balance_tolerance;
  }
  return options;
}

void sap_stepper_set_control(sap_stepper* stepper, const sap_step_control* control) {
  sap_stepper_options* options = &stepper->options;
  options->balance_tolerance = sap_stepper_given_options(stepper).balance_tolerance;
  stepper->control = control != NULL ? *control : (sap_step_control){0};
  stepper->control.dt = options->dt;
  stepper->control.balance_tolerance = options->balance_tolerance;
  stepper->solution.contact.settled = SETTLED * stepper->control.accuracy;
  stepper->solution.free_motion.tolerance = SAP_ROUNDOFF;
  if (control != NULL) {
    options->balance_tolerance =
        fmin(options->balance_tolerance, fmax(BALANCE * control->accuracy, LEAST_BALANCE));
    stepper->solution.free_motion.tolerance = fmax(SAP_ROUNDOFF, FREE * options->balance_tolerance);
  }
  sap_relinearize_set_tolerance(&stepper->solution);
}

static sap_status check_finite(const char* of, const char* name, const double* x, int32_t count,
                               sap_error* error) {
  for (int32_t i = sap_all_finite(x, (size_t)count) ? count : 0; i < count; ++i) {
    SAP_FAIL_IF(!isfinite(x[i]), error, SAP_STATUS_NOT_FINITE, "%s %s[%d] = %g", of, name, i, x[i]);
  }
  return SAP_STATUS_OK;
}

sap_status sap_stepper_check_sizes(const sap_stepper* stepper, const sap_state* state,
                                   sap_error* error) {
  SAP_FAIL_IF(stepper == NULL || state == NULL || state->q == NULL || state->v == NULL, error,
              SAP_STATUS_ARGUMENT, "stepper, state or its arrays are NULL");
  SAP_FAIL_IF(state->nq != stepper->system.nq || state->nv != stepper->system.nv, error,
              SAP_STATUS_ARGUMENT, "state has nq = %d, nv = %d, the system nq = %d, nv = %d",
              state->nq, state->nv, stepper->system.nq, stepper->system.nv);
  SAP_FAIL_IF(state->na != stepper->system.na || (state->na > 0 && state->act == NULL), error,
              SAP_STATUS_ARGUMENT, "state has na = %d%s, the system na = %d", state->na,
              state->na > 0 && state->act == NULL ? " with act NULL" : "", stepper->system.na);
  return SAP_STATUS_OK;
}

static sap_status check_state(const sap_stepper* stepper, const sap_state* state,
                              sap_error* error) {
  SAP_TRY(sap_stepper_check_sizes(stepper, state, error));
  SAP_FAIL_IF(!isfinite(state->t), error, SAP_STATUS_NOT_FINITE, "state: t = %g", state->t);
  SAP_TRY(check_finite("state:", "q", state->q, state->nq, error));
  SAP_TRY(check_finite("state:", "v", state->v, state->nv, error));
  SAP_TRY(check_finite("state:", "act", state->act, state->na, error));
  sap_error unused;
  const sap_system* system = &stepper->system;
  return system->check_positions == NULL
             ? SAP_STATUS_OK
             : system->check_positions(system->context, state->q, error != NULL ? error : &unused);
}

// Describes the step from `state` for callbacks.
static void set_context(sap_stepper* stepper, const sap_state* state) {
  const sap_stepper_options* options = &stepper->options;
  const bool rigid = stepper->solution.contact.rigid;
  const bool within = !rigid && sap_stepper_acts_within(options);
  memcpy(stepper->v0_free, state->v, (size_t)state->nv * sizeof(double));
  sap_momentum_balance_release(&stepper->solution.free_motion.balance, stepper->v0_free);
  stepper->step = (sap_step_context){.t = state->t,
                                     .dt = options->dt,
                                     .theta = options->theta,
                                     .theta_vq = options->theta_vq,
                                     .stage_theta = within ? options->theta : 1.0,
                                     .stage_theta_vq = within ? options->theta_vq : 1.0,
                                     .rigid = rigid,
                                     .q0 = state->q,
                                     .v0 = state->v,
                                     .v0_free = stepper->v0_free,
                                     .regularization = options->regularization};
  const double way = stepper->solution.contact.settled;
  if (way > 0.0) {
    double *sigma = &stepper->step.regularization.sigma, *beta = &stepper->step.regularization.beta;
    const double longer = fmax(options->dt, stepper->control.velocity_time);
    *sigma = fmin(*sigma, fmax(LEAST_SIGMA, way / (LOAD * options->dt * longer)));
    *beta = fmin(*beta, MOST_BETA);
  }
}

// Computes the activations at the end of the step; forces are those with the state's activations.
static sap_status advance_activations(sap_stepper* stepper, const sap_state* state,
                                      sap_error* error) {
  const sap_system* system = &stepper->system;
  if (system->na == 0) {
    return SAP_STATUS_OK;
  }
  const int code = system->activations(system->context, &stepper->step, state->act, stepper->act);
  SAP_TRY(sap_callback_check("activations", code, error));
  return check_finite("the step's", "act", stepper->act, system->na, error);
}

sap_status sap_stepper_free_motion(sap_stepper* stepper, const sap_state* state, double* v_star,
                                   sap_error* error) {
  SAP_TRY(check_state(stepper, state, error));
  SAP_NOT_NULL(error, v_star);
  set_context(stepper, state);
  SAP_TRY(advance_activations(stepper, state, error));
  SAP_TRY(sap_relinearize_free_motion(&stepper->solution, &stepper->step, error));
  memcpy(v_star, stepper->solution.free_motion.v_star, (size_t)state->nv * sizeof(double));
  return SAP_STATUS_OK;
}

// Computes the positions at the end of a free motion in parts: these end at q_n with v*, and
//   q = q_n (+) dt theta_vq (v - v*)
// adds what the impulses move.
static int move_from_parts(sap_stepper* stepper, const double* v) {
  const sap_system* system = &stepper->system;
  const sap_free_motion* fm = &stepper->solution.free_motion;
  for (int32_t i = 0; i < system->nv; ++i) {
    stepper->v_vq[i] = stepper->options.theta_vq * (v[i] - fm->v_star[i]);
  }
  return system->integrate_positions(system->context, sap_free_motion_end_of_parts(fm),
                                     stepper->v_vq, stepper->options.dt, stepper->q);
}

// Computes the positions at the end, corrected for contacts (end_positions.h), in stepper->q:
//   q = q0 (+) dt (theta_vq v + (1 - theta_vq) v0)
static sap_status move_positions(sap_stepper* stepper, const sap_state* state, const double* v,
                                 sap_error* error) {
  const sap_system* system = &stepper->system;
  const double* v0 = stepper->v0_free;
  const double theta_vq = stepper->options.theta_vq;
  for (int32_t i = 0; i < system->nv; ++i) {
    stepper->v_vq[i] = theta_vq * v[i] + (1.0 - theta_vq) * v0[i];
  }
  const sap_contact_stage* contact = &stepper->solution.contact;
  if ((theta_vq < 1.0 && sap_stepper_acts_within(&stepper->options)) ||
      (contact->rigid && stepper->options.restitution > 0.0)) {
    const sap_end_motion motion = {v0, theta_vq};
    SAP_TRY(sap_end_positions_correct(&stepper->end_positions, contact->problem, &contact->solution,
                                      &motion, stepper->v_vq, error));
  }
  const sap_free_motion* fm = &stepper->solution.free_motion;
  const sap_momentum_balance* balance = &fm->balance;
  int code = 0;
  if (fm->substeps > 0) {
    code = move_from_parts(stepper, v);
  } else if (balance->scheme.theta == 1.0 && balance->q == balance->q_theta &&
             memcmp(balance->v_vq, stepper->v_vq, (size_t)system->nv * sizeof *v) == 0) {
    memcpy(stepper->q, balance->q, (size_t)system->nq * sizeof *v);  // the theta point
  } else {
    code = system->integrate_positions(system->context, state->q, stepper->v_vq,
                                       stepper->options.dt, stepper->q);
  }
  SAP_TRY(sap_callback_check("integrate_positions", code, error));
  SAP_TRY(check_finite("the step's", "v", v, system->nv, error));
  return check_finite("the step's", "q", stepper->q, system->nq, error);
}

static void fill_report(const sap_stepper* stepper, double time, sap_step_report* report) {
  const sap_relinearize* solution = &stepper->solution;
  const sap_contact_stage* contact = &solution->contact;
  const int32_t blocks = sap_problem_block_count(contact->problem);
  *report = (sap_step_report){
      .free_motion_iterations = solution->free_motion.iterations,
      .free_motion_substeps = solution->free_motion.substeps,
      .free_motion_linearized = solution->free_motion.linearized,
      .free_motion_residual = solution->free_motion.residual,
      .relinearizations = solution->count,
      .relinearizations_withdrawn = solution->withdrawn,
      .balance_error = solution->balance_error,
      .velocities = stepper->system.nv,
      .trees = stepper->system.ntrees,
      .blocks = blocks,
      .rows = sap_problem_row_count(contact->problem),
      .softened =
          blocks > 0 ? sap_problem_count_softened(contact->problem, contact->solution.gamma) : 0,
      .time_free_motion = solution->time_free_motion,
      .time_constraints = solution->time_constraints,
      .time_solver = solution->time_solver,
      .time_total = time,
      .solver = blocks > 0 ? &contact->report : NULL,
      .problem = contact->problem,
      .solution = blocks > 0 ? &contact->solution : NULL,
  };
}

static sap_status begin_step(const sap_stepper* stepper, sap_error* error) {
  const sap_system* system = &stepper->system;
  if (system->begin_step == NULL) {
    return SAP_STATUS_OK;
  }
  const int code = system->begin_step(system->context, &stepper->step);
  return sap_callback_check("begin_step", code, error);
}

// Returns the time after a step from t: start + steps dt with one rounding. A new count begins
// where t is not that of the last step, or dt another; at 0 if t is a multiple of dt.
static double advance_clock(sap_step_clock* clock, double t, double dt) {
  if (clock->steps == 0 || clock->t != t || clock->dt != dt) {
    const double whole = rint(t / dt);
    const bool multiple = fabs(whole) < MOST_STEPS && whole * dt == t;
    *clock = (sap_step_clock){
        .start = multiple ? 0.0 : t, .dt = dt, .steps = multiple ? (int64_t)whole : 0};
  }
  clock->steps += 1;
  clock->t = fma((double)clock->steps, dt, clock->start);
  return clock->t;
}

// Keeps what derivatives of the step need and the caller's state forgets.
static void keep_step(sap_stepper* stepper, const sap_state* state, const double* v) {
  memcpy(stepper->q0, state->q, (size_t)state->nq * sizeof(double));
  memcpy(stepper->v0, state->v, (size_t)state->nv * sizeof(double));
  memcpy(stepper->v, v, (size_t)state->nv * sizeof(double));
  stepper->stepped = true;
}

// Keeps the memory that a step which fails would change.
static sap_status keep_memory(sap_stepper* s, sap_error* error) {
  const sap_archive_function part = sap_stepper_archive_first;
  size_t* size = &s->memory_size;
  const size_t room = (size_t)s->memory_capacity;
  if (room > 0 && sap_archive_to_bytes(part, s, s->memory, room, size, NULL) == SAP_STATUS_OK) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_archive_to_bytes(part, s, NULL, 0, size, error));
  SAP_TRY(SAP_GROW(&s->memory, &s->memory_capacity, (int64_t)*size, error));
  return sap_archive_to_bytes(part, s, s->memory, *size, size, error);
}

static sap_status try_step(sap_stepper* stepper, sap_state* state, sap_step_report* report,
                           sap_error* error) {
  const double began = sap_clock_seconds();
  const double* v = NULL;
  set_context(stepper, state);
  SAP_TRY(begin_step(stepper, error));
  SAP_TRY(advance_activations(stepper, state, error));
  set_context(stepper, state);  // begin_step may have changed the locks
  SAP_TRY(sap_relinearize_solve(&stepper->solution, &stepper->step, began, &v, error));
  SAP_TRY(move_positions(stepper, state, v, error));
  const sap_contact_stage* contact = &stepper->solution.contact;
  const bool constrained = sap_problem_block_count(contact->problem) > 0;
  SAP_TRY(sap_problem_keep_impulses(contact->problem, constrained ? contact->solution.gamma : NULL,
                                    error));
  sap_relinearize_record(&stepper->solution, v);
  keep_step(stepper, state, v);
  memcpy(state->q, stepper->q, (size_t)state->nq * sizeof(double));
  memcpy(state->v, v, (size_t)state->nv * sizeof(double));
  if (state->na > 0) {
    memcpy(state->act, stepper->act, (size_t)state->na * sizeof(double));
  }
  state->t = advance_clock(&stepper->clock, state->t, stepper->options.dt);
  if (report != NULL) {
    fill_report(stepper, sap_clock_seconds() - began, report);
  }
  return SAP_STATUS_OK;
}

sap_status sap_stepper_step(sap_stepper* stepper, sap_state* state, sap_step_report* report,
                            sap_error* error) {
  SAP_TRY(check_state(stepper, state, error));
  stepper->stepped = false;
  sap_differentiation_forget(stepper);
  const bool remembers = stepper->options.remember;
  if (remembers) {
    SAP_TRY(keep_memory(stepper, error));
  } else {
    sap_stepper_forget_steps(stepper);
  }
  const sap_status status = try_step(stepper, state, report, error);
  if (status != SAP_STATUS_OK && remembers) {
    (void)sap_archive_from_bytes(sap_stepper_archive_first, stepper, stepper->memory,
                                 stepper->memory_size, NULL);
  }
  return status;
}
