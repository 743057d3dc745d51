// SPDX-License-Identifier: BSD-3-Clause
// Physical stiffness and relaxation time of geoms, explicit pairs, limits and equalities.
// Defaults, the same as those of our own readers: tau_d = 0.01 s and
//   moving geoms    k = max(1e6 N/m, 1e5 s^-2 m), m the mass of all bodies welded together;
//                   their own weight sinks them by at most 0.1 mm
//   static geoms    rigid
//   limits          rigid
//   equalities      rigid
//   explicit pairs  their geoms combined
#include <math.h>
#include <stdio.h>

#include "mujoco/adapter.h"
#include "multibody/geometry/collision_data.h"

static const double LEAST_STIFFNESS = 1e6;     // [N/m]
static const double STIFFNESS_PER_MASS = 1e5;  // [s^-2]
static const double RELAXATION_TIME = 0.01;    // [s]

// Returns the law of a negative solref, (-k, -k tau_d), or `otherwise`.
static sap_mj_law read_solref(const mjtNum* solref, sap_mj_law otherwise) {
  return solref[0] < 0.0 && solref[1] <= 0.0 ? (sap_mj_law){-solref[0], solref[1] / solref[0]}
                                             : otherwise;
}

static sap_status check_law(const char* what, int32_t id, sap_mj_law law, sap_error* error) {
  SAP_FAIL_IF(!(law.stiffness > 0.0), error,
              isnan(law.stiffness) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT,
              "%s %d: stiffness = %g must be > 0 N/m", what, id, law.stiffness);
  SAP_FAIL_IF(!(law.relaxation_time >= 0.0 && law.relaxation_time < HUGE_VAL), error,
              isfinite(law.relaxation_time) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
              "%s %d: relaxation_time = %g must be finite and >= 0 s", what, id,
              law.relaxation_time);
  return SAP_STATUS_OK;
}

// Returns "sapstep:stiffness:NAME" of <custom>, else "sapstep:stiffness", else `otherwise`.
static double named_number(const mjModel* m, const char* what, const char* own, double otherwise) {
  enum { NAME_SIZE = 512 };
  char name[NAME_SIZE];
  const double all = sap_mj_numeric(m, what, otherwise);
  if (own == NULL) {
    return all;
  }
  const int length = snprintf(name, sizeof name, "%s:%s", what, own);
  return length > 0 && length < NAME_SIZE ? sap_mj_numeric(m, name, all) : all;
}

static sap_mj_law named_law(const mjModel* m, int type, int32_t id, const mjtNum* solref,
                            sap_mj_law otherwise) {
  const sap_mj_law law = read_solref(solref, otherwise);
  const char* name = mj_id2name(m, type, id);
  return (sap_mj_law){named_number(m, "sapstep:stiffness", name, law.stiffness),
                      named_number(m, "sapstep:relaxation_time", name, law.relaxation_time)};
}

static sap_status fill_geoms(sap_mj* a, const double* mass, sap_error* error) {
  const mjModel* m = a->model;
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    const int32_t body = m->geom_bodyid[g];
    const double k = a->trees.of_body[body] < 0
                         ? HUGE_VAL
                         : fmax(LEAST_STIFFNESS, STIFFNESS_PER_MASS * mass[m->body_weldid[body]]);
    a->materials.geoms[g] =
        named_law(m, mjOBJ_GEOM, g, m->geom_solref + mjNREF * g, (sap_mj_law){k, RELAXATION_TIME});
    SAP_TRY(check_law("geom", g, a->materials.geoms[g], error));
  }
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    a->materials.pairs[i] = read_solref(m->pair_solref + mjNREF * i, (sap_mj_law){0.0, 0.0});
  }
  return SAP_STATUS_OK;
}

static sap_status fill_limits(const mjModel* m, const char* what, const mjtNum* solrefs,
                              int32_t count, sap_mj_law* laws, sap_error* error) {
  for (int32_t i = 0; i < count; ++i) {
    const sap_mj_law law =
        read_solref(solrefs + mjNREF * i, (sap_mj_law){HUGE_VAL, RELAXATION_TIME});
    laws[i].stiffness = sap_mj_numeric(m, "sapstep:limit_stiffness", law.stiffness);
    laws[i].relaxation_time =
        sap_mj_numeric(m, "sapstep:limit_relaxation_time", law.relaxation_time);
    SAP_TRY(check_law(what, i, laws[i], error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_materials_create(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  sap_mj_materials* materials = &a->materials;
  for (int32_t i = 0; i < (int32_t)m->neq; ++i) {
    materials->equality[i] =
        read_solref(m->eq_solref + mjNREF * i, (sap_mj_law){HUGE_VAL, RELAXATION_TIME});
  }
  double* mass;
  SAP_TRY(SAP_POOL_ADD(&a->pool, &mass, m->nbody, error));
  for (int32_t b = 0; b < (int32_t)m->nbody; ++b) {
    mass[m->body_weldid[b]] += m->body_mass[b];
  }
  SAP_TRY(fill_geoms(a, mass, error));
  SAP_TRY(
      fill_limits(m, "limit of joint", m->jnt_solref, (int32_t)m->njnt, materials->joints, error));
  return fill_limits(m, "limit of tendon", m->tendon_solref_lim, (int32_t)m->ntendon,
                     materials->tendons, error);
}

int32_t sap_mj_materials_find_pair(const mjModel* m, int32_t geom1, int32_t geom2) {
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    const int32_t first = m->pair_geom1[i], second = m->pair_geom2[i];
    if ((first == geom1 && second == geom2) || (first == geom2 && second == geom1)) {
      return i;
    }
  }
  return -1;
}

static inline sap_mj_law law_of(const sap_mj* a, const mjContact* contact, int32_t side) {
  return a->materials.geoms[sap_mj_contact_geom(contact, side)];
}

double sap_mj_materials_contact_share(const sap_mj* a, const mjContact* contact) {
  return sap_collision_share_of_A(law_of(a, contact, 0).stiffness, law_of(a, contact, 1).stiffness);
}

void sap_mj_materials_contact(const sap_mj* a, const mjContact* contact, sap_material* out) {
  const int32_t pair = sap_mj_materials_find_pair(a->model, contact->geom1, contact->geom2);
  sap_mj_law law = pair >= 0 ? a->materials.pairs[pair] : (sap_mj_law){0.0, 0.0};
  if (!(law.stiffness > 0.0)) {
    const sap_mj_law one = law_of(a, contact, 0), two = law_of(a, contact, 1);
    const sap_material sides[] = {
        {.stiffness = one.stiffness, .relaxation_time = one.relaxation_time},
        {.stiffness = two.stiffness, .relaxation_time = two.relaxation_time}};
    sap_material both;  // laws are checked when they are set: this cannot fail
    (void)sap_material_combine(&sides[0], &sides[1], SAP_FRICTION_MAXIMUM, &both, NULL);
    law = (sap_mj_law){both.stiffness, both.relaxation_time};
  }
  *out = a->materials.common;
  out->friction = contact->dim > 1 ? fmax(contact->friction[0], contact->friction[1]) : 0.0;
  out->stiffness = law.stiffness;
  out->relaxation_time = law.relaxation_time;
}

static sap_status check_geom(const mjModel* m, int32_t geom, int32_t lowest, sap_error* error) {
  SAP_FAIL_IF(geom < lowest || geom >= (int32_t)m->ngeom, error, SAP_STATUS_ARGUMENT,
              "geom = %d must be in [%d, %d)", geom, lowest, (int32_t)m->ngeom);
  return SAP_STATUS_OK;
}

sap_status sap_mj_set_geom(sap_mj* adapter, int32_t geom, double stiffness, double relaxation_time,
                           sap_error* error) {
  const sap_mj_law law = {stiffness, relaxation_time};
  SAP_NOT_NULL(error, adapter);
  const mjModel* m = adapter->model;
  SAP_TRY(check_geom(m, geom, -1, error));
  SAP_TRY(check_law("geom", geom, law, error));
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    adapter->materials.geoms[g] = geom < 0 || g == geom ? law : adapter->materials.geoms[g];
  }
  // Materials set here replace the model's values for explicit pairs.
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    if (geom < 0 || m->pair_geom1[i] == geom || m->pair_geom2[i] == geom) {
      adapter->materials.pairs[i].stiffness = 0.0;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_get_geom(const sap_mj* adapter, int32_t geom, double* stiffness,
                           double* relaxation_time, sap_error* error) {
  SAP_NOT_NULL(error, adapter, stiffness, relaxation_time);
  SAP_TRY(check_geom(adapter->model, geom, 0, error));
  *stiffness = adapter->materials.geoms[geom].stiffness;
  *relaxation_time = adapter->materials.geoms[geom].relaxation_time;
  return SAP_STATUS_OK;
}
