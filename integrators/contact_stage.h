// SPDX-License-Identifier: BSD-3-Clause
// Stage 2 of a step: the constraint problem about the free motion, castro (24), and its solution.
#pragma once

#include <sapstep/solver.h>
#include <sapstep/stepper.h>

#include "core/error.h"
#include "integrators/free_motion.h"

typedef struct sap_contact_stage {
  sap_problem* problem;
  sap_solver* solver;
  const sap_solver_info* info;  // of the solver
  sap_solution solution;
  sap_report report;
  bool rigid;            // Moreau-Jean's law
  bool castro;           // the law as castro prints it
  double settled;        // of the scheme [m]
  bool restored;         // the next solution is not repeated with what it changes in the law
  bool paused;           // the last solve has
  const double* v_free;  // v* of the step's first linear balance, the caller's; slips are predicted
                         // from it also when the step is solved again (nv)
  double accepted_error;  // of an island of a solve that did not converge [-]
} sap_contact_stage;

// Allocates; start from {0}.
sap_status sap_contact_stage_create(const sap_stepper_options* options, sap_contact_stage* stage,
                                    sap_error* error);
void sap_contact_stage_clear(sap_contact_stage* stage);

// Returns true if laws may act at the theta point: the scheme's is not explicit, and contact_stage
// is not "end".
bool sap_stepper_acts_within(const sap_stepper_options* options);
// Fills the problem from A and v* of the free motion and the system's constraints. step->v_guess is
// set.
sap_status sap_contact_stage_assemble(sap_contact_stage* stage, const sap_system* system,
                                      const sap_stepper_options* options,
                                      const sap_free_motion* free_motion,
                                      const sap_step_context* step, sap_error* error);
// Calls system->missing_contacts; NULL: none are.
sap_status sap_contact_stage_find_missing(const sap_system* system, const sap_step_context* step,
                                          const double* v, int32_t* count, sap_error* error);
// Solves the problem; the result is in stage->solution. again: the report adds the work of the solve
// before. STEP_FAILED: far from the solution.
sap_status sap_contact_stage_solve(sap_contact_stage* stage, bool again, sap_error* error);
