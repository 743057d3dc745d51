// SPDX-License-Identifier: BSD-3-Clause
// One timestep in steps whose lengths h follow from their error. The step is of first order: with
// the end x1 of one step of h and the end x2 of two halves, the error of x2 is |x2 - x1|, and falls
// as h^2. The halves are taken.
#include <math.h>
#include <string.h>

#include <sapstep/adaptive.h>

#include "mujoco/adapter.h"

static const double SAFETY = 0.9, LEAST_FACTOR = 0.1, LARGEST_FACTOR = 5.0, STRETCH = 1.01;
enum { MOST_PARTS = 4096 };  // of a timestep

typedef struct advance {
  sap_mj* a;
  mjData* d;
  double accuracy, least;  // [m], [s]
  double velocity_time;    // an error dv of v counts as dv times it [s]
  sap_mj_advance_report* report;
} advance;

static sap_status step_by(const advance* c, double h, sap_error* error) {
  c->a->timed.opt.timestep = h;
  c->report->solves += 1;
  return sap_mj_step(c->a, c->d, &c->report->step, error);
}

// Returns the largest of L_i max(|dq_i|, velocity_time |dv_i|), L_i = sqrt(M_ii/m_i), between x1
// and the data. m_i: mass that i moves.
static double measure(const advance* c, int32_t* velocity) {
  const sap_mj* a = c->a;
  const mjData* d = c->d;
  const mjModel* m = a->model;
  double worst = 0.0, *way = a->difference;
  mj_differentiatePos(m, way, 1.0, a->whole_q, d->qpos);
  for (int32_t i = 0; i < a->nv; ++i) {
    const double square = m->dof_M0[i] / m->body_subtreemass[m->dof_bodyid[i]];
    const double length = square > 0.0 && isfinite(square) ? sqrt(square) : 1.0;
    const double error =
        length * fmax(fabs(way[i]), c->velocity_time * fabs(d->qvel[i] - a->whole_v[i]));
    if (!(error <= worst)) {
      worst = error;
      *velocity = i;
    }
  }
  return worst;
}

// Steps by h, and again in two halves from the same state, where the data then is. The snapshot is
// taken for each attempt, as it has the length that the one before left.
static sap_status attempt(const advance* c, double h, double* found, int32_t* velocity,
                          sap_error* error) {
  sap_mj* a = c->a;
  mjData* d = c->d;
  SAP_TRY(sap_mj_snapshot_take(a, d, &a->snapshots[1], error));
  SAP_TRY(step_by(c, h, error));
  memcpy(a->whole_q, d->qpos, (size_t)a->model->nq * sizeof(double));
  memcpy(a->whole_v, d->qvel, (size_t)a->nv * sizeof(double));
  SAP_TRY(sap_mj_snapshot_restore(a, d, &a->snapshots[1], error));
  SAP_TRY(step_by(c, 0.5 * h, error));
  SAP_TRY(step_by(c, 0.5 * h, error));
  *found = measure(c, velocity);
  return SAP_STATUS_OK;
}

static void take(const advance* c, double h, double found, int32_t velocity) {
  sap_mj_advance_report* report = c->report;
  report->steps += 1;
  report->least_dt = report->steps == 1 ? h : fmin(report->least_dt, h);
  report->largest_dt = fmax(report->largest_dt, h);
  if (!(found <= report->error)) {
    report->error = found;
    report->velocity = velocity;
  }
}

static sap_status make_parts(const advance* c, double timestep, sap_error* error) {
  sap_mj* a = c->a;
  const double t0 = c->d->time;
  double done = 0.0, *wanted = &a->substep;
  *wanted = *wanted > 0.0 ? *wanted : timestep;
  for (bool again = false; done < timestep;) {
    const double left = timestep - done;
    const double h = left <= STRETCH * *wanted ? left : fmin(*wanted, 0.5 * left);
    double found = 0.0;
    int32_t velocity = 0;
    sap_error failure = {0};
    const sap_status status = attempt(c, h, &found, &velocity, &failure);
    const double factor =
        fmin(fmax(SAFETY * sqrt(c->accuracy / found), LEAST_FACTOR), again ? 1.0 : LARGEST_FACTOR);
    if (status == SAP_STATUS_OK && (found <= c->accuracy || h <= c->least)) {
      take(c, h, found, velocity);
      done = h == left ? timestep : done + h;
      c->d->time = t0 + done;
      *wanted = h < *wanted ? fmax(*wanted, factor * h) : factor * h;
      again = false;
    } else if (status == SAP_STATUS_OK || (status == SAP_STATUS_STEP_FAILED && h > c->least)) {
      SAP_TRY(sap_mj_snapshot_restore(a, c->d, &a->snapshots[1], error));
      *wanted = h * (status == SAP_STATUS_OK ? fmin(factor, SAFETY) : 0.25);
      c->report->rejected += 1;
      again = true;
    } else {
      if (error != NULL) {
        *error = failure;
      }
      return status;
    }
    *wanted = fmin(fmax(*wanted, c->least), timestep);
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_advance(sap_mj* a, mjData* d, double accuracy, sap_mj_advance_report* report,
                          sap_error* error) {
  SAP_NOT_NULL(error, a, d);
  SAP_FAIL_IF(!(accuracy > 0.0 && isfinite(accuracy)), error, SAP_STATUS_ARGUMENT,
              "accuracy = %g must be finite and > 0 m", accuracy);
  SAP_TRY(sap_mj_state_check(a->model, d, error));
  sap_mj_advance_report unused;
  report = report != NULL ? report : &unused;
  *report = (sap_mj_advance_report){0};
  SAP_TRY(sap_mj_snapshot_take(a, d, &a->snapshots[0], error));
  const mjModel* model = a->model;
  const double timestep = model->opt.timestep;
  const advance c = {
      a, d, accuracy, timestep / MOST_PARTS, sap_adaptive_options_default().velocity_time, report};
  a->timed = *model;
  a->model = &a->timed;
  a->mocap.interval = timestep;
  const sap_status status = make_parts(&c, timestep, error);
  a->model = model;
  a->mocap.interval = 0.0;
  if (status != SAP_STATUS_OK) {
    (void)sap_mj_snapshot_restore(a, d, &a->snapshots[0], NULL);
    return status;
  }
  sap_mj_mocap_save(a, d);
  return SAP_STATUS_OK;
}
