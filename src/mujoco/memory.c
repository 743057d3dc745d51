// SPDX-License-Identifier: BSD-3-Clause
// The memory from step to step, hashes of the model it belongs to, and the state in mjData.
#include "mujoco/memory.h"

#include <math.h>
#include <string.h>

#include "mujoco/adapter.h"

sap_status sap_mj_memory_archive(void* adapter, sap_archive* archive, sap_error* error) {
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

sap_status sap_mj_memory_check(const sap_mj* a, sap_error* error) {
  const bool good = is_flag(&a->momentum.has_before) && is_flag(&a->mocap.is_known);
  return good ? SAP_STATUS_OK
              : sap_fail(error, SAP_STATUS_SYNTAX, "the adapter's memory is damaged");
}

// Adds the bytes of an array to the hash.
#define ADD(array, count) hash = sap_hash(hash, (array), (size_t)(count) * sizeof *(array))

static uint64_t add_bodies(uint64_t hash, const mjModel* m) {
  ADD(m->body_parentid, m->nbody);
  ADD(m->body_mass, m->nbody);
  ADD(m->body_inertia, 3 * m->nbody);
  ADD(m->body_pos, 3 * m->nbody);
  ADD(m->body_quat, 4 * m->nbody);
  ADD(m->body_ipos, 3 * m->nbody);
  ADD(m->body_iquat, 4 * m->nbody);
#if SAP_MJ_SINCE(3, 0, 0)
  ADD(m->body_gravcomp, m->nbody);
#endif
  ADD(m->qpos0, m->nq);
  ADD(m->qpos_spring, m->nq);
  ADD(m->jnt_type, m->njnt);
  ADD(m->jnt_pos, 3 * m->njnt);
  ADD(m->jnt_axis, 3 * m->njnt);
  ADD(m->jnt_range, 2 * m->njnt);
  ADD(m->jnt_stiffness, m->njnt);
  ADD(m->dof_armature, m->nv);
  ADD(m->dof_damping, m->nv);
  ADD(m->dof_frictionloss, m->nv);
  return hash;
}

static uint64_t add_geoms(uint64_t hash, const mjModel* m) {
  ADD(m->geom_type, m->ngeom);
  ADD(m->geom_contype, m->ngeom);
  ADD(m->geom_conaffinity, m->ngeom);
  ADD(m->geom_condim, m->ngeom);
  ADD(m->geom_size, 3 * m->ngeom);
  ADD(m->geom_pos, 3 * m->ngeom);
  ADD(m->geom_quat, 4 * m->ngeom);
  ADD(m->geom_friction, 3 * m->ngeom);
  ADD(m->geom_margin, m->ngeom);
  ADD(m->geom_gap, m->ngeom);
  ADD(m->pair_friction, 5 * m->npair);
  ADD(m->mesh_vert, 3 * m->nmeshvert);
  ADD(m->hfield_data, m->nhfielddata);
  return hash;
}

static uint64_t add_actuators(uint64_t hash, const mjModel* m) {
  const int32_t n = sap_mj_actuator_count(m);
  ADD(m->actuator_gainprm, mjNGAIN * n);
  ADD(m->actuator_biasprm, mjNBIAS * n);
  ADD(m->actuator_dynprm, mjNDYN * n);
  ADD(m->actuator_gear, 6 * n);
  ADD(m->actuator_forcerange, 2 * n);
  ADD(m->tendon_stiffness, m->ntendon);
  ADD(m->tendon_damping, m->ntendon);
  ADD(m->tendon_range, 2 * m->ntendon);
  ADD(m->eq_type, m->neq);
  ADD(m->eq_data, mjNEQDATA * m->neq);
  return hash;
}

static uint64_t add_flexes(uint64_t hash, const mjModel* m) {
#if SAP_MJ_SINCE(3, 0, 0)
  ADD(m->flex_vert, 3 * m->nflexvert);
  ADD(m->flex_elem, m->nflexelemdata);
  ADD(m->flex_radius, m->nflex);
  ADD(m->flex_margin, m->nflex);
  ADD(m->flex_friction, 3 * m->nflex);
  ADD(m->flex_edgestiffness, m->nflex);
  ADD(m->flex_edgedamping, m->nflex);
  ADD(m->flexedge_length0, m->nflexedge);
#endif
#if SAP_MJ_SINCE(3, 3, 0)
  ADD(m->flex_damping, m->nflex);
#endif
#if SAP_MJ_SINCE(4, 0, 0)
  ADD(m->flex_stiffness, m->nflexstiffness);
  ADD(m->flex_bending, m->nflexbending);
#elif SAP_MJ_SINCE(3, 3, 0)
  ADD(m->flex_stiffness, 21 * m->nflexelem);
#endif
  (void)m;
  return hash;
}

uint64_t sap_mj_memory_model_hash(const mjModel* m) {
  const mjOption* o = &m->opt;
  uint64_t hash = add_actuators(add_geoms(add_bodies(SAP_HASH_START, m), m), m);
  hash = add_flexes(hash, m);
  ADD(o->gravity, 3);
  ADD(o->wind, 3);
  ADD(&o->density, 1);
  ADD(&o->viscosity, 1);
  ADD(&o->cone, 1);
  ADD(&o->disableflags, 1);
  ADD(&o->enableflags, 1);
  return hash;
}

uint64_t sap_mj_memory_material_hash(const sap_mj* a) {
  const mjModel* m = a->model;
  const sap_mj_materials* materials = &a->materials;
  uint64_t hash = SAP_HASH_START;
  ADD(materials->geoms, m->ngeom);
  ADD(materials->flexes, sap_mj_flex_count(m));
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

static void copy_out(const state_part* parts, int32_t count, mjtNum* to) {
  for (int32_t i = 0; i < count; to += parts[i].count, ++i) {
    if (parts[i].count > 0) {
      memcpy(to, parts[i].values, parts[i].count * sizeof *to);
    }
  }
}

static void copy_in(const state_part* parts, int32_t count, const mjtNum* from) {
  for (int32_t i = 0; i < count; from += parts[i].count, ++i) {
    if (parts[i].count > 0) {
      memcpy(parts[i].values, from, parts[i].count * sizeof *from);
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
  copy_out(parts, count, a->backup);
  return SAP_STATUS_OK;
}

void sap_mj_state_load(const sap_mj* a, mjData* d) {
  state_part parts[PARTS_MAX];
  copy_in(parts, list_moved(a->model, d, parts), a->backup);
}

#if SAP_MJ_SINCE(3, 0, 0)
int32_t sap_mj_state_run_size(const mjModel* m) {
  return (int32_t)mj_stateSize(m, mjSTATE_INTEGRATION);
}

void sap_mj_state_get_run(const mjModel* m, const mjData* d, mjtNum* state) {
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
}

void sap_mj_state_set_run(const mjModel* m, mjData* d, const mjtNum* state) {
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

void sap_mj_state_get_run(const mjModel* m, const mjData* d, mjtNum* state) {
  state_part parts[PARTS_MAX];
  copy_out(parts, list_run(m, d, parts), state);
}

void sap_mj_state_set_run(const mjModel* m, mjData* d, const mjtNum* state) {
  state_part parts[PARTS_MAX];
  copy_in(parts, list_run(m, d, parts), state);
}
#endif
