// SPDX-License-Identifier: BSD-3-Clause
// One problem, all solvers, one judge.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"

#define FIELD(name) offsetof(sap_residual, name)
const compare_residual compare_residuals[COMPARE_RESIDUALS] = {
    {"ccp_map", FIELD(ccp_natural_map_scaled), true},
    {"ncp_map", FIELD(ncp_natural_map_scaled), true},
    {"momentum", FIELD(momentum), true},
    {"set_violation_Ns", FIELD(set_violation), false},
    {"ccp_map_unscaled", FIELD(ccp_natural_map), false},
    {"ncp_map_unscaled", FIELD(ncp_natural_map), false},
    {"ccp_dual_m_s", FIELD(ccp_dual), false},
    {"ccp_complementarity_J", FIELD(ccp_complementarity), false},
    {"ncp_dual_m_s", FIELD(ncp_dual), true},
    {"ncp_complementarity_J", FIELD(ncp_complementarity), true},
    {"ncp_absolute", FIELD(ncp_absolute), true},
    {"signorini_J", FIELD(signorini), true},
};

// Where the impulses are nothing, a map relative to them says nothing: what is exact to round-off
// in absolute terms is solved.
double compare_map(const sap_residual* r, bool nonlinear) {
  static const double ROUNDOFF = 1e-12;  // [m/s], [N s], [J]
  const double dual = nonlinear ? r->ncp_dual : r->ccp_dual;
  const double product = nonlinear ? r->ncp_complementarity : r->ccp_complementarity;
  const double absolute = fmax(r->set_violation, fmax(dual, product));
  const double map = nonlinear ? r->ncp_natural_map_scaled : r->ccp_natural_map_scaled;
  return absolute <= ROUNDOFF ? fmin(map, absolute) : map;
}

double compare_residual_value(const sap_residual* residual, int index) {
  if (index < 2) {
    return compare_map(residual, index == 1);
  }
  double value;
  memcpy(&value, (const char*)residual + compare_residuals[index].offset, sizeof value);
  return value;
}

compare_group* compare_group_of(const compare_job* job, const compare_where* where, int contender) {
  const int at = (where->scene * job->options.value_count + where->value) * COMPARE_CLASSES +
                 (job->options.classes ? (int)where->class : 0);
  return &job->groups[(size_t)at * (size_t)job->count + (size_t)contender];
}

// Relative to that of the first contender, or of the file.
static double difference(const sap_solution* a, const sap_solution* b) {
  double sum = 0.0, norm = 0.0;
  for (int32_t i = 0; i < a->nv; ++i) {
    sum += (a->v[i] - b->v[i]) * (a->v[i] - b->v[i]);
    norm += b->v[i] * b->v[i];
  }
  return sum > 0.0 ? sqrt(sum / norm) : 0.0;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

double compare_median(double* values, int64_t count) {
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (isfinite(values[i])) {
      values[n++] = values[i];
    }
  }
  qsort(values, (size_t)n, sizeof *values, ascending);
  return n > 0 ? 0.5 * (values[n / 2] + values[(n - 1) / 2]) : (double)NAN;
}

double compare_median_time(const compare_group* group) {
  return group->problems > 0 ? compare_median(group->times, group->problems) : (double)NAN;
}

bool compare_count(compare_group* g, const compare_contender* contender, const sap_report* report,
                   const sap_residual* residual) {
  if (g->problems == g->times_capacity) {
    const int64_t capacity = 2 * g->times_capacity + 64;
    double* times = realloc(g->times, (size_t)capacity * sizeof *times);
    if (times == NULL) {
      return false;
    }
    g->times = times;
    g->times_capacity = capacity;
  }
  g->times[g->problems] = report->time;
  const double map = compare_map(residual, contender->nonlinear);
  g->problems += 1;
  g->solved_4 += map <= 1e-4 ? 1 : 0;
  g->solved_8 += map <= 1e-8 ? 1 : 0;
  g->iterations += report->iterations;
  g->iterations_max =
      report->iterations > g->iterations_max ? report->iterations : g->iterations_max;
  g->time_max = fmax(g->time_max, report->time);
  for (int i = 0; i < COMPARE_RESIDUALS; ++i) {
    g->worst[i] = fmax(g->worst[i], compare_residual_value(residual, i));
  }
  return true;
}

static sap_status out_of_memory(sap_error* error) {
  return cli_no_memory(error);
}

// The first contender's velocities are kept, for the others' difference.
static sap_status keep_first(compare_job* job, sap_error* error) {
  const sap_status status =
      sap_solution_resize(&job->first, job->solution.nv, job->solution.nrows, error);
  if (status == SAP_STATUS_OK && job->solution.nv > 0) {
    memcpy(job->first.v, job->solution.v, (size_t)job->solution.nv * sizeof(double));
  }
  return status;
}

sap_status compare_problem(compare_job* job, const sap_problem* problem, const compare_where* where,
                           double dt, sap_error* error) {
  bool have_first = !job->options.scenes && job->options.reference != NULL;  // the file's
  sap_status status = sap_problem_check(problem, error);
  if (status == SAP_STATUS_OK && job->options.profile != NULL &&
      !profile_add_problem(&job->profile, job->count)) {
    status = out_of_memory(error);
  }
  for (int i = 0; status == SAP_STATUS_OK && i < job->count; ++i) {
    compare_contender* c = &job->contenders[i];
    compare_group* group = compare_group_of(job, where, i);
    sap_residual residual;
    if (!c->warm) {
      sap_solver_forget(c->solver);
    }
    status = sap_solver_solve(c->solver, problem, &job->solution, &job->report, error);
    if (status == SAP_STATUS_UNSUPPORTED) {
      group->refused += 1;
      status = SAP_STATUS_OK;
      continue;
    }
    if (status == SAP_STATUS_OK) {
      status = sap_residuals(problem, job->solution.v, job->solution.gamma, &residual, error);
    }
    if (status == SAP_STATUS_OK && !have_first) {
      status = keep_first(job, error);
      have_first = true;
    }
    if (status != SAP_STATUS_OK) {
      char text[SAP_ERROR_MESSAGE_SIZE];
      (void)snprintf(text, sizeof text, "%.32s: %.*s", c->info->name, SAP_ERROR_MESSAGE_SIZE - 48,
                     error->message);
      (void)snprintf(error->message, sizeof error->message, "%s", text);
      break;
    }
    if (!compare_count(group, c, &job->report, &residual)) {
      status = out_of_memory(error);
      break;
    }
    group->penetration = fmax(group->penetration, dt * residual.penetration);
    if (job->options.profile != NULL &&
        compare_map(&residual, c->nonlinear) <= job->options.profile_tolerance) {
      profile_set(&job->profile, i, job->report.time);
    }
    if (job->rows != NULL) {
      compare_rows_add(job, c, where, problem, &residual, difference(&job->solution, &job->first));
    }
  }
  if (status == SAP_STATUS_OK && job->options.convergence != NULL) {
    status = compare_convergence_add(job, problem, error);
  }
  return status;
}
