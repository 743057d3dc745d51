// SPDX-License-Identifier: BSD-3-Clause
// Physical stiffness and relaxation time of geoms, flexes, explicit pairs, limits and equalities.
// What the model gives none has, as with the readers of our own models, tau_d = 0.01 s and
//   moving geoms   k = max(1e6 N/m, 1e5 s^-2 m), m the mass of all that is welded together: their
//                  own weight sinks them by 0.1 mm at most
//   flexes         k = 1e6 N/m
//   static geoms, limits, equalities: rigid; explicit pairs: what their geoms make
#include <math.h>
#include <stdio.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

static const double LEAST_STIFFNESS = 1e6;     // [N/m]
static const double STIFFNESS_PER_MASS = 1e5;  // [s^-2]
static const double RELAXATION_TIME = 0.01;    // [s]

// A negative solref is (-k, -k tau_d): then what it says, else k and tau_d as they are.
static void read_solref(const mjtNum* solref, double* k, double* tau_d) {
  if (solref[0] < 0.0 && solref[1] <= 0.0) {
    *k = -solref[0];
    *tau_d = solref[1] / solref[0];
  }
}

static sap_status check_law(const char* what, int32_t id, double stiffness, double tau_d,
                            sap_error* error) {
  if (!(stiffness > 0.0)) {
    return sap_fail(error, isnan(stiffness) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT,
                    "%s %d: stiffness = %g must be > 0 N/m", what, id, stiffness);
  }
  if (!(tau_d >= 0.0 && tau_d < HUGE_VAL)) {
    return sap_fail(error, isfinite(tau_d) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                    "%s %d: relaxation_time = %g must be finite and >= 0 s", what, id, tau_d);
  }
  return SAP_STATUS_OK;
}

// "sapstep:stiffness:NAME", else what all have, else `otherwise`.
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

static sap_status fill_geoms(sap_mj* a, const double* mass, sap_error* error) {
  const mjModel* m = a->model;
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    const int32_t body = m->geom_bodyid[g];
    double k = a->body_tree[body] < 0
                   ? HUGE_VAL
                   : fmax(LEAST_STIFFNESS, STIFFNESS_PER_MASS * mass[m->body_weldid[body]]);
    double tau_d = RELAXATION_TIME;
    read_solref(m->geom_solref + mjNREF * g, &k, &tau_d);
    const char* name = mj_id2name(m, mjOBJ_GEOM, g);
    a->geom_stiffness[g] = named_number(m, "sapstep:stiffness", name, k);
    a->geom_relaxation_time[g] = named_number(m, "sapstep:relaxation_time", name, tau_d);
    SAP_TRY(check_law("geom", g, a->geom_stiffness[g], a->geom_relaxation_time[g], error));
  }
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    a->pair_stiffness[i] = a->pair_relaxation_time[i] = 0.0;
    read_solref(m->pair_solref + mjNREF * i, &a->pair_stiffness[i], &a->pair_relaxation_time[i]);
  }
  return SAP_STATUS_OK;
}

static sap_status fill_flexes(sap_mj* a, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
#if SAP_MJ_SINCE(3, 0, 0)
  const mjModel* m = a->model;
  for (int32_t f = 0; status == SAP_STATUS_OK && f < sap_mj_flex_count(m); ++f) {
    double k = LEAST_STIFFNESS, tau_d = RELAXATION_TIME;
    read_solref(m->flex_solref + mjNREF * f, &k, &tau_d);
    const char* name = mj_id2name(m, mjOBJ_FLEX, f);
    a->flex_stiffness[f] = named_number(m, "sapstep:stiffness", name, k);
    a->flex_relaxation_time[f] = named_number(m, "sapstep:relaxation_time", name, tau_d);
    status = check_law("flex", f, a->flex_stiffness[f], a->flex_relaxation_time[f], error);
  }
#else
  (void)a;
  (void)error;
#endif
  return status;
}

// Stiffness and relaxation time of limits and equalities.
static void fill_laws(const mjModel* m, const mjtNum* solrefs, int32_t count, bool limits,
                      double* laws) {
  for (int32_t i = 0; i < count; ++i) {
    double k = HUGE_VAL, tau_d = RELAXATION_TIME;
    read_solref(solrefs + mjNREF * i, &k, &tau_d);
    laws[2 * i] = limits ? sap_mj_numeric(m, "sapstep:limit_stiffness", k) : k;
    laws[2 * i + 1] = limits ? sap_mj_numeric(m, "sapstep:limit_relaxation_time", tau_d) : tau_d;
  }
}

static sap_status check_laws(const char* what, const double* laws, int32_t count,
                             sap_error* error) {
  for (int32_t i = 0; i < count; ++i) {
    SAP_TRY(check_law(what, i, laws[2 * i], laws[2 * i + 1], error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_materials_create(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  const size_t ngeom = (size_t)m->ngeom, npair = (size_t)m->npair;
  const size_t nflex = (size_t)sap_mj_flex_count(m);
  a->geom_stiffness = sap_allocate(ngeom, sizeof(double));
  a->geom_relaxation_time = sap_allocate(ngeom, sizeof(double));
  a->flex_stiffness = sap_allocate(nflex, sizeof(double));
  a->flex_relaxation_time = sap_allocate(nflex, sizeof(double));
  a->pair_stiffness = sap_allocate(npair, sizeof(double));
  a->pair_relaxation_time = sap_allocate(npair, sizeof(double));
  a->joint_limit = sap_allocate(2 * (size_t)m->njnt, sizeof(double));
  a->tendon_limit = sap_allocate(2 * (size_t)m->ntendon, sizeof(double));
  a->equality_law = sap_allocate(2 * (size_t)m->neq, sizeof(double));
  double* mass = sap_allocate((size_t)m->nbody, sizeof(double));
  if (a->geom_stiffness == NULL || a->geom_relaxation_time == NULL || a->pair_stiffness == NULL ||
      a->pair_relaxation_time == NULL || a->joint_limit == NULL || a->tendon_limit == NULL ||
      a->equality_law == NULL || a->flex_stiffness == NULL || a->flex_relaxation_time == NULL ||
      mass == NULL) {
    sap_free(mass);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: materials of %d geoms", (int)ngeom);
  }
  for (int32_t b = 0; b < (int32_t)m->nbody; ++b) {
    mass[m->body_weldid[b]] += m->body_mass[b];
  }
  fill_laws(m, m->jnt_solref, (int32_t)m->njnt, true, a->joint_limit);
  fill_laws(m, m->tendon_solref_lim, (int32_t)m->ntendon, true, a->tendon_limit);
  fill_laws(m, m->eq_solref, (int32_t)m->neq, false, a->equality_law);
  sap_status status = fill_geoms(a, mass, error);
  sap_free(mass);
  if (status == SAP_STATUS_OK) {
    status = fill_flexes(a, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_laws("limit of joint", a->joint_limit, (int32_t)m->njnt, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_laws("limit of tendon", a->tendon_limit, (int32_t)m->ntendon, error);
  }
  return status;
}

int32_t sap_mj_find_pair(const mjModel* m, int32_t geom1, int32_t geom2) {
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    const int32_t first = m->pair_geom1[i], second = m->pair_geom2[i];
    if ((first == geom1 && second == geom2) || (first == geom2 && second == geom1)) {
      return i;
    }
  }
  return -1;
}

// The point stays on the rigid surface: geom 1 gives way by the share k2/(k1 + k2) of it all.
static inline double share_of(double k1, double k2) {
  return isinf(k1) ? (isinf(k2) ? 0.5 : 0.0) : (isinf(k2) ? 1.0 : 1.0 / (1.0 + k1 / k2));
}

static inline double stiffness_of(const sap_mj* a, const mjContact* contact, int32_t side) {
  return sap_mj_side(contact, side, a->geom_stiffness, a->flex_stiffness);
}

static inline double relaxation_time_of(const sap_mj* a, const mjContact* contact, int32_t side) {
  return sap_mj_side(contact, side, a->geom_relaxation_time, a->flex_relaxation_time);
}

double sap_mj_contact_share(const sap_mj* a, const mjContact* contact) {
  return share_of(stiffness_of(a, contact, 0), stiffness_of(a, contact, 1));
}

void sap_mj_contact_material(const sap_mj* a, const mjContact* contact, sap_material* out) {
  const int32_t g1 = contact->geom1, g2 = contact->geom2;
  const double k1 = stiffness_of(a, contact, 0), k2 = stiffness_of(a, contact, 1);
  const double tau1 = relaxation_time_of(a, contact, 0), tau2 = relaxation_time_of(a, contact, 1);
  const int32_t pair = sap_mj_find_pair(a->model, g1, g2);
  *out = a->contact_law;
  out->friction = contact->dim > 1 ? fmax(contact->friction[0], contact->friction[1]) : 0.0;
  if (pair >= 0 && a->pair_stiffness[pair] > 0.0) {
    out->stiffness = a->pair_stiffness[pair];
    out->relaxation_time = a->pair_relaxation_time[pair];
    return;
  }
  // Springs in series, as sap_material_combine has it.
  if (isinf(k1) || isinf(k2)) {
    const bool both = isinf(k1) && isinf(k2);
    out->stiffness = isinf(k1) ? k2 : k1;
    out->relaxation_time = both ? 0.5 * (tau1 + tau2) : (isinf(k1) ? tau2 : tau1);
    return;
  }
  const double share = share_of(k1, k2);
  out->stiffness = k1 * share;
  out->relaxation_time = tau1 == tau2 ? tau1 : share * tau1 + (1.0 - share) * tau2;
}

double sap_mj_contact_relaxation_time(const sap_mj* a, const mjContact* contact) {
  const double tau1 = relaxation_time_of(a, contact, 0);
  if (a->model->npair == 0 && tau1 == relaxation_time_of(a, contact, 1)) {
    return tau1;  // whichever gives way
  }
  sap_material material;
  sap_mj_contact_material(a, contact, &material);
  return material.relaxation_time;
}

sap_status sap_mj_set_geom(sap_mj* a, int32_t geom, double stiffness, double relaxation_time,
                           sap_error* error) {
  if (a == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_mj_set_geom: adapter is NULL");
  }
  const int32_t count = (int32_t)a->model->ngeom;
  if (geom < -1 || geom >= count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "geom = %d must be in [-1, %d)", geom, count);
  }
  const sap_status status = check_law("geom", geom, stiffness, relaxation_time, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t g = geom < 0 ? 0 : geom; g < (geom < 0 ? count : geom + 1); ++g) {
    a->geom_stiffness[g] = stiffness;
    a->geom_relaxation_time[g] = relaxation_time;
  }
  for (int32_t f = 0; geom < 0 && f < sap_mj_flex_count(a->model); ++f) {
    a->flex_stiffness[f] = stiffness;
    a->flex_relaxation_time[f] = relaxation_time;
  }
  // What is said here goes before what the model says of pairs.
  for (int32_t i = 0; i < (int32_t)a->model->npair; ++i) {
    if (geom < 0 || a->model->pair_geom1[i] == geom || a->model->pair_geom2[i] == geom) {
      a->pair_stiffness[i] = 0.0;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_get_geom(const sap_mj* a, int32_t geom, double* stiffness,
                           double* relaxation_time, sap_error* error) {
  if (a == NULL || stiffness == NULL || relaxation_time == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_mj_get_geom: an argument is NULL");
  }
  if (geom < 0 || geom >= (int32_t)a->model->ngeom) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "geom = %d must be in [0, %d)", geom,
                    (int)a->model->ngeom);
  }
  *stiffness = a->geom_stiffness[geom];
  *relaxation_time = a->geom_relaxation_time[geom];
  return SAP_STATUS_OK;
}

sap_status sap_mj_set_limit(sap_mj* a, int32_t joint, double stiffness, double relaxation_time,
                            sap_error* error) {
  if (a == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_mj_set_limit: adapter is NULL");
  }
  const int32_t count = (int32_t)a->model->njnt;
  if (joint < -1 || joint >= count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "joint = %d must be in [-1, %d)", joint, count);
  }
  const sap_status status = check_law("limit of joint", joint, stiffness, relaxation_time, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t j = joint < 0 ? 0 : joint; j < (joint < 0 ? count : joint + 1); ++j) {
    a->joint_limit[2 * j] = stiffness;
    a->joint_limit[2 * j + 1] = relaxation_time;
  }
  for (int32_t t = 0; joint < 0 && t < (int32_t)a->model->ntendon; ++t) {
    a->tendon_limit[2 * t] = stiffness;
    a->tendon_limit[2 * t + 1] = relaxation_time;
  }
  return SAP_STATUS_OK;
}
