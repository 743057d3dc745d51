// SPDX-License-Identifier: BSD-3-Clause
// Velocities, multipliers and metrics from which the Newton iterations start.
#ifndef SAP_SOLVERS_PRIMAL_START_H
#define SAP_SOLVERS_PRIMAL_START_H

#include "solvers/primal/island.h"

// Chooses the start, evaluates it and sets the multipliers there.  fails: NOT_FINITE
sap_status sap_newton_begin(sap_newton* newton, const sap_solver_options* options,
                            sap_error* error);
// Chooses the metrics rho of the semismooth law.
void sap_newton_choose_metrics(sap_newton* newton);
// Sets the multipliers to P_C(y(v)) of the evaluated point or, if `recall`, to those of the
// previous solve where there are any.
void sap_newton_start_multipliers(sap_newton* newton, bool recall);
// Fails with NOT_FINITE and the names of the inputs that may be too large.
sap_status sap_newton_overflow(const sap_newton* newton, const char* when, sap_error* error);

// Returns the bound of the stopping test.                                           castro (26)
static inline double sap_newton_tolerance(const sap_newton_state* s,
                                          const sap_solver_options* options) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return options->absolute_tolerance + options->relative_tolerance * scale;
}

static inline bool sap_newton_is_converged(const sap_newton_state* s,
                                           const sap_solver_options* options) {
  return s->gradient < sap_newton_tolerance(s, options) || s->gradient == 0.0;
}

static inline double sap_newton_momentum_error(const sap_newton_state* s) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return s->gradient > 0.0 ? s->gradient / scale : 0.0;
}

static inline bool sap_newton_is_finite(const sap_newton_state* s) {
  return isfinite(s->cost) && isfinite(s->gradient) && isfinite(s->cost_scale);
}

#endif
