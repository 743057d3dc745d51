// SPDX-License-Identifier: BSD-3-Clause
// Contacts keep their number from step to step, by which the solver starts from their impulses:
// MuJoCo lists those of a pair in an order that may change. A contact is the nearest one of the
// same pair in the step before, seen from body 1, unless that is further than half the smaller
// geom: the points of boxes move far as faces turn, and any impulse of the pair is a better start
// than none (3.5 Newton iterations on falling clutter instead of 3.7 within a tenth).
#include <math.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

static const double NEAR = 0.5;

static double distance_2(const double a[3], const double b[3]) {
  const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

void sap_mj_identities_begin(sap_mj* a) {
  sap_mj_identity* list = a->identities[0];
  const int32_t capacity = a->identity_capacity[0];
  a->identities[0] = a->identities[1];
  a->identity_capacity[0] = a->identity_capacity[1];
  a->identities[1] = list;
  a->identity_capacity[1] = capacity;
  a->identity_before = a->identity_count;
  a->identity_first = a->identity_next;
  sap_mj_identities_again(a);
}

void sap_mj_identities_again(sap_mj* a) {
  a->identity_count = 0;
  a->identity_cursor = 0;
  a->identity_next = a->identity_first;
  for (int32_t i = 0; i < a->identity_before; ++i) {
    a->identities[0][i].taken = false;
  }
}

static inline bool is_of_pair(const sap_mj_identity* old, const mjContact* c) {
  return old->geom1 == c->geom1 && old->geom2 == c->geom2;
}

// Those of the pair in the step before follow one another, most often where the last were found:
// one round from there.
static int32_t find_pair(const sap_mj* a, const mjContact* c) {
  const sap_mj_identity* before = a->identities[0];
  const int32_t count = a->identity_before;
  int32_t at = a->identity_cursor;
  for (int32_t looked = 0; looked < count; ++looked) {
    if (is_of_pair(&before[at], c)) {
      while (at > 0 && is_of_pair(&before[at - 1], c)) {
        --at;
      }
      return at;
    }
    at = at + 1 < count ? at + 1 : 0;
  }
  return -1;
}

sap_status sap_mj_identify(sap_mj* a, const mjData* d, const mjContact* c, int32_t* id,
                           sap_error* error) {
  const mjModel* m = a->model;
  SAP_TRY(SAP_GROW(&a->identities[1], &a->identity_capacity[1], a->identity_count + 1, error));
  sap_mj_identity* now = &a->identities[1][a->identity_count];
  *now = (sap_mj_identity){.geom1 = c->geom1, .geom2 = c->geom2};
  const int32_t body = m->geom_bodyid[c->geom1];
  const mjtNum *R = d->xmat + 9 * body, *x = d->xpos + 3 * body;
  for (int32_t k = 0; k < 3; ++k) {
    now->p[k] =
        R[k] * (c->pos[0] - x[0]) + R[3 + k] * (c->pos[1] - x[1]) + R[6 + k] * (c->pos[2] - x[2]);
  }
  const double size = fmin(m->geom_rbound[c->geom1] > 0.0 ? m->geom_rbound[c->geom1] : HUGE_VAL,
                           m->geom_rbound[c->geom2] > 0.0 ? m->geom_rbound[c->geom2] : HUGE_VAL);
  double nearest = NEAR * NEAR * size * size;
  sap_mj_identity* found = NULL;
  const int32_t first = find_pair(a, c);
  for (int32_t i = first; i >= 0 && i < a->identity_before; ++i) {
    sap_mj_identity* old = &a->identities[0][i];
    if (!is_of_pair(old, c)) {
      break;
    }
    const double distance = distance_2(now->p, old->p);
    if (!old->taken && distance < nearest) {
      nearest = distance;
      found = old;
    }
  }
  a->identity_cursor = first >= 0 ? first : a->identity_cursor;
  if (found != NULL) {
    found->taken = true;
    now->id = found->id;
  } else {
    now->id = a->identity_next;
    a->identity_next = a->identity_next < INT32_MAX ? a->identity_next + 1 : 0;
  }
  *id = now->id;
  ++a->identity_count;
  return SAP_STATUS_OK;
}
