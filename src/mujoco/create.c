// SPDX-License-Identifier: BSD-3-Clause
// The adapter of a model: its trees, its arrays, and the model's options as they are stepped.
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"
#include "mujoco/guard.h"

const char* sap_mj_version(void) {
  return mj_versionString();
}

// An array that a->member points to: nothing is touched that could not be allocated.
typedef struct array {
  void* member;  // address of a pointer
  size_t count, size;
} array;

static sap_status allocate(const array* arrays, size_t count, sap_error* error) {
  for (size_t i = 0; i < count; ++i) {
    void* memory = sap_allocate(arrays[i].count, arrays[i].size);
    if (memory == NULL) {
      return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: MuJoCo adapter");
    }
    memcpy(arrays[i].member, &memory, sizeof memory);
  }
  return SAP_STATUS_OK;
}
#define ARRAY(member, count) \
  { &a->member, (size_t)(count), sizeof *a->member }

// Velocities of a tree follow one another, parents first; the first has no parent.
static sap_status find_trees(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  a->nv = (int32_t)m->nv;
  const array sized_by_velocities[] = {ARRAY(dof_tree, m->nv), ARRAY(tree_size, m->nv),
                                       ARRAY(tree_start, m->nv + 1), ARRAY(A_start, m->nv + 1),
                                       ARRAY(body_tree, m->nbody)};
  SAP_TRY(allocate(sized_by_velocities, 5, error));
  for (int32_t i = 0; i < a->nv; ++i) {
    const int32_t parent = m->dof_parentid[i];
    if (parent < 0) {
      a->tree_start[a->ntrees++] = i;
    } else if (a->dof_tree[parent] != a->ntrees - 1) {
      return sap_fail(error, SAP_STATUS_UNSUPPORTED, "velocity %d: its tree is not contiguous", i);
    }
    a->dof_tree[i] = a->ntrees - 1;
    a->tree_size[a->ntrees - 1] += 1;
  }
  a->tree_start[a->ntrees] = a->nv;
  int64_t squares = 0;
  for (int32_t t = 0; t < a->ntrees; ++t) {
    squares += (int64_t)a->tree_size[t] * a->tree_size[t];
    if (squares > INT32_MAX) {
      return sap_fail(error, SAP_STATUS_MEMORY, "trees of the model are too large");
    }
    a->A_start[t + 1] = (int32_t)squares;
  }
  for (int32_t b = 0; b < m->nbody; ++b) {
    const int32_t parent = m->body_parentid[b];
    a->body_tree[b] = m->body_dofnum[b] > 0 ? a->dof_tree[m->body_dofadr[b]]
                      : b == 0              ? -1
                                            : a->body_tree[parent];
  }
  return SAP_STATUS_OK;
}

// Trees of bounding boxes pay where two bodies have many pairs of geoms to look at.
static bool has_few_geoms(const sap_mj* a) {
  enum { FEW_PAIRS = 8 };  // measured: 5 are faster without, 9 with
  const mjModel* m = a->model;
  int64_t fixed = 0, most = 0, second = 0;  // of static bodies, of moving ones
  for (int32_t b = 0; b < (int32_t)m->nbody; ++b) {
    const int64_t count = m->body_geomnum[b];
    if (a->body_tree[b] < 0) {
      fixed = count > fixed ? count : fixed;
    } else if (count > most) {
      second = most;
      most = count;
    } else if (count > second) {
      second = count;
    }
  }
  return most * (fixed > second ? fixed : second) <= FEW_PAIRS;
}

static sap_status allocate_all(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  const array arrays[] = {
      ARRAY(geom_margin, m->ngeom),
      ARRAY(body_margin, m->nbody),
      ARRAY(pair_margin, m->npair),
      ARRAY(pose_before, 12 * m->nbody),
      ARRAY(body_motion, 2 * m->nbody),
      ARRAY(joint_margin, m->njnt),
      ARRAY(tendon_margin, m->ntendon),
      ARRAY(A, a->A_start[a->ntrees]),
      ARRAY(mass_place, sap_mj_mass_count(m)),
      ARRAY(rhs, m->nv),
      ARRAY(v_star, m->nv),
      ARRAY(v_before, m->nv),
      ARRAY(v_after, m->nv),
      ARRAY(v_guess, m->nv),
      ARRAY(dof_stiffness, m->nv),
      ARRAY(dof_damping, m->nv),
      ARRAY(tendon_stiffness, m->ntendon),
      ARRAY(tendon_damping, m->ntendon),
      ARRAY(unit_columns, m->nv),
      ARRAY(block_trees, a->ntrees),
      ARRAY(block_parts, a->ntrees),
      ARRAY(angular_parts, a->ntrees),
      ARRAY(tree_seen, a->ntrees),
      ARRAY(entry, m->nv),
      ARRAY(place, m->nv),
      ARRAY(mocap_pos, 3 * m->nmocap),
      ARRAY(mocap_quat, 4 * m->nmocap),
      ARRAY(mocap_velocity, 6 * m->nmocap),
      ARRAY(bias_acceleration, m->neq > 0 ? 6 * m->nbody : 0),
      ARRAY(guard, 1),
      ARRAY(no_flexes, sap_mj_flex_count(m)),
  };
  SAP_TRY(allocate(arrays, sizeof arrays / sizeof *arrays, error));
  for (int32_t i = 0; i < a->nv; ++i) {
    a->unit_columns[i] = i;
  }
  for (int32_t t = 0; t < a->ntrees; ++t) {
    a->tree_seen[t] = -1;
  }
  return SAP_STATUS_OK;
}

static sap_status check_model(const mjModel* m, sap_error* error) {
  if (m->nbody < 1 || m->nv > INT32_MAX / 8) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "the model has %lld bodies and %lld velocities",
                    (long long)m->nbody, (long long)m->nv);
  }
  return SAP_STATUS_OK;
}

static sap_status fill(sap_mj* a, sap_error* error) {
  a->shadow = *a->model;
  sap_mj_refresh(a);
  SAP_TRY(find_trees(a, error));
  a->has_few_geoms = has_few_geoms(a);
  a->finds_touch = sap_mj_finds_touch(a->model);
  SAP_TRY(allocate_all(a, error));
  sap_mj_place_mass(a);
  SAP_TRY(sap_mj_find_elastics(a, error));
  *a->guard = (sap_mj_guard_options){a->options.warning, a->options.warning_context};
  sap_mj_choose_contact_law(a);
  SAP_TRY(sap_mj_materials_create(a, error));
  SAP_TRY(sap_problem_create(&a->problem, error));
  SAP_TRY(sap_solver_create(a->options.solver, &a->options.solver_options, &a->solver, error));
  a->options.solver = sap_solver_find(a->options.solver)->name;  // outlives the caller's text
  return SAP_STATUS_OK;
}

sap_status sap_mj_create(const mjModel* model, const sap_mj_options* options, sap_mj** out,
                         sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_mj_create: out is NULL");
  }
  *out = NULL;
  if (model == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_mj_create: model is NULL");
  }
  if (mj_version() != mjVERSION_HEADER) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED, "built for MuJoCo %d, running with %d",
                    mjVERSION_HEADER, mj_version());
  }
  sap_mj_options chosen = options != NULL ? *options : sap_mj_options_default();
  sap_mj_complete_options(model, &chosen);
  SAP_TRY(sap_mj_options_check(&chosen, error));
  SAP_TRY(check_model(model, error));
  sap_mj* a = sap_allocate(1, sizeof *a);
  if (a == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: MuJoCo adapter");
  }
  a->model = model;
  a->options = chosen;
  sap_status status = fill(a, error);
  if (status != SAP_STATUS_OK) {
    sap_mj_destroy(a);
    return status;
  }
  *out = a;
  return SAP_STATUS_OK;
}

void sap_mj_destroy(sap_mj* a) {
  if (a == NULL) {
    return;
  }
  void* const arrays[] = {
      a->dof_tree,
      a->tree_size,
      a->tree_start,
      a->A_start,
      a->body_tree,
      a->geom_margin,
      a->body_margin,
      a->pair_margin,
      a->joint_margin,
      a->tendon_margin,
      a->A,
      a->mass_place,
      a->rhs,
      a->v_star,
      a->v_before,
      a->v_after,
      a->v_guess,
      a->dof_stiffness,
      a->dof_damping,
      a->tendon_stiffness,
      a->tendon_damping,
      a->unit_columns,
      a->block_trees,
      (void*)a->block_parts,
      (void*)a->angular_parts,
      a->tree_seen,
      a->mocap_pos,
      a->mocap_quat,
      a->mocap_velocity,
      a->guard,
      a->geom_stiffness,
      a->geom_relaxation_time,
      a->flex_stiffness,
      a->flex_relaxation_time,
      a->no_flexes,
      a->pair_stiffness,
      a->pair_relaxation_time,
      a->joint_limit,
      a->tendon_limit,
      a->equality_law,
      a->glides,
      a->pose_before,
      a->body_motion,
      a->couplings,
      a->coupling_values,
      a->servos,
      a->elastics,
      a->cell_stiffness,
      a->J,
      a->slots,
      a->far_limits,
      a->identities[0],
      a->identities[1],
      a->entry,
      (void*)a->place,
      a->backup,
      a->bias_acceleration,
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    sap_free(arrays[i]);
  }
  sap_problem_destroy(a->problem);
  sap_solver_destroy(a->solver);
  sap_solution_clear(&a->solution);
  sap_report_clear(&a->report);
  sap_free(a);
}

void sap_mj_clear(sap_mj* a) {
  if (a != NULL) {
    a->epoch += 1;
    a->mocap_is_known = false;
    a->has_before = false;
    a->glides_are_known = false;
    a->identity_count = a->identity_next = 0;
  }
}
