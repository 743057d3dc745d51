// SPDX-License-Identifier: BSD-3-Clause
// The Newton iterations of one island.
#ifndef SAP_SOLVERS_PRIMAL_ITERATE_H
#define SAP_SOLVERS_PRIMAL_ITERATE_H

#include "solvers/history.h"
#include "solvers/primal/island.h"

typedef struct sap_iterate_result {
  sap_outcome outcome;
  int32_t iterations, factorizations, evaluations;
} sap_iterate_result;

// Iterates from the start that sap_newton_begin chooses to the minimum; newton->v and state are the
// best found. history (NULL allowed) gets a row per iterate.
// fails: NOT_SPD names a tree; NOT_FINITE when numbers overflow; MEMORY.
sap_status sap_newton_iterate(sap_newton* newton, const sap_solver_options* options,
                              sap_history* history, sap_iterate_result* result, sap_error* error);

#endif
