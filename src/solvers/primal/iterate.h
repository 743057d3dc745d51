// SPDX-License-Identifier: BSD-3-Clause
// The Newton iterations of one island.
#ifndef SAP_SOLVERS_PRIMAL_ITERATE_H
#define SAP_SOLVERS_PRIMAL_ITERATE_H

#include "solvers/history.h"
#include "solvers/primal/newton.h"

typedef struct sap_iterate_result {
  sap_outcome outcome;
  int32_t iterations, factorizations, evaluations;
} sap_iterate_result;

// From where sap_newton_begin puts them to the minimum; newton->v and state are the best
// found. history (NULL allowed) gets a row per iterate. fails: NOT_SPD names a tree; NOT_FINITE
// when numbers overflow; MEMORY.
sap_status sap_newton_iterate(sap_newton* newton, const sap_solver_options* options,
                              sap_history* history, sap_iterate_result* result, sap_error* error);

// What the gradient must be below.
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

// NOT_FINITE, with what is too large.
sap_status sap_newton_overflow(const sap_newton* newton, const char* when, sap_error* error);
// Evaluates where the iterations begin, and sets the duals there.
sap_status sap_newton_begin(sap_newton* newton, const sap_solver_options* options,
                            sap_error* error);

#endif
