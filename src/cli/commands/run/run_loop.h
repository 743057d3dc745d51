// SPDX-License-Identifier: BSD-3-Clause
// Shared by `sapstep run` and `sapstep mujoco`: statistics of a run and their table, options of
// outputs and checkpoints, the loop over steps.
#pragma once

#include <stdio.h>

#include <sapstep/recorder.h>
#include <sapstep/sapstep.h>

#include "cli/options.h"
#include "cli/table.h"

// --- statistics, from which the closing table is made ---

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
  int64_t planned;                     // steps to be made
  int64_t steps;                       // made
  int64_t before;                      // made by the run that this one resumes
  int64_t failures;                    // steps that could not be done
  int64_t unconverged;                 // steps whose contact solve ended without convergence
  int64_t accepted, rejected, solves;  // of error-controlled steps
  int64_t reasons[SAP_ADAPTIVE_REASON_COUNT];  // why accepted ones are not longer
  double dt_least, dt_largest;                 // of them [s]
  int32_t shortest;                            // velocity that made the least one so
  const char* shortest_of;                     // name of the body that it moves
  int64_t in_parts;                            // steps whose free motion has no root near v0
  double dt, time;                             // [s]

  int64_t contacts, contacts_max;       // contacts: summed over steps
  int64_t iterations_late;              // Newton iterations of the second half of the plan
  int64_t* histogram;                   // steps by Newton iterations     (histogram_count)
  int32_t histogram_count;              //
  double penetration_max;               // over the run [m]
  double penetration_end;               // at the state that the run ended with [m]
  run_slip slip_end, slip_late;         // at the last step; summed over the second half
  int64_t steps_late;                   // steps of the second half
  int64_t slip_steps[RUN_SLIPS];        // those of them with contacts that resist it
  int64_t relinearizations, withdrawn;  // and steps whose relinearization diverged
  int64_t softened_steps;               // of the second half: with contacts of SOFT_DEPTH
  double softened_depth;                // the largest of them [m]
  sap_contact softest;                  // that contact
  double late;                          // theta - 1/2 of steps of one length, else 0
  double scheme_loss;                   // energy that the scheme took from free motion [J]
  double* v0;                           // before the step                         (v0_count)
  int32_t v0_count;                     //
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

// Counts an error-controlled step.
void run_statistics_count(run_statistics* s, const sap_model* model,
                          const sap_adaptive_report* report);
// Adds a step whose contacts carry the solution.
void run_statistics_add(run_statistics* statistics, const sap_step_report* report,
                        const sap_contact* contacts, int32_t count);
// Keeps v before a step; then adds what the scheme takes from the energy of a step that nothing but
// force elements act in.
void run_statistics_before(run_statistics* statistics, const sap_state* state);
sap_status run_statistics_after(run_statistics* statistics, sap_multibody* multibody,
                                const sap_state* state, const sap_step_report* report,
                                sap_error* error);
// Returns the largest resident memory of the process so far [bytes].
int64_t run_peak_memory(void);

// True if the step had a contact problem whose solver did not converge.
bool run_unconverged(const sap_step_report* report);
// Return the Newton iterations of a step and the largest penetration, >= 0.
int32_t run_newton_iterations(const sap_step_report* report);
double run_penetration(const sap_contact* contacts, int32_t count);

// Prints the closing table; `phases`: with time per phase and memory.
void run_statistics_print(const run_statistics* statistics, const char* scene, cli_format format,
                          bool phases, FILE* out);

// Says which contacts are softer than asked, and what energy the scheme took.
void run_statistics_warn(const run_statistics* statistics, const sap_model* model);

// --- the loop ---

typedef struct run_plan {
  double duration;           // [s]
  const char* keyframe;      // name or index, NULL: the default pose
  const char* controls;      // path of a CSV file or a keyframe, NULL: those of `keyframe`
  const char* dump;          // folder of contact problems, NULL: none
  int32_t dump_every;        // steps per problem
  const char* output;        // path of the trajectory, NULL: none
  const char* record;        // path of the recording, NULL: none
  const char* checkpoint;    // path, NULL: none
  const char* resume;        // path of a checkpoint, NULL: start anew
  int32_t checkpoint_every;  // steps per checkpoint; 0: only at the end
  int32_t every;             // steps per row of trajectory and recording
  sap_recorder_options recorder;
  bool stats;
  cli_format format;
} run_plan;

#define RUN_ROW(owner, member, kind, low, high, name, argument, help)                              \
  {                                                                                                \
    name, argument, help, kind, .offset = offsetof(owner, plan) + offsetof(run_plan, member), low, \
                                high, .words = cli_formats_without_csv                             \
  }
// Rows of a command whose struct of options has a member `run_plan plan`.
#define RUN_START_ROWS(owner)                                                            \
  RUN_ROW(owner, duration, CLI_REAL, 0, 1e9, "duration", "S", "simulated time (5) [s]"), \
      RUN_ROW(owner, keyframe, CLI_TEXT, 0, 0, "keyframe", "NAME",                       \
              "start from this keyframe, by name or index"),                             \
      RUN_ROW(owner, controls, CLI_PATH, 0, 0, "controls", "FILE",                       \
              "CSV of controls over time, columns t_s and actuator names; a row\n"       \
              "holds until the next; or a keyframe whose controls are held (those\n"     \
              "of --keyframe)")
#define RUN_OUTPUT_ROWS(owner)                                                                  \
  RUN_ROW(owner, output, CLI_PATH, 0, 0, "output", "FILE",                                      \
          "write the trajectory as CSV, also -o"),                                              \
      RUN_ROW(owner, record, CLI_PATH, 0, 0, "record", "FILE",                                  \
              "record states, poses, contacts, energies and the solver's report\nas HDF5, for " \
              "plot, export and view"),                                                         \
      RUN_ROW(owner, every, CLI_INTEGER, 1, INT32_MAX, "every", "N",                            \
              "write a row of trajectory and recording every N steps (1)"),                     \
      RUN_ROW(owner, recorder.compression, CLI_INTEGER, 0, 9, "compression", "N",               \
              "deflate level of the recording, 0 (none) to 9 (1)"),                             \
      RUN_ROW(owner, dump, CLI_PATH, 0, 0, "dump-problems", "FOLDER",                           \
              "write the contact problems of steps as FOLDER/step_NNNNNN.hdf5\n(FCLIB), for "   \
              "solve and compare"),                                                             \
      RUN_ROW(owner, dump_every, CLI_INTEGER, 1, INT32_MAX, "dump-every", "N",                  \
              "only that of every N-th step (1)"),                                              \
      RUN_ROW(owner, checkpoint, CLI_PATH, 0, 0, "checkpoint", "FILE",                          \
              "save the state of the run at its end, for --resume"),                            \
      RUN_ROW(owner, checkpoint_every, CLI_INTEGER, 1, INT32_MAX, "checkpoint-every", "N",      \
              "and every N steps, in the same file"),                                           \
      RUN_ROW(owner, resume, CLI_PATH, 0, 0, "resume", "FILE",                                  \
              "continue from a checkpoint of the same scene and options,\nbit for bit"),        \
      RUN_ROW(owner, stats, CLI_FLAG, 0, 0, "stats", NULL, "report time per phase and memory"), \
      RUN_ROW(owner, format, CLI_WORD, 0, 0, "format", "NAME", "table or json (table)")

run_plan run_plan_default(void);
// Checks combinations of these options. CLI_OK: go on.
int run_plan_check(const run_plan* plan, const cli_command* command, const cli_parser* parser);

// --- controls over time, contact problems as files ---

typedef struct run_controls {
  int32_t columns;    // actuators named
  int32_t* actuator;  // their ids                                       (columns)
  int32_t rows;
  double* values;  // t, then a control per column, row by row           ((1 + columns) rows)
  int32_t capacity;
} run_controls;

// Returns the id of the actuator called `name`, -1: none.
typedef int32_t run_find(const void* model, const char* name);
// Reads a CSV file for a model with nu actuators. out: start from {0}. Errors name file and line.
sap_status run_controls_read(const char* path, int32_t nu, run_find* find, const void* model,
                             run_controls* out, sap_error* error);
// Sets the controls of the last row whose time is not after t; others stay.
void run_controls_apply(const run_controls* controls, double t, double* control);
// Writes the problem of a step if --dump-problems and --dump-every ask for it.
sap_status run_dump(const run_plan* plan, int64_t step, const sap_problem* problem,
                    sap_error* error);

// An engine as the loop sees it.
typedef struct run_engine {
  void* context;
  const double* t;  // [s]
  // Makes a step, adds it to the statistics and writes a row if it is due.
  sap_status (*step)(void* context, sap_error* error);
  sap_status (*checkpoint)(void* context, const char* path, int64_t steps, sap_error* error);
} run_engine;

// Plans the steps that are left of the duration.
void run_plan_steps(const run_plan* plan, run_statistics* statistics);
// True if a row of trajectory and recording is due after the last step.
bool run_row_due(const run_plan* plan, const run_statistics* statistics);
// Makes all planned steps, with a progress bar and checkpoints, until a signal comes, and writes
// the last checkpoint. *code is the exit code of the steps, whose failure is only a message. Fails
// if an output cannot be written.
sap_status run_all_steps(const run_plan* plan, const run_engine* engine, run_statistics* statistics,
                         int* code, sap_error* error);
