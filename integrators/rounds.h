// SPDX-License-Identifier: BSD-3-Clause
// Stages 1 and 2 of a step, and the rounds that repeat them about their own result where what was
// linearised, the momentum balance or bilateral constraints, turns out too bent.
#ifndef SAP_INTEGRATORS_ROUNDS_H
#define SAP_INTEGRATORS_ROUNDS_H

#include "core/threads.h"
#include "integrators/contact_stage.h"
#include "integrators/free_motion.h"
#include "integrators/prediction.h"

typedef struct sap_rounds {
  const sap_system* system;
  const sap_stepper_options* options;
  sap_free_motion free_motion;
  sap_contact_stage contact;
  sap_step_context step;  // of the step under way
  double* q_end;          // scratch (nq)
  double* v_first;        // of the first solution (nv)
  // The change of v that the steps before let expect, where contacts creep, roll or swing: the
  // solver's better guess. Constraints are evaluated without it.
  sap_prediction expected;
  double* v_expected;  // (nv)
  // of the last step
  double began;                                            // [s]
  int32_t count;                                           // rounds beyond the first
  bool withdrawn;                                          // they ran away: the first stands
  double balance_error;                                    // see sap_step_report
  double closure_error;                                    // [m, rad]
  double time_free_motion, time_constraints, time_solver;  // [s]
} sap_rounds;

// Start from {0}. The system and the options must outlive it.
sap_status sap_rounds_create(const sap_system* system, const sap_stepper_options* options,
                             sap_rounds* rounds, sap_error* error);
void sap_rounds_clear(sap_rounds* rounds);
// Of the caller's, who has them as long as the rounds. NULL: one.
void sap_rounds_lend_threads(sap_rounds* rounds, sap_threads* threads);

// The free motion alone, in free_motion.v_star.
sap_status sap_rounds_free_motion(sap_rounds* rounds, const sap_step_context* step,
                                  sap_error* error);
// The step was made, and ends with v.
void sap_rounds_record(sap_rounds* rounds, const double* v);
// The velocities at the end of the step, views, in *v; the step began at that time of the clock.
sap_status sap_rounds_solve(sap_rounds* rounds, const sap_step_context* step, double began,
                            const double** v, sap_error* error);

#endif
