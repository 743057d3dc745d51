// SPDX-License-Identifier: BSD-3-Clause
// mj_fwdPosition with a wider look: contacts that slide are kept while they glide above the surface
// and limits are seen before they are met. Both leave their constraint rows in mjData, with
// MuJoCo's own margins and zero force until they act.
//   Contacts that slide glide above the surface: see glide.c.
//   Geoms that are put to touch do, where MuJoCo has no contact at a distance of 0: planes,
//   spheres, capsules and boxes. With others, within so small a margin, its general collision of
//   convex shapes finds depths that are not there.
//   A contact is where the two compliances put it, on the rigid one's surface; MuJoCo: half way.
#include <math.h>
#include <string.h>

#include "mujoco/adapter.h"

// A limit is seen from a tenth of the range, or when so many (h + tau_d) |v| reach it: as the
// assembly of our own models has it.
static const double LIMIT_RANGE_SHARE = 0.1;
static const double LIMIT_HORIZONS = 4.0;

static void widen_geom(sap_mj* a, int32_t geom, double reach) {
  const mjModel* m = a->model;
  a->geom_margin[geom] = fmax(a->geom_margin[geom], m->geom_margin[geom] + reach);
  const int32_t body = m->geom_bodyid[geom];
  a->body_margin[body] = fmax(a->body_margin[body], a->geom_margin[geom] + m->geom_gap[geom]);
}

bool sap_mj_finds_touch(const mjModel* m) {
  for (int32_t i = 0; i < (int32_t)m->ngeom; ++i) {
    const int type = m->geom_type[i];
    const bool collides = m->npair > 0 || m->geom_contype[i] != 0 || m->geom_conaffinity[i] != 0;
    if (collides && type != mjGEOM_PLANE && type != mjGEOM_SPHERE && type != mjGEOM_CAPSULE &&
        type != mjGEOM_BOX) {
      return false;
    }
  }
  return true;
}

// Planes have no radius: the other geom's counts.
static double touch_of(const sap_mj* a, int32_t geom1, int32_t geom2) {
  const mjModel* m = a->model;
  if (!a->finds_touch) {
    return 0.0;
  }
  const double r1 = geom1 >= 0 ? m->geom_rbound[geom1] : 0.0;
  const double r2 = geom2 >= 0 ? m->geom_rbound[geom2] : 0.0;
  return SAP_TOUCHING * (r1 > 0.0 && r2 > 0.0 ? fmin(r1, r2) : fmax(r1, r2));
}

// Copies of the margins, wide enough for what touches; returns the largest addition.
static double widen_for_touch(sap_mj* a) {
  const mjModel* m = a->model;
  double largest = 0.0;
  if (m->npair > 0) {
    memcpy(a->pair_margin, m->pair_margin, (size_t)m->npair * sizeof(mjtNum));
  }
#if SAP_MJ_SINCE(3, 0, 0)
  memcpy(a->body_margin, m->body_margin, (size_t)m->nbody * sizeof(mjtNum));
#endif
  for (int32_t i = 0; i < (int32_t)m->ngeom; ++i) {
    const double touch = touch_of(a, i, i);
    a->geom_margin[i] = m->geom_margin[i];
    widen_geom(a, i, touch);
    largest = fmax(largest, touch);
  }
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    a->pair_margin[i] += touch_of(a, m->pair_geom1[i], m->pair_geom2[i]);
  }
  return largest;
}

// Whether MuJoCo sees wider margins of contacts than the model has.
static bool is_wide(const sap_mj* a) {
  return a->glide_count > 0 || a->finds_touch;
}

// Margins of what touches or glides, in copies that the shadow points to.
static void widen_contacts(sap_mj* a) {
  const mjModel* m = a->model;
  mjModel* s = &a->shadow;
  s->geom_margin = m->geom_margin;
  s->pair_margin = m->pair_margin;
#if SAP_MJ_SINCE(3, 0, 0)
  s->body_margin = m->body_margin;
#endif
  if (!is_wide(a)) {
    return;
  }
  double largest = widen_for_touch(a);
  for (int32_t i = 0; i < a->glide_count; ++i) {
    const sap_mj_glide* glide = &a->glides[i];
    widen_geom(a, glide->geom1, glide->reach);
    widen_geom(a, glide->geom2, glide->reach);
    const int32_t pair = sap_mj_find_pair(m, glide->geom1, glide->geom2);
    if (pair >= 0) {
      a->pair_margin[pair] = fmax(a->pair_margin[pair], m->pair_margin[pair] + glide->reach);
    }
    largest = fmax(largest, glide->reach);
  }
  s->geom_margin = a->geom_margin;
  s->pair_margin = a->pair_margin;
#if SAP_MJ_SINCE(3, 0, 0)
  s->body_margin = a->body_margin;
#endif
  s->opt.o_margin += largest;
}

// Margins of limits.
static void widen_limits(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep;
  for (int32_t j = 0; j < (int32_t)m->njnt; ++j) {
    a->joint_margin[j] = m->jnt_margin[j];
    if (!m->jnt_limited[j]) {
      continue;
    }
    const mjtNum *range = m->jnt_range + 2 * j, *v = d->qvel + m->jnt_dofadr[j];
    const bool ball = m->jnt_type[j] == mjJNT_BALL;
    const double width = ball ? range[1] : range[1] - range[0];
    const double speed = ball ? sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) : fabs(v[0]);
    a->joint_margin[j] +=
        fmax(LIMIT_RANGE_SHARE * width, LIMIT_HORIZONS * (h + a->joint_limit[2 * j + 1]) * speed);
  }
  for (int32_t t = 0; t < (int32_t)m->ntendon; ++t) {
    a->tendon_margin[t] = m->tendon_margin[t];
    if (!m->tendon_limited[t]) {
      continue;
    }
    // ten_velocity is that of the step before or not there yet: the range alone.
    const mjtNum* range = m->tendon_range + 2 * t;
    a->tendon_margin[t] += LIMIT_RANGE_SHARE * (range[1] - range[0]);
  }
  a->shadow.jnt_margin = a->joint_margin;
  a->shadow.tendon_margin = a->tendon_margin;
}

static double margin_of(const mjModel* m, const mjContact* c, int32_t side) {
  return sap_mj_side(c, side, m->geom_margin, SAP_MJ_OF_FLEXES(m->flex_margin));
}

static double gap_of(const mjModel* m, const mjContact* c, int32_t side) {
  return sap_mj_side(c, side, m->geom_gap, SAP_MJ_OF_FLEXES(m->flex_gap));
}

// What MuJoCo would have made of the margins of the model: forces below `force`, listed below
// `detect`.
static void own_margins(const mjModel* m, const mjContact* c, double* force, double* detect) {
  const int32_t g1 = c->geom1, g2 = c->geom2, pair = sap_mj_find_pair(m, g1, g2);
  double margin, gap;
  if (pair >= 0) {
    margin = m->pair_margin[pair];
    gap = m->pair_gap[pair];
  } else {
    const double margins[2] = {margin_of(m, c, 0), margin_of(m, c, 1)};
    const double gaps[2] = {gap_of(m, c, 0), gap_of(m, c, 1)};
#if SAP_MJ_SINCE(3, 5, 0)
    margin = margins[0] + margins[1];
    gap = gaps[0] + gaps[1];
#else
    margin = fmax(margins[0], margins[1]);
    gap = fmax(gaps[0], gaps[1]);
#endif
  }
  if ((m->opt.enableflags & mjENBL_OVERRIDE) != 0) {
    margin = m->opt.o_margin;
  }
#if SAP_MJ_SINCE(3, 9, 0)
  *force = margin;
  *detect = margin + gap;
#else
  *force = margin - gap;
  *detect = margin;
#endif
}

// Of the contacts that wider margins brought, keeps those that touch or glide; false: not wanted.
static bool settle_margins(const sap_mj* a, mjContact* c) {
  double force, detect;
  own_margins(a->model, c, &force, &detect);
  c->includemargin = force;
  if (c->exclude > 1) {
    return c->dist < detect;
  }
  const double reach =
      c->dist < force ? 0.0 : fmax(sap_mj_glide_reach(a, c), touch_of(a, c->geom1, c->geom2));
  if (c->dist < force + reach) {
    c->exclude = 0;
#if SAP_MJ_SINCE(3, 11, 0)
    if (!(c->dist < detect)) {
      c->adhesion = 0.0;
    }
#endif
    return true;
  }
  c->exclude = 1;
  return c->dist < detect;
}

// Moves the contact to where the surfaces meet; frame[0 ... 2] is the normal from geom 1 to 2.
static void place(const sap_mj* a, mjContact* c) {
  const double shift = (sap_mj_contact_share(a, c) - 0.5) * (c->dist - c->includemargin);
  for (int32_t i = 0; i < 3; ++i) {
    c->pos[i] += shift * c->frame[i];
  }
}

static void settle_contacts(const sap_mj* a, mjData* d) {
  int32_t kept = 0;
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    mjContact* c = &d->contact[i];
    if (is_wide(a) && !settle_margins(a, c)) {
      continue;
    }
    if (c->exclude == 0) {
      place(a, c);
    }
    if (kept != i) {
      d->contact[kept] = *c;
    }
    ++kept;
  }
  d->ncon = kept;
}

// The margins that the model has stand beside the rows of limits.
static void settle_limits(const sap_mj* a, mjData* d) {
  for (int32_t i = 0; i < (int32_t)d->nefc; ++i) {
    if (d->efc_type[i] == mjCNSTR_LIMIT_JOINT) {
      d->efc_margin[i] = a->model->jnt_margin[d->efc_id[i]];
    } else if (d->efc_type[i] == mjCNSTR_LIMIT_TENDON) {
      d->efc_margin[i] = a->model->tendon_margin[d->efc_id[i]];
    }
  }
}

static void kinematics(const mjModel* m, mjData* d) {
#if SAP_MJ_SINCE(3, 5, 0)
  d->flg_energypos = d->flg_energyvel = 0;  // sensors of energy are found anew
#endif
#if SAP_MJ_SINCE(3, 4, 0)
  mj_fwdKinematics(m, d);
#else
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_camlight(m, d);
#if SAP_MJ_SINCE(3, 0, 0)
  mj_flex(m, d);
#endif
  mj_tendon(m, d);
#endif
#if SAP_MJ_SINCE(3, 3, 3)
  mj_makeM(m, d);
#else
  mj_crb(m, d);
#endif
  mj_factorM(m, d);
}

sap_status sap_mj_position(sap_mj* a, mjData* d, sap_error* error) {
  const mjModel* s = &a->shadow;
  SAP_TRY(sap_mj_remember_contacts(a, d, error));
  kinematics(s, d);
  sap_mj_find_glides(a, d);
  widen_contacts(a);
  widen_limits(a, d);
  mj_collision(s, d);
  settle_contacts(a, d);
  mj_makeConstraint(s, d);
  settle_limits(a, d);
  mj_transmission(s, d);
#if SAP_MJ_SINCE(3, 0, 0)
  d->nisland = 0;
#endif
  return SAP_STATUS_OK;
}
