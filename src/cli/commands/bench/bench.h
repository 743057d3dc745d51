// SPDX-License-Identifier: BSD-3-Clause
// Parts of `sapstep bench`.
#ifndef SAP_CLI_COMMANDS_BENCH_BENCH_H
#define SAP_CLI_COMMANDS_BENCH_BENCH_H

#include <stdio.h>
#include <sys/types.h>

#include <sapstep/sapstep.h>

#include "cli/scene.h"
#include "cli/table.h"

enum {
  BENCH_PEERS_MAX = 8,
  BENCH_SIDES_MAX = BENCH_PEERS_MAX + 1,
  BENCH_REPETITIONS_MAX = 1000,
  BENCH_NAME_SIZE = 64,
  BENCH_LINE_SIZE = 4096  // of a peer's answer
};

// One repetition: from the scene's start `skip` steps untimed, then `steps` timed.
typedef struct bench_request {
  const char* scene;
  double dt;  // [s]
  int32_t skip, steps;
  bool cpu;  // time of the processor instead of the wall clock
} bench_request;

// Measurements of a repetition; NaN: unknown. Means are over the timed steps.
typedef struct bench_result {
  double step;        // time per step [s]
  double solver;      // of it in the contact solver [s]
  double contacts;    // mean
  double iterations;  // mean
  double residual;    // the largest momentum error, relative
} bench_result;

// Our own engine: a scene ready for repeated runs.
typedef struct bench_scene {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state start, state;
  double dt;
} bench_scene;

// A program that steps the same scenes with another engine. It is started once, stays alive, and
// answers a line of request by a line of JSON:
//   ->  run DT SKIP STEPS cpu|wall SCENE
//   <-  {"step_s": 1e-4, "contacts": 10, "iterations": 2.1}   or   {"error": "why not"}
// Its first line, unasked, says who it is: {"peer": "mujoco 3.3.0"}.
typedef struct bench_peer {
  char name[BENCH_NAME_SIZE];
  double patience;        // [s]
  int requests, answers;  // pipes
  pid_t process;          // <= 0: it has ended
  char text[BENCH_LINE_SIZE];
  size_t size, used;  // of text: read, and of it taken
} bench_peer;

// False, and a message on standard error, when the program cannot be used.
// patience: how long each answer may take [s].
bool bench_peer_start(bench_peer* peer, const char* command, double patience);
void bench_peer_stop(bench_peer* peer);
// False with the reason in `why`: the scene is left out for this peer, and where it has ended or is
// silent, which ends it, so are those that follow.
bool bench_peer_run(bench_peer* peer, const bench_request* request, bench_result* out, char* why,
                    size_t size);

// All repetitions of one engine on one scene; the first engine is ourselves.
typedef struct bench_side {
  bool left_out;
  int32_t count;
  double step[BENCH_REPETITIONS_MAX];
  double ratio[BENCH_REPETITIONS_MAX];  // to ours in the same turn
  bench_result last;
} bench_side;

typedef struct bench {
  sap_stepper_options stepper;
  cli_scene scene;
  bench_request request;
  int32_t repetitions;
  int clock;  // 0: wall, 1: cpu
  const char* svg;
  cli_format format;
  bench_peer peers[BENCH_PEERS_MAX];
  int npeers;
  double patience;  // with peers [s]
  const char* commands[BENCH_PEERS_MAX];
  int ncommands;
  cli_table* table;
  bench_side sides[BENCH_SIDES_MAX];
  // for the chart, scene by scene; NaN: left out
  double* contacts;                  // (nscenes)
  double* medians[BENCH_SIDES_MAX];  // (nscenes) each
  int nscenes;
} bench;

#endif
