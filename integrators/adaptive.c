// SPDX-License-Identifier: BSD-3-Clause
// Error control of the midpoint scheme: attempts, their errors, and the length of the next one.
//   An attempt steps a copy of the state; what the stepper remembers is saved before and loaded
// again if the attempt is rejected.
#include <sapstep/adaptive.h>

#include <math.h>
#include <string.h>

#include "integrators/extrapolation.h"
#include "integrators/kink.h"
#include "integrators/step_options.h"
#include "integrators/stepper.h"
#include "integrators/tree_store.h"

enum { POINTS = 3 };  // accepted velocities that are kept
// An error of the third order: a step of this part of the length that would just be accepted.
static const double SAFETY = 0.9, LEAST_FACTOR = 0.1, LARGEST_FACTOR = 5.0;
// Changes of dt by less do not pay, since the stepper's predictions are of one dt.
static const double WORTH_GROWING = 1.2;
// A step is cut to its kink at most so often, and shorter where the kink is NEARLY its end: its time
// is not known well enough then.
enum { DIRECT = 4 };
static const double NEARLY = 0.95, SHORTER = 0.7;
// Kinks of at most this part of the accuracy let a step be extrapolated.
static const double CALM = 0.1;
// Extrapolation takes three solves a step; its error over many steps is far less. It goes on while
// steps of one solve would not be longer, and starts after calm steps, the more the sooner it ends.
static const double WORTH_EXTRAPOLATING = 1.5;
enum { LEAST_PATIENCE = 4, MOST_PATIENCE = 64 };
// Ways to t_end within this part of a step are made in one.
static const double STRETCH = 1.01;

// Memory that has no arrays, without padding, as its bytes are saved.
typedef struct control_memory {
  double dt;               // of the next attempt [s]
  double times[POINTS];    // oldest first [s]
  int32_t reason;          // of its length: sap_adaptive_reason
  int32_t velocity;        // that the reason is about
  int32_t points;          // known
  int32_t calm, patience;  // steps without kinks; so many make extrapolation start
  int32_t extrapolates;    // the next attempt
} control_memory;
_Static_assert(sizeof(control_memory) == 4 * sizeof(double) + 6 * sizeof(int32_t), "padding");

struct sap_adaptive {
  sap_stepper* stepper;
  sap_adaptive_options options;
  sap_pool pool;
  sap_tree_store M;
  sap_state half, trial;       // ends of the attempt's halves, of the attempt
  sap_state start;             // of the last step
  double* lengths;             // (nv) [m]
  bool has_lengths, given;     // known; by the caller
  double* velocities[POINTS];  // (nv) each
  double* last_q;              // positions at the last point (nq)
  double* middle;              // velocities between the halves (nv)
  double* difference;          // scratch (nv)
  unsigned char* memory;       // of the stepper before the attempt
  size_t memory_size;
  sap_extrapolation extrapolation;
  control_memory m;
};

sap_adaptive_options sap_adaptive_options_default(void) {
  sap_adaptive_options options = {.cookie = SAP_COOKIE};
  sap_options_reset(sap_adaptive_option_table(), &options);
  return options;
}

const char* sap_adaptive_reason_text(sap_adaptive_reason reason) {
  return SAP_TEXT_OF(SAP_ADAPTIVE_REASON_LIST, SAP_ADAPTIVE_REASON_COUNT, reason, "unknown reason");
}

static sap_status check_create(const sap_stepper* stepper, const sap_adaptive_options* options,
                               const double* lengths, sap_error* error) {
  SAP_TRY(
      sap_check_cookie("sap_adaptive_options", options != NULL ? &options->cookie : NULL, error));
  SAP_TRY(sap_options_check(sap_adaptive_option_table(), options, error));
  const sap_stepper_options* s = &stepper->options;
  SAP_FAIL_IF(s->theta != 0.5 || s->theta_vq != 0.5 || !sap_stepper_acts_within(s) ||
                  stepper->solution.contact.rigid,
              error, SAP_STATUS_ARGUMENT,
              "error control needs the scheme midpoint and compliant contacts at its theta "
              "point, not theta %g, theta_vq %g, contact_stage %s, contact_law %s",
              s->theta, s->theta_vq, sap_stage_text(s->contact_stage),
              sap_law_text(s->contact_law));
  for (int32_t i = 0; lengths != NULL && i < stepper->system.nv; ++i) {
    SAP_FAIL_IF(!(lengths[i] > 0.0 && isfinite(lengths[i])), error, SAP_STATUS_ARGUMENT,
                "lengths[%d] = %g must be finite and > 0 m", (int)i, lengths[i]);
  }
  return SAP_STATUS_OK;
}

static sap_status create_parts(sap_adaptive* a, const double* lengths, sap_error* error) {
  const sap_system* system = &a->stepper->system;
  const int32_t nv = system->nv;
  SAP_TRY(SAP_POOL_ADD_ALL(&a->pool, error, SAP_ARRAY(&a->lengths, nv),
                           SAP_ARRAY(&a->difference, nv), SAP_ARRAY(&a->middle, nv),
                           SAP_ARRAY(&a->last_q, system->nq), SAP_ARRAY(&a->velocities[0], nv),
                           SAP_ARRAY(&a->velocities[1], nv), SAP_ARRAY(&a->velocities[2], nv)));
  SAP_TRY(sap_extrapolation_create(a->stepper, &a->pool, &a->extrapolation, error));
  a->extrapolation.lengths = a->lengths;
  a->extrapolation.velocity_time = a->options.velocity_time;
  SAP_TRY(sap_state_resize_with(&a->half, system->nq, nv, system->na, error));
  SAP_TRY(sap_state_resize_with(&a->trial, system->nq, nv, system->na, error));
  SAP_TRY(sap_state_resize_with(&a->start, system->nq, nv, system->na, error));
  if (lengths != NULL) {
    memcpy(a->lengths, lengths, (size_t)nv * sizeof(double));
    a->has_lengths = a->given = true;
    return SAP_STATUS_OK;
  }
  return sap_tree_store_create(system, &a->pool, &a->M, error);
}

// Lists the memory: velocities and positions of the last points, the length of the next attempt.
static sap_status archive_memory(void* object, sap_archive* archive, sap_error* error) {
  sap_adaptive* a = object;
  const size_t bytes = (size_t)a->trial.nv * sizeof(double);
  SAP_TRY(sap_archive_value(archive, &a->m, sizeof a->m, error));
  SAP_TRY(sap_extrapolation_archive(&a->extrapolation, archive, error));
  for (int k = 0; k < POINTS; ++k) {
    SAP_TRY(sap_archive_value(archive, a->velocities[k], bytes, error));
  }
  SAP_TRY(sap_archive_value(archive, a->last_q, (size_t)a->trial.nq * sizeof(double), error));
  SAP_TRY(sap_archive_value(archive, &a->start.t, sizeof a->start.t, error));
  SAP_TRY(sap_archive_value(archive, a->start.q, (size_t)a->trial.nq * sizeof(double), error));
  SAP_TRY(sap_archive_value(archive, a->start.v, bytes, error));
  SAP_TRY(sap_archive_value(archive, a->start.act, (size_t)a->trial.na * sizeof(double), error));
  if (a->given) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_archive_value(archive, &a->has_lengths, sizeof a->has_lengths, error));
  return sap_archive_value(archive, a->lengths, bytes, error);
}

// Hands the memory to the stepper. The hash tells options and given lengths from others.
static void attach(sap_adaptive* a) {
  const sap_option_table table = sap_adaptive_option_table();
  uint64_t hash = SAP_HASH_START;
  for (int32_t i = 0; i < table.count; ++i) {
    const double value = sap_option_get(&table.options[i], &a->options);
    hash = sap_hash(hash, &value, sizeof value);
  }
  if (a->given) {
    hash = sap_hash(hash, a->lengths, (size_t)a->trial.nv * sizeof(double));
  }
  const sap_step_control control = {.archive = archive_memory,
                                    .object = a,
                                    .hash = hash,
                                    .accuracy = a->options.accuracy,
                                    .velocity_time = a->options.velocity_time};
  sap_stepper_set_control(a->stepper, &control);
}

sap_status sap_adaptive_create(sap_stepper* stepper, const sap_adaptive_options* options,
                               const double* lengths, sap_adaptive** out, sap_error* error) {
  SAP_NOT_NULL(error, stepper, out);
  *out = NULL;
  const sap_adaptive_options defaults = sap_adaptive_options_default();
  options = options != NULL ? options : &defaults;
  SAP_TRY(check_create(stepper, options, lengths, error));
  sap_adaptive* a;
  SAP_TRY(SAP_NEW(&a, 1, "error control", error));
  a->pool.owner = "error control";
  a->stepper = stepper;
  a->options = *options;
  SAP_TRY_OR(create_parts(a, lengths, error), sap_adaptive_destroy(a));
  attach(a);
  *out = a;
  return SAP_STATUS_OK;
}

void sap_adaptive_destroy(sap_adaptive* a) {
  if (a == NULL) {
    return;
  }
  if (a->stepper->control.object == a) {
    sap_stepper_set_control(a->stepper, NULL);
  }
  sap_state_clear(&a->half);
  sap_state_clear(&a->trial);
  sap_state_clear(&a->start);
  sap_pool_free(&a->pool);
  sap_free(a);
}

void sap_adaptive_forget(sap_adaptive* a) {
  if (a != NULL) {
    a->m = (control_memory){0};
  }
}

// L_i = sqrt(M_ii/m_i).
static sap_status find_lengths(sap_adaptive* a, const sap_state* state, sap_error* error) {
  const sap_system* system = &a->stepper->system;
  sap_tree_store_zero(&a->M);
  int code = system->mass_matrix(system->context, state->q, &a->M.view);
  if (code == 0 && system->moved_masses != NULL) {
    code = system->moved_masses(system->context, a->difference);
  }
  SAP_TRY(sap_callback_check("mass_matrix or moved_masses", code, error));
  int32_t first = 0;
  for (int32_t t = 0; t < system->ntrees; first += system->tree_sizes[t], ++t) {
    const int32_t n = system->tree_sizes[t];
    for (int32_t i = 0; i < n; ++i) {
      const double mass = system->moved_masses != NULL ? a->difference[first + i] : 0.0;
      const double square = a->M.view.diagonal[t][(size_t)i * (size_t)(n + 1)] / mass;
      a->lengths[first + i] = square > 0.0 && isfinite(square) ? sqrt(square) : 1.0;
    }
  }
  a->has_lengths = true;
  return SAP_STATUS_OK;
}

// The last velocity that moves a block.
static int32_t find_mover(const sap_adaptive* a, const sap_problem* p,
                          const sap_block_data* block) {
  const int32_t last = block->first_tree + block->ntrees - 1, tree = p->block_trees[last];
  const double* J = p->jacobians[last];
  int32_t i = p->tree_size[tree] * block->nrows - 1;
  while (i > 0 && J[i] == 0.0) {
    --i;
  }
  return a->stepper->solution.free_motion.balance.A.tree_dof[tree] + i / block->nrows;
}

// Takes the kinks of the last step, which began at t in the attempt, into the report; *dt: a length
// of the attempt that has less; *ahead: one that would end behind a contact's kink.
static void judge_kinks(const sap_adaptive* a, double t, sap_adaptive_report* report, double* dt,
                        double* ahead) {
  const sap_step_report* step = &report->step;
  if (step->solution == NULL) {
    return;
  }
  const sap_kink kink = sap_kink_find(step->problem, step->solution, &a->options);
  if (kink.error > report->error) {
    report->error = kink.error;
    report->reason = kink.reason;
    report->velocity = find_mover(a, step->problem, kink.block);
    *dt = t + kink.time;
    *ahead = kink.reason == SAP_ADAPTIVE_KINK ? *dt + kink.next : 0.0;
  }
}

// Errors by divided differences of the last three points and the end of the attempt.
static double differences(const sap_adaptive* a, double h, int32_t* velocity) {
  const double T = a->options.velocity_time, *const *v = (const double*const*)a->velocities;
  const double h01 = a->m.times[1] - a->m.times[0], h12 = a->m.times[2] - a->m.times[1];
  double worst = 0.0;
  for (int32_t i = 0; i < a->trial.nv; ++i) {
    const double v01 = (v[1][i] - v[0][i]) / h01, v12 = (v[2][i] - v[1][i]) / h12;
    const double v23 = (a->trial.v[i] - v[2][i]) / h;
    const double v012 = (v12 - v01) / (h01 + h12), v123 = (v23 - v12) / (h12 + h);
    const double v0123 = (v123 - v012) / (h01 + h12 + h);
    const double error = fmax(fabs(v123) / 6.0, 0.5 * T * fabs(v0123));
    if (!(a->lengths[i] * error <= worst)) {
      worst = a->lengths[i] * error;
      *velocity = i;
    }
  }
  return worst * h * h * h;
}

// One attempt from `state`.
typedef struct attempt {
  const sap_state* state;
  double h, t_end;
  double kink, ahead;         // length that has less of the worst kink; one behind a contact's [s]
  bool halved, extrapolated;  // a->trial is the end of two halves, of an extrapolation
  bool calm;                  // it has no kinks
  bool restarts;              // it was cut to the only kink that the system has
  double behind;              // length that would end behind that of a contact, else 0 [s]
  sap_extrapolated smooth;
  double single;  // error of one step of the stepper, if extrapolated [m]
} attempt;

// Makes the way in one step to a->trial, or in two to a->half, with the velocities a->middle between
// them. Adds to the report.
static sap_status make_parts(sap_adaptive* a, attempt* at, int parts, sap_adaptive_report* report,
                             sap_error* error) {
  sap_state* end = parts == 2 ? &a->half : &a->trial;
  const double h = at->h / parts;
  SAP_TRY(sap_state_copy(at->state, end, error));
  for (int k = 0; k < parts; ++k) {
    memcpy(a->middle, end->v, (size_t)end->nv * sizeof(double));
    SAP_TRY(sap_stepper_set_dt(a->stepper, h, error));
    report->solves += 1;
    SAP_TRY(sap_stepper_step(a->stepper, end, &report->step, error));
    judge_kinks(a, k * h, report, &at->kink, &at->ahead);
  }
  return SAP_STATUS_OK;
}

// Makes the way in both ways, the one that ends in a->trial last.
static sap_status make_both(sap_adaptive* a, attempt* at, sap_adaptive_report* report,
                            sap_error* error) {
  for (int k = 0; k < 2 && report->error <= a->options.accuracy; ++k) {
    if (k == 1) {
      SAP_TRY(sap_stepper_restore(a->stepper, a->memory, a->memory_size, error));
    }
    SAP_TRY(make_parts(a, at, (k == 0) == a->m.extrapolates ? 2 : 1, report, error));
  }
  return SAP_STATUS_OK;
}

// Compares both ways and takes the halves, or the extrapolation.
static sap_status take_better(sap_adaptive* a, attempt* at, sap_error* error) {
  SAP_TRY(sap_extrapolation_compare(&a->extrapolation, &a->half, &a->trial, &at->smooth, error));
  if (a->m.extrapolates) {
    int32_t velocity = 0;
    at->extrapolated = true;
    at->single = a->m.points == POINTS ? differences(a, at->h, &velocity) : 4.0 * at->smooth.error;
    return sap_extrapolation_apply(&a->extrapolation, at->state, &a->half, &a->trial, &at->smooth,
                                   error);
  }
  const sap_state end = a->half;
  a->half = a->trial;
  a->trial = end;
  at->halved = true;
  return SAP_STATUS_OK;
}

// Makes an attempt; its error and the reason of it are in the report.
static sap_status make_attempt(sap_adaptive* a, attempt* at, sap_adaptive_report* report,
                               sap_error* error) {
  report->error = 0.0;
  report->reason = SAP_ADAPTIVE_SMOOTH;
  report->dt = at->kink = at->h;
  at->halved = at->extrapolated = false;
  at->smooth = (sap_extrapolated){.order = 3};
  const bool both = a->m.extrapolates || a->m.points < POINTS;
  SAP_TRY(both ? make_both(a, at, report, error) : make_parts(a, at, 1, report, error));
  at->calm = report->error <= CALM * a->options.accuracy;
  if (report->error > a->options.accuracy) {
    return SAP_STATUS_OK;
  }
  if (both) {
    SAP_TRY(take_better(a, at, error));
  } else {
    at->smooth.error = differences(a, at->h, &at->smooth.velocity);
  }
  if (!(at->smooth.error <= report->error)) {  // not a number: the largest
    report->error = isfinite(at->smooth.error) ? at->smooth.error : (double)INFINITY;
    report->reason = SAP_ADAPTIVE_SMOOTH;
    report->velocity = at->smooth.velocity;
  }
  return SAP_STATUS_OK;
}

static double factor_of(const sap_adaptive* a, double error, int order) {
  const double part = a->options.accuracy / error;  // infinite for 0
  const double factor = SAFETY * (order == 3 ? cbrt(part) : pow(part, 1.0 / order));
  return fmax(LEAST_FACTOR, fmin(factor, LARGEST_FACTOR));
}

// The length of the first attempt.
static double choose_length(const sap_adaptive* a, const sap_state* state, double t_end) {
  const double most = a->options.largest_dt, left = t_end - state->t;
  const double dt = fmin(a->m.dt > 0.0 ? a->m.dt : 0.1 * most, most);
  return left <= STRETCH * dt ? left : left < 2.0 * dt ? 0.5 * left : dt;
}

// The length after an attempt that was rejected, or failed.
static double shorten(const sap_adaptive* a, const attempt* at, sap_status status,
                      const sap_adaptive_report* report) {
  const double h = at->h;
  const double next = status != SAP_STATUS_OK ? 0.25 * h
                      : report->reason == SAP_ADAPTIVE_SMOOTH
                          ? h * fmin(factor_of(a, report->error, at->smooth.order), SAFETY)
                      : report->rejected < DIRECT ? (at->kink < NEARLY * h ? at->kink : SHORTER * h)
                                                  : 0.5 * h;
  return fmax(next, a->options.least_dt);
}

// Adds a point to the last ones.
static void add_point(sap_adaptive* a, double t, const double* v) {
  const size_t bytes = (size_t)a->trial.nv * sizeof(double);
  if (a->m.points == POINTS) {
    double* oldest = a->velocities[0];
    memmove(a->velocities, a->velocities + 1, (POINTS - 1) * sizeof *a->velocities);
    memmove(a->m.times, a->m.times + 1, (POINTS - 1) * sizeof *a->m.times);
    a->velocities[POINTS - 1] = oldest;
    a->m.points -= 1;
  }
  memcpy(a->velocities[a->m.points], v, bytes);
  a->m.times[a->m.points++] = t;
}

// The next attempt is extrapolated, if the system has what that takes.
static void start_extrapolating(sap_adaptive* a) {
  const sap_system* system = &a->stepper->system;
  a->m.extrapolates =
      a->options.extrapolate && system->position_difference != NULL && system->na == 0;
  a->m.calm = a->extrapolation.known = 0;
}

// Starts anew from a state that is not the end of the last step. The length of steps is kept, and
// whether extrapolation pays.
static void check_start(sap_adaptive* a, const sap_state* state) {
  const int last = a->m.points - 1;
  if (last >= 0 &&
      (a->m.times[last] != state->t ||
       memcmp(a->velocities[last], state->v, (size_t)state->nv * sizeof(double)) != 0 ||
       memcmp(a->last_q, state->q, (size_t)state->nq * sizeof(double)) != 0)) {
    a->m.points = 0;
  }
  if (a->m.points == 0) {
    add_point(a, state->t, state->v);
    start_extrapolating(a);
    a->m.extrapolates = a->m.extrapolates && a->m.patience == 0;
  }
}

// Ends extrapolation. The more calm steps it needs before the next one, the sooner it ended.
static void stop_extrapolating(sap_adaptive* a) {
  if (a->m.extrapolates) {
    const int32_t more = a->m.calm >= LEAST_PATIENCE ? 0 : 2 * a->m.patience;
    a->m.patience = (int32_t)fmin(fmax(more, LEAST_PATIENCE), MOST_PATIENCE);
  }
  a->m.extrapolates = false;
  a->m.calm = 0;
}

// Chooses between extrapolation and steps of one solve for the next attempt.
static void choose_kind(sap_adaptive* a, const attempt* at) {
  a->m.calm = at->calm && a->m.calm < MOST_PATIENCE ? a->m.calm + 1 : at->calm ? a->m.calm : 0;
  if (at->extrapolated) {
    const double single = at->h * factor_of(a, at->single, 3);
    if (a->m.dt < single || single >= a->options.largest_dt) {
      stop_extrapolating(a);
      a->m.dt = fmin(a->m.dt, single);
    }
  } else if (a->m.extrapolates) {
    stop_extrapolating(a);
  } else if (a->m.calm >= a->m.patience && a->m.dt < a->options.largest_dt) {
    start_extrapolating(a);
    a->m.dt =
        a->m.extrapolates ? fmin(WORTH_EXTRAPOLATING * a->m.dt, a->options.largest_dt) : a->m.dt;
  }
}

static sap_status accept(sap_adaptive* a, const attempt* at, sap_state* state,
                         const sap_adaptive_report* report, sap_error* error) {
  const double factor = factor_of(a, report->error, at->smooth.order);
  const bool last = at->h == at->t_end - state->t;
  if (at->halved) {
    add_point(a, state->t + 0.5 * at->h, a->middle);
  }
  SAP_TRY(sap_state_copy(state, &a->start, error));
  SAP_TRY(sap_state_copy(&a->trial, state, error));
  state->t = last ? at->t_end : state->t;
  memcpy(a->last_q, state->q, (size_t)state->nq * sizeof(double));
  add_point(a, state->t, state->v);
  if (at->extrapolated) {
    sap_extrapolation_keep(&a->extrapolation, state->t, at->h);
  }
  const double grown = report->rejected > 0 || factor < WORTH_GROWING ? fmin(factor, 1.0) : factor;
  const double least = last && report->rejected == 0 ? a->m.dt : 0.0;
  a->m.dt = fmin(fmax(at->h * grown, fmax(least, a->options.least_dt)), a->options.largest_dt);
  choose_kind(a, at);
  if (at->behind > at->h) {  // so much later the next step ends behind the kink
    a->m.dt = fmin(a->m.dt, fmax(at->behind - at->h, a->options.least_dt));
    a->m.reason = SAP_ADAPTIVE_KINK;
    a->m.velocity = report->velocity;
  } else if (at->restarts) {  // velocities before the kink say nothing about those behind it
    a->m.points = 0;
    add_point(a, state->t, state->v);
  }
  return SAP_STATUS_OK;
}

// Makes attempts until one is accepted.
static sap_status attempt_step(sap_adaptive* a, attempt* at, sap_state* state,
                               sap_adaptive_report* report, sap_error* error) {
  SAP_TRY(sap_stepper_keep(a->stepper, NULL, 0, &a->memory_size, error));
  SAP_TRY(SAP_ROOM(&a->pool, &a->memory, (int64_t)a->memory_size, error));
  SAP_TRY(sap_stepper_keep(a->stepper, a->memory, a->memory_size, &a->memory_size, error));
  sap_adaptive_reason cut = at->h < a->m.dt || at->h == a->options.largest_dt
                                ? SAP_ADAPTIVE_LIMIT
                                : (sap_adaptive_reason)a->m.reason;
  int32_t velocity = a->m.velocity;
  for (;; ++report->rejected) {
    sap_error failure = {0};
    const sap_status status = make_attempt(a, at, report, &failure);
    const bool shortest = at->h <= a->options.least_dt;
    if (status == SAP_STATUS_OK && (report->error <= a->options.accuracy || shortest)) {
      a->m.reason = (int32_t)report->reason;
      report->reason = cut;
      a->m.velocity = report->velocity;
      report->velocity = velocity;
      report->parts = at->extrapolated ? 3 : at->halved ? 2 : 1;
      return accept(a, at, state, report, error);
    }
    cut = status == SAP_STATUS_OK ? report->reason : SAP_ADAPTIVE_FAILED;
    velocity = report->velocity;
    SAP_TRY(sap_stepper_restore(a->stepper, a->memory, a->memory_size, error));
    if (status != SAP_STATUS_OK && (status != SAP_STATUS_STEP_FAILED || shortest)) {
      if (error != NULL) {
        *error = failure;
      }
      return status;
    }
    if (status == SAP_STATUS_OK && cut != SAP_ADAPTIVE_SMOOTH && a->stepper->system.ntrees == 1 &&
        report->step.blocks <= 1) {
      at->restarts = true;
      at->behind = at->ahead;
    }
    if (cut != SAP_ADAPTIVE_SMOOTH) {
      stop_extrapolating(a);
    }
    at->h = shorten(a, at, status, report);
  }
}

sap_status sap_adaptive_step(sap_adaptive* a, sap_state* state, double t_end,
                             sap_adaptive_report* report, sap_error* error) {
  SAP_NOT_NULL(error, a);
  SAP_TRY(sap_stepper_check_sizes(a->stepper, state, error));
  SAP_FAIL_IF(!(isfinite(t_end) && t_end > state->t), error, SAP_STATUS_ARGUMENT,
              "t_end = %.17g must be finite and > t = %.17g s", t_end, state->t);
  sap_adaptive_report unused;
  report = report != NULL ? report : &unused;
  *report = (sap_adaptive_report){0};
  if (!a->has_lengths) {
    SAP_TRY(find_lengths(a, state, error));
  }
  check_start(a, state);
  attempt at = {.state = state, .t_end = t_end, .h = choose_length(a, state, t_end)};
  const sap_step_control control = a->stepper->control;
  a->stepper->control.archive = NULL;  // attempts keep the memory of steps alone
  const sap_status status = attempt_step(a, &at, state, report, error);
  a->stepper->control = control;
  return status;
}

// With the way w = q1 (-) q0 and s = (t - t0)/h:
//   q = q0 (+) ((3 s^2 - 2 s^3) w + h (s - 2 s^2 + s^3) v0 + h (s^3 - s^2) v1),  v: its rate
sap_status sap_adaptive_interpolate(sap_adaptive* a, const sap_state* end, double t, sap_state* out,
                                    sap_error* error) {
  SAP_NOT_NULL(error, a, out);
  SAP_TRY(sap_stepper_check_sizes(a->stepper, end, error));
  SAP_FAIL_IF(a->m.points == 0 || out == end, error, SAP_STATUS_ARGUMENT,
              out == end ? "out is the end of the step" : "there is no last step");
  const sap_system* system = &a->stepper->system;
  const sap_state* start = &a->start;
  const double h = end->t - start->t, s = (t - start->t) / h;
  SAP_FAIL_IF(system->position_difference == NULL, error, SAP_STATUS_UNSUPPORTED,
              "the system has no position_difference");
  SAP_FAIL_IF(!(s >= 0.0 && s <= 1.0), error, SAP_STATUS_ARGUMENT,
              "t = %.17g must be in the last step, from %.17g to %.17g s", t, start->t, end->t);
  SAP_TRY(sap_state_copy(s < 1.0 ? start : end, out, error));
  out->t = t;
  if (s == 0.0 || s == 1.0) {
    return SAP_STATUS_OK;
  }
  double *w = a->difference, *way = a->middle;
  int code = system->position_difference(system->context, start->q, end->q, w);
  for (int32_t i = 0; i < out->nv; ++i) {
    const double v0 = start->v[i], v1 = end->v[i];
    way[i] = s * (s * (3.0 - 2.0 * s) * w[i] + h * (1.0 - s) * ((1.0 - s) * v0 - s * v1));
    out->v[i] = 6.0 * s * (1.0 - s) * w[i] / h + (1.0 - s) * (1.0 - 3.0 * s) * v0 +
                s * (3.0 * s - 2.0) * v1;
  }
  for (int32_t i = 0; i < out->na; ++i) {
    out->act[i] += s * (end->act[i] - out->act[i]);
  }
  code =
      code != 0 ? code : system->integrate_positions(system->context, start->q, way, 1.0, out->q);
  return sap_callback_check("position_difference or integrate_positions", code, error);
}
