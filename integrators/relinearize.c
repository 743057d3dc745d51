// SPDX-License-Identifier: BSD-3-Clause
// A step is solved once, then two errors of its linearization are measured:
//   balance_error   v with the impulses p = J' gamma against the true momentum balance m(v) = p
//   closure_error   bilateral constraints at the end of the step against their rows
// Smooth motion passes at once, because what the linear balance misses and the curvature of
// constraints come from the step before. After impacts the step is solved again:
//   balance missed   v* from v with the same A (linearization.c) while that contracts; then stage 1
//                    again, linearized about the impulses found, with the curvature of constraints
//                    along the v found
//   closure missed   v_hat less what the rows miss: the problem is the same but for v* and v_hat
#include "integrators/relinearize.h"

#include <math.h>
#include <string.h>

#include "core/platform.h"
#include "problem/factor.h"
#include "problem/law.h"
#include "problem/problem_data.h"
#include "solvers/registry.h"

enum { COUNT_MAX = 12 };   // solutions beyond the first
enum { IDLE_MAX = 4 };     // of them in a row whose closure error has not fallen
enum { ROUNDS_MAX = 16 };  // of contacts that a solution lacked, of laws that did not hold
// Closure error that is accepted for constraints that are not exactly linear [m, rad].
#define CLOSURE_TOLERANCE 1e-7
// The closure error has fallen if it is below this share of the one before.
#define CLOSING 0.5
// The iteration has diverged if v' diag(A) v exceeds FASTER times that of the first solution and of
// the start, or if the closure error exceeds both WIDER times the first one and UNSEEN, an error
// that later steps close unnoticed [m, rad].
#define FASTER 2.0
#define WIDER 10.0
#define UNSEEN 1e-5
// The iteration is lost if v' diag(A) v exceeds this factor twice in a row; once happens on
// iterations that converge.
#define LOST 100.0
// Where a group's first solution, which uses what the last steps missed, misses by a larger share,
// stage 1 solves m(v*) = 0 instead.
#define FAR 0.1
// A correction with the same A that leaves more than this share does not contract.
#define CONTRACTION 0.3
// The last correction is not checked if it leaves this share of balance_tolerance: it contracts as
// the one before.
#define UNCHECKED 1e-2
// No correction improves on a miss of this share.
#define LAST_BITS 1e-12
enum { PREDICTION_DEPTH = 1 };
// balance_tolerance is a share of the impulses of a step, and of those of a second: their number
// per second does not change it. eps_r of solvers whose rest is momentum is a share of |D A v|,
// left in each step: it is that of steps of this length [s], and shrinks in proportion for shorter
// ones.
#define TOLERANCE_DT 0.005
// m(v) = p is solved to this share of the impulses of a group, and to this share of
// balance_tolerance.
#define LINEARIZATION_TOLERANCE 1e-5
#define LINEARIZATION_SHARE 1e-2

sap_status sap_relinearize_create(const sap_system* system, const sap_stepper_options* options,
                                  sap_pool* pool, sap_relinearize* r, sap_error* error) {
  r->system = system;
  r->options = options;
  SAP_TRY(SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&r->q_end, system->nq), SAP_ARRAY(&r->touched, system->ntrees),
      SAP_ARRAY(&r->v_first, system->nv), SAP_ARRAY(&r->v_predicted, system->nv)));
  SAP_TRY(sap_free_motion_create(system, pool, &r->free_motion, error));
  SAP_TRY(sap_prediction_create(system->nv, PREDICTION_DEPTH, pool, &r->prediction, error));
  sap_relinearize_set_tolerance(r);
  return sap_contact_stage_create(options, &r->contact, error);
}

void sap_relinearize_set_tolerance(sap_relinearize* r) {
  r->free_motion.linearization.tolerance =
      fmin(LINEARIZATION_TOLERANCE, LINEARIZATION_SHARE * r->options->balance_tolerance);
}

void sap_relinearize_clear(sap_relinearize* r) {
  sap_free_motion_clear(&r->free_motion);
  sap_contact_stage_clear(&r->contact);
  memset(r, 0, sizeof *r);
}

// An attempt may fail; only a callback's error is propagated.
static void propagate_callback_error(sap_status status, const sap_error* attempt,
                                     sap_error* error) {
  if (status == SAP_STATUS_CALLBACK && error != NULL) {
    *error = *attempt;
  }
}

// Sets the solver's tolerance of steps of length dt. Solvers in impulse space keep theirs: what it
// leaves out is no momentum.
static void set_tolerance(sap_relinearize* r, double dt) {
  const double share = fmin(1.0, dt / TOLERANCE_DT);
  if (r->contact.info->needs_R) {
    sap_solver_set_tolerance(r->contact.solver,
                             share * r->options->solver_options.relative_tolerance);
  }
}

// Adds the time since the last lap. Reading the clock costs 1 % of a step of a small robot.
static void end_lap(sap_relinearize* r, double* time) {
  const double now = sap_clock_seconds();
  *time += now - r->lap;
  r->lap = now;
}

// Runs stage 1: linearized as wanted, or else about the free motion.
static sap_status solve_free_motion(sap_relinearize* r, sap_linearize_at at, sap_error* error) {
  const int32_t limit = r->options->free_motion_max_iterations;
  sap_status status = SAP_STATUS_STEP_FAILED;
  sap_problem_return_factors(r->contact.problem);
  if (at != SAP_LINEARIZE_FREE) {
    sap_error attempt;
    status = sap_free_motion_solve(&r->free_motion, &r->step, limit, at, &attempt);
    propagate_callback_error(status, &attempt, error);
  }
  if (status != SAP_STATUS_OK && status != SAP_STATUS_CALLBACK) {
    status = sap_free_motion_solve(&r->free_motion, &r->step, limit, SAP_LINEARIZE_FREE, error);
  }
  end_lap(r, &r->time_free_motion);
  return status;
}

static sap_status assemble_constraints(sap_relinearize* r, const double* v_guess,
                                       sap_error* error) {
  r->step.v_guess = v_guess;
  r->about_solution = v_guess != r->step.v0_free;
  r->step.solutions = r->withdrawn ? 0 : r->count;
  const sap_status status = sap_contact_stage_assemble(&r->contact, r->system, r->options,
                                                       &r->free_motion, &r->step, error);
  end_lap(r, &r->time_constraints);
  return status;
}

// Gives the solver the rest of the step's time, or hardly any.
static sap_status set_solver_time(sap_relinearize* r, sap_error* error) {
  static const double HARDLY_ANY = 1e-9;  // [s]
  const double limit = r->options->solver_options.time_limit;
  if (!(limit > 0.0)) {
    return SAP_STATUS_OK;
  }
  const double left = limit - (sap_clock_seconds() - r->began);
  return sap_solver_set_time_limit(r->contact.solver, left > HARDLY_ANY ? left : HARDLY_ANY, error);
}

static bool is_out_of_time(const sap_relinearize* r) {
  return r->options->solver_options.time_limit > 0.0 &&
         sap_clock_seconds() - r->began > r->options->solver_options.time_limit;
}

static sap_status solve_once(sap_relinearize* r, bool again, sap_error* error) {
  const double before = again ? r->contact.report.time : 0.0;
  SAP_TRY(set_solver_time(r, error));
  SAP_TRY(sap_contact_stage_solve(&r->contact, again, error));
  const double spent = r->contact.report.time - before;
  r->time_solver += spent;
  r->lap += spent;
  return SAP_STATUS_OK;
}

// Asks the system for contacts that v closes and the problem lacks.
static sap_status find_missing(sap_relinearize* r, const double* v, int32_t* count,
                               sap_error* error) {
  SAP_TRY(sap_contact_stage_find_missing(r->system, &r->step, v, count, error));
  end_lap(r, &r->time_constraints);
  return SAP_STATUS_OK;
}

// v' diag(A) v, twice a kinetic energy without its couplings [J].
static double weighted_square(const sap_relinearize* r, const double* v) {
  double sum = 0.0;
  for (int32_t i = 0; i < r->system->nv; ++i) {
    sum += r->free_motion.weight[i] * v[i] * v[i];
  }
  return sum;
}

static bool is_lost(const sap_relinearize* r) {
  return !(weighted_square(r, r->contact.solution.v) <= r->lost_speed);
}

// Solves again from the last solution.
static sap_status go_on(sap_relinearize* r, bool pauses, sap_error* error) {
  r->contact.problem->pauses = pauses;
  SAP_TRY(sap_problem_set_v_guess(r->contact.problem, r->contact.solution.v, error));
  return solve_once(r, true, error);
}

// Adds contacts that the solution lacks, and solves again. A paused solve goes on as long as it lacks
// some. A solution that is lost is not asked.
static sap_status add_missing(sap_relinearize* r, bool* added, sap_error* error) {
  sap_contact_stage* contact = &r->contact;
  *added = false;
  for (int i = 0;
       (i == 0 || contact->paused) && i < ROUNDS_MAX && !is_out_of_time(r) && !is_lost(r); ++i) {
    int32_t missing = 0;
    SAP_TRY(find_missing(r, contact->solution.v, &missing, error));
    if (missing > 0) {
      *added = true;
      SAP_TRY(assemble_constraints(r, r->step.v_guess, error));
    }
    if (missing > 0 || contact->paused) {
      SAP_TRY(go_on(r, contact->paused && missing > 0, error));
    }
  }
  return contact->paused ? go_on(r, false, error) : SAP_STATUS_OK;
}

// Solves the problem. A long solve pauses, for what it lacks mostly shows before it converges.
static sap_status solve_contact(sap_relinearize* r, sap_error* error) {
  sap_contact_stage* contact = &r->contact;
  bool added;
  contact->problem->pauses = contact->info->needs_R && !contact->info->signorini &&  // SAP
                             r->system->missing_contacts != NULL;
  SAP_TRY(solve_once(r, r->count > 0, error));
  return contact->paused ? add_missing(r, &added, error) : SAP_STATUS_OK;
}

// Measures the closure error. Only schemes that move by the velocity at the end close constraints.
static sap_status check_closure(sap_relinearize* r, sap_error* error) {
  const sap_system* system = r->system;
  const sap_solution* solution = &r->contact.solution;
  sap_problem* problem = r->contact.problem;
  r->closure_error = 0.0;
  r->step.v_guess = r->options->theta_vq == 1.0 ? solution->v : r->step.v_guess;
  if (system->closure_error == NULL || r->options->theta_vq != 1.0) {
    return SAP_STATUS_OK;
  }
  int code =
      system->integrate_positions(system->context, r->step.q0, solution->v, r->step.dt, r->q_end);
  if (code == 0 && problem->nrows > 0) {
    memset(problem->missed, 0, (size_t)problem->nrows * sizeof(double));
    code = system->closure_error(system->context, &r->step, problem, solution->vc, r->q_end,
                                 problem->missed);
    r->closure_error = sap_problem_missed_closure(problem);
  }
  return sap_callback_check("closure_error or integrate_positions", code, error);
}

// Measures both errors of the solution.
static sap_status measure_errors(sap_relinearize* r, sap_error* error) {
  r->balance_error = 0.0;
  if (r->options->theta > 0.0) {
    SAP_TRY(
        sap_linearization_check(&r->free_motion, r->contact.solution.v, &r->balance_error, error));
  }
  return check_closure(r, error);
}

// Solves both stages again about the solution.
static sap_status solve_about_solution(sap_relinearize* r, sap_error* error) {
  r->linearized_again = true;
  SAP_TRY(solve_free_motion(r, SAP_LINEARIZE_CHOSEN, error));
  SAP_TRY(assemble_constraints(r, r->contact.solution.v, error));
  return solve_contact(r, error);
}

// Solves again with v* and v_hat corrected for the errors, with the same A and the same rows.
static sap_status solve_corrected(sap_relinearize* r, bool balanced, bool idle, sap_error* error) {
  sap_problem* problem = r->contact.problem;
  const double* v = r->contact.solution.v;
  if (!balanced) {
    SAP_TRY(sap_linearization_correct(&r->free_motion, v, UNCHECKED * r->options->balance_tolerance,
                                      error));
    SAP_TRY(sap_problem_set_v_star(problem, r->free_motion.v_star, error));
  }
  if (!idle && r->closure_error > 0.0) {
    sap_problem_shift_closure(problem);
    r->about_solution = true;
  }
  return go_on(r, false, error);
}

// Bounds for later solutions: the errors of the first one, or the tolerance, and the larger v'
// diag(A) v of the first solution and of the start.
typedef struct first_solution {
  double balance, closure, speed;
} first_solution;

// Returns true if the closure error has grown too far for later solutions to take it back.
static bool opens(const sap_relinearize* r, const first_solution* first) {
  return !(r->closure_error <= fmax(WIDER * first->closure, UNSEEN));
}

// Gyroscopic forces do no work, so that a faster solution whose balance is not met gains energy.
static bool has_diverged(const sap_relinearize* r, const first_solution* first) {
  const double faster = r->balance_error <= FAR ? FASTER : 1.0;
  return !(r->balance_error <= first->balance) || opens(r, first) ||
         !(weighted_square(r, r->contact.solution.v) <= faster * first->speed);
}

// Makes the last correction of a solution that is within balance_tolerance but misses more than the
// solver leaves. It is not checked: what remains is a few percent of the miss or less, and loops
// open by no more than before.
static sap_status finish_balance(sap_relinearize* r, sap_error* error) {
  const sap_solver_info* info = r->contact.info;
  sap_free_motion* fm = &r->free_motion;
  const double* v = r->contact.solution.v;
  const double tolerance = fmax(r->options->solver_options.relative_tolerance, LAST_BITS);
  const bool finishes = r->balance_error > tolerance && info->needs_R && !info->signorini &&
                        r->balance_error <= r->options->balance_tolerance &&
                        !isinf(r->options->balance_tolerance) && fm->substeps == 0 &&
                        (r->closure_error == 0.0 || r->count == 0);
  if (!finishes || is_out_of_time(r) || !sap_linearization_misses(fm, v, tolerance)) {
    return SAP_STATUS_OK;
  }
  if (r->count == 0) {
    sap_problem_store_repeats(r->contact.problem);
  }
  SAP_TRY(sap_linearization_correct(fm, v, tolerance, error));
  SAP_TRY(sap_problem_set_v_star(r->contact.problem, fm->v_star, error));
  return go_on(r, false, error);
}

// Repeats the solution until both errors are within their tolerances.
static sap_status correct_errors(sap_relinearize* r, const first_solution* first,
                                 sap_error* error) {
  const double tolerance = r->options->balance_tolerance;
  double balance_before = HUGE_VAL, closure_before = HUGE_VAL, corrected = HUGE_VAL;
  bool first_choice = true;
  int lost = 0, idle = 0;
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && r->count < COUNT_MAX && !is_out_of_time(r) && lost < 2 &&
         !opens(r, first)) {
    // One more correction is expected to leave this share.
    const double left =
        r->closure_error > 0.0 ? 0.0 : r->balance_error * (r->balance_error / corrected);
    // Motion computed in parts does not solve m of the whole step.
    const bool balanced =
        (r->balance_error <= tolerance && left <= fmax(UNCHECKED * tolerance, LAST_BITS)) ||
        r->free_motion.substeps > 0;
    // An impact whose closure does not contract is left to the next step.
    idle = r->closure_error < CLOSING * closure_before ? 0 : idle + 1;
    const bool closed =
        !(r->closure_error > CLOSURE_TOLERANCE) || idle >= IDLE_MAX || isinf(tolerance);
    closure_before = r->closure_error;
    if (balanced && closed) {
      break;
    }
    if (r->count == 0) {
      sap_problem_store_repeats(r->contact.problem);
    }
    r->count += 1;
    r->lap = sap_clock_seconds();  // the checks are no part
    corrected = balanced ? corrected : r->balance_error;
    if (balanced || r->balance_error <= CONTRACTION * balance_before) {
      if (!balanced) {
        balance_before = isinf(balance_before) ? r->balance_error / CONTRACTION : r->balance_error;
      }
      status = solve_corrected(r, balanced, idle >= IDLE_MAX, error);
    } else {
      sap_linearization_choose(&r->free_motion, first_choice, r->balance_error);
      first_choice = false;
      balance_before = 0.0;  // no corrections after that
      status = solve_about_solution(r, error);
    }
    status = status == SAP_STATUS_OK ? measure_errors(r, error) : status;
    lost = is_lost(r) ? lost + 1 : 0;
  }
  return status;
}

// Corrects the errors, and again with each set of contacts that the solution before lacked. The set
// only grows; a chain of pushes takes a round per link.
static sap_status iterate_solutions(sap_relinearize* r, const first_solution* first,
                                    sap_error* error) {
  bool added = true;
  for (int round = 0; added && round < ROUNDS_MAX; ++round) {
    SAP_TRY(correct_errors(r, first, error));
    SAP_TRY(add_missing(r, &added, error));
    SAP_TRY(added ? measure_errors(r, error) : SAP_STATUS_OK);
  }
  return SAP_STATUS_OK;
}

// Finds trees that have blocks now, and that no constraint held in the last step: the law sees them
// linearized at v0, so that it is a function of the state. Not free bodies, and not in the literal
// method of the paper, which has A at v*. Returns true if there are some.
static bool find_touched(sap_relinearize* r) {
  const sap_problem* problem = r->contact.problem;
  const sap_system* system = r->system;
  const sap_free_motion* fm = &r->free_motion;
  const bool literal = r->contact.castro && isinf(r->options->balance_tolerance);
  bool any = false;
  memset(r->touched, 0, (size_t)system->ntrees * sizeof *r->touched);
  for (int32_t k = 0; k < problem->nblock_trees && !literal && fm->substeps == 0; ++k) {
    const int32_t t = problem->block_trees[k];
    r->touched[t] =
        !fm->linearization.known[fm->factor.tree_group[t]] && !sap_linearization_is_free(system, t);
    any = any || r->touched[t];
  }
  return any;
}

// Assembles stage 2, again where the law of contacts is not yet that of the state.
static sap_status assemble_first(sap_relinearize* r, sap_error* error) {
  const double* v0 = r->step.v0_free;
  const sap_theta scheme = sap_theta_of(&r->step);
  r->contact.v_free = r->free_motion.linearization.v_law;
  SAP_TRY(assemble_constraints(r, v0, error));
  if (find_touched(r)) {
    sap_problem_return_factors(r->contact.problem);
    SAP_TRY(sap_linearization_move_to_start(&r->free_motion, r->touched, error));
    end_lap(r, &r->time_free_motion);
    SAP_TRY(assemble_constraints(r, v0, error));
  }
  if (sap_prediction_guess(&r->prediction, &scheme, v0, r->v_predicted)) {
    r->contact.problem->v_expected = r->v_predicted;
  }
  return SAP_STATUS_OK;
}

// Runs stage 1 and assembles stage 2.
static sap_status prepare_first(sap_relinearize* r, sap_error* error) {
  r->linearized_again = false;
  SAP_TRY(solve_free_motion(
      r, isinf(r->options->balance_tolerance) ? SAP_LINEARIZE_FREE : SAP_LINEARIZE_START, error));
  return assemble_first(r, error);
}

// Solves stage 1 where impulses were expected and none came, and looks again for contacts. What the
// last steps missed is of no use in this step.
static sap_status free_again(sap_relinearize* r, sap_error* error) {
  int32_t missing = 0;
  (void)sap_linearization_retreat(&r->free_motion, -1.0);
  SAP_TRY(solve_free_motion(r, SAP_LINEARIZE_FREE, error));
  SAP_TRY(find_missing(r, r->free_motion.v_star, &missing, error));
  return missing > 0 ? assemble_first(r, error) : SAP_STATUS_OK;
}

void sap_relinearize_record(sap_relinearize* r, const double* v) {
  const sap_theta scheme = sap_theta_of(&r->step);
  sap_linearization_record(&r->free_motion, v);
  sap_prediction_record(&r->prediction, &scheme, r->step.v0_free, v);
}

// Restores the first solution: its problem, with v_first as the guess, at which a solver that takes
// a guess stops at once, even out of time.
static sap_status withdraw(sap_relinearize* r, sap_error* error) {
  r->withdrawn = true;
  r->lost_speed = HUGE_VAL;
  SAP_TRY(prepare_first(r, error));
  sap_problem_restore_repeats(r->contact.problem);
  SAP_TRY(sap_problem_set_v_guess(r->contact.problem, r->v_first, error));
  r->contact.restored = true;
  sap_status status = solve_contact(r, error);
  bool added = true;
  for (int round = 0; status == SAP_STATUS_OK && added && round < ROUNDS_MAX; ++round) {
    status = add_missing(r, &added, error);
  }
  r->contact.restored = false;
  return status == SAP_STATUS_OK ? measure_errors(r, error) : status;
}

// Improves the first solution. Far from closed loops and in the hardest impacts the iteration may
// diverge: the step then takes the first solution, whose errors are in the report.
static sap_status improve_solution(sap_relinearize* r, sap_error* error) {
  SAP_TRY(measure_errors(r, error));
  if (!(r->balance_error <= FAR) && sap_linearization_retreat(&r->free_motion, FAR)) {
    SAP_TRY(prepare_first(r, error));
    SAP_TRY(solve_contact(r, error));
    SAP_TRY(measure_errors(r, error));
  }
  const double* v = r->contact.solution.v;
  const first_solution first = {
      .balance = fmax(r->balance_error, r->options->balance_tolerance),
      .closure = r->closure_error,
      .speed = fmax(weighted_square(r, v), weighted_square(r, r->step.v0_free))};
  memcpy(r->v_first, v, (size_t)r->system->nv * sizeof *v);
  r->lost_speed = LOST * first.speed;
  sap_error attempt;
  sap_status status = iterate_solutions(r, &first, &attempt);
  const bool holds = status == SAP_STATUS_OK && (r->count == 0 || !has_diverged(r, &first));
  status = holds ? finish_balance(r, &attempt) : status;
  propagate_callback_error(status, &attempt, error);
  if ((holds && status == SAP_STATUS_OK) || status == SAP_STATUS_CALLBACK) {
    return status;
  }
  return withdraw(r, error);
}

static sap_status solve_stages(sap_relinearize* r, const double** v, sap_error* error) {
  const sap_free_motion* fm = &r->free_motion;
  r->count = 0;
  r->withdrawn = false;
  r->lost_speed = HUGE_VAL;
  r->balance_error = r->closure_error = 0.0;
  memset(fm->linearization.far, 0, (size_t)fm->factor.ngroups * sizeof(bool));
  *v = fm->v_star;
  SAP_TRY(prepare_first(r, error));
  if (sap_problem_block_count(r->contact.problem) == 0 && fm->linearization.any_known) {
    SAP_TRY(free_again(r, error));
  }
  if (sap_problem_block_count(r->contact.problem) > 0) {
    SAP_TRY(solve_contact(r, error));
    SAP_TRY(improve_solution(r, error));
    *v = r->contact.solution.v;
  }
  return SAP_STATUS_OK;
}

// Asks the system for forces whose law does not hold at v. They take another from then on.
static sap_status find_changed(const sap_relinearize* r, const double* v, int32_t* count,
                               sap_error* error) {
  const sap_system* system = r->system;
  *count = 0;
  const int code =
      system->changed_laws != NULL ? system->changed_laws(system->context, &r->step, v, count) : 0;
  return sap_callback_check("changed_laws", code, error);
}

sap_status sap_relinearize_free_motion(sap_relinearize* r, const sap_step_context* step,
                                       sap_error* error) {
  int32_t changed = 1;
  r->step = *step;
  for (int round = 0; changed > 0 && round < ROUNDS_MAX; ++round) {
    SAP_TRY(solve_free_motion(r, SAP_LINEARIZE_FREE, error));
    SAP_TRY(find_changed(r, r->free_motion.v_star, &changed, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_relinearize_solve(sap_relinearize* r, const sap_step_context* step, double began,
                                 const double** v, sap_error* error) {
  int32_t changed = 1;
  r->step = *step;
  r->began = began;
  r->lap = sap_clock_seconds();
  r->time_free_motion = r->time_constraints = r->time_solver = 0.0;
  set_tolerance(r, step->dt);
  for (int round = 0; changed > 0 && round < ROUNDS_MAX; ++round) {
    SAP_TRY(solve_stages(r, v, error));
    SAP_TRY(find_changed(r, *v, &changed, error));
  }
  return SAP_STATUS_OK;
}
