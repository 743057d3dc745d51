// SPDX-License-Identifier: BSD-3-Clause
// The adapter of a model: options, kinematic trees, arrays.
#include "mujoco/adapter.h"

#include <math.h>

#include "mujoco/mujoco_options.h"
#include "multibody/geometry/collision.h"

sap_mj_options sap_mj_options_default(void) {
  sap_mj_options options = {
      .cookie = SAP_COOKIE, .solver = "sap", .solver_options = sap_solver_options_default()};
  sap_options_reset(sap_mj_option_table(), &options);
  options.regularization.beta = options.regularization.sigma = (double)NAN;
  options.solver_options.check_input = false;
  return options;
}

double sap_mj_numeric(const mjModel* m, const char* name, double otherwise) {
  const int id = mj_name2id(m, mjOBJ_NUMERIC, name);
  return id >= 0 && m->numeric_size[id] > 0 ? m->numeric_data[m->numeric_adr[id]] : otherwise;
}

void sap_mj_refresh(sap_mj* a) {
  mjOption* opt = &a->shadow.opt;
  *opt = a->model->opt;
  opt->integrator = mjINT_EULER;
  opt->solver = mjSOL_NEWTON;
  opt->noslip_iterations = 0;
  opt->enableflags &= ~mjENBL_FWDINV;
#if SAP_MJ_SINCE(3, 0, 0)
  opt->disableflags |= mjDSBL_EULERDAMP;  // dampers are in A already
  if (a->has_few_geoms) {                 // gives the same contacts in less time
    opt->disableflags |= mjDSBL_MIDPHASE;
  }
#endif
#if SAP_MJ_SINCE(3, 3, 6)
  opt->disableflags |= mjDSBL_ISLAND;
#elif SAP_MJ_SINCE(3, 0, 0)
  opt->enableflags &= ~mjENBL_ISLAND;
#endif
#if SAP_MJ_SINCE(3, 4, 0)
  opt->enableflags &= ~mjENBL_SLEEP;
#endif
#if SAP_MJ_SINCE(3, 14, 0)
  opt->enableflags &= ~mjENBL_IPC;
#endif
}

#define ARRAY(member, count) SAP_ARRAY(&a->member, count)

// Finds the trees. Velocities of a tree are consecutive, parents first; the first has no parent.
static sap_status create_trees(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  sap_mj_trees* t = &a->trees;
  SAP_TRY(SAP_POOL_ADD_ALL(&a->pool, error, ARRAY(trees.of_dof, m->nv), ARRAY(trees.size, m->nv),
                           ARRAY(trees.start, m->nv + 1), ARRAY(trees.A_start, m->nv + 1),
                           ARRAY(trees.of_body, m->nbody), ARRAY(loads.own, m->nv),
                           ARRAY(loads.mass, m->nv)));
  for (int32_t i = 0; i < a->nv; ++i) {
    const int32_t parent = m->dof_parentid[i];
    if (parent < 0) {
      t->start[t->count++] = i;
    } else if (t->of_dof[parent] != t->count - 1) {
      return sap_fail(error, SAP_STATUS_UNSUPPORTED, "velocity %d: its tree is not contiguous", i);
    }
    t->of_dof[i] = t->count - 1;
    t->size[t->count - 1] += 1;
  }
  t->start[t->count] = a->nv;
  int64_t squares = 0;
  for (int32_t i = 0; i < t->count; ++i) {
    squares += (int64_t)t->size[i] * t->size[i];
    SAP_FAIL_IF(squares > INT32_MAX, error, SAP_STATUS_MEMORY, "trees of the model are too large");
    t->A_start[i + 1] = (int32_t)squares;
  }
  a->loads.ntrees = t->count;
  for (int32_t b = 0; b < m->nbody; ++b) {
    const int32_t parent = m->body_parentid[b];
    t->of_body[b] = m->body_dofnum[b] > 0 ? t->of_dof[m->body_dofadr[b]]
                    : b == 0              ? -1
                                          : t->of_body[parent];
    if (t->of_body[b] >= 0) {
      a->loads.own[t->of_body[b]] += m->body_mass[b];
    }
  }
  return SAP_STATUS_OK;
}

// Returns true if bounding box trees cost more than they save: no two bodies have many geom pairs.
static bool has_few_geoms(const sap_mj* a) {
  enum { FEW_PAIRS = 8 };  // measured: 5 are faster without, 9 with
  const mjModel* m = a->model;
  int64_t fixed = 0, most = 0, second = 0;  // geoms of static bodies, of moving bodies
  for (int32_t b = 0; b < (int32_t)m->nbody; ++b) {
    const int64_t count = m->body_geomnum[b];
    if (a->trees.of_body[b] < 0) {
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

static sap_status create_arrays(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  const int32_t ntrees = a->trees.count;
  SAP_TRY(SAP_POOL_ADD_ALL(
      &a->pool, error, ARRAY(materials.geoms, m->ngeom), ARRAY(materials.pairs, m->npair),
      ARRAY(materials.joints, m->njnt), ARRAY(materials.tendons, m->ntendon),
      ARRAY(materials.equality, m->neq), ARRAY(whole_q, m->nq), ARRAY(whole_v, m->nv),
      ARRAY(difference, m->nv), ARRAY(margins.geom, m->ngeom), ARRAY(margins.body, m->nbody),
      ARRAY(margins.pair, m->npair), ARRAY(margins.joint, m->njnt),
      ARRAY(margins.tendon, m->ntendon), ARRAY(ahead.motion, 6 * m->nbody),
      ARRAY(ahead.arm, m->nbody), ARRAY(ahead.reach, m->nbody),
      ARRAY(ahead.found, mjMAXCONPAIR + SAP_MJ_PATCH_POINTS), ARRAY(ahead.turn, 6 * m->nv),
      ARRAY(mocap.pos, 3 * m->nmocap), ARRAY(mocap.quat, 4 * m->nmocap),
      ARRAY(mocap.velocity, 6 * m->nmocap), ARRAY(momentum.A, a->trees.A_start[ntrees]),
      ARRAY(momentum.mass_place, SAP_MJ_MASS_COUNT(m)), ARRAY(momentum.rhs, m->nv),
      ARRAY(momentum.v_star, m->nv), ARRAY(momentum.v_before, m->nv),
      ARRAY(momentum.v_after, m->nv), ARRAY(momentum.v_guess, m->nv),
      ARRAY(elements.dof_stiffness, m->nv), ARRAY(elements.dof_damping, m->nv),
      ARRAY(elements.tendon_stiffness, m->ntendon), ARRAY(elements.tendon_damping, m->ntendon),
      ARRAY(rows.trees, ntrees), ARRAY(rows.parts, ntrees), ARRAY(rows.angular_parts, ntrees),
      ARRAY(rows.entry, m->nv), ARRAY(rows.place, m->nv), ARRAY(rows.seen, ntrees),
      ARRAY(rows.unit_columns, m->nv),
      ARRAY(blocks.bias_acceleration, m->neq > 0 ? 6 * m->nbody : 0)));
  for (int32_t i = 0; i < a->nv; ++i) {
    a->rows.unit_columns[i] = i;
  }
  for (int32_t t = 0; t < ntrees; ++t) {
    a->rows.seen[t] = -1;
  }
  return SAP_STATUS_OK;
}

static sap_status create_parts(sap_mj* a, sap_error* error) {
  a->nv = (int32_t)a->model->nv;
  a->pool.owner = "MuJoCo adapter";
  a->shadow = *a->model;
  a->guard = (sap_mj_guard_options){a->options.warning, a->options.warning_context};
  a->materials.common = sap_material_default();
  a->materials.common.model = a->options.contact_model;
  a->materials.common.dissipation = a->options.dissipation;
  a->materials.common.stiction_tolerance = a->options.stiction_tolerance;
  SAP_TRY(create_trees(a, error));
  a->has_few_geoms = has_few_geoms(a);
  SAP_TRY(create_arrays(a, error));
  sap_mj_momentum_place_mass(a);
  SAP_TRY(sap_mj_materials_create(a, error));
  SAP_TRY(sap_mj_patches_create(a, error));
  SAP_TRY(sap_problem_create(&a->problem, error));
  SAP_TRY(sap_solver_create(a->options.solver, &a->options.solver_options, &a->solver, error));
  a->solver_info = sap_solver_find(a->options.solver);
  a->options.solver = a->solver_info->name;  // outlives the caller's text
  return SAP_STATUS_OK;
}

static sap_status check_model(const mjModel* m, sap_error* error) {
  SAP_FAIL_IF(mj_version() != mjVERSION_HEADER, error, SAP_STATUS_UNSUPPORTED,
              "built for MuJoCo %d, running with %d", mjVERSION_HEADER, mj_version());
  SAP_FAIL_IF(m->nbody < 1 || m->nv > INT32_MAX / 8, error, SAP_STATUS_ARGUMENT,
              "the model has %lld bodies and %lld velocities", (long long)m->nbody,
              (long long)m->nv);
#if SAP_MJ_SINCE(3, 0, 0)
  SAP_FAIL_IF(m->nflex > 0, error, SAP_STATUS_UNSUPPORTED,
              "flex '%.60s': models with flexes are not supported; mj_step steps them",
              sap_mj_blocks_name(m, mjOBJ_FLEX, 0));
#endif
  return SAP_STATUS_OK;
}

sap_status sap_mj_create(const mjModel* model, const sap_mj_options* options, sap_mj** out,
                         sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, model);
  SAP_TRY(check_model(model, error));
  sap_mj_options chosen = options != NULL ? *options : sap_mj_options_default();
  const sap_regularization standard = sap_regularization_default();
  sap_regularization* r = &chosen.regularization;
  r->beta = isnan(r->beta) ? sap_mj_numeric(model, "sapstep:beta", standard.beta) : r->beta;
  r->sigma = isnan(r->sigma) ? sap_mj_numeric(model, "sapstep:sigma", standard.sigma) : r->sigma;
  SAP_TRY(sap_check_cookie("sap_mj_options", &chosen.cookie, error));
  SAP_TRY(sap_check_cookie("sap_solver_options", &chosen.solver_options.cookie, error));
  SAP_TRY(sap_options_check(sap_mj_option_table(), &chosen, error));
  sap_mj* a;
  SAP_TRY(SAP_NEW(&a, 1, "MuJoCo adapter", error));
  a->model = model;
  a->options = chosen;
  if (chosen.contact_model == SAP_CONTACT_BY_MATERIAL) {
    a->options.contact_model = chosen.patches > 0.0 ? SAP_CONTACT_LAGGED : SAP_CONTACT_SAP;
  }
  SAP_TRY_OR(create_parts(a, error), sap_mj_destroy(a));
  *out = a;
  return SAP_STATUS_OK;
}

void sap_mj_destroy(sap_mj* a) {
  if (a == NULL) {
    return;
  }
  sap_collision_destroy(a->patches.collision);
  sap_model_destroy(a->patches.model);
  sap_pool_free(&a->pool);
  sap_free(a->identities.before);
  sap_free(a->identities.now);
  sap_problem_destroy(a->problem);
  sap_solver_destroy(a->solver);
  sap_solution_clear(&a->solution);
  sap_report_clear(&a->report);
  sap_free(a);
}

void sap_mj_forget(sap_mj* a) {
  if (a != NULL) {
    a->blocks.epoch += 1;
    a->mocap.is_known = false;
    a->momentum.has_before = false;
    a->identities.count = a->identities.next = 0;
    a->substep = 0.0;
  }
}

const char* sap_mj_version(void) {
  return mj_versionString();
}
