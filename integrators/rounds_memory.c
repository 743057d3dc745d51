// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "integrators/rounds.h"
#include "problem/problem_data.h"

enum { EXPECTED_DEPTH = 1 };
// The balance that the contact stage works with is made where m(v) = p holds to this share of the
// group's impulses, and to this share of what the solution may miss of it.
#define LINEARIZATION_TOLERANCE 1e-5
#define LINEARIZATION_SHARE 1e-2

sap_status sap_rounds_create(const sap_system* system, const sap_stepper_options* options,
                             sap_rounds* rounds, sap_error* error) {
  rounds->system = system;
  rounds->options = options;
  rounds->q_end = sap_allocate((size_t)system->nq, sizeof(double));
  rounds->v_first = sap_allocate((size_t)system->nv, sizeof(double));
  rounds->v_expected = sap_allocate((size_t)system->nv, sizeof(double));
  sap_status status = rounds->q_end != NULL && rounds->v_first != NULL && rounds->v_expected != NULL
                          ? sap_free_motion_create(system, &rounds->free_motion, error)
                          : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: rounds of a step");
  if (status == SAP_STATUS_OK) {
    status = sap_prediction_create(system->nv, EXPECTED_DEPTH, &rounds->expected, error);
  }
  rounds->free_motion.linearization.tolerance =
      fmin(LINEARIZATION_TOLERANCE, LINEARIZATION_SHARE * options->balance_tolerance);
  return status == SAP_STATUS_OK ? sap_contact_stage_create(options, &rounds->contact, error)
                                 : status;
}

void sap_rounds_lend_threads(sap_rounds* rounds, sap_threads* threads) {
  rounds->free_motion.balance.threads = threads;
  rounds->free_motion.prediction.threads = rounds->expected.threads = threads;
  if (rounds->contact.problem != NULL) {
    sap_problem_lend_threads(rounds->contact.problem, threads);
  }
}

void sap_rounds_clear(sap_rounds* rounds) {
  sap_free_motion_clear(&rounds->free_motion);
  sap_contact_stage_clear(&rounds->contact);
  sap_free(rounds->q_end);
  sap_free(rounds->v_first);
  sap_prediction_clear(&rounds->expected);
  sap_free(rounds->v_expected);
  memset(rounds, 0, sizeof *rounds);
}
