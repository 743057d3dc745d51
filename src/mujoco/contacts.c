// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's contacts as blocks of the problem.
//
// A contact keeps its id from step to step, so that the solver starts from its impulse; MuJoCo
// lists the contacts of a pair in an order that may change. A contact takes the id of the nearest
// one of the same pair in the step before, in the frame of body 1, unless that is further than half
// the smaller geom. The points of boxes move far as faces turn, and any impulse of the pair is a
// better start than none: 3.5 Newton iterations on falling clutter, 3.7 with a tenth instead of a
// half.
#include <math.h>

#include "core/memory.h"
#include "math/scalar.h"
#include "math/vector3.h"
#include "mujoco/adapter.h"
#include "multibody/geometry/shape.h"
#include "problem/law.h"

static const double NEAR = 0.5;  // of the smaller geom's size

// Clears the contacts of this step, for another assembly of the same step.
static void restart_identities(sap_mj_identities* p) {
  p->count = 0;
  p->cursor = 0;
  p->next = p->first;
  for (int32_t i = 0; i < p->before_count; ++i) {
    p->before[i].is_taken = false;
  }
}

void sap_mj_contacts_begin(sap_mj* a) {
  sap_mj_identities* p = &a->identities;
  sap_mj_identity* list = p->before;
  const int32_t capacity = p->before_capacity;
  p->before = p->now;
  p->before_capacity = p->capacity;
  p->now = list;
  p->capacity = capacity;
  p->before_count = p->count;
  p->first = p->next;
  restart_identities(p);
}

static inline bool is_of_pair(const sap_mj_identity* old, const mjContact* c) {
  return old->geom1 == c->geom1 && old->geom2 == c->geom2;
}

// Returns the first contact of the pair in the step before, -1: none. Contacts of a pair are
// consecutive and most often where the last pair was found: searches once around from there.
static int32_t find_pair(const sap_mj_identities* p, const mjContact* c) {
  const sap_mj_identity* before = p->before;
  int32_t at = p->cursor;
  for (int32_t tried = 0; tried < p->before_count; ++tried) {
    if (is_of_pair(&before[at], c)) {
      while (at > 0 && is_of_pair(&before[at - 1], c)) {
        --at;
      }
      return at;
    }
    at = at + 1 < p->before_count ? at + 1 : 0;
  }
  return -1;
}

static sap_status identify(sap_mj* a, const mjData* d, const mjContact* c, int32_t* id,
                           sap_error* error) {
  const mjModel* m = a->model;
  sap_mj_identities* p = &a->identities;
  SAP_TRY(SAP_GROW(&p->now, &p->capacity, p->count + 1, error));
  sap_mj_identity* now = &p->now[p->count];
  *now = (sap_mj_identity){.geom1 = c->geom1, .geom2 = c->geom2};
  const int32_t body = m->geom_bodyid[c->geom1];
  const mjtNum *R = d->xmat + 9 * body, *x = d->xpos + 3 * body;
  double r[3];
  sap_v3_sub(r, c->pos, x);
  sap_m3_mul_v3(now->p, R, r);  // R is row-major: this is R' r
  const double size = sap_mj_pair_size(m, c);
  double nearest = NEAR * NEAR * size * size;
  sap_mj_identity* found = NULL;
  const int32_t first = find_pair(p, c);
  for (int32_t i = first; i >= 0 && i < p->before_count && is_of_pair(&p->before[i], c); ++i) {
    double apart[3];
    sap_v3_sub(apart, now->p, p->before[i].p);
    const double distance = sap_v3_dot(apart, apart);
    if (!p->before[i].is_taken && distance < nearest) {
      nearest = distance;
      found = &p->before[i];
    }
  }
  p->cursor = first >= 0 ? first : p->cursor;
  if (found != NULL) {
    found->is_taken = true;
    now->id = found->id;
  } else {
    now->id = p->next;
    p->next = p->next < INT32_MAX ? p->next + 1 : 0;
  }
  *id = now->id;
  ++p->count;
  return SAP_STATUS_OK;
}

// Returns the gap at which the law's v_hat_n is that of `phi` plus `change`: -phi/(h + tau_d) where
// phi <= 0, -phi/h where phi > 0.
static double shift_gap(const sap_mj* a, const sap_material* material, double phi, double change) {
  const double h = a->model->opt.timestep, long_time = h + material->relaxation_time;
  const double v_hat = -phi / (phi > 0.0 ? h : long_time) + change;
  return -v_hat * (v_hat < 0.0 ? h : long_time);
}

#if SAP_MJ_SINCE(3, 11, 0)
// Adds the velocity of belts, which MuJoCo adds to that of the bodies in efc_vel.
static void add_surface_velocity(const sap_mj* a, const mjData* d, const mjContact* c,
                                 double velocity[3]) {
  static const int32_t rows[3] = {0, 1, 3};
  for (int32_t k = 0; k < (c->dim > 3 ? 3 : 2); ++k) {
    velocity[k] += sap_mj_rows_contact_excess(a, d, c, rows[k], d->efc_vel, d->qvel);
  }
}
#endif

// Adds the velocity of mocap bodies at the contact, of geom 2 relative to geom 1. Returns its
// normal component.
static double add_mocap_velocity(const sap_mj* a, const mjData* d, const mjContact* c,
                                 double velocity[3]) {
  double normal = 0.0;
  for (int32_t side = 0; side < 2; ++side) {
    const double sign = side == 0 ? -1.0 : 1.0;
    const int32_t geom = sap_mj_contact_geom(c, side);
    double v[3], omega[3];
    if (!sap_mj_mocap_point(a, d, a->model->geom_bodyid[geom], c->pos, v, omega)) {
      continue;
    }
    for (int32_t k = 0; k < 3; ++k) {  // rows of the frame: n, t1, t2
      normal += sign * c->frame[k] * v[k];
      velocity[0] += sign * c->frame[3 + k] * v[k];
      velocity[1] += sign * c->frame[6 + k] * v[k];
      velocity[2] += sign * c->frame[k] * omega[k];
    }
  }
  return normal;
}

// Returns sap_shape_thickness of a geom, of a mesh that of its box.
static double thickness_of(const mjModel* m, const mjData* d, int32_t geom, const mjtNum n[3]) {
  const int type = m->geom_type[geom];
  sap_placed_shape shape = {.type = sap_mj_shape_type(type), .radius = m->geom_size[3 * geom]};
  shape.type = type == mjGEOM_MESH ? SAP_SHAPE_BOX : shape.type;
  sap_v3_copy(shape.size, m->geom_size + 3 * geom);
  mju_transpose(shape.R, d->geom_xmat + 9 * geom, 3, 3);
  return shape.type == SAP_SHAPE_MESH ? HUGE_VAL : sap_shape_thickness(&shape, n);
}

static int32_t tree_of(const sap_mj* a, int32_t geom) {
  return a->trees.of_body[a->model->geom_bodyid[geom]];
}

static int32_t root_of(const sap_mj* a, int32_t geom) {
  return a->model->body_rootid[a->model->geom_bodyid[geom]];
}

// Returns true if a contact and the next one are points of the same cluster of a patch.
static bool is_with_next(const mjData* d, int32_t index) {
  const mjContact* c = &d->contact[index < 0 ? 0 : index];
  return index >= 0 && index + 1 < (int32_t)d->ncon && sap_mj_patches_stiffness(c) > 0.0 &&
         c->solimp[2] < 0.0;
}

static sap_status add_contact(sap_mj* a, const mjData* d, int32_t index, sap_error* error) {
  const mjContact* c = &d->contact[index];
  int32_t ntrees;
  SAP_TRY(sap_mj_rows_gather_contact(a, d, c, &ntrees, error));
  const int32_t rows = c->dim < 3 ? c->dim : 3;
  if (sap_all_zero(a->rows.J, (size_t)(rows * sap_mj_rows_columns(a, ntrees)))) {
    return SAP_STATUS_OK;  // nothing can move this point
  }
  uint64_t key = 0;
  if (a->options.remember) {
    int32_t id = (int32_t)-c->solimp[1];
    if (sap_mj_patches_stiffness(c) == 0.0) {
      SAP_TRY(identify(a, d, c, &id, error));
    }
    key = sap_mj_blocks_key(a, SAP_MJ_KEY_CONTACT, c->geom1, c->geom2, id);
  }
  sap_contact_block block = {
      .ntrees = ntrees,
      .trees = a->rows.trees,
      .jacobians = a->rows.parts,
      .phi0 = c->dist - c->includemargin,
      .thickness = fmin(thickness_of(a->model, d, c->geom1, c->frame),
                        thickness_of(a->model, d, c->geom2, c->frame)),
      .load = sap_loads_get(&a->loads, tree_of(a, c->geom1), tree_of(a, c->geom2), c->frame),
      .mass = sap_loads_impact(&a->loads, root_of(a, c->geom1) == root_of(a, c->geom2)),
      .lift = a->loads.lift,
      .key = key};
  sap_mj_materials_contact(a, c, &block.material);
  const double stiffness = sap_mj_patches_stiffness(c);
  if (stiffness > 0.0) {
    block.material.stiffness = stiffness;
    block.phi0 = c->solimp[4];
    block.overlap = fmax(0.0, -c->dist);
  }
  SAP_TRY(sap_mj_blocks_add_slot(a, index, c->efc_address, sap_mj_contact_row_count(&a->shadow, c),
                                 error));
  if (a->model->nmocap > 0) {
    const double speed = -add_mocap_velocity(a, d, c, block.surface_velocity);
    const double way = speed * (a->model->opt.timestep + block.material.relaxation_time);
    block.mass = speed > 0.0 && -block.phi0 <= way ? 0.0 : block.mass;  // its motion led there
    block.phi0 = shift_gap(a, &block.material, block.phi0, speed);
  }
#if SAP_MJ_SINCE(3, 11, 0)
  if (a->model->flg_surfacevel && c->dim > 1) {
    add_surface_velocity(a, d, c, block.surface_velocity);
  }
  block.pull = a->model->flg_adhesion ? c->adhesion : 0.0;  // that qfrc_passive has
#endif
  if (c->dim == 1) {
    const sap_mj_row normal = sap_mj_constraint_row(&a->shadow, d, c->efc_address);
    sap_compliant_row row = {.stiffness = block.material.stiffness,
                             .relaxation_time = block.material.relaxation_time,
                             .g0 = block.phi0,
                             .overlap = block.overlap,
                             .load = block.load,
                             .pull = block.pull,
                             .mass = block.mass,
                             .lift = block.lift,
                             .rate0 = sap_mj_row_times(&normal, d->qvel),
                             .unilateral = true};
    return sap_mj_blocks_add_compliant(a, ntrees, &row, block.key, error);
  }
  if (c->dim > 3 || c->friction[0] != c->friction[1]) {
    block.friction = c->friction;
    block.nrows = c->dim;
    block.angular = c->dim > 3 ? a->rows.angular_parts : NULL;
  }
  return sap_problem_add_contact(a->problem, &block, &a->options.regularization, error);
}

sap_status sap_mj_contacts_append(const sap_mj* a, mjData* d, const mjContact* c,
                                  sap_error* error) {
  return mj_addContact(&a->shadow, d, c) == 0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_STEP_FAILED, "MuJoCo: no room for contacts");
}

static bool has_rows(const mjContact* c) {
  return c->exclude == 0 && c->efc_address >= 0;
}

static void find_loads(sap_mj* a, const mjData* d) {
  sap_loads_begin(&a->loads, a->model->opt.gravity);
  for (bool more = true; more;) {
    more = false;
    SAP_EACH(const mjContact, c, d->contact, d->ncon) {
      if (has_rows(c)) {
        more |= sap_loads_link(&a->loads, tree_of(a, c->geom1), tree_of(a, c->geom2), c->frame);
      }
    }
  }
}

sap_status sap_mj_contacts_add(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  restart_identities(&a->identities);
  find_loads(a, d);
  int32_t first = 0;  // block of the patch, or the point, of the contact before
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    const mjContact* c = &d->contact[i];
    first = is_with_next(d, i - 1) ? first : sap_problem_block_count(a->problem);
    if (!has_rows(c)) {
      continue;
    }
    SAP_TRY_OR(add_contact(a, d, i, error),
               sap_error_prefix(error, "contact %d of geom %d '%.60s' and geom %d '%.60s'", i,
                                c->geom1, sap_mj_blocks_name(m, mjOBJ_GEOM, c->geom1), c->geom2,
                                sap_mj_blocks_name(m, mjOBJ_GEOM, c->geom2)));
    const int32_t count = sap_problem_block_count(a->problem) - first;
    if (count > 1 && !is_with_next(d, i)) {
      sap_problem_even_contacts(a->problem, first, count);
    }
  }
  return SAP_STATUS_OK;
}
