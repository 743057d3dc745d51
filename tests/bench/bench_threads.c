// SPDX-License-Identifier: BSD-3-Clause
// Speed-up of threads by wall clock: bench_threads SCENE SKIP STEPS [THREADS].
// One stepper with one thread and one with THREADS (2) take the same steps in turns of ten, so that
// threads stay awake as in a run, then a batch of eight states with one thread and one with
// THREADS. One JSON line each: least time of a step, median and quartiles of the ratios of times of
// the same step, and whether the states have the same bits.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/multibody.h>
#include <sapstep/sapstep.h>

#include "bench_clock.h"

enum { STATES = 8, SIDES = 2, STEPS_MAX = 10000, TURN = 10 };

static void fail(const sap_error* error) {
  (void)fprintf(stderr, "%s\n", error->message);
  exit(1);
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// One of two that are compared.
typedef struct side {
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_batch* batch;  // NULL: the stepper steps
  sap_state states[STATES];
  int32_t nstates;
  double time[STEPS_MAX];
} side;

static void step(side* s) {
  sap_error error = {0};
  const sap_status status = s->batch != NULL
                                ? sap_batch_step(s->batch, s->states, NULL, 1, NULL, &error)
                                : sap_stepper_step(s->stepper, &s->states[0], NULL, &error);
  if (status != SAP_STATUS_OK) {
    fail(&error);
  }
}

static void create(side* s, const sap_model* model, bool batch, int32_t threads) {
  sap_error error = {0};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = sap_model_get_options(model)->timestep;
  options.regularization = sap_model_get_options(model)->regularization;
  *s = (side){.nstates = batch ? STATES : 1};
  sap_status status = SAP_STATUS_OK;
  if (batch) {
    status = sap_batch_create(model, &options, STATES, threads, &s->batch, &error);
  } else {
    options.solver_options.threads = threads;
    status = sap_multibody_create(model, &s->multibody, &error);
    if (status == SAP_STATUS_OK) {
      status =
          sap_stepper_create(sap_multibody_system(s->multibody), &options, &s->stepper, &error);
    }
  }
  for (int32_t i = 0; status == SAP_STATUS_OK && i < s->nstates; ++i) {
    status = sap_model_get_default_state(model, &s->states[i], &error);
    if (status == SAP_STATUS_OK && s->states[i].nv > 0) {
      s->states[i].v[0] += 0.01 * i;  // states of their own
    }
  }
  if (status != SAP_STATUS_OK) {
    fail(&error);
  }
}

static void destroy(side* s) {
  for (int32_t i = 0; i < s->nstates; ++i) {
    sap_state_clear(&s->states[i]);
  }
  sap_batch_destroy(s->batch);
  sap_stepper_destroy(s->stepper);
  sap_multibody_destroy(s->multibody);
}

static bool same_bits(const side* a, const side* b) {
  bool same = true;
  for (int32_t i = 0; i < a->nstates; ++i) {
    const sap_state *x = &a->states[i], *y = &b->states[i];
    same = same && memcmp(x->q, y->q, (size_t)x->nq * sizeof(double)) == 0 &&
           memcmp(x->v, y->v, (size_t)x->nv * sizeof(double)) == 0;
  }
  return same;
}

static void compare(const sap_model* model, const char* scene, bool batch, const long counts[3]) {
  const long skip = counts[0], steps = counts[1];
  static side sides[SIDES];
  static double ratio[STEPS_MAX];
  create(&sides[0], model, batch, 1);
  create(&sides[1], model, batch, (int32_t)counts[2]);
  double least[SIDES] = {0.0};
  for (long first = -skip; first < steps; first += TURN) {
    const long end = first + TURN < steps ? first + TURN : steps;
    for (int i = 0; i < SIDES; ++i) {
      side* s = &sides[(first + skip) % (2 * TURN) == 0 ? i : 1 - i];
      for (long k = first; k < end; ++k) {
        const double start = bench_seconds(CLOCK_MONOTONIC);
        step(s);
        const double time = bench_seconds(CLOCK_MONOTONIC) - start;
        if (k >= 0) {
          double* shortest = &least[s - sides];
          s->time[k] = time;
          *shortest = k == 0 || time < *shortest ? time : *shortest;
        }
      }
    }
  }
  for (long k = 0; k < steps; ++k) {
    ratio[k] = sides[0].time[k] / sides[1].time[k];
  }
  qsort(ratio, (size_t)steps, sizeof *ratio, ascending);
  printf(
      "{\"scene\": \"%s\", \"mode\": \"%s\", \"threads\": %ld, \"steps\": %ld, "
      "\"least_one_us\": %.1f, \"least_us\": %.1f, \"speedup_median\": %.2f, "
      "\"speedup_quartiles\": [%.2f, %.2f], \"same_bits\": %s}\n",
      scene, batch ? "batch of 8" : "one state", counts[2], steps, 1e6 * least[0], 1e6 * least[1],
      ratio[steps / 2], ratio[steps / 4], ratio[3 * steps / 4],
      same_bits(&sides[0], &sides[1]) ? "true" : "false");
  (void)fflush(stdout);
  destroy(&sides[0]);
  destroy(&sides[1]);
}

int main(int argc, char** argv) {
  const long counts[3] = {argc > 2 ? strtol(argv[2], NULL, 10) : -1,
                          argc > 3 ? strtol(argv[3], NULL, 10) : 0,
                          argc > 4 ? strtol(argv[4], NULL, 10) : 2};
  if (argc < 4 || counts[0] < 0 || counts[1] < 1 || counts[1] > STEPS_MAX || counts[2] < 2) {
    (void)fprintf(stderr, "usage: bench_threads SCENE SKIP STEPS [THREADS]\n");
    return 2;
  }
  sap_error error = {0};
  sap_model* model = NULL;
  sap_scene_options reading = sap_scene_options_default();
  reading.lenient = true;
  if (sap_scene_read(argv[1], &reading, &model, &error) != SAP_STATUS_OK) {
    fail(&error);
  }
  compare(model, argv[1], false, counts);
  compare(model, argv[1], true, counts);
  sap_model_destroy(model);
  return 0;
}
