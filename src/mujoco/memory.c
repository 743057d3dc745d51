// SPDX-License-Identifier: BSD-3-Clause
// The memory from step to step, hashes of the model it belongs to, and the state in mjData.
#include "mujoco/memory.h"

#include <math.h>
#include <string.h>

#include "mujoco/adapter.h"

// Reads or writes the memory, for sap_archive_to_bytes.
static sap_status archive_memory(void* adapter, sap_archive* archive, sap_error* error) {
  sap_mj* a = adapter;
  const size_t velocities = (size_t)a->nv * sizeof(double);
  const size_t mocaps = (size_t)a->model->nmocap * sizeof(double);
  const struct {
    void* value;
    size_t size;
  } values[] = {
      {&a->momentum.has_before, sizeof a->momentum.has_before},
      {a->momentum.v_before, velocities},
      {a->momentum.v_after, velocities},
      {&a->identities.next, sizeof a->identities.next},
      {&a->identities.first, sizeof a->identities.first},
      {&a->blocks.epoch, sizeof a->blocks.epoch},
      {&a->mocap.is_known, sizeof a->mocap.is_known},
      {a->mocap.pos, 3 * mocaps},
      {a->mocap.quat, 4 * mocaps},
      {&a->substep, sizeof a->substep},
  };
  SAP_TRY(SAP_ARCHIVE_ARRAY(archive, &a->identities.now, &a->identities.count,
                            &a->identities.capacity, error));
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    SAP_TRY(sap_archive_value(archive, values[i].value, values[i].size, error));
  }
  return SAP_STATUS_OK;
}

static bool is_flag(const bool* flag) {
  unsigned char byte;
  memcpy(&byte, flag, sizeof byte);
  return byte <= 1;
}

// Adds the bytes of an array to the hash.
#define ADD(array, count) hash = sap_hash(hash, (array), (size_t)(count) * sizeof *(array))

sap_status sap_mj_memory_model_hash(const mjModel* m, uint64_t* out, sap_error* error) {
  const mjOption* o = &m->opt;
  mjModel plain = *m;
  memset(&plain.opt, 0, sizeof plain.opt);
  memset(&plain.vis, 0, sizeof plain.vis);
  memset(&plain.stat, 0, sizeof plain.stat);
  const size_t size = (size_t)mj_sizeModel(&plain);
  unsigned char* bytes = sap_allocate(size, 1);
  SAP_FAIL_IF(bytes == NULL, error, SAP_STATUS_MEMORY, "out of memory: model of %zu bytes", size);
  mj_saveModel(&plain, NULL, bytes, (int)size);
  uint64_t hash = sap_hash(SAP_HASH_START, bytes, size);
  sap_free(bytes);
  ADD(o->gravity, 3);
  ADD(o->wind, 3);
  ADD(&o->density, 1);
  ADD(&o->viscosity, 1);
  ADD(&o->cone, 1);
  ADD(&o->disableflags, 1);
  ADD(&o->enableflags, 1);
  *out = hash;
  return SAP_STATUS_OK;
}

uint64_t sap_mj_memory_material_hash(const sap_mj* a) {
  const mjModel* m = a->model;
  const sap_mj_materials* materials = &a->materials;
  uint64_t hash = SAP_HASH_START;
  ADD(materials->geoms, m->ngeom);
  ADD(materials->pairs, m->npair);
  ADD(materials->joints, m->njnt);
  ADD(materials->tendons, m->ntendon);
  ADD(materials->equality, m->neq);
  return hash;
}

sap_status sap_mj_state_check_numbers(const char* name, const mjtNum* x, int64_t count,
                                      sap_error* error) {
  bool good = true;  // hot path without branches: all numbers of all steps
  for (int64_t i = 0; i < count; ++i) {
    good &= fabs(x[i]) < mjMAXVAL;
  }
  for (int64_t i = 0; !good && i < count; ++i) {
    SAP_FAIL_IF(!(fabs(x[i]) < mjMAXVAL), error, SAP_STATUS_NOT_FINITE,
                "%s[%d] = %g must be finite", name, (int)i, x[i]);
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_state_check(const mjModel* m, const mjData* d, sap_error* error) {
  SAP_FAIL_IF(!(m->opt.timestep > 0.0 && m->opt.timestep < HUGE_VAL), error, SAP_STATUS_ARGUMENT,
              "timestep = %g must be finite and > 0 s", m->opt.timestep);
  SAP_TRY(sap_mj_state_check_numbers("time", &d->time, 1, error));
  SAP_TRY(sap_mj_state_check_numbers("qpos", d->qpos, (int64_t)m->nq, error));
  SAP_TRY(sap_mj_state_check_numbers("qvel", d->qvel, (int64_t)m->nv, error));
  SAP_TRY(sap_mj_state_check_numbers("act", d->act, (int64_t)m->na, error));
  SAP_TRY(sap_mj_state_check_numbers("mocap_pos", d->mocap_pos, 3 * (int64_t)m->nmocap, error));
  return sap_mj_state_check_numbers("mocap_quat", d->mocap_quat, 4 * (int64_t)m->nmocap, error);
}

sap_status sap_mj_state_check_inputs(const mjModel* m, const mjData* d, sap_error* error) {
  SAP_TRY(sap_mj_state_check_numbers("ctrl", d->ctrl, (int64_t)m->nu, error));
  SAP_TRY(sap_mj_state_check_numbers("qfrc_applied", d->qfrc_applied, (int64_t)m->nv, error));
  return sap_mj_state_check_numbers("xfrc_applied", d->xfrc_applied, 6 * (int64_t)m->nbody, error);
}

// An array of mjData that is part of a state.
typedef struct state_part {
  mjtNum* values;
  size_t count;
} state_part;
enum { PARTS_MAX = 11 };

// Copies the parts to `to`, or from `from` where `to` is NULL.
static void copy_parts(const state_part* parts, int32_t count, mjtNum* to, const mjtNum* from) {
  size_t at = 0;
  for (int32_t i = 0; i < count; at += parts[i++].count) {
    if (parts[i].count > 0) {
      memcpy(to != NULL ? to + at : parts[i].values, to != NULL ? parts[i].values : from + at,
             parts[i].count * sizeof(mjtNum));
    }
  }
}

// Lists the arrays that the motion writes; returns how many.
static int32_t list_moved(const mjModel* m, mjData* d, state_part out[PARTS_MAX]) {
  int32_t n = 0;
  out[n++] = (state_part){&d->time, 1};
  out[n++] = (state_part){d->qpos, (size_t)m->nq};
  out[n++] = (state_part){d->qvel, (size_t)m->nv};
  out[n++] = (state_part){d->act, (size_t)m->na};
#if SAP_MJ_SINCE(3, 0, 0)
  out[n++] = (state_part){d->plugin_state, (size_t)m->npluginstate};
#endif
#if SAP_MJ_SINCE(3, 5, 0)
  out[n++] = (state_part){d->history, (size_t)m->nhistory};
#endif
#if SAP_MJ_SINCE(4, 0, 0)
  out[n++] = (state_part){d->plastic, (size_t)m->nplastic};
#endif
  return n;
}

sap_status sap_mj_state_save(sap_mj* a, mjData* d, sap_error* error) {
  state_part parts[PARTS_MAX];
  const int32_t count = list_moved(a->model, d, parts);
  int64_t size = 0;
  for (int32_t i = 0; i < count; ++i) {
    size += (int64_t)parts[i].count;
  }
  SAP_TRY(SAP_ROOM(&a->pool, &a->backup, size, error));
  copy_parts(parts, count, a->backup, NULL);
  return SAP_STATUS_OK;
}

void sap_mj_state_load(const sap_mj* a, mjData* d) {
  state_part parts[PARTS_MAX];
  copy_parts(parts, list_moved(a->model, d, parts), NULL, a->backup);
}

#if SAP_MJ_SINCE(3, 0, 0)
int32_t sap_mj_state_run_size(const mjModel* m) {
  return (int32_t)mj_stateSize(m, mjSTATE_INTEGRATION);
}

static void get_run(const mjModel* m, const mjData* d, mjtNum* state) {
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
}

static void set_run(const mjModel* m, mjData* d, const mjtNum* state) {
  mj_setState(m, d, state, mjSTATE_INTEGRATION);
}
#else
// mjSTATE_INTEGRATION, which MuJoCo 2 does not have.
static int32_t list_run(const mjModel* m, const mjData* d, state_part out[PARTS_MAX]) {
  const size_t nv = (size_t)m->nv, nmocap = (size_t)m->nmocap;
  mjtNum* time = (mjtNum*)(uintptr_t)&d->time;  // written only if the caller's data is not const
  const state_part parts[PARTS_MAX] = {{time, 1},
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
  return PARTS_MAX;
}

int32_t sap_mj_state_run_size(const mjModel* m) {
  return (int32_t)(1 + m->nq + 3 * m->nv + m->na + m->nu + 6 * m->nbody + 7 * m->nmocap +
                   m->nuserdata);
}

static void get_run(const mjModel* m, const mjData* d, mjtNum* state) {
  state_part parts[PARTS_MAX];
  copy_parts(parts, list_run(m, d, parts), state, NULL);
}

static void set_run(const mjModel* m, mjData* d, const mjtNum* state) {
  state_part parts[PARTS_MAX];
  copy_parts(parts, list_run(m, d, parts), NULL, state);
}
#endif

// Writes the memories to `bytes`, which has room for size[]; bytes NULL: sets size[] only.
static sap_status save_memories(sap_mj* a, unsigned char* bytes, uint64_t size[SAP_MJ_MEMORIES],
                                sap_error* error) {
  size_t now[SAP_MJ_MEMORIES] = {0};
  unsigned char* problem = bytes != NULL ? bytes + size[0] : NULL;
  unsigned char* solver = bytes != NULL ? problem + size[1] : NULL;
  SAP_TRY(sap_archive_to_bytes(archive_memory, a, bytes, (size_t)size[0], &now[0], error));
  SAP_TRY(sap_problem_save_memory(a->problem, problem, (size_t)size[1], &now[1], error));
  SAP_TRY(sap_solver_save_memory(a->solver, solver, (size_t)size[2], &now[2], error));
  for (int i = 0; i < SAP_MJ_MEMORIES; ++i) {
    size[i] = now[i];
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_snapshot_reserve(sap_mj* a, sap_mj_snapshot* s, size_t* bytes, sap_error* error) {
  *bytes = (size_t)(s->size[0] + s->size[1] + s->size[2]);
  SAP_TRY(SAP_ROOM(&a->pool, &s->memory, (int64_t)*bytes, error));
  return SAP_ROOM(&a->pool, &s->state, sap_mj_state_run_size(a->model), error);
}

sap_status sap_mj_snapshot_take(sap_mj* a, const mjData* d, sap_mj_snapshot* s, sap_error* error) {
  size_t bytes;
  SAP_TRY(save_memories(a, NULL, s->size, error));
  SAP_TRY(sap_mj_snapshot_reserve(a, s, &bytes, error));
  get_run(a->model, d, s->state);
  return save_memories(a, s->memory, s->size, error);
}

// Loads the solver and the problem first: a lack of memory there leaves them empty.
sap_status sap_mj_snapshot_restore(sap_mj* a, mjData* d, const sap_mj_snapshot* s,
                                   sap_error* error) {
  const unsigned char *problem = s->memory + s->size[0], *solver = problem + s->size[1];
  sap_status status = sap_solver_load_memory(a->solver, solver, (size_t)s->size[2], error);
  SAP_THEN(status, sap_problem_load_memory(a->problem, problem, (size_t)s->size[1], error));
  SAP_THEN(status, sap_archive_from_bytes(archive_memory, a, s->memory, (size_t)s->size[0], error));
  const bool good =
      is_flag(&a->momentum.has_before) && is_flag(&a->mocap.is_known) && a->substep >= 0.0;
  if (status == SAP_STATUS_OK && !good) {  // no step leaves such values
    status = sap_fail(error, SAP_STATUS_SYNTAX, "the adapter's memory is damaged");
  }
  if (status == SAP_STATUS_OK) {
    set_run(a->model, d, s->state);
  } else {
    sap_solver_forget(a->solver);
    sap_mj_forget(a);
  }
  return status;
}
