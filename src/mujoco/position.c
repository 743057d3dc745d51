// SPDX-License-Identifier: BSD-3-Clause
// mj_fwdPosition with wider margins: contacts that slide are kept while they glide above the
// surface, and limits are detected before they are reached. Both have their constraint rows in
// mjData, with MuJoCo's own margins and zero force until they act.
//   Gliding: SAP lets a sliding contact rise to (h + tau_d) mu |v_t| above the surface (castro,
//   Sec. III-B), where geometry alone would lose it. The contacts of the step before, in mjData,
//   tell which pairs slide and how far.
//   Touching: geoms placed exactly in touch have no contact in MuJoCo at a distance of 0. Planes,
//   spheres, capsules and boxes get a small margin. For other geoms MuJoCo's general convex
//   collision returns wrong depths within so small a margin.
//   Place: the two compliances decide the contact point, on the rigid one's surface. MuJoCo puts it
//   half way.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "mujoco/adapter.h"

static const double GLIDE_FLOOR = 1e-6;  // contacts below this height rest [m]
static const double GLIDE_LIMIT = 0.25;  // of the smaller geom's size; beyond, it was placed there

static void save_poses(sap_mj* a, const mjData* d) {
  double* to = a->glides.poses;
  for (int32_t b = 0; b < (int32_t)a->model->nbody; ++b, to += 12) {
    memcpy(to, d->xpos + 3 * b, 3 * sizeof(double));
    memcpy(to + 3, d->xmat + 9 * b, 9 * sizeof(double));
  }
}

// Measures bodies' motions since the step before. A point r from the origin moves by at most
//   |change of x| + |change of R|_F |r|
static void measure_motions(sap_mj* a, const mjData* d) {
  const double* before = a->glides.poses;
  for (int32_t b = 0; b < (int32_t)a->model->nbody; ++b, before += 12) {
    double way[3], turn = 0.0;
    sap_v3_sub(way, d->xpos + 3 * b, before);
    for (int32_t k = 0; k < 9; ++k) {
      const double change = d->xmat[9 * b + k] - before[3 + k];
      turn += change * change;
    }
    a->glides.motions[2 * b] = sap_v3_norm(way);
    a->glides.motions[2 * b + 1] = sqrt(turn);
  }
}

static bool has_moved(const sap_mj* a, int32_t body) {
  return a->glides.motions[2 * body] > 0.0 || a->glides.motions[2 * body + 1] > 0.0;
}

// Returns a bound on the distance that a point of the body has moved.
static double longest_way(const sap_mj* a, int32_t body, const double p[3]) {
  if (!has_moved(a, body)) {
    return 0.0;
  }
  const double* x = a->glides.poses + 12 * body;
  double r[3];
  sap_v3_sub(r, p, x);
  return a->glides.motions[2 * body] + a->glides.motions[2 * body + 1] * sap_v3_norm(r);
}

// Moves a point p of the step before with its body.
static void move_point(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                       double out[3]) {
  if (!has_moved(a, body)) {
    sap_v3_copy(out, p);
    return;
  }
  const double *x = a->glides.poses + 12 * body, *R = x + 3;
  const mjtNum *y = d->xpos + 3 * body, *S = d->xmat + 9 * body;
  double local[3];
  sap_v3_sub(local, p, x);
  sap_m3_mul_v3(local, R, local);  // R is row-major: this is R' r
  for (int32_t k = 0; k < 3; ++k) {
    out[k] = y[k] + S[3 * k] * local[0] + S[3 * k + 1] * local[1] + S[3 * k + 2] * local[2];
  }
}

static bool has_rows(const sap_mj* a, const mjData* d, const mjContact* c) {
  const mjModel* m = a->model;
  const int rows = sap_mj_contact_row_count(&a->shadow, c);
  return c->exclude == 0 && c->efc_address >= 0 && c->efc_address + rows <= d->nefc &&
         c->geom1 >= 0 && c->geom2 >= 0 && c->geom1 < (int)m->ngeom && c->geom2 < (int)m->ngeom;
}

sap_status sap_mj_position_save_contacts(sap_mj* a, const mjData* d, sap_error* error) {
  const double rate = 1.0 / a->model->opt.timestep;
  sap_mj_glides* glides = &a->glides;
  if (glides->are_loaded) {
    glides->are_loaded = false;
    return SAP_STATUS_OK;
  }
  glides->count = 0;
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    const mjContact* c = &d->contact[i];
    if (c->dim < 3 || !has_rows(a, d, c)) {
      continue;
    }
    SAP_TRY(SAP_GROW(&glides->list, &glides->capacity, glides->count + 1, error));
    sap_mj_glide* glide = &glides->list[glides->count++];
    const double tau_d = sap_mj_materials_contact_relaxation_time(a, c);
    glide->geom1 = c->geom1;
    glide->geom2 = c->geom2;
    glide->rise = (1.0 + rate * tau_d) * fmax(c->friction[0], c->friction[1]);
    memcpy(glide->p, c->pos, sizeof glide->p);
    memcpy(glide->n, c->frame, sizeof glide->n);
  }
  if (glides->count > 0) {
    save_poses(a, d);
  }
  return SAP_STATUS_OK;
}

// Returns the tangential distance of the two bodies' points since the step before [m].
static double slip_of(const sap_mj* a, const mjData* d, const sap_mj_glide* glide) {
  const mjModel* m = a->model;
  const int32_t body1 = m->geom_bodyid[glide->geom1], body2 = m->geom_bodyid[glide->geom2];
  double x1[3], x2[3], n[3];
  sap_v3_add(n, glide->p, glide->n);
  move_point(a, d, body1, glide->p, x1);
  move_point(a, d, body2, glide->p, x2);
  move_point(a, d, body1, n, n);
  sap_v3_sub(n, n, x1);
  sap_v3_sub(x2, x2, x1);
  sap_v3_add_scaled(x2, n, -sap_v3_dot(n, x2));
  return sap_v3_norm(x2);
}

// Returns the height up to which the contact may glide [m].
static double height_of(const sap_mj* a, const mjData* d, const sap_mj_glide* glide) {
  const int32_t* bodies = a->model->geom_bodyid;
  const double most = longest_way(a, bodies[glide->geom1], glide->p) +
                      longest_way(a, bodies[glide->geom2], glide->p);
  return glide->rise * most > GLIDE_FLOOR ? glide->rise * slip_of(a, d, glide) : 0.0;
}

// Keeps the pairs that glide, with their reach.
static void find_glides(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  int32_t count = 0;
  if (a->glides.count > 0) {
    measure_motions(a, d);
  }
  for (int32_t i = 0; i < a->glides.count; ++i) {
    const sap_mj_glide* glide = &a->glides.list[i];
    const double height = height_of(a, d, glide);
    if (!(height > GLIDE_FLOOR)) {
      continue;
    }
    const double size = fmin(sap_mj_geom_size(m, glide->geom1), sap_mj_geom_size(m, glide->geom2));
    const double reach = fmin(height, GLIDE_LIMIT * size);
    sap_mj_glide* last = count > 0 ? &a->glides.list[count - 1] : NULL;
    if (last != NULL && last->geom1 == glide->geom1 && last->geom2 == glide->geom2) {
      last->reach = fmax(last->reach, reach);
      continue;
    }
    a->glides.list[count] = *glide;
    a->glides.list[count++].reach = reach;
  }
  a->glides.count = count;
}

// Returns the height up to which contacts of the pair glide, 0: they do not [m].
static double glide_reach(const sap_mj* a, const mjContact* c) {
  double reach = 0.0;
  for (int32_t i = 0; i < a->glides.count; ++i) {
    if (a->glides.list[i].geom1 == c->geom1 && a->glides.list[i].geom2 == c->geom2) {
      reach = fmax(reach, a->glides.list[i].reach);
    }
  }
  return reach;
}

// A limit is detected within this share of the range, or when this many (h + tau_d) |v| reach it,
// as in our own models.
static const double LIMIT_RANGE_SHARE = 0.1;
static const double LIMIT_HORIZONS = 4.0;

static void widen_geom(sap_mj* a, int32_t geom, double reach) {
  const mjModel* m = a->model;
  a->margins.geom[geom] = fmax(a->margins.geom[geom], m->geom_margin[geom] + reach);
  const int32_t body = m->geom_bodyid[geom];
  a->margins.body[body] = fmax(a->margins.body[body], a->margins.geom[geom] + m->geom_gap[geom]);
}

bool sap_mj_position_finds_touch(const mjModel* m) {
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

// Returns the gap at which two geoms count as touching; planes have no radius and take the other's.
static double touch_of(const sap_mj* a, int32_t geom1, int32_t geom2) {
  const mjModel* m = a->model;
  if (!a->margins.finds_touch) {
    return 0.0;
  }
  const double r1 = geom1 >= 0 ? m->geom_rbound[geom1] : 0.0;
  const double r2 = geom2 >= 0 ? m->geom_rbound[geom2] : 0.0;
  return SAP_TOUCHING * (r1 > 0.0 && r2 > 0.0 ? fmin(r1, r2) : fmax(r1, r2));
}

// Copies the margins, widened for geoms that touch. Returns the largest addition.
static double widen_for_touch(sap_mj* a) {
  const mjModel* m = a->model;
  double largest = 0.0;
  if (m->npair > 0) {
    memcpy(a->margins.pair, m->pair_margin, (size_t)m->npair * sizeof(mjtNum));
  }
#if SAP_MJ_SINCE(3, 0, 0)
  memcpy(a->margins.body, m->body_margin, (size_t)m->nbody * sizeof(mjtNum));
#endif
  for (int32_t i = 0; i < (int32_t)m->ngeom; ++i) {
    const double touch = touch_of(a, i, i);
    a->margins.geom[i] = m->geom_margin[i];
    widen_geom(a, i, touch);
    largest = fmax(largest, touch);
  }
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    a->margins.pair[i] += touch_of(a, m->pair_geom1[i], m->pair_geom2[i]);
  }
  return largest;
}

// Returns true if MuJoCo sees wider contact margins than those of the model.
static bool is_wide(const sap_mj* a) {
  return a->glides.count > 0 || a->margins.finds_touch;
}

// Widens the margins of geoms that touch or glide, in copies that the shadow points to.
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
  for (int32_t i = 0; i < a->glides.count; ++i) {
    const sap_mj_glide* glide = &a->glides.list[i];
    widen_geom(a, glide->geom1, glide->reach);
    widen_geom(a, glide->geom2, glide->reach);
    const int32_t pair = sap_mj_materials_find_pair(m, glide->geom1, glide->geom2);
    if (pair >= 0) {
      a->margins.pair[pair] = fmax(a->margins.pair[pair], m->pair_margin[pair] + glide->reach);
    }
    largest = fmax(largest, glide->reach);
  }
  s->geom_margin = a->margins.geom;
  s->pair_margin = a->margins.pair;
#if SAP_MJ_SINCE(3, 0, 0)
  s->body_margin = a->margins.body;
#endif
  s->opt.o_margin += largest;
}

static void widen_limits(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep;
  for (int32_t j = 0; j < (int32_t)m->njnt; ++j) {
    a->margins.joint[j] = m->jnt_margin[j];
    if (!m->jnt_limited[j]) {
      continue;
    }
    const mjtNum *range = m->jnt_range + 2 * j, *v = d->qvel + m->jnt_dofadr[j];
    const bool ball = m->jnt_type[j] == mjJNT_BALL;
    const double width = ball ? range[1] : range[1] - range[0];
    const double speed = ball ? sap_v3_norm(v) : fabs(v[0]);
    const double horizon = LIMIT_HORIZONS * (h + a->materials.joints[j].relaxation_time);
    a->margins.joint[j] += fmax(LIMIT_RANGE_SHARE * width, horizon * speed);
  }
  for (int32_t t = 0; t < (int32_t)m->ntendon; ++t) {
    const mjtNum* range = m->tendon_range + 2 * t;
    a->margins.tendon[t] = m->tendon_margin[t];
    if (m->tendon_limited[t]) {  // ten_velocity is that of the step before: uses the range alone
      a->margins.tendon[t] += LIMIT_RANGE_SHARE * (range[1] - range[0]);
    }
  }
  a->shadow.jnt_margin = a->margins.joint;
  a->shadow.tendon_margin = a->margins.tendon;
}

// Finds the distances that MuJoCo derives from the model's own margins: contacts have forces below
// `force` and are listed below `detect`.
static void own_margins(const mjModel* m, const mjContact* c, double* force, double* detect) {
  const int32_t g1 = c->geom1, g2 = c->geom2, pair = sap_mj_materials_find_pair(m, g1, g2);
  double margin, gap;
  if (pair >= 0) {
    margin = m->pair_margin[pair];
    gap = m->pair_gap[pair];
  } else {
    margin = sap_mj_combine(c, m->geom_margin, SAP_MJ_OF_FLEXES(m->flex_margin));
    gap = sap_mj_combine(c, m->geom_gap, SAP_MJ_OF_FLEXES(m->flex_gap));
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

// Sets the model's own margins in a contact that wider margins may have brought. Returns false if
// it neither touches nor glides and MuJoCo would not have listed it.
static bool settle_margins(const sap_mj* a, mjContact* c) {
  double force, detect;
  own_margins(a->model, c, &force, &detect);
  c->includemargin = force;
  if (c->exclude > 1) {
    return c->dist < detect;
  }
  const double reach =
      c->dist < force ? 0.0 : fmax(glide_reach(a, c), touch_of(a, c->geom1, c->geom2));
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

// Moves the point to where the surfaces meet; frame[0 ... 2] is the normal from geom 1 to 2.
static void place_contact(const sap_mj* a, mjContact* c) {
  const double shift = (sap_mj_materials_contact_share(a, c) - 0.5) * (c->dist - c->includemargin);
  sap_v3_add_scaled(c->pos, c->frame, shift);
}

static void settle_contacts(const sap_mj* a, mjData* d) {
  int32_t kept = 0;
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    mjContact* c = &d->contact[i];
    if (is_wide(a) && !settle_margins(a, c)) {
      continue;
    }
    if (c->exclude == 0) {
      place_contact(a, c);
    }
    if (kept != i) {
      d->contact[kept] = *c;
    }
    ++kept;
  }
  d->ncon = kept;
}

// Writes the model's own margins to the rows of limits.
static void settle_limits(const sap_mj* a, mjData* d) {
  for (int32_t i = 0; i < (int32_t)d->nefc; ++i) {
    if (d->efc_type[i] == mjCNSTR_LIMIT_JOINT) {
      d->efc_margin[i] = a->model->jnt_margin[d->efc_id[i]];
    } else if (d->efc_type[i] == mjCNSTR_LIMIT_TENDON) {
      d->efc_margin[i] = a->model->tendon_margin[d->efc_id[i]];
    }
  }
}

static void update_kinematics(const mjModel* m, mjData* d) {
#if SAP_MJ_SINCE(3, 5, 0)
  d->flg_energypos = d->flg_energyvel = 0;  // sensors evaluate the energy again
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

sap_status sap_mj_position_update(sap_mj* a, mjData* d, sap_error* error) {
  const mjModel* s = &a->shadow;
  SAP_TRY(sap_mj_position_save_contacts(a, d, error));
  update_kinematics(s, d);
  find_glides(a, d);
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
