// SPDX-License-Identifier: BSD-3-Clause
// A run of positions that others are measured from, with a finer step as a rule.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"

bool compare_reference_wanted(const compare_options* o) {
  for (int i = 0; i < o->quantity_count; ++i) {
    if (strcmp(o->quantities[i].name, "deviation") == 0) {
      return true;
    }
  }
  return false;
}

static sap_status follow(const compare_options* o, compare_run* run, compare_reference* r,
                         sap_error* error) {
  const size_t nq = (size_t)run->state.nq;
  r->nq = run->state.nq;
  r->q = malloc(((size_t)run->planned + 1) * (nq + 1) * sizeof *r->q);
  if (r->q == NULL) {
    return cli_no_memory(error);
  }
  memcpy(r->q, run->state.q, nq * sizeof *r->q);
  for (r->count = 1; r->count <= run->planned; ++r->count) {
    sap_step_report report;
    const sap_status status = compare_run_step(o, run, &report, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    memcpy(r->q + nq * (size_t)r->count, run->state.q, nq * sizeof *r->q);
  }
  return SAP_STATUS_OK;
}

// With --vary dt one reference serves all values.
sap_status compare_reference_make(const compare_job* job, const char* scene, int value,
                                  int contender, compare_reference* reference, sap_error* error) {
  const compare_options* o = &job->options;
  const bool own = o->reference != NULL && strcmp(o->reference, "own") == 0;
  const int of = own ? contender : -1;
  const int with =
      o->vary != NULL && strcmp(o->vary, "dt") == 0 && o->reference_dt > 0.0 ? 0 : value;
  if (reference->q != NULL && reference->solver == of && reference->value == with) {
    return SAP_STATUS_OK;
  }
  compare_reference_clear(reference);
  const bool first = !own && o->reference == NULL;
  const compare_contender* c = &job->contenders[own ? contender : 0];
  const compare_stepping stepping = {.solver = own || first ? c->info->name : o->reference,
                                     .solver_options = own || first ? &c->options : NULL,
                                     .value = with,
                                     .dt = o->reference_dt};
  compare_run run;
  sap_status status = compare_run_open(o, scene, &stepping, &run, error);
  if (status == SAP_STATUS_OK) {
    *reference = (compare_reference){.solver = of, .value = with, .dt = run.dt};
    status = follow(o, &run, reference, error);
    compare_run_close(&run);
  }
  if (status != SAP_STATUS_OK) {
    char text[SAP_ERROR_MESSAGE_SIZE];
    (void)snprintf(text, sizeof text, "reference '%.32s': %.*s", stepping.solver,
                   SAP_ERROR_MESSAGE_SIZE - 64, error->message);
    (void)snprintf(error->message, sizeof error->message, "%s", text);
    compare_reference_clear(reference);
  }
  return status;
}

double compare_reference_deviation(const compare_reference* r, const compare_run* run,
                                   int64_t step) {
  static const double SAME_TIME = 1e-6;  // of a step of the reference
  const double at = (double)step * run->dt / r->dt, nearest = round(at);
  if (r->q == NULL || !(fabs(at - nearest) < SAME_TIME) || !(nearest < (double)r->count) ||
      r->nq != run->state.nq) {
    return (double)NAN;
  }
  const sap_system* system = sap_multibody_system(run->multibody);
  const double* q = r->q + (size_t)nearest * (size_t)r->nq;
  double* delta = calloc((size_t)system->nv + 1, sizeof *delta);
  double sum = 0.0;
  if (delta == NULL || system->position_difference(system->context, q, run->state.q, delta) != 0) {
    sum = (double)NAN;
  }
  for (int32_t i = 0; delta != NULL && i < system->nv; ++i) {
    sum += delta[i] * delta[i];
  }
  free(delta);
  return sqrt(sum);
}

void compare_reference_clear(compare_reference* reference) {
  free(reference->q);
  *reference = (compare_reference){0};
}
