// SPDX-License-Identifier: BSD-3-Clause
// Contacts that glide: SAP lets one that slides do so at up to (h + tau_d) mu |v_t| above the
// surface (castro, Sec. III-B), where geometry alone would lose it. The contacts in mjData, of the
// step before, say which do and how far.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

static const double GLIDE_FLOOR = 1e-6;  // lower heights are those of rest [m]
static const double GLIDE_LIMIT = 0.25;  // of the smaller geom's size: else it was put there

// Poses of the step before and of now, position and rotation matrix.
static void keep_poses(sap_mj* a, const mjData* d) {
  double* to = a->pose_before;
  for (int32_t b = 0; b < (int32_t)a->model->nbody; ++b, to += 12) {
    memcpy(to, d->xpos + 3 * b, 3 * sizeof(double));
    memcpy(to + 3, d->xmat + 9 * b, 9 * sizeof(double));
  }
}

// A point's way with its body is at most that of the origin and |change of R|_F times its distance.
static void measure_motions(sap_mj* a, const mjData* d) {
  const double* before = a->pose_before;
  for (int32_t b = 0; b < (int32_t)a->model->nbody; ++b, before += 12) {
    double way = 0.0, turn = 0.0;
    for (int32_t k = 0; k < 3; ++k) {
      const double change = d->xpos[3 * b + k] - before[k];
      way += change * change;
    }
    for (int32_t k = 0; k < 9; ++k) {
      const double change = d->xmat[9 * b + k] - before[3 + k];
      turn += change * change;
    }
    a->body_motion[2 * b] = way > 0.0 ? sqrt(way) : 0.0;
    a->body_motion[2 * b + 1] = turn > 0.0 ? sqrt(turn) : 0.0;
  }
}

static bool has_moved(const sap_mj* a, int32_t body) {
  return a->body_motion[2 * body] > 0.0 || a->body_motion[2 * body + 1] > 0.0;
}

static double longest_way(const sap_mj* a, int32_t body, const double p[3]) {
  if (!has_moved(a, body)) {
    return 0.0;
  }
  const double* x = a->pose_before + 12 * body;
  const double r[3] = {p[0] - x[0], p[1] - x[1], p[2] - x[2]};
  return a->body_motion[2 * body] +
         a->body_motion[2 * body + 1] * sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
}

// Where a point has come to with its body.
static void carry(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                  double out[3]) {
  if (!has_moved(a, body)) {
    for (int32_t k = 0; k < 3; ++k) {
      out[k] = p[k];
    }
    return;
  }
  const double *x = a->pose_before + 12 * body, *R = x + 3;
  const mjtNum *y = d->xpos + 3 * body, *S = d->xmat + 9 * body;
  const double r[3] = {p[0] - x[0], p[1] - x[1], p[2] - x[2]};
  double local[3];
  for (int32_t k = 0; k < 3; ++k) {
    local[k] = R[k] * r[0] + R[3 + k] * r[1] + R[6 + k] * r[2];
  }
  for (int32_t k = 0; k < 3; ++k) {
    out[k] = y[k] + S[3 * k] * local[0] + S[3 * k + 1] * local[1] + S[3 * k + 2] * local[2];
  }
}

static double size_of(const mjModel* m, int32_t geom) {
  const double bound = m->geom_rbound[geom];
  return bound > 0.0 ? bound : HUGE_VAL;  // planes have none
}

static bool has_rows(const sap_mj* a, const mjData* d, const mjContact* c) {
  const mjModel* m = a->model;
  const int rows = sap_mj_contact_row_count(&a->shadow, c);
  return c->exclude == 0 && c->efc_address >= 0 && c->efc_address + rows <= d->nefc &&
         c->geom1 >= 0 && c->geom2 >= 0 && c->geom1 < (int)m->ngeom && c->geom2 < (int)m->ngeom;
}

sap_status sap_mj_remember_contacts(sap_mj* a, const mjData* d, sap_error* error) {
  const double rate = 1.0 / a->model->opt.timestep;
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
    SAP_TRY(SAP_GROW(&a->glides, &a->glide_capacity, a->glide_count + 1, error));
    sap_mj_glide* glide = &a->glides[a->glide_count++];
    const double tau_d = sap_mj_contact_relaxation_time(a, c);
    glide->geom1 = c->geom1;
    glide->geom2 = c->geom2;
    glide->rise = (1.0 + rate * tau_d) * fmax(c->friction[0], c->friction[1]);
    memcpy(glide->p, c->pos, sizeof glide->p);
    memcpy(glide->n, c->frame, sizeof glide->n);
  }
  if (a->glide_count > 0) {
    keep_poses(a, d);
  }
  return SAP_STATUS_OK;
}

// Way across the normal by which the two points have parted since [m].
static double slip_of(const sap_mj* a, const mjData* d, const sap_mj_glide* glide) {
  const mjModel* m = a->model;
  const int32_t body1 = m->geom_bodyid[glide->geom1], body2 = m->geom_bodyid[glide->geom2];
  double x1[3], x2[3], n[3], along = 0.0, sum = 0.0;
  for (int32_t k = 0; k < 3; ++k) {
    n[k] = glide->p[k] + glide->n[k];
  }
  carry(a, d, body1, glide->p, x1);
  carry(a, d, body2, glide->p, x2);
  carry(a, d, body1, n, n);
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

static double height_of(const sap_mj* a, const mjData* d, const sap_mj_glide* glide) {
  const int32_t* bodies = a->model->geom_bodyid;
  const double most = longest_way(a, bodies[glide->geom1], glide->p) +
                      longest_way(a, bodies[glide->geom2], glide->p);
  return glide->rise * most > GLIDE_FLOOR ? glide->rise * slip_of(a, d, glide) : 0.0;
}

void sap_mj_find_glides(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  int32_t count = 0;
  if (a->glide_count > 0) {
    measure_motions(a, d);
  }
  for (int32_t i = 0; i < a->glide_count; ++i) {
    const sap_mj_glide* glide = &a->glides[i];
    const double height = height_of(a, d, glide);
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
