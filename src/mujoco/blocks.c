// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's constraints as blocks of the problem.
#include <stdio.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

uint64_t sap_mj_key(const sap_mj* a, int32_t kind, int32_t first, int32_t second, int32_t ordinal) {
  if (!a->options.remember) {
    return 0;
  }
  const uint64_t key = (uint64_t)kind << 60 | (uint64_t)(uint32_t)first << 36 |
                       (uint64_t)(uint32_t)second << 12 | (uint64_t)(uint32_t)(ordinal & 0xfff);
  return key ^ (a->epoch * UINT64_C(0x9e3779b97f4a7c15));  // sap_mj_clear starts another epoch
}

sap_status sap_mj_add_slot(sap_mj* a, int32_t contact, int32_t first, int32_t count,
                           sap_error* error) {
  SAP_TRY(SAP_GROW(&a->slots, &a->slot_capacity, a->slot_count + 1, error));
  a->slots[a->slot_count++] =
      (sap_mj_slot){contact, first, count, sap_problem_row_count(a->problem)};
  return SAP_STATUS_OK;
}

static bool is_zero(const double* J, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (J[i] != 0.0) {
      return false;
    }
  }
  return true;
}

#if SAP_MJ_SINCE(3, 11, 0)
// Belts: MuJoCo has their velocity in efc_vel beside that of the bodies.
static void add_surface_velocity(const sap_mj* a, const mjData* d, const mjContact* c,
                                 double velocity[3]) {
  static const int32_t rows[3] = {0, 1, 3};
  for (int32_t k = 0; k < (c->dim > 3 ? 3 : 2); ++k) {
    velocity[k] += sap_mj_contact_row_of(a, c, rows[k], d->efc_vel) -
                   sap_mj_contact_row_times(a, d, c, rows[k], d->qvel);
  }
}

// Adhesion pulls with a constant force, which is in qfrc_passive, and widens the cone: gamma_n and
// friction are those of the force above it, and rest is where it would be without:
//   gamma_n = h (f_spring + adhesion):  v_hat_n + Rn h adhesion
static sap_status add_adhesion(sap_mj* a, const mjContact* c, const sap_material* material,
                               int32_t ntrees, double* phi, sap_error* error) {
  const double h = a->model->opt.timestep;
  double w = 0.0, R[3], v_hat[3];
  SAP_TRY(sap_problem_delassus_scale(a->problem, c->dim < 3 ? 1 : 3, ntrees, a->block_trees,
                                     a->block_parts, &w, error));
  SAP_TRY(sap_contact_regularize(material, &a->regularization, h, *phi, w, R, v_hat, error));
  *phi -= (h + material->relaxation_time) * R[2] * h * c->adhesion;
  return SAP_STATUS_OK;
}
#endif

// Velocity of mocap bodies at the contact, of geom 2 relative to geom 1; returns its normal part.
static double add_mocap_velocity(const sap_mj* a, const mjData* d, const mjContact* c,
                                 double velocity[3]) {
  double normal = 0.0;
  for (int32_t side = 0; side < 2; ++side) {
    const double sign = side == 0 ? -1.0 : 1.0;
    const int32_t geom = sap_mj_contact_geom(c, side);
    double v[3], omega[3];
    if (geom < 0 || !sap_mj_mocap_point(a, d, a->model->geom_bodyid[geom], c->pos, v, omega)) {
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

// Contacts of flexes are told apart by element or vertex: each has few with another body.
static sap_status key_of(sap_mj* a, const mjData* d, const mjContact* c, uint64_t* key,
                         sap_error* error) {
#if SAP_MJ_SINCE(3, 0, 0)
  if (!sap_mj_contact_is_of_geoms(c)) {
    uint64_t hash = sap_hash(SAP_HASH_START, c->geom, sizeof c->geom);
    hash = sap_hash(hash, c->flex, sizeof c->flex);
    hash = sap_hash(hash, c->elem, sizeof c->elem);
    hash = sap_hash(hash, c->vert, sizeof c->vert);
    *key = sap_mj_key(a, SAP_MJ_KEY_FLEX_CONTACT, (int32_t)(hash & 0xffffff),
                      (int32_t)(hash >> 24 & 0xffffff), (int32_t)(hash >> 48 & 0xfff));
    return SAP_STATUS_OK;
  }
#endif
  int32_t id = 0;
  const sap_status status = sap_mj_identify(a, d, c, &id, error);
  *key = sap_mj_key(a, SAP_MJ_KEY_CONTACT, c->geom1, c->geom2, id);
  return status;
}

static sap_status add_contact(sap_mj* a, const mjData* d, int32_t index, sap_error* error) {
  const mjContact* c = &d->contact[index];
  const int32_t ntrees = sap_mj_gather_contact(a, d, c, error);
  if (ntrees < 0) {
    return SAP_STATUS_MEMORY;
  }
  int32_t columns = 0;
  for (int32_t i = 0; i < ntrees; ++i) {
    columns += a->tree_size[a->block_trees[i]];
  }
  if (is_zero(a->J, (c->dim < 3 ? c->dim : 3) * columns)) {
    return SAP_STATUS_OK;  // nothing moves this point
  }
  uint64_t key = 0;
  SAP_TRY(a->options.remember ? key_of(a, d, c, &key, error) : SAP_STATUS_OK);
  sap_contact_block block = {.ntrees = ntrees,
                             .trees = a->block_trees,
                             .jacobians = a->block_parts,
                             .phi0 = c->dist - c->includemargin,
                             .key = key};
  sap_mj_contact_material(a, c, &block.material);
  sap_status status =
      sap_mj_add_slot(a, index, c->efc_address, sap_mj_contact_row_count(&a->shadow, c), error);
  if (a->model->nmocap > 0) {
    block.phi0 += (a->model->opt.timestep + block.material.relaxation_time) *
                  add_mocap_velocity(a, d, c, block.surface_velocity);
  }
#if SAP_MJ_SINCE(3, 11, 0)
  if (a->model->flg_surfacevel && c->dim > 1) {
    add_surface_velocity(a, d, c, block.surface_velocity);
  }
  if (status == SAP_STATUS_OK && a->model->flg_adhesion && c->adhesion > 0.0) {
    status = add_adhesion(a, c, &block.material, ntrees, &block.phi0, error);
  }
#endif
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (c->dim == 1) {
    sap_compliant_row soft = {.stiffness = block.material.stiffness,
                              .relaxation_time = block.material.relaxation_time,
                              .g0 = block.phi0,
                              .unilateral = true};
    return sap_mj_add_compliant_row(a, ntrees, &soft, block.key, error);
  }
  if (c->dim > 3 || c->friction[0] != c->friction[1]) {
    block.friction = c->friction;
    block.nrows = c->dim;
    block.angular = c->dim > 3 ? a->angular_parts : NULL;
  }
  return sap_problem_add_contact(a->problem, &block, &a->regularization, error);
}

static const char* name_of(const mjModel* m, int type, int32_t id) {
  const char* name = mj_id2name(m, type, id);
  return name != NULL ? name : "";
}

enum { NAME_SIZE = 100 };

static void name_side(const mjModel* m, const mjContact* c, int32_t side, char name[NAME_SIZE]) {
  const int32_t geom = sap_mj_contact_geom(c, side);
#if SAP_MJ_SINCE(3, 0, 0)
  if (geom < 0) {
    const int32_t flex = sap_mj_contact_flex(c, side);
    (void)snprintf(name, NAME_SIZE, "flex %d '%.60s'", flex, name_of(m, mjOBJ_FLEX, flex));
    return;
  }
#endif
  (void)snprintf(name, NAME_SIZE, "geom %d '%.60s'", geom, name_of(m, mjOBJ_GEOM, geom));
}

static sap_status add_contacts(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  sap_mj_identities_again(a);
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    const mjContact* c = &d->contact[i];
    if (c->exclude != 0 || c->efc_address < 0) {
      continue;
    }
    const sap_status status = add_contact(a, d, i, error);
    if (status != SAP_STATUS_OK) {
      char sides[2][NAME_SIZE];
      name_side(m, c, 0, sides[0]);
      name_side(m, c, 1, sides[1]);
      sap_error_prefix(error, "contact %d of %s and %s", i, sides[0], sides[1]);
      return status;
    }
  }
  return SAP_STATUS_OK;
}

// Rows of the same equality follow one another.
static int32_t equality_rows(const mjData* d, int32_t first) {
  int32_t count = 1;
  while (first + count < (int32_t)d->nefc && d->efc_type[first + count] == mjCNSTR_EQUALITY &&
         d->efc_id[first + count] == d->efc_id[first]) {
    ++count;
  }
  return count;
}

sap_status sap_mj_add_blocks(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  a->slot_count = 0;
  a->far_limit_count = 0;
  sap_status status = add_contacts(a, d, error);  // first, as the solver has them
  for (int32_t row = 0; status == SAP_STATUS_OK && row < (int32_t)d->nefc; ++row) {
    const int32_t id = d->efc_id[row];
    switch (d->efc_type[row]) {
      case mjCNSTR_EQUALITY: {
        const int32_t count = equality_rows(d, row);
        status = sap_mj_equality_is_of_flex(m, id)
                     ? sap_mj_add_flex_equality(a, d, row, count, error)
                     : sap_mj_add_equality(a, d, row, count, error);
        if (status != SAP_STATUS_OK) {
          sap_error_prefix(error, "equality %d '%s'", id, name_of(m, mjOBJ_EQUALITY, id));
        }
        row += count - 1;
        break;
      }
      case mjCNSTR_FRICTION_DOF:
      case mjCNSTR_FRICTION_TENDON:
        status = sap_mj_add_friction(a, d, row, error);
        break;
      case mjCNSTR_LIMIT_JOINT:
      case mjCNSTR_LIMIT_TENDON:
        status = sap_mj_add_limit(a, d, row, error);
        if (status != SAP_STATUS_OK) {
          sap_error_prefix(error, "limit of %s %d",
                           d->efc_type[row] == mjCNSTR_LIMIT_JOINT ? "joint" : "tendon", id);
        }
        break;
      default:
        break;  // contacts are there
    }
  }
  return status;
}
