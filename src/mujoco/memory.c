// SPDX-License-Identifier: BSD-3-Clause
// What the adapter carries from step to step, and marks of the model that it belongs to.
#include <string.h>

#include "mujoco/adapter.h"

sap_status sap_mj_archive(void* adapter, sap_archive* archive, sap_error* error) {
  sap_mj* a = adapter;
  const size_t velocities = (size_t)a->nv * sizeof(double);
  const size_t mocaps = (size_t)a->model->nmocap * sizeof(double);
  const struct {
    void* value;
    size_t size;
  } values[] = {
      {&a->has_before, sizeof a->has_before},
      {a->v_before, velocities},
      {a->v_after, velocities},
      {&a->identity_next, sizeof a->identity_next},
      {&a->identity_first, sizeof a->identity_first},
      {&a->epoch, sizeof a->epoch},
      {&a->mocap_is_known, sizeof a->mocap_is_known},
      {a->mocap_pos, 3 * mocaps},
      {a->mocap_quat, 4 * mocaps},
      {a->pose_before, 12 * (size_t)a->model->nbody * sizeof(double)},
  };
  SAP_TRY(SAP_ARCHIVE_ARRAY(archive, &a->identities[1], &a->identity_count,
                            &a->identity_capacity[1], error));
  SAP_TRY(SAP_ARCHIVE_ARRAY(archive, &a->glides, &a->glide_count, &a->glide_capacity, error));
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

sap_status sap_mj_check_memory(const sap_mj* a, sap_error* error) {
  const int32_t ngeom = (int32_t)a->model->ngeom;
  bool good = is_flag(&a->has_before) && is_flag(&a->mocap_is_known);
  for (int32_t i = 0; good && i < a->glide_count; ++i) {
    const sap_mj_glide* glide = &a->glides[i];
    good = glide->geom1 >= 0 && glide->geom1 < ngeom && glide->geom2 >= 0 && glide->geom2 < ngeom;
  }
  return good ? SAP_STATUS_OK
              : sap_fail(error, SAP_STATUS_SYNTAX, "the adapter's memory is damaged");
}

// Bytes of an array of the model.
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

uint64_t sap_mj_model_hash(const mjModel* m) {
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

uint64_t sap_mj_material_hash(const sap_mj* a) {
  const mjModel* m = a->model;
  uint64_t hash = SAP_HASH_START;
  ADD(a->geom_stiffness, m->ngeom);
  ADD(a->geom_relaxation_time, m->ngeom);
  ADD(a->flex_stiffness, sap_mj_flex_count(m));
  ADD(a->flex_relaxation_time, sap_mj_flex_count(m));
  ADD(a->pair_stiffness, m->npair);
  ADD(a->pair_relaxation_time, m->npair);
  ADD(a->joint_limit, 2 * m->njnt);
  ADD(a->tendon_limit, 2 * m->ntendon);
  ADD(a->equality_law, 2 * m->neq);
  return hash;
}
