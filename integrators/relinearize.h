// SPDX-License-Identifier: BSD-3-Clause
// Both stages of a step, and their repetition about their own result where the linearization was
// too coarse: the momentum balance m(v) = p of stage 1, or the bilateral constraints of stage 2.
#pragma once

#include "integrators/contact_stage.h"
#include "integrators/free_motion.h"
#include "integrators/predict.h"

typedef struct sap_relinearize {
  const sap_system* system;
  const sap_stepper_options* options;
  sap_free_motion free_motion;
  sap_contact_stage contact;
  sap_step_context step;  // the step under way
  double* q_end;          // scratch (nq)
  bool* touched;          // scratch: trees with contacts (ntrees)
  double* v_first;        // v of the first solution (nv)
  // Prediction of v from the steps before, where contacts creep, roll or swing: a better initial
  // guess for the solver. Constraints are evaluated without it.
  sap_prediction prediction;
  double* v_predicted;  // (nv)
  // results of the last step
  double began, lap;      // clock at its start, and where its last measured part ended [s]
  int32_t count;          // solutions beyond the first
  bool linearized_again;  // stage 1, about impulses found
  bool about_solution;    // constraints have the solution before for v_guess, not v0
  double lost_speed;      // of v' diag(A) v
  bool withdrawn;         // diverged, the first solution is used
  double balance_error;   // see sap_step_report
  double closure_error;   // of bilateral constraints [m, rad]
  double time_free_motion, time_constraints, time_solver;  // [s]
} sap_relinearize;

// Allocates in the pool; start from {0}. The system and the options must outlive it. To be cleared
// before the pool, also after a failure.
sap_status sap_relinearize_create(const sap_system* system, const sap_stepper_options* options,
                                  sap_pool* pool, sap_relinearize* r, sap_error* error);
void sap_relinearize_clear(sap_relinearize* r);
// Takes balance_tolerance from the options.
void sap_relinearize_set_tolerance(sap_relinearize* r);

// Computes the free motion alone, in free_motion.v_star.
sap_status sap_relinearize_free_motion(sap_relinearize* r, const sap_step_context* step,
                                       sap_error* error);
// Solves the step: *v is a view of the velocities at its end. began: clock at the start of the
// step.
sap_status sap_relinearize_solve(sap_relinearize* r, const sap_step_context* step, double began,
                                 const double** v, sap_error* error);
// Remembers the step, which was accepted and ends with v.
void sap_relinearize_record(sap_relinearize* r, const double* v);
