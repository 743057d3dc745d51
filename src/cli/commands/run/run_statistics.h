// SPDX-License-Identifier: BSD-3-Clause
// Statistics of a run, from which its closing table is made.
#ifndef SAP_CLI_COMMANDS_RUN_RUN_STATISTICS_H
#define SAP_CLI_COMMANDS_RUN_RUN_STATISTICS_H

#include <stdio.h>

#include <sapstep/sapstep.h>

#include "cli/table.h"

typedef struct run_energy {
  double kinetic, potential;  // [J]
} run_energy;

// Means over the contacts that resist by friction: condim 3 and more against slip [m/s], 4 and 6
// against spin, 6 against rolling [rad/s]; NaN without any.
enum { RUN_SLIP, RUN_SPIN, RUN_ROLLING, RUN_SLIPS };
typedef struct run_slip {
  double mean[RUN_SLIPS];
} run_slip;

typedef struct run_statistics {
  int64_t planned;      // steps to be made
  int64_t steps;        // made
  int64_t before;       // made by the run that this one resumes
  int64_t failures;     // steps that could not be done
  int64_t unconverged;  // steps whose contact solve ended without convergence
  double dt, time;      // [s]

  int64_t contacts, contacts_max;       // contacts: summed over steps
  int64_t iterations_late;              // Newton iterations of the second half of the plan
  int64_t* histogram;                   // steps by Newton iterations     (histogram_count)
  int64_t histogram_count;              //
  double penetration_max;               // over the run [m]
  double penetration_end;               // at the state that the run ended with [m]
  run_slip slip_end, slip_late;         // at the last step; summed over the second half
  int64_t steps_late;                   // steps of the second half
  int64_t slip_steps[RUN_SLIPS];        // those of them with contacts that resist it
  int64_t relinearizations, withdrawn;  // and steps whose relinearization diverged
  double balance_error;                 // the largest
  run_energy start, end;                //
  double seconds_stepping;              // wall clock inside sap_stepper_step [s]
  double seconds_free_motion, seconds_constraints, seconds_solver;
  int32_t bodies;
  // Peak of the process: before the scene was read, before the first step, after a tenth of the
  // steps, at the end [bytes].
  int64_t memory_begin, memory_still, memory_warm, memory_end;
  int64_t factorizations, evaluations, symbolic_analyses, free_motion_iterations;
} run_statistics;

// Adds a step whose contacts carry the solution. False: out of memory.
bool run_statistics_add(run_statistics* statistics, const sap_step_report* report,
                        const sap_contact* contacts, int32_t count);
// Returns the largest resident memory of the process so far [bytes].
int64_t run_peak_memory(void);
void run_statistics_clear(run_statistics* statistics);

// Return the Newton iterations of a step and the largest penetration, >= 0.
int32_t run_newton_iterations(const sap_step_report* report);
double run_penetration(const sap_contact* contacts, int32_t count);

// Prints the closing table; `phases`: with time per phase and memory.
void run_statistics_print(const run_statistics* statistics, const char* scene, cli_format format,
                          bool phases, FILE* out);

#endif
