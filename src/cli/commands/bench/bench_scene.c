// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <time.h>

#include "cli/commands/bench/bench.h"

// What a scene asks and is not supported: its peers warn of nothing either.
static void be_quiet(void* context, const char* message) {
  (void)context;
  (void)message;
}

sap_status bench_scene_open(bench_scene* s, const cli_scene* from,
                            const sap_stepper_options* wanted, double dt, sap_error* error) {
  sap_status status = cli_scene_read(from, be_quiet, NULL, &s->model, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_stepper_options options = *wanted;
  const sap_model_options* scene = sap_model_get_options(s->model);
  options.dt = dt > 0.0 ? dt : scene->timestep;
  options.regularization = scene->regularization;
  s->dt = options.dt;
  status = sap_multibody_create(s->model, &s->multibody, error);
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(s->multibody), &options, &s->stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(s->model, &s->start, error);
  }
  return status == SAP_STATUS_OK ? sap_model_get_default_state(s->model, &s->state, error) : status;
}

void bench_scene_close(bench_scene* s) {
  sap_stepper_destroy(s->stepper);
  sap_multibody_destroy(s->multibody);
  sap_model_destroy(s->model);
  sap_state_clear(&s->start);
  sap_state_clear(&s->state);
  *s = (bench_scene){0};
}

static double now(bool cpu) {
  struct timespec t;
  (void)clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

sap_status bench_scene_run(bench_scene* s, const bench_request* request, bench_result* out,
                           sap_error* error) {
  sap_status status = sap_state_copy(&s->start, &s->state, error);
  for (int32_t i = 0; status == SAP_STATUS_OK && i < request->skip; ++i) {
    status = sap_stepper_step(s->stepper, &s->state, NULL, error);
  }
  double contacts = 0.0, iterations = 0.0, solver = 0.0, residual = 0.0, whole = 0.0;
  const double begin = now(request->cpu);
  for (int32_t i = 0; status == SAP_STATUS_OK && i < request->steps; ++i) {
    sap_step_report report;
    status = sap_stepper_step(s->stepper, &s->state, &report, error);
    if (status != SAP_STATUS_OK) {
      break;
    }
    solver += report.time_solver;
    whole += report.time_total;
    contacts += sap_multibody_contact_count(s->multibody);
    if (report.solver != NULL) {
      iterations += report.solver->iterations;
      residual = fmax(residual, report.solver->momentum_error);
    }
  }
  if (status == SAP_STATUS_OK) {
    const double n = request->steps, total = now(request->cpu) - begin;
    // The solver's share by the wall clock, of the time by either.
    *out = (bench_result){total / n, total / n * (solver / whole), contacts / n, iterations / n,
                          residual};
  }
  return status;
}
