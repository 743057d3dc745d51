// SPDX-License-Identifier: BSD-3-Clause
// The state in mjData: whether it is finite, a copy to come back to after a step that failed, and
// all that a run goes on from.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

sap_status sap_mj_check_numbers(const char* name, const mjtNum* x, int64_t count,
                                sap_error* error) {
  bool good = true;  // without branches: this is asked of every number of every step
  for (int64_t i = 0; i < count; ++i) {
    good &= fabs(x[i]) < mjMAXVAL;
  }
  for (int64_t i = 0; !good && i < count; ++i) {
    if (!(fabs(x[i]) < mjMAXVAL)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "%s[%d] = %g must be finite", name, (int)i,
                      x[i]);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_check_state(const mjModel* m, const mjData* d, sap_error* error) {
  const struct {
    const char* name;
    const mjtNum* values;
    int64_t count;
  } arrays[] = {
      {"time", &d->time, 1},
      {"qpos", d->qpos, (int64_t)m->nq},
      {"qvel", d->qvel, (int64_t)m->nv},
      {"act", d->act, (int64_t)m->na},
      {"mocap_pos", d->mocap_pos, 3 * (int64_t)m->nmocap},
      {"mocap_quat", d->mocap_quat, 4 * (int64_t)m->nmocap},
  };
  if (!(m->opt.timestep > 0.0 && m->opt.timestep < HUGE_VAL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "timestep = %g must be finite and > 0 s",
                    m->opt.timestep);
  }
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    SAP_TRY(sap_mj_check_numbers(arrays[i].name, arrays[i].values, arrays[i].count, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_check_inputs(const mjModel* m, const mjData* d, sap_error* error) {
  SAP_TRY(sap_mj_check_numbers("ctrl", d->ctrl, (int64_t)m->nu, error));
  SAP_TRY(sap_mj_check_numbers("qfrc_applied", d->qfrc_applied, (int64_t)m->nv, error));
  return sap_mj_check_numbers("xfrc_applied", d->xfrc_applied, 6 * (int64_t)m->nbody, error);
}

// Arrays that the motion writes.
enum { STATE_ARRAYS = 7 };
typedef struct state_array {
  mjtNum* values;
  size_t count;
} state_array;

static int32_t state_arrays(const mjModel* m, mjData* d, state_array out[STATE_ARRAYS]) {
  int32_t n = 0;
  out[n++] = (state_array){&d->time, 1};
  out[n++] = (state_array){d->qpos, (size_t)m->nq};
  out[n++] = (state_array){d->qvel, (size_t)m->nv};
  out[n++] = (state_array){d->act, (size_t)m->na};
#if SAP_MJ_SINCE(3, 0, 0)
  out[n++] = (state_array){d->plugin_state, (size_t)m->npluginstate};
#endif
#if SAP_MJ_SINCE(3, 5, 0)
  out[n++] = (state_array){d->history, (size_t)m->nhistory};
#endif
#if SAP_MJ_SINCE(4, 0, 0)
  out[n++] = (state_array){d->plastic, (size_t)m->nplastic};
#endif
  return n;
}

sap_status sap_mj_keep_state(sap_mj* a, mjData* d, sap_error* error) {
  state_array arrays[STATE_ARRAYS];
  const int32_t n = state_arrays(a->model, d, arrays);
  size_t count = 0;
  for (int32_t i = 0; i < n; ++i) {
    count += arrays[i].count;
  }
  const sap_status status = count <= INT32_MAX
                                ? SAP_GROW(&a->backup, &a->backup_capacity, (int32_t)count, error)
                                : SAP_STATUS_MEMORY;
  double* to = a->backup;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < n; ++i) {
    if (arrays[i].count > 0) {
      memcpy(to, arrays[i].values, arrays[i].count * sizeof(mjtNum));
      to += arrays[i].count;
    }
  }
  return status;
}

void sap_mj_restore_state(const sap_mj* a, mjData* d) {
  state_array arrays[STATE_ARRAYS];
  const int32_t n = state_arrays(a->model, d, arrays);
  const double* from = a->backup;
  for (int32_t i = 0; i < n; ++i) {
    if (arrays[i].count > 0) {
      memcpy(arrays[i].values, from, arrays[i].count * sizeof(mjtNum));
      from += arrays[i].count;
    }
  }
}

#if SAP_MJ_SINCE(3, 0, 0)
int32_t sap_mj_run_state_size(const mjModel* m) {
  return (int32_t)mj_stateSize(m, mjSTATE_INTEGRATION);
}

void sap_mj_get_run_state(const mjModel* m, const mjData* d, mjtNum* state) {
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
}

void sap_mj_set_run_state(const mjModel* m, mjData* d, const mjtNum* state) {
  mj_setState(m, d, state, mjSTATE_INTEGRATION);
}
#else
enum { STATE_PARTS = 11 };
typedef struct state_part {
  mjtNum* values;
  size_t count;
} state_part;

static void list_state(const mjModel* m, const mjData* d, state_part out[STATE_PARTS]) {
  const size_t nv = (size_t)m->nv, nmocap = (size_t)m->nmocap;
  mjtNum* time = (mjtNum*)(uintptr_t)&d->time;  // read, or of data that are not const
  const state_part parts[STATE_PARTS] = {{time, 1},
                                         {d->qpos, (size_t)m->nq},
                                         {d->qvel, nv},
                                         {d->act, (size_t)m->na},
                                         {d->qacc_warmstart, nv},
                                         {d->ctrl, (size_t)m->nu},
                                         {d->qfrc_applied, nv},
                                         {d->xfrc_applied, 6 * (size_t)m->nbody},
                                         {d->mocap_pos, 3 * nmocap},
                                         {d->mocap_quat, 4 * nmocap},
                                         {d->userdata, (size_t)m->nuserdata}};
  memcpy(out, parts, sizeof parts);
}

int32_t sap_mj_run_state_size(const mjModel* m) {
  return (int32_t)(1 + m->nq + 3 * m->nv + m->na + m->nu + 6 * m->nbody + 7 * m->nmocap +
                   m->nuserdata);
}

void sap_mj_get_run_state(const mjModel* m, const mjData* d, mjtNum* state) {
  state_part parts[STATE_PARTS];
  list_state(m, d, parts);
  for (int i = 0; i < STATE_PARTS; state += parts[i].count, ++i) {
    if (parts[i].count > 0) {
      memcpy(state, parts[i].values, parts[i].count * sizeof *state);
    }
  }
}

void sap_mj_set_run_state(const mjModel* m, mjData* d, const mjtNum* state) {
  state_part parts[STATE_PARTS];
  list_state(m, d, parts);
  for (int i = 0; i < STATE_PARTS; state += parts[i].count, ++i) {
    if (parts[i].count > 0) {
      memcpy(parts[i].values, state, parts[i].count * sizeof *state);
    }
  }
}
#endif
