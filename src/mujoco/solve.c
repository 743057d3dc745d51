// SPDX-License-Identifier: BSD-3-Clause
// The contact problem of a step: assembled, solved, and once more where a servo met its range or a
// limit that was left out is reached.
#include <math.h>

#include "core/platform.h"
#include "mujoco/adapter.h"

// A solve that ends at the iteration limit or stalls still makes a step below this momentum error,
// castro (32), or below a looser tolerance that the caller asked for.
#define ACCEPTED_MOMENTUM_ERROR 1e-3

// A, v* and blocks, for the servos as they are divided now.
static sap_status assemble(sap_mj* a, const mjData* d, sap_error* error) {
  sap_mj_add_mass(a, d);
  SAP_TRY(sap_mj_add_elements(a, d, error));
  SAP_TRY(sap_mj_add_servos(a, error));
  SAP_TRY(sap_mj_set_problem(a, d, error));
  SAP_TRY(sap_mj_add_servo_blocks(a, error));
  return sap_mj_add_blocks(a, d, error);
}

// The solver's share of the step's time: what is left of it, or hardly any.
static sap_status give_time(sap_mj* a, double began, sap_error* error) {
  static const double HARDLY_ANY = 1e-9;  // [s]
  const double limit = a->options.solver_options.time_limit;
  if (!(limit > 0.0)) {
    return SAP_STATUS_OK;
  }
  return sap_solver_set_time_limit(a->solver,
                                   fmax(limit - (sap_clock_seconds() - began), HARDLY_ANY), error);
}

static sap_status solve(sap_mj* a, double began, sap_error* error) {
  SAP_TRY(give_time(a, began, error));
  SAP_TRY(sap_solver_solve(a->solver, a->problem, &a->solution, &a->report, error));
  const sap_report* r = &a->report;
  const double error_accepted =
      fmax(ACCEPTED_MOMENTUM_ERROR, a->options.solver_options.relative_tolerance);
  // A time limit is the caller's word that what is found by then must do.
  const bool accepted = r->outcome == SAP_OUTCOME_CONVERGED || r->outcome == SAP_OUTCOME_ROUNDOFF ||
                        r->outcome == SAP_OUTCOME_TIME_LIMIT;
  if (!accepted && !(r->momentum_error <= error_accepted)) {
    return sap_fail(error, SAP_STATUS_STEP_FAILED,
                    "contact solver: %s after %d iterations, momentum error %g must be <= %g",
                    sap_outcome_text(r->outcome), r->iterations, r->momentum_error, error_accepted);
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_solve(sap_mj* a, mjData* d, double began, sap_mj_solved* out, sap_error* error) {
  *out = (sap_mj_solved){0};
  sap_mj_identities_begin(a);
  a->all_limits = false;
  sap_mj_find_elements(a, d);
  sap_status status = sap_mj_find_servos(a, d, error);
  bool again = true;
  while (status == SAP_STATUS_OK && again) {
    status = assemble(a, d, error);
    out->solved = status == SAP_STATUS_OK && sap_problem_block_count(a->problem) > 0;
    if (out->solved) {
      status = solve(a, began, error);
      out->time += status == SAP_STATUS_OK ? a->report.time : 0.0;
    }
    ++out->solves;
    const double* v = out->solved ? a->solution.v : a->v_star;
    if (status == SAP_STATUS_OK) {
      const bool servos = sap_mj_check_servos(a, v), limits = sap_mj_check_limits(a, d, v);
      again = servos || limits;
    }
  }
  return status;
}
