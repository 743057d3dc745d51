// SPDX-License-Identifier: BSD-3-Clause
// Parts of `sapstep bench`.
#ifndef SAP_CLI_BENCH_H
#define SAP_CLI_BENCH_H

#include <stdio.h>
#include <sys/types.h>

#include <sapstep/sapstep.h>

#include "cli/scene_options.h"

enum { BENCH_PEERS_MAX = 8, BENCH_NAME_SIZE = 64 };

// One repetition: from the scene's start `skip` steps untimed, then `steps` timed.
typedef struct bench_request {
  const char* scene;
  double dt;  // [s]
  int32_t skip, steps;
  bool cpu;  // time of the processor instead of the wall clock
} bench_request;

// What a repetition measured; NaN: not known. Means are over the timed steps.
typedef struct bench_result {
  double step;        // time per step [s]
  double solver;      // of it in the contact solver [s]
  double contacts;    // mean
  double iterations;  // mean
  double residual;    // the largest momentum error, relative
} bench_result;

// Our own side: a scene that is ready to run again and again.
typedef struct bench_scene {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state start, state;
  double dt;
} bench_scene;

// dt: the scene's where it is 0. Start from {0}.
// dt 0: the scene's.
sap_status bench_scene_open(bench_scene* scene, const cli_scene* from,
                            const sap_stepper_options* options, double dt, sap_error* error);
void bench_scene_close(bench_scene* scene);
sap_status bench_scene_run(bench_scene* scene, const bench_request* request, bench_result* out,
                           sap_error* error);

// A program that steps the same scenes with another engine. It is started once, stays alive, and
// answers a line of request by a line of JSON:
//   ->  run DT SKIP STEPS cpu|wall SCENE
//   <-  {"step_s": 1e-4, "contacts": 10, "iterations": 2.1}   or   {"error": "why not"}
// Its first line, unasked, says who it is: {"peer": "mujoco 3.3.0"}.
typedef struct bench_peer {
  char name[BENCH_NAME_SIZE];
  FILE *requests, *answers;
  pid_t process;
} bench_peer;

// False, and a message on standard error, when the program cannot be used.
bool bench_peer_start(bench_peer* peer, const char* command);
void bench_peer_stop(bench_peer* peer);
// False with the reason in `why`: the scene is left out for this peer.
bool bench_peer_run(bench_peer* peer, const bench_request* request, bench_result* out, char* why,
                    size_t size);

#endif
