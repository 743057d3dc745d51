// SPDX-License-Identifier: BSD-3-Clause
// Parts of `sapstep converge`: the command, its runs in threads (converge.c), the
// command line and the scene (converge_options.c), one run at one step size (converge_case.c),
// orders, table and chart (converge_report.c).
#pragma once

#include <stdatomic.h>

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/scene.h"
#include "cli/table.h"

enum { CONVERGE_EXACT_MAX = 16, CONVERGE_SOLVERS_MAX = 16, CONVERGE_LEVELS_MAX = 20 };
enum { CONVERGE_PEERS_MAX = 8, CONVERGE_POINTS_MAX = 256 };

// The exact solution of one joint's coordinate.
typedef struct converge_exact {
  char joint[128];
  const char* expression;
  char* owned;   // the expression where it is the scene's
  int32_t q, v;  // its coordinates
} converge_exact;

// Reference that errors are measured against.
typedef enum converge_against {
  CONVERGE_AUTO,        // exact solutions where given or named by the scene, else a run
  CONVERGE_RUN,         // the finer of two runs with much smaller steps
  CONVERGE_RICHARDSON,  // what both extrapolate to
} converge_against;

// Start of a joint that replaces the default pose or the keyframe.
typedef struct converge_start {
  char joint[128];
  double position;  // [m, rad]
} converge_start;

typedef struct converge_options {
  cli_scene scene;  // with its dt: the largest step
  const char* svg;
  converge_against against;
  double dt, duration;            // the largest step [s]
  sap_adaptive_options adaptive;  // of the first level; accuracy 0: no such steps
  int32_t levels;                 // step sizes
  int32_t ratio;                  // smallest step over that of the reference
  int32_t jobs;                   // threads
  sap_scheme schemes[SAP_SCHEME_COUNT];
  sap_stage stages[SAP_STAGE_COUNT];
  const char* solvers[CONVERGE_SOLVERS_MAX];
  int nschemes, nstages, nsolvers;
  converge_exact exact[CONVERGE_EXACT_MAX];
  converge_start start[CONVERGE_EXACT_MAX];
  const char* peers[CONVERGE_PEERS_MAX];  // commands
  int nexact, nstart, npeers;
  cli_format format;
  sap_stepper_options stepper;
} converge_options;

typedef struct converge_errors {
  double position;      // L2 over time of |q (-) reference|
  double velocity;      // of |v - reference|
  double position_end;  // at the end
  double velocity_end;
} converge_errors;

typedef struct converge_result {
  int64_t steps, solves, unconverged;
  converge_errors errors;
  double energy_drift;  // at the end, since the start [J]
  double penetration;   // largest [m]
  double drift;         // largest gap of an equality at a sample [m, rad]
  double newton;        // iterations, mean
  double seconds;       // processor time of the run's thread
} converge_result;

// A run at one step size.
typedef struct converge_case {
  int32_t series;  // scheme x stage x solver; -1: a reference
  sap_scheme scheme;
  sap_stage stage;
  const char* solver;
  double accuracy;  // of error-controlled steps [m], 0: steps of one length
  double dt;        // error-controlled: simulated time of a solve, once done
  int64_t stride;   // steps from one sample to the next
  bool done;
  sap_error error;  // of a run that ended early
  converge_result result;
  double* samples;  // q, v at every sample of a reference, else NULL
} converge_case;

// A run of a peer, measured by itself: setting is its step [s] or its accuracy.
typedef struct converge_point {
  char name[64];
  double setting, seconds, error;
  int64_t solves;
} converge_point;

typedef struct converge_study {
  converge_options options;
  sap_model* model;
  sap_state start;
  int64_t samples;       // after the start, one per largest step
  converge_case* cases;  // the two references (none with exact solutions), the finer one first;
                         // then those of the smallest step, of the next, ...: see converge_at
  int count, references, series;
  converge_errors reference_error;  // by how much the two references differ; NaN with exact ones
  converge_errors roundoff;  // what a reference's steps make of it at most; 0 with exact ones
  converge_point* points;    // of peers                                      (npoints)
  int npoints;
  progress bar;
  _Atomic int next;
  _Atomic int64_t steps;  // made so far
} converge_study;

// Reads the command line; false: return *exit_code.
extern const cli_option converge_option_list[];
extern const char* const converge_hidden[];
bool converge_options_read(const cli_command* command, int argc, char** argv,
                           converge_options* options, int* exit_code);

// Returns the case of a series at level 0 (largest step), 1, ...
static inline const converge_case* converge_at(const converge_study* study, int series, int level) {
  return &study->cases[study->references + (study->options.levels - 1 - level) * study->series +
                       series];
}

// Reads the scene, its valid exact solutions, and the state that all runs start from.
sap_status converge_scene_read(converge_study* study, sap_error* error);

// Runs the peers, one after the other; false: one failed, with a message.
bool converge_ask_peers(converge_study* study);
// Prints the table and writes the chart; returns the exit code.
int converge_report(const converge_study* study);

// Least squares of log e over log dt: the slope and its standard error (NaN with fewer than three
// points).
typedef struct converge_fit {
  double order, uncertainty;
  int points;
} converge_fit;
