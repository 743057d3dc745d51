// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the contact problems of a scene's steps beside the steps:
//   bench_gradient SCENE SKIP STEPS [coulomb | whole | linearize | vjp]
// Prints the medians over STEPS steps after SKIP steps, processor time [us]: the step; the
// factorization of H, a product in reverse by all data and one by v* alone, and a forward one by
// v_hat; with `whole` instead A and B of the whole step, a product in reverse from scratch, and one
// more of the same step. With `linearize` or `vjp` that call alone follows each step, for counts of
// instructions: valgrind --tool=callgrind --toggle-collect=sap_stepper_vjp.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/linearize.h>
#include <sapstep/sapstep.h>

#include "bench_clock.h"
#include "integrators/stepper.h"
#include "scene_run.h"

enum { LINEARIZE = 1, VJP = 2 };  // calls that follow a step; both: `whole`
enum { STEP, FACTOR, REVERSE, REVERSE_V_STAR, FORWARD, KINDS, MOST = 10000 };
static double times[KINDS][MOST];
static const char* const NAMES[2][KINDS] = {
    {"step", "factor", "reverse", "reverse_v_star", "forward"},
    {"step", "linearize", "vjp", "vjp_again", "linearize_again"}};

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double since(double* clock) {
  const double now = bench_seconds(CLOCK_PROCESS_CPUTIME_ID), from = *clock;
  *clock = now;
  return 1e6 * (now - from);
}

static double* reals(int64_t count) {
  return calloc((size_t)count + 1, sizeof(double));
}

// Differentiates |v|^2/2 and the problem's solution by the stabilization velocities.
static sap_status differentiate(sap_gradient* g, const sap_contact_stage* stage, int at,
                                sap_gradient_report* report, sap_error* error) {
  const sap_gradient_counts n = sap_gradient_count(stage->problem);
  const sap_problem_cotangent all = {
#define SAP_X(name, count) .name = reals(n.count),
      SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
  };
  const sap_problem_cotangent by_v_star = {.v_star = all.v_star};
  double* dgamma = reals(n.nrows);
  double clock = 0.0;
  (void)since(&clock);
  sap_status status = sap_gradient_problem(g, stage->problem, &stage->solution, report, error);
  times[FACTOR][at] = since(&clock);
  if (status == SAP_STATUS_OK) {
    status = sap_gradient_vjp(g, stage->solution.v, NULL, &all, error);
    times[REVERSE][at] = since(&clock);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_gradient_vjp(g, stage->solution.v, NULL, &by_v_star, error);
    times[REVERSE_V_STAR][at] = since(&clock);
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_gradient_jvp(g, &(sap_problem_tangent){.v_hat = all.v_hat}, all.v_star, dgamma, error);
    times[FORWARD][at] = since(&clock);
  }
#define SAP_X(name, count) free(all.name);
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
  free(dgamma);
  return status;
}

static sap_status differentiate_step(scene_run* run, int calls, int at,
                                     sap_linearize_report* report, sap_error* error) {
  sap_stepper* stepper = run->stepper;
  const int64_t nv = stepper->system.nv, nu = stepper->system.nu;
  double *A = reals(4 * nv * nv), *B = reals(2 * nv * nu), *back = reals(2 * nv + nu);
  double clock = 0.0;
  (void)since(&clock);
  sap_status status = SAP_STATUS_OK;
  if ((calls & LINEARIZE) != 0) {
    status = sap_stepper_linearize(stepper, A, B, report, error);
    times[FACTOR][at] = since(&clock);
  }
  const int products = calls == LINEARIZE ? 0 : calls == VJP ? 1 : 2;
  for (int again = 0; again < products && status == SAP_STATUS_OK; ++again) {
    if (again == 0) {
      sap_differentiation_forget(stepper);
    }
    (void)since(&clock);
    const sap_step_gradients g = {
        .dq1 = stepper->v, .dv1 = stepper->v, .dq0 = back, .dv0 = back + nv, .du = back + 2 * nv};
    status = sap_stepper_vjp(stepper, &g, report, error);
    times[REVERSE + again][at] = since(&clock);
  }
  if (status == SAP_STATUS_OK && products == 2) {
    status = sap_stepper_linearize(stepper, A, B, report, error);
    times[FORWARD][at] = since(&clock);
  }
  free(A);
  free(B);
  free(back);
  return status;
}

static sap_status measure(scene_run* run, sap_gradient* g, int calls, const int steps[2],
                          sap_error* error) {
  const int skip = steps[0], count = steps[1];
  sap_gradient_report report = {0};
  sap_linearize_report of_step = {0};
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; status == SAP_STATUS_OK && i < skip + count; ++i) {
    double clock = 0.0;
    (void)since(&clock);
    status = sap_stepper_step(run->stepper, &run->state, NULL, error);
    if (i >= skip && status == SAP_STATUS_OK) {
      times[STEP][i - skip] = since(&clock);
      status = g != NULL
                   ? differentiate(g, &run->stepper->solution.contact, i - skip, &report, error)
                   : differentiate_step(run, calls, i - skip, &of_step, error);
    }
  }
  if (status == SAP_STATUS_OK) {
    const sap_problem* problem = run->stepper->solution.contact.problem;
    (void)printf("velocities %d, blocks %d, contacts open %d, sticking %d, sliding %d\n",
                 sap_problem_velocity_count(problem), sap_problem_block_count(problem), report.open,
                 report.sticking, report.sliding);
    if (g == NULL) {
      (void)printf("iterations %d, correction %.2g, notes '%s'\n", of_step.iterations,
                   of_step.correction, of_step.notes);
    }
    for (int k = 0; k < KINDS; ++k) {
      qsort(times[k], (size_t)count, sizeof *times[k], compare);
      (void)printf("%-16s %8.1f us\n", NAMES[g == NULL][k], times[k][count / 2]);
    }
  }
  return status;
}

int main(int argc, char** argv) {
  const int steps[] = {argc > 3 ? atoi(argv[2]) : -1, argc > 3 ? atoi(argv[3]) : 0};
  const char* kind = argc > 4 ? argv[4] : "";
  const int calls = strcmp(kind, "whole") == 0       ? LINEARIZE | VJP
                    : strcmp(kind, "linearize") == 0 ? LINEARIZE
                    : strcmp(kind, "vjp") == 0       ? VJP
                                                     : 0;
  if (steps[0] < 0 || steps[1] < 1 || steps[1] > MOST) {
    (void)fprintf(stderr,
                  "usage: bench_gradient SCENE SKIP STEPS [coulomb | whole | linearize | vjp]\n");
    return 2;
  }
  sap_error error = {0};
  scene_run run;
  sap_gradient* g = NULL;
  sap_gradient_options options = sap_gradient_options_default();
  options.coulomb = strcmp(kind, "coulomb") == 0;
  sap_status status = scene_run_open(argv[1], &run, &error);
  if (status == SAP_STATUS_OK && calls == 0) {
    status = sap_gradient_create(&options, &g, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = measure(&run, g, calls, steps, &error);
  }
  if (status != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
  }
  sap_gradient_destroy(g);
  scene_run_close(&run);
  return status == SAP_STATUS_OK ? 0 : 1;
}
