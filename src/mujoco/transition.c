// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of a step by differences, in the shapes of mjd_transitionFD: matrices of rows,
//   [dq v act]' = A [dq v act] + B ctrl,  sensordata = C [dq v act] + D ctrl
#include <math.h>
#include <string.h>

#include "mujoco/adapter.h"

typedef struct transition {
  sap_mj* a;
  const mjData* start;
  mjData* d;       // a copy, which is stepped
  double* end[2];  // [dq v act sensordata] after the moved steps
  int32_t nv, nx, ns, nu;
} transition;

// Steps with input k, of [dq v act ctrl], moved by h; dq is that from the start.
static sap_status step_moved(const transition* t, int32_t k, double h, double* end,
                             sap_error* error) {
  sap_mj* a = t->a;
  const mjModel* m = a->model;
  mjData* d = t->d;
  double* way = a->difference;
  SAP_TRY(sap_mj_snapshot_restore(a, d, &a->snapshots[0], error));
  if (k < t->nv) {
    memset(way, 0, (size_t)t->nv * sizeof *way);
    way[k] = h;
    mj_integratePos(m, d->qpos, way, 1.0);
  } else if (k < t->nx) {
    double* moved = k < 2 * t->nv ? &d->qvel[k - t->nv] : &d->act[k - 2 * t->nv];
    *moved += h;
  } else {
    d->ctrl[k - t->nx] += h;
  }
  SAP_TRY(sap_mj_step(a, d, NULL, error));
  mj_differentiatePos(m, end, 1.0, t->start->qpos, d->qpos);
  memcpy(end + t->nv, d->qvel, (size_t)t->nv * sizeof *end);
  memcpy(end + 2 * t->nv, d->act, (size_t)(t->nx - 2 * t->nv) * sizeof *end);
  memcpy(end + t->nx, d->sensordata, (size_t)t->ns * sizeof *end);
  return SAP_STATUS_OK;
}

// The widths by which input k moves up and down; controls stay in their ranges.
static void find_widths(const transition* t, int32_t k, double eps, bool centered, double h[2]) {
  const mjModel* m = t->a->model;
  const int32_t i = k - t->nx;
  const bool limited = i >= 0 && m->actuator_ctrllimited[i];
  const bool up = !limited || t->start->ctrl[i] + eps <= m->actuator_ctrlrange[2 * i + 1];
  const bool down = !limited || t->start->ctrl[i] - eps >= m->actuator_ctrlrange[2 * i];
  h[0] = up ? eps : 0.0;
  h[1] = !up || (centered && down) ? eps : 0.0;
}

static sap_status find_columns(const transition* t, const sap_mj_differences* of,
                               sap_error* error) {
  double* const of_state[2] = {of->A, of->C};
  double* const of_control[2] = {of->B, of->D};
  for (int32_t k = 0; k < t->nx + t->nu; ++k) {
    const bool state = k < t->nx;
    double* const* out = state ? of_state : of_control;
    const int32_t width = state ? t->nx : t->nu, column = state ? k : k - t->nx;
    double h[2];
    if (out[0] == NULL && out[1] == NULL) {
      continue;
    }
    find_widths(t, k, of->eps, of->centered, h);
    SAP_TRY(step_moved(t, k, h[0], t->end[0], error));
    SAP_TRY(step_moved(t, k, -h[1], t->end[1], error));
    for (int32_t i = 0; i < t->nx + t->ns; ++i) {
      double* matrix = out[i < t->nx ? 0 : 1];
      if (matrix != NULL) {
        const int32_t row = i < t->nx ? i : i - t->nx;
        matrix[(size_t)width * (size_t)row + (size_t)column] =
            (t->end[0][i] - t->end[1][i]) / (h[0] + h[1]);
      }
    }
  }
  return SAP_STATUS_OK;
}

static void copy_data(void* context) {
  transition* t = context;
  t->d = mj_copyData(NULL, t->a->model, t->start);
}

sap_status sap_mj_transition(sap_mj* a, const mjData* d, const sap_mj_differences* differences,
                             sap_error* error) {
  SAP_NOT_NULL(error, a, d, differences);
  SAP_FAIL_IF(!(differences->eps > 0.0 && isfinite(differences->eps)), error, SAP_STATUS_ARGUMENT,
              "eps = %g must be finite and > 0", differences->eps);
  SAP_TRY(sap_mj_state_check(a->model, d, error));
  const mjModel* m = a->model;
  transition t = {.a = a,
                  .start = d,
                  .nv = a->nv,
                  .nx = 2 * a->nv + (int32_t)m->na,
                  .ns = (int32_t)m->nsensordata,
                  .nu = (int32_t)m->nu};
  SAP_TRY(SAP_ROOM(&a->pool, &a->ends, 2 * ((int64_t)t.nx + t.ns), error));
  t.end[0] = a->ends;
  t.end[1] = a->ends + t.nx + t.ns;
  SAP_TRY(sap_mj_snapshot_take(a, d, &a->snapshots[0], error));
  SAP_TRY(sap_mj_call(copy_data, &t, error));
  const sap_status status = find_columns(&t, differences, error);
  const sap_status restored = sap_mj_snapshot_restore(a, t.d, &a->snapshots[0], NULL);
  mj_deleteData(t.d);
  return status != SAP_STATUS_OK ? status : restored;
}
