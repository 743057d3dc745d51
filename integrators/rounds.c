// SPDX-License-Identifier: BSD-3-Clause
// A step is solved once, and then judged: does its v fulfil the true momentum balance with the
// impulses it comes with, and do bilateral constraints end where their rows put them? In motion
// that goes on as before it does, since the expected impulses and the curvature of constraints
// come from the step before. After blows it may not:
//   the balance is missed   v* anew with the same A (linearize.c), as long as that contracts;
//                           then stage 1 anew with the impulses found
//   closure is missed       stage 2 anew, with the curvature of constraints along the v found
#include "integrators/rounds.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "problem/problem_data.h"

// Rounds beyond the first. What is left then stands in the report.
enum { ROUNDS = 12 };
// What constraints that are not exactly linear may miss by [m, rad].
#define CLOSURE_TOLERANCE 1e-7
// Rounds have run away where v' diag(A) v comes out above this many times that of the first
// solution and of the start, or a closure misses this many times more than it did, and by more than
// what later steps close unseen [m, rad];
#define FASTER 2.0
#define WIDER 10.0
#define UNSEEN 1e-5
// and they are lost if they come out above this twice in a row. (Once happens on good ways.)
#define LOST 100.0
// A correction with the same A that leaves more than this share does not contract.
#define CONTRACTION 0.3

// Of a try that may fail its status alone is of interest, but for what the system refuses: that
// ends the step.
static void heed(sap_status status, const sap_error* refusal, sap_error* error) {
  if (status == SAP_STATUS_CALLBACK && error != NULL) {
    *error = *refusal;
  }
}

static sap_status free_motion(sap_rounds* r, sap_impulse_guess guess, sap_error* error) {
  const double began = sap_clock_seconds();
  sap_free_motion* fm = &r->free_motion;
  const int32_t limit = r->options->free_motion_max_iterations;
  sap_status status = SAP_STATUS_STEP_FAILED;
  sap_problem_return_factors(r->contact.problem);
  if (guess != SAP_IMPULSE_NONE) {
    sap_error refusal;
    status = sap_free_motion_solve(fm, &r->step, limit, guess, &refusal);
    heed(status, &refusal, error);
  }
  if (status != SAP_STATUS_OK && status != SAP_STATUS_CALLBACK) {
    status = sap_free_motion_solve(fm, &r->step, limit, SAP_IMPULSE_NONE, error);
  }
  r->time_free_motion += sap_clock_seconds() - began;
  return status;
}

sap_status sap_rounds_free_motion(sap_rounds* r, const sap_step_context* step, sap_error* error) {
  r->step = *step;
  return free_motion(r, SAP_IMPULSE_NONE, error);
}

static sap_status assemble(sap_rounds* r, const double* v_guess, sap_error* error) {
  const double began = sap_clock_seconds();
  r->step.v_guess = v_guess;
  const sap_status status = sap_contact_stage_assemble(&r->contact, r->system, r->options,
                                                       &r->free_motion, &r->step, error);
  r->time_constraints += sap_clock_seconds() - began;
  return status;
}

// The solver's share of the step's time: what is left of it, or hardly any.
static sap_status give_time(sap_rounds* r, sap_error* error) {
  static const double HARDLY_ANY = 1e-9;  // [s]
  const double limit = r->options->solver_options.time_limit;
  if (!(limit > 0.0)) {
    return SAP_STATUS_OK;
  }
  const double left = limit - (sap_clock_seconds() - r->began);
  return sap_solver_set_time_limit(r->contact.solver, left > HARDLY_ANY ? left : HARDLY_ANY, error);
}

static bool out_of_time(const sap_rounds* r) {
  return r->options->solver_options.time_limit > 0.0 &&
         sap_clock_seconds() - r->began > r->options->solver_options.time_limit;
}

static sap_status solve(sap_rounds* r, sap_error* error) {
  const double began = sap_clock_seconds();
  sap_status status = give_time(r, error);
  if (status == SAP_STATUS_OK) {
    status = r->count == 0 ? sap_contact_stage_solve(&r->contact, error)
                           : sap_contact_stage_solve_again(&r->contact, error);
  }
  r->time_solver += sap_clock_seconds() - began;
  return status;
}

// What bilateral constraints miss at the end of the step.
static sap_status check_closure(sap_rounds* r, sap_error* error) {
  const sap_system* system = r->system;
  r->closure_error = 0.0;
  if (system->closure_error == NULL || r->options->theta_vq != 1.0) {
    return SAP_STATUS_OK;
  }
  const sap_solution* solution = &r->contact.solution;
  r->step.v_guess = solution->v;
  int code =
      system->integrate_positions(system->context, r->step.q0, solution->v, r->step.dt, r->q_end);
  if (code == 0) {
    code = system->closure_error(system->context, &r->step, r->contact.problem, solution->vc,
                                 r->q_end, &r->closure_error);
  }
  return code == 0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_CALLBACK,
                        "the system's closure_error or integrate_positions returned %d", code);
}

static sap_status judge(sap_rounds* r, sap_error* error) {
  r->balance_error = 0.0;
  sap_status status = SAP_STATUS_OK;
  if (r->options->theta > 0.0) {
    status =
        sap_free_motion_check(&r->free_motion, r->contact.solution.v, &r->balance_error, error);
  }
  return status == SAP_STATUS_OK ? check_closure(r, error) : status;
}

// Everything about the result: stage 1 too where the balance is missed.
static sap_status begin_anew(sap_rounds* r, bool both, sap_error* error) {
  const double* v = r->contact.solution.v;
  sap_status status = both ? free_motion(r, SAP_IMPULSE_CHOSEN, error) : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK) {
    status = assemble(r, v, error);
  }
  return status == SAP_STATUS_OK ? solve(r, error) : status;
}

static sap_status correct(sap_rounds* r, sap_error* error) {
  const double* v = r->contact.solution.v;
  sap_status status =
      sap_free_motion_correct(&r->free_motion, v, r->options->balance_tolerance, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_star(r->contact.problem, r->free_motion.v_star, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_guess(r->contact.problem, v, error);
  }
  return status == SAP_STATUS_OK ? solve(r, error) : status;
}

// v' diag(A) v, twice a kinetic energy without its couplings [J].
static double speed_of(const sap_rounds* r, const double* v) {
  double sum = 0.0;
  for (int32_t i = 0; i < r->system->nv; ++i) {
    sum += r->free_motion.weight[i] * v[i] * v[i];
  }
  return sum;
}

// What rounds must not exceed: the errors of the first solution, or what is tolerated, and the
// larger of its speed and that of the start.
typedef struct first_solution {
  double balance, closure, speed;
} first_solution;

static bool is_lost(const sap_rounds* r, const first_solution* first) {
  return !(speed_of(r, r->contact.solution.v) <= LOST * first->speed);
}

static bool ran_away(const sap_rounds* r, const first_solution* first) {
  return !(r->balance_error <= first->balance) ||
         !(r->closure_error <= fmax(WIDER * first->closure, UNSEEN)) ||
         !(speed_of(r, r->contact.solution.v) <= FASTER * first->speed);
}

// From a first solution that has been judged.
static sap_status repeat(sap_rounds* r, const first_solution* began, sap_error* error) {
  const double tolerance = r->options->balance_tolerance;
  double before = HUGE_VAL;
  double closure_before = HUGE_VAL;
  bool first = true;
  int lost = 0;
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && r->count < ROUNDS && !out_of_time(r) && lost < 2) {
    const bool balanced = r->balance_error <= tolerance;
    // A blow whose closure does not contract is left to the next step.
    const bool closed = !(r->closure_error > CLOSURE_TOLERANCE) ||
                        !(r->closure_error < 0.5 * closure_before) || isinf(tolerance);
    closure_before = r->closure_error;
    if (balanced && closed) {
      break;
    }
    r->count += 1;
    if (closed && r->balance_error <= CONTRACTION * before) {
      before = r->count == 1 ? r->balance_error / CONTRACTION : r->balance_error;
      status = correct(r, error);
    } else {
      if (!balanced) {
        sap_free_motion_choose(&r->free_motion, first, r->balance_error);
        first = false;
      }
      before = 0.0;  // no corrections after that
      status = begin_anew(r, !balanced, error);
    }
    status = status == SAP_STATUS_OK ? judge(r, error) : status;
    lost = is_lost(r, began) ? lost + 1 : 0;
  }
  return status;
}

// Stage 1 about the expected impulses, and the constraints of stage 2.
static sap_status begin(sap_rounds* r, sap_error* error) {
  const double* v0 = r->step.v0_free;
  sap_status status = free_motion(r, SAP_IMPULSE_EXPECTED, error);
  if (status == SAP_STATUS_OK) {
    status = assemble(r, v0, error);
  }
  const sap_theta scheme = sap_theta_of(&r->step);
  if (status == SAP_STATUS_OK && sap_prediction_guess(&r->expected, &scheme, v0, r->v_expected)) {
    sap_problem_set_v_expected(r->contact.problem, r->v_expected);
  }
  return status;
}

void sap_rounds_record(sap_rounds* r, const double* v) {
  const sap_theta scheme = sap_theta_of(&r->step);
  sap_free_motion_record(&r->free_motion, v);
  sap_prediction_record(&r->expected, &scheme, r->step.v0_free, v);
}

// The first solution again: its problem, and v_first as the guess, at which a solver that takes one
// ends at once, whatever time is left.
static sap_status withdraw(sap_rounds* r, sap_error* error) {
  r->withdrawn = true;
  sap_status status = begin(r, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_guess(r->contact.problem, r->v_first, error);
  }
  if (status == SAP_STATUS_OK) {
    status = solve(r, error);
  }
  return status == SAP_STATUS_OK ? judge(r, error) : status;
}

// Far from closed loops, and in the hardest blows, rounds may run away: then the first solution
// stands, which is linear in the step and as good as its errors say.
static sap_status settle(sap_rounds* r, sap_error* error) {
  sap_status status = judge(r, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const double* v = r->contact.solution.v;
  const first_solution first = {.balance = fmax(r->balance_error, r->options->balance_tolerance),
                                .closure = r->closure_error,
                                .speed = fmax(speed_of(r, v), speed_of(r, r->step.v0_free))};
  memcpy(r->v_first, v, (size_t)r->system->nv * sizeof *v);
  sap_error refusal;
  status = repeat(r, &first, &refusal);
  heed(status, &refusal, error);
  if (r->count == 0 || status == SAP_STATUS_CALLBACK ||
      (status == SAP_STATUS_OK && !ran_away(r, &first))) {
    return status;
  }
  return withdraw(r, error);
}

sap_status sap_rounds_solve(sap_rounds* r, const sap_step_context* step, double began,
                            const double** v, sap_error* error) {
  r->step = *step;
  r->began = began;
  r->count = 0;
  r->withdrawn = false;
  r->balance_error = r->closure_error = 0.0;
  r->time_free_motion = r->time_constraints = r->time_solver = 0.0;
  sap_free_motion* fm = &r->free_motion;
  sap_status status = begin(r, error);
  *v = fm->v_star;
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (sap_problem_block_count(r->contact.problem) > 0) {
    status = solve(r, error);
    status = status == SAP_STATUS_OK ? settle(r, error) : status;
    *v = r->contact.solution.v;
  } else if (fm->balance.impulse != NULL) {
    status = free_motion(r, SAP_IMPULSE_NONE, error);  // nothing gives what was expected
  }
  return status;
}
