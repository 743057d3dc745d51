// SPDX-License-Identifier: BSD-3-Clause
// One step of castro's Algorithm 1: free motion, constraints, positions. The new state is made
// aside and copied at the end, so that a step that fails leaves the caller's state alone.
#include <math.h>
#include <string.h>

#include <sapstep/stepper.h>

#include "core/archive.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/memory.h"
#include "integrators/stepper_data.h"
#include "math/finite.h"

// Starts the threads of the step and hands them to the system.
static sap_status create_threads(sap_stepper* stepper, const sap_system* system, int32_t count,
                                 sap_error* error) {
  if (count > 1) {
    SAP_TRY(sap_threads_create(count, &stepper->threads, error));
  }
  if (system->use_threads != NULL &&
      system->use_threads(system->context, count, stepper->threads) != 0) {
    return sap_fail(error, SAP_STATUS_MEMORY, "the system cannot use %d threads", (int)count);
  }
  return SAP_STATUS_OK;
}

sap_status sap_stepper_create(const sap_system* system, const sap_stepper_options* options,
                              sap_stepper** out, sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "out is NULL");
  }
  *out = NULL;
  const sap_stepper_options defaults = sap_stepper_options_default();
  options = options != NULL ? options : &defaults;
  sap_status status = sap_system_check(system, error);
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_options_check(options, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_stepper* stepper = sap_allocate(1, sizeof *stepper);
  if (stepper == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: stepper");
  }
  status = create_threads(stepper, system, options->solver_options.threads, error);
  stepper->system = *system;
  stepper->options = *options;
  stepper->solver_hash = sap_hash(SAP_HASH_START, options->solver, strlen(options->solver));
  stepper->q = sap_allocate((size_t)system->nq, sizeof(double));
  stepper->v_vq = sap_allocate((size_t)system->nv, sizeof(double));
  stepper->act = sap_allocate((size_t)system->na, sizeof(double));
  stepper->v0_free = sap_allocate((size_t)system->nv, sizeof(double));
  if (status == SAP_STATUS_OK && (stepper->q == NULL || stepper->v_vq == NULL ||
                                  stepper->act == NULL || stepper->v0_free == NULL)) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: state of %d + %d + %d numbers",
                      system->nq, system->nv, system->na);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_end_positions_create(system->ntrees, system->nv, &stepper->end_positions, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_rounds_create(&stepper->system, &stepper->options, &stepper->rounds, error);
    sap_rounds_lend_threads(&stepper->rounds, stepper->threads);
    const sap_solver_info* info = sap_solver_find(options->solver);
    stepper->options.solver = info != NULL ? info->name : NULL;  // outlives the caller's text
  }
  if (status != SAP_STATUS_OK) {
    sap_stepper_destroy(stepper);
    return status;
  }
  *out = stepper;
  return SAP_STATUS_OK;
}

void sap_stepper_destroy(sap_stepper* stepper) {
  if (stepper == NULL) {
    return;
  }
  sap_rounds_clear(&stepper->rounds);
  sap_threads_destroy(stepper->threads);
  sap_free(stepper->q);
  sap_free(stepper->v_vq);
  sap_free(stepper->act);
  sap_free(stepper->v0_free);
  sap_end_positions_clear(&stepper->end_positions);
  sap_free(stepper);
}

sap_status sap_stepper_set_dt(sap_stepper* stepper, double dt, sap_error* error) {
  if (stepper == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "stepper is NULL");
  }
  if (!(isfinite(dt) && dt > 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "dt = %g must be finite and > 0 s", dt);
  }
  stepper->options.dt = dt;
  return SAP_STATUS_OK;
}

// Index of the first number that is not finite, -1 when all are.
static int32_t first_not_finite(const double* x, int32_t n) {
  if (sap_all_finite(x, (size_t)n)) {
    return -1;
  }
  for (int32_t i = 0; i < n; ++i) {
    if (!isfinite(x[i])) {
      return i;
    }
  }
  return -1;
}

static sap_status check_state(const sap_stepper* stepper, const sap_state* state,
                              sap_error* error) {
  if (stepper == NULL || state == NULL || state->q == NULL || state->v == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "stepper, state or its arrays are NULL");
  }
  if (state->nq != stepper->system.nq || state->nv != stepper->system.nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "state has nq = %d, nv = %d, the system nq = %d, nv = %d", state->nq, state->nv,
                    stepper->system.nq, stepper->system.nv);
  }
  if (state->na != stepper->system.na || (state->na > 0 && state->act == NULL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "state has na = %d%s, the system na = %d",
                    state->na, state->na > 0 && state->act == NULL ? " with act NULL" : "",
                    stepper->system.na);
  }
  if (!isfinite(state->t)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "state: t = %g", state->t);
  }
  const int32_t iq = first_not_finite(state->q, state->nq);
  const int32_t iv = first_not_finite(state->v, state->nv);
  if (iq >= 0 || iv >= 0) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "state: %s[%d] = %g", iq >= 0 ? "q" : "v",
                    iq >= 0 ? iq : iv, iq >= 0 ? state->q[iq] : state->v[iv]);
  }
  const int32_t ia = first_not_finite(state->act, state->na);
  return ia < 0 ? SAP_STATUS_OK
                : sap_fail(error, SAP_STATUS_NOT_FINITE, "state: act[%d] = %g", ia, state->act[ia]);
}

// Describes the step from `state` to callbacks.
static void set_context(sap_stepper* stepper, const sap_state* state) {
  const sap_stepper_options* options = &stepper->options;
  const bool rigid = stepper->rounds.contact.rigid;
  const bool within = !rigid && sap_stepper_acts_within(options);
  memcpy(stepper->v0_free, state->v, (size_t)state->nv * sizeof(double));
  sap_balance_release(&stepper->rounds.free_motion.balance, stepper->v0_free);
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
}

// Forces with the state's activations; those that the step leaves behind in stepper->act.
static sap_status activate(sap_stepper* stepper, const sap_state* state, sap_error* error) {
  const sap_system* system = &stepper->system;
  if (system->na == 0) {
    return SAP_STATUS_OK;
  }
  const int code = system->activations(system->context, &stepper->step, state->act, stepper->act);
  if (code != 0) {
    return sap_fail(error, SAP_STATUS_CALLBACK, "the system's activations returned %d", code);
  }
  const int32_t i = first_not_finite(stepper->act, system->na);
  return i < 0 ? SAP_STATUS_OK
               : sap_fail(error, SAP_STATUS_NOT_FINITE, "the step's act[%d] = %g", i,
                          stepper->act[i]);
}

sap_status sap_stepper_free_motion(sap_stepper* stepper, const sap_state* state, double* v_star,
                                   sap_error* error) {
  sap_status status = check_state(stepper, state, error);
  if (status == SAP_STATUS_OK && v_star == NULL) {
    status = sap_fail(error, SAP_STATUS_ARGUMENT, "v_star is NULL");
  }
  if (status == SAP_STATUS_OK) {
    set_context(stepper, state);
    status = activate(stepper, state, error);
  }
  if (status == SAP_STATUS_OK) {
    set_context(stepper, state);
    status = sap_rounds_free_motion(&stepper->rounds, &stepper->step, error);
  }
  if (status == SAP_STATUS_OK) {
    memcpy(v_star, stepper->rounds.free_motion.v_star, (size_t)state->nv * sizeof(double));
  }
  return status;
}

// q = q0 (+) dt (theta_vq v + (1 - theta_vq) v0), but for what integrators/end_positions.h says of
// contacts, in stepper->q.
static sap_status move_positions(sap_stepper* stepper, const sap_state* state, const double* v,
                                 sap_error* error) {
  const sap_system* system = &stepper->system;
  const double* v0 = stepper->v0_free;
  const double theta_vq = stepper->options.theta_vq;
  for (int32_t i = 0; i < system->nv; ++i) {
    stepper->v_vq[i] = theta_vq * v[i] + (1.0 - theta_vq) * v0[i];
  }
  if (theta_vq < 1.0 && sap_stepper_acts_within(&stepper->options)) {
    const sap_contact_stage* contact = &stepper->rounds.contact;
    const sap_status status =
        sap_end_positions_correct(&stepper->end_positions, contact->problem, &contact->solution, v0,
                                  theta_vq, stepper->v_vq, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  const int code = system->integrate_positions(system->context, state->q, stepper->v_vq,
                                               stepper->options.dt, stepper->q);
  if (code != 0) {
    return sap_fail(error, SAP_STATUS_CALLBACK, "the system's integrate_positions returned %d",
                    code);
  }
  const int32_t iv = first_not_finite(v, system->nv);
  const int32_t iq = first_not_finite(stepper->q, system->nq);
  if (iv >= 0 || iq >= 0) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "the step's %s[%d] = %g", iv >= 0 ? "v" : "q",
                    iv >= 0 ? iv : iq, iv >= 0 ? v[iv] : stepper->q[iq]);
  }
  return SAP_STATUS_OK;
}

static void fill_report(const sap_stepper* stepper, double time, sap_step_report* report) {
  const sap_rounds* rounds = &stepper->rounds;
  const sap_contact_stage* contact = &rounds->contact;
  const int32_t blocks = sap_problem_block_count(contact->problem);
  *report = (sap_step_report){
      .free_motion_iterations = stepper->rounds.free_motion.iterations,
      .free_motion_residual = stepper->rounds.free_motion.residual,
      .rounds = rounds->count,
      .rounds_withdrawn = rounds->withdrawn,
      .balance_error = rounds->balance_error,
      .velocities = stepper->system.nv,
      .trees = stepper->system.ntrees,
      .blocks = blocks,
      .rows = sap_problem_row_count(contact->problem),
      .time_free_motion = rounds->time_free_motion,
      .time_constraints = rounds->time_constraints,
      .time_solver = rounds->time_solver,
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
  return code == 0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_CALLBACK, "the system's begin_step returned %d", code);
}

sap_status sap_stepper_step(sap_stepper* stepper, sap_state* state, sap_step_report* report,
                            sap_error* error) {
  const double began = sap_clock_seconds();
  const double* v = NULL;
  sap_status status = check_state(stepper, state, error);
  if (status == SAP_STATUS_OK && !stepper->options.remember) {
    sap_stepper_forget(stepper);
  }
  if (status == SAP_STATUS_OK) {
    set_context(stepper, state);
    status = begin_step(stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = activate(stepper, state, error);
  }
  if (status == SAP_STATUS_OK) {
    set_context(stepper, state);  // begin_step may have changed the locks
    status = sap_rounds_solve(&stepper->rounds, &stepper->step, began, &v, error);
  }
  if (status == SAP_STATUS_OK) {
    status = move_positions(stepper, state, v, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_contact_stage* contact = &stepper->rounds.contact;
    const bool constrained = sap_problem_block_count(contact->problem) > 0;
    status = sap_problem_keep_impulses(contact->problem,
                                       constrained ? contact->solution.gamma : NULL, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_rounds_record(&stepper->rounds, v);
  memcpy(state->q, stepper->q, (size_t)state->nq * sizeof(double));
  memcpy(state->v, v, (size_t)state->nv * sizeof(double));
  if (state->na > 0) {
    memcpy(state->act, stepper->act, (size_t)state->na * sizeof(double));
  }
  state->t += stepper->options.dt;
  if (report != NULL) {
    fill_report(stepper, sap_clock_seconds() - began, report);
  }
  return SAP_STATUS_OK;
}
