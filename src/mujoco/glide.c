// SPDX-License-Identifier: BSD-3-Clause
// Contacts that glide: SAP lets one that slides do so at up to (h + tau_d) mu |v_t| above the
// surface (castro, Sec. III-B), where geometry alone would lose it. The contacts in mjData, of the
// step before, say which do and how far.
#include <math.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

static const double GLIDE_FLOOR = 1e-6;  // lower heights are those of rest [m]
static const double GLIDE_LIMIT = 0.25;  // of the smaller geom's size: else it was put there

// Out of the world into a body's frame and back, at the kinematics that mjData hold.
static void to_body(const mjData* d, int32_t body, const double p[3], double out[3]) {
  const mjtNum *R = d->xmat + 9 * body, *x = d->xpos + 3 * body;
  for (int32_t k = 0; k < 3; ++k) {
    out[k] = R[k] * (p[0] - x[0]) + R[3 + k] * (p[1] - x[1]) + R[6 + k] * (p[2] - x[2]);
  }
}

static void to_world(const mjData* d, int32_t body, const double p[3], double out[3]) {
  const mjtNum *R = d->xmat + 9 * body, *x = d->xpos + 3 * body;
  for (int32_t k = 0; k < 3; ++k) {
    out[k] = x[k] + R[3 * k] * p[0] + R[3 * k + 1] * p[1] + R[3 * k + 2] * p[2];
  }
}

static double size_of(const mjModel* m, int32_t geom) {
  const double bound = m->geom_rbound[geom];
  return bound > 0.0 ? bound : HUGE_VAL;  // planes have none
}

static bool has_rows(const sap_mj* a, const mjData* d, const mjContact* c) {
  const mjModel* m = a->model;
  const int rows = mj_isPyramidal(&a->shadow) && c->dim > 1 ? 2 * (c->dim - 1) : c->dim;
  return c->exclude == 0 && c->efc_address >= 0 && c->efc_address + rows <= d->nefc &&
         c->geom1 >= 0 && c->geom2 >= 0 && c->geom1 < (int)m->ngeom && c->geom2 < (int)m->ngeom;
}

sap_status sap_mj_remember_contacts(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  if (a->glides_are_known) {
    a->glides_are_known = false;
    return SAP_STATUS_OK;
  }
  a->glide_count = 0;
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    const mjContact* c = &d->contact[i];
    if (c->dim < 3 || !has_rows(a, d, c)) {
      continue;
    }
    const sap_status status = SAP_GROW(&a->glides, &a->glide_capacity, a->glide_count + 1, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    sap_mj_glide* glide = &a->glides[a->glide_count++];
    sap_material material;
    double share, ahead[3];
    sap_mj_contact_material(a, c, &material, &share);
    const int32_t body1 = m->geom_bodyid[c->geom1], body2 = m->geom_bodyid[c->geom2];
    glide->geom1 = c->geom1;
    glide->geom2 = c->geom2;
    glide->rise = (1.0 + material.relaxation_time / m->opt.timestep) * material.friction;
    to_body(d, body1, c->pos, glide->p1);
    to_body(d, body2, c->pos, glide->p2);
    for (int32_t k = 0; k < 3; ++k) {
      ahead[k] = c->pos[k] + c->frame[k];
    }
    to_body(d, body1, ahead, glide->ahead);
  }
  return SAP_STATUS_OK;
}

// Way across the normal by which the two points have parted since [m].
static double slip_of(const mjModel* m, const mjData* d, const sap_mj_glide* glide) {
  double x1[3], x2[3], n[3], along = 0.0, sum = 0.0;
  const int32_t body1 = m->geom_bodyid[glide->geom1];
  to_world(d, body1, glide->p1, x1);
  to_world(d, m->geom_bodyid[glide->geom2], glide->p2, x2);
  to_world(d, body1, glide->ahead, n);
  for (int32_t k = 0; k < 3; ++k) {
    n[k] -= x1[k];
    x2[k] -= x1[k];
    along += n[k] * x2[k];
  }
  for (int32_t k = 0; k < 3; ++k) {
    const double t = x2[k] - along * n[k];
    sum += t * t;
  }
  return sqrt(sum);
}

void sap_mj_find_glides(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  int32_t count = 0;
  for (int32_t i = 0; i < a->glide_count; ++i) {
    const sap_mj_glide* glide = &a->glides[i];
    const double height = glide->rise * slip_of(m, d, glide);
    if (!(height > GLIDE_FLOOR)) {
      continue;
    }
    const double size = fmin(size_of(m, glide->geom1), size_of(m, glide->geom2));
    const double reach = fmin(height, GLIDE_LIMIT * size);
    sap_mj_glide* last = count > 0 ? &a->glides[count - 1] : NULL;
    if (last != NULL && last->geom1 == glide->geom1 && last->geom2 == glide->geom2) {
      last->reach = fmax(last->reach, reach);
      continue;
    }
    a->glides[count] = *glide;
    a->glides[count++].reach = reach;
  }
  a->glide_count = count;
}

double sap_mj_glide_reach(const sap_mj* a, const mjContact* c) {
  double reach = 0.0;
  for (int32_t i = 0; i < a->glide_count; ++i) {
    if (a->glides[i].geom1 == c->geom1 && a->glides[i].geom2 == c->geom2) {
      reach = fmax(reach, a->glides[i].reach);
    }
  }
  return reach;
}
