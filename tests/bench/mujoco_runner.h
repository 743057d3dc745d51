// SPDX-License-Identifier: BSD-3-Clause
// Models of MuJoCo and who steps them: the adapter or stock MuJoCo.
#ifndef SAP_TESTS_BENCH_MUJOCO_RUNNER_H
#define SAP_TESTS_BENCH_MUJOCO_RUNNER_H

#include <stdbool.h>

#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>

// The stepping program.
typedef enum who { SAPSTEP, EULER, IMPLICIT, IMPLICITFAST, DISCRETE, WHO_COUNT } who;
extern const char* const who_names[WHO_COUNT];

typedef struct runner {
  mjModel* m;
  mjData* d;
  sap_mj* a;  // NULL: stock
} runner;

// A model in a folder; NULL, and a line that says why, if it cannot be loaded.
mjModel* load(const char* folder, const char* name);
mjModel* load_text(const char* text);

// Sets the integrator; false: this MuJoCo does not have it.
bool choose(mjModel* m, who w);
// From keyframe `key`, where there is one.
runner begin(mjModel* m, who w, int key);
void end(runner* r);
// False: the run has diverged: a step failed, or MuJoCo reset what was not a number.
bool step(runner* r, sap_mj_report* report);
// Simulated seconds until the run diverges or is over.
double survive(runner* r, double duration);

// The experiments; each prints JSON lines.
void sweep_gains(const char* models);
void run_cassie(const char* models);
void run_creep(void);
void run_penetration(void);
// Times and Newton iterations of both, turn by turn. scenes: examples/scenes of the source tree,
// NULL: not those.
void time_models(const char* models, const char* scenes);

#endif
