// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/contact_stage.h"

#include <math.h>
#include <string.h>

#include "math/scalar.h"
#include "problem/factor.h"
#include "problem/law.h"
#include "problem/problem_data.h"
#include "solvers/report.h"

// Repeated solutions with shifted v_hat: each leaves a tenth or less of the error before.
enum { SHIFTS_MAX = 6 };

// Chooses Moreau-Jean's law if the options demand it or if the solver has no other.
static sap_status choose_law(const sap_stepper_options* options, sap_contact_stage* stage,
                             sap_error* error) {
  const sap_solver_info* info = sap_solver_find(options->solver);
  stage->info = info;
  const bool demanded = options->contact_law == SAP_LAW_RIGID;
  SAP_FAIL_IF(demanded && info->needs_R, error, SAP_STATUS_ARGUMENT,
              "contact_law rigid has R = 0, solver '%s' needs R > 0", info->name);
  stage->castro = options->contact_law == SAP_LAW_CASTRO;
  stage->rigid = demanded || (options->contact_law == SAP_LAW_AUTO && info->rigid);
  return SAP_STATUS_OK;
}

sap_status sap_contact_stage_create(const sap_stepper_options* options, sap_contact_stage* stage,
                                    sap_error* error) {
  stage->accepted_error = fmax(options->accepted_error, options->solver_options.relative_tolerance);
  SAP_TRY(sap_solver_create(options->solver, &options->solver_options, &stage->solver, error));
  SAP_TRY(choose_law(options, stage, error));
  return sap_problem_create(&stage->problem, error);
}

void sap_contact_stage_clear(sap_contact_stage* stage) {
  sap_problem_destroy(stage->problem);
  sap_solver_destroy(stage->solver);
  sap_solution_clear(&stage->solution);
  sap_report_clear(&stage->report);
  memset(stage, 0, sizeof *stage);
}

// Copies A, whose diagonal blocks have been checked, and lends the factors that the free motion
// has. A coupling that is zero at this state must not join islands.
static sap_status set_momentum_matrix(sap_problem* problem, const sap_system* system,
                                      const sap_free_motion* free_motion, sap_error* error) {
  const sap_tree_store* A = &free_motion->balance.A;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const sap_branch_factor* factor = sap_momentum_factor_branch(&free_motion->factor, t, A);
    sap_problem_put_diagonal(problem, t, A->view.diagonal[t]);
    if (factor != NULL) {
      sap_problem_lend_factor(problem, t, factor);
    }
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t a = system->couplings[c][0];
    const int32_t b = system->couplings[c][1];
    const int32_t rows = system->tree_sizes[a];
    if (!sap_all_zero(A->view.coupling[c], (size_t)rows * (size_t)system->tree_sizes[b])) {
      SAP_TRY(sap_problem_set_momentum_block(problem, a, b, A->view.coupling[c], rows, error));
    }
  }
  return SAP_STATUS_OK;
}

// Makes the error of a callback that failed with a code and may have filled `local`.
static sap_status check_callback(const char* name, int code, sap_error* local, sap_error* error) {
  if (code == 0) {
    return SAP_STATUS_OK;
  }
  SAP_FAIL_IF(local->status == SAP_STATUS_OK || local->message[0] == '\0', error,
              SAP_STATUS_CALLBACK, "the system's %s returned %d", name, code);
  local->status = SAP_STATUS_CALLBACK;
  sap_error_prefix(local, "the system's %s returned %d", name, code);
  if (error != NULL) {
    *error = *local;
  }
  return SAP_STATUS_CALLBACK;
}

sap_status sap_contact_stage_find_missing(const sap_system* system, const sap_step_context* step,
                                          const double* v, int32_t* count, sap_error* error) {
  sap_error local = {0};
  *count = 0;
  if (system->missing_contacts == NULL) {
    return SAP_STATUS_OK;
  }
  const int code = system->missing_contacts(system->context, step, v, count, &local);
  return check_callback("missing_contacts", code, &local, error);
}

bool sap_stepper_acts_within(const sap_stepper_options* options) {
  return options->contact_stage != SAP_STAGE_END && options->contact_law != SAP_LAW_CASTRO &&
         options->theta >= 0.5 && options->theta_vq >= 0.5;
}

sap_status sap_contact_stage_assemble(sap_contact_stage* stage, const sap_system* system,
                                      const sap_stepper_options* options,
                                      const sap_free_motion* free_motion,
                                      const sap_step_context* step, sap_error* error) {
  sap_problem* problem = stage->problem;
  SAP_TRY(sap_problem_begin(problem, step->dt, system->ntrees, system->tree_sizes, error));
  if (system->constraints == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(set_momentum_matrix(problem, system, free_motion, error));
  SAP_TRY(sap_problem_set_v_star(problem, free_motion->v_star, error));
  SAP_TRY(sap_problem_set_v_guess(problem, step->v_guess, error));
  const sap_contact_scheme scheme = {
      .theta = step->stage_theta,
      .theta_vq = step->stage_theta_vq,
      .rigid = step->rigid,
      .restitution = step->rigid ? options->restitution : 0.0,
      .baumgarte = step->rigid ? options->baumgarte : 0.0,
      .model = step->rigid ? SAP_CONTACT_BY_MATERIAL : options->contact_model,
      .castro = stage->castro,
      .glides = stage->info->signorini,
      .settled = stage->settled,
      .v0 = step->v0_free,
      .v_star = stage->v_free};
  SAP_TRY(sap_problem_set_law(problem, &scheme, error));
  sap_error local = {0};
  const int code = system->constraints(system->context, step, problem, &local);
  return check_callback("constraints", code, &local, error);
}

// A paused solve goes on from its v and its multipliers as a solve of its own.
static sap_status solve_once(sap_contact_stage* stage, sap_error* error) {
  sap_problem* problem = stage->problem;
  const sap_status status =
      sap_solver_solve(stage->solver, problem, &stage->solution, &stage->report, error);
  stage->paused = problem->pauses && stage->report.outcome == SAP_OUTCOME_ITERATION_LIMIT;
  problem->pauses = false;  // for this solve alone: callers see the problem in the step's report
  problem->solved = status == SAP_STATUS_OK && !stage->paused;
  return status;
}

// Solves until the impulses of lagged contacts and the shifts against gliding converge: what the
// stepper remembers of them is a guess.
static sap_status solve_problem(sap_contact_stage* stage, sap_error* error) {
  sap_problem* problem = stage->problem;
  sap_solution* solution = &stage->solution;
  sap_report* report = &stage->report;
  SAP_TRY(solve_once(stage, error));
  if (stage->restored || stage->paused) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_solver_settle_lags(stage->solver, problem, solution, report, error));
  for (int i = 0; i < SHIFTS_MAX && report->outcome != SAP_OUTCOME_TIME_LIMIT &&
                  sap_problem_shift_again(problem, solution->vc, solution->gamma);
       ++i) {
    SAP_TRY(sap_solver_solve_again(stage->solver, problem, solution, report, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_contact_stage_solve(sap_contact_stage* stage, bool again, sap_error* error) {
  const sap_report before = stage->report;
  const sap_status status = solve_problem(stage, error);
  if (again) {
    sap_report_add_work(&stage->report, &before);
  }
  return status != SAP_STATUS_OK || stage->paused
             ? status
             : sap_report_check(&stage->report, stage->accepted_error, error);
}
