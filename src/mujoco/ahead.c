// SPDX-License-Identifier: BSD-3-Clause
// Contacts that the motion of a step closes, found from its start alone.
//
//   Margins  MuJoCo's collision sees the ways of all bodies with v0, and a little more.
//   Touch    Pairs that touch at q0 have all contacts within their relative way with v0.
//   Ahead    Pairs that are apart, and that v0 and v* bring together, have the contacts of q0 if
//            they are close, else those of the place where they first touch, the time s ahead; phi0
//            is the distance there less s times its rate. Pairs that pass each other have none.
//   Inexact  Without native CCD (MuJoCo 3.3) the general convex collision inflates shapes by the
//            margin and finds wrong depths (8 cm within 10 cm). Such pairs are collided again in
//            their own margins, and are apart if that finds nothing; their touch is bisected.
//   Closure  Contacts and pairs that the solution closes join those of the step, which is solved
//            again. If it moves bodies beyond the margins, all pairs are found again. Gaps that v0
//            leaves open wait for this: v* of bodies at rest would close all gaps below them.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "math/vector3.h"
#include "mujoco/adapter.h"
#include "multibody/dynamics/spatial.h"
#include "multibody/geometry/ahead_gap.h"

enum { ADVANCES_MAX = 48 };
// Reach of the margins: WAY ways of v0, CHANGE ways of the change of v in the step before (without
// one, that of a fall from rest) and SPARE ways of a fall. Less costs collisions again, more costs
// pairs.
static const double WAY = 1.25, CHANGE = 2.0, SPARE = 0.1;
// Samples of the way of an inexact pair, one for each SAMPLE of the smaller geom, and bisections.
static const double SAMPLE = 0.25;
enum { SAMPLES_MAX = 64, BISECTIONS = 12 };

// --- motion ---

// Sets the motion of all bodies with v: [omega; velocity of the origin]. MuJoCo's cdof is about the
// centre of mass of the tree.
static void find_motion(sap_mj* a, const mjData* d, const double* v) {
  const mjModel* m = a->model;
  double* motion = a->ahead.motion;
  for (int32_t b = 1; b < (int32_t)m->nbody; ++b) {
    double* V = motion + 6 * b;
    const int32_t first = m->body_dofadr[b];
    memcpy(V, motion + 6 * m->body_parentid[b], 6 * sizeof(double));
    if (m->body_mocapid[b] >= 0) {
      memcpy(V, a->mocap.velocity + 6 * m->body_mocapid[b], 6 * sizeof(double));
    }
    for (int32_t i = first; i < first + m->body_dofnum[b]; ++i) {
      for (int32_t k = 0; k < 6; ++k) {
        V[k] += v[i] * d->cdof[6 * i + k];
      }
    }
  }
  for (int32_t b = 1; b < (int32_t)m->nbody; ++b) {
    double *V = motion + 6 * b, r[3];
    if (a->trees.of_body[b] >= 0) {
      sap_v3_sub(r, d->xpos + 3 * b, d->subtree_com + 3 * m->body_rootid[b]);
      sap_spatial_velocity_at(V + 3, V, r);
    } else if (m->nmocap > 0 && m->body_mocapid[b] < 0) {
      double omega[3];
      (void)sap_mj_mocap_point(a, d, b, d->xpos + 3 * b, V + 3, omega);
    }
  }
}

// Adds `sign` times the velocity of a point of the geom's body at the start of the step.
static void add_velocity(const sap_mj* a, const mjData* d, int32_t geom, const double p[3],
                         double sign, double v[3]) {
  const int32_t body = a->model->geom_bodyid[geom];
  const double* V = a->ahead.motion + 6 * body;
  double r[3], turned[3];
  sap_v3_sub(r, p, d->xpos + 3 * body);
  sap_v3_cross(turned, V, r);
  sap_v3_add_scaled(v, turned, sign);
  sap_v3_add_scaled(v, V + 3, sign);
}

// Bound of the way of a body's points.
static double way_of(const sap_mj* a, int32_t body) {
  const double* V = a->ahead.motion + 6 * body;
  return a->model->opt.timestep * (sap_v3_norm(V + 3) + sap_v3_norm(V) * a->ahead.arm[body]);
}

void sap_mj_ahead_begin(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep, fall = h * h * sap_v3_norm(m->opt.gravity);
  sap_mj_ahead* ahead = &a->ahead;
  ahead->is_narrow = false;
  memset(ahead->arm, 0, (size_t)m->nbody * sizeof(double));
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    double* arm = &ahead->arm[m->geom_bodyid[g]];
    *arm = fmax(*arm, sap_v3_norm(m->geom_pos + 3 * g) + m->geom_rbound[g]);
  }
  const double* change = sap_mj_momentum_change(a, d);
  if (change != NULL) {
    find_motion(a, d, change);
  }
  for (int32_t b = 1; b < (int32_t)m->nbody; ++b) {
    const double change_way = change != NULL ? way_of(a, b) : fall;
    ahead->reach[b] = a->trees.of_body[b] >= 0 ? CHANGE * change_way + SPARE * fall : 0.0;
  }
  find_motion(a, d, d->qvel);
  if (a->patches.collision != NULL) {
    memcpy(a->patches.v0, ahead->motion, 6 * (size_t)m->nbody * sizeof(double));
  }
  for (int32_t b = 1; b < (int32_t)m->nbody; ++b) {
    ahead->reach[b] += WAY * way_of(a, b);
  }
}

// Returns true if a body moves beyond the margins, and widens them.
static bool leaves_margins(sap_mj* a) {
  bool leaves = false;
  for (int32_t b = 1; b < (int32_t)a->model->nbody; ++b) {
    const double way = way_of(a, b);
    if (way > a->ahead.reach[b]) {
      a->ahead.reach[b] = 2.0 * way;
      leaves = true;
    }
  }
  return leaves;
}

// --- pairs ---

// Returns the end of the contacts of one pair that begin at `first`.
static int32_t end_of_pair(const mjContact* list, int32_t first, int32_t count) {
  int32_t end = first + 1;
  while (end < count && list[end].geom1 == list[first].geom1 &&
         list[end].geom2 == list[first].geom2) {
    ++end;
  }
  return end;
}

// Motion of a geom's centre at its place after the time t of the step.
typedef struct geom_motion {
  double velocity[3];
  double rate;   // |omega|
  double arm;    // of the centre about the body's origin
  double about;  // radius that turns about the centre
} geom_motion;

static geom_motion motion_of(const sap_mj* a, const mjData* d, int32_t geom, const double p[3],
                             double t) {
  const mjModel* m = a->model;
  const int32_t body = m->geom_bodyid[geom];
  const double* V = a->ahead.motion + 6 * body;
  geom_motion out = {.rate = sap_v3_norm(V)};
  double r[3];
  sap_v3_sub(r, p, d->xpos + 3 * body);
  sap_v3_add_scaled(r, V + 3, -t);
  sap_spatial_velocity_at(out.velocity, V, r);
  out.arm = sap_v3_norm(r);
  out.about = m->geom_type[geom] == mjGEOM_SPHERE ? 0.0 : m->geom_rbound[geom];
  return out;
}

// Bound of the relative way of two geoms.
static double relative_way(const sap_mj* a, const mjData* d, const mjContact* c) {
  const double h = a->model->opt.timestep;
  double velocity[3] = {0.0, 0.0, 0.0}, way = 0.0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t geom = sap_mj_contact_geom(c, side);
    const geom_motion g = motion_of(a, d, geom, d->geom_xpos + 3 * geom, 0.0);
    const double angle = h * g.rate;
    sap_v3_add_scaled(velocity, g.velocity, side == 0 ? -1.0 : 1.0);
    way += fmin(angle, 2.0) * g.about + 0.5 * angle * angle * g.arm;
  }
  return way + h * sap_v3_norm(velocity);
}

// Places a geom where its body's motion takes it in the time t; R may be NULL.
static void place_geom(const sap_mj* a, const mjData* d, int32_t geom, double t, double p[3],
                       double R[9]) {
  const int32_t body = a->model->geom_bodyid[geom];
  const double *V = a->ahead.motion + 6 * body, *x = d->xpos + 3 * body;
  double angle[3], q[4], turn[9], arm[3];
  if (!(t > 0.0)) {
    sap_v3_copy(p, d->geom_xpos + 3 * geom);
    return;
  }
  sap_v3_scale(angle, V, t);
  sap_quaternion_exp(q, angle);
  sap_quaternion_to_matrix(turn, q);
  sap_v3_sub(arm, d->geom_xpos + 3 * geom, x);
  sap_v3_place(p, x, turn, arm);
  sap_v3_add_scaled(p, V + 3, t);
  if (R != NULL) {  // MuJoCo's matrices are row-major: `turn` is its transpose there
    mju_mulMatTMat(R, turn, d->geom_xmat + 9 * geom, 3, 3, 3);
    sap_mj_position_straighten(R);
  }
}

// Finds the contacts of the pair of `c` at distances below `margin` after the time t, in
// a->ahead.found; returns how many.
static int32_t collide(sap_mj* a, mjData* d, const mjContact* c, double t, double margin) {
  mjContact* found = a->ahead.found;
  mjtNum poses[2][12];
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t geom = sap_mj_contact_geom(c, side);
    memcpy(poses[side], d->geom_xpos + 3 * geom, 3 * sizeof(mjtNum));
    memcpy(poses[side] + 3, d->geom_xmat + 9 * geom, 9 * sizeof(mjtNum));
    if (t > 0.0) {
      double p[3], R[9];
      place_geom(a, d, geom, t, p, R);
      memcpy(d->geom_xpos + 3 * geom, p, sizeof p);
      memcpy(d->geom_xmat + 9 * geom, R, sizeof R);
    }
  }
  const int32_t count = sap_mj_collide(&a->shadow, d, c, margin, found);
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t geom = sap_mj_contact_geom(c, side);
    memcpy(d->geom_xpos + 3 * geom, poses[side], 3 * sizeof(mjtNum));
    memcpy(d->geom_xmat + 9 * geom, poses[side] + 3, 9 * sizeof(mjtNum));
  }
  for (int32_t i = 0; i < count; ++i) {
    double axes[9];
    sap_m3_from_normal(axes, found[i].frame);
    memcpy(found[i].frame + 3, axes, 6 * sizeof(double));
  }
  return count;
}

static const mjContact* deepest_of(const mjContact* list, int32_t count) {
  const mjContact* deepest = list;
  for (int32_t i = 1; i < count; ++i) {
    deepest = list[i].dist < deepest->dist ? &list[i] : deepest;
  }
  return deepest;
}

// Bound of the speed at which the geoms close along n from the time t on.
static double closing_speed(const sap_mj* a, const mjData* d, const mjContact* c, double t,
                            const double n[3]) {
  const double left = a->model->opt.timestep - t;
  double speed = 0.0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t geom = sap_mj_contact_geom(c, side);
    double p[3];
    place_geom(a, d, geom, t, p, NULL);
    const geom_motion g = motion_of(a, d, geom, p, t);
    speed += (side == 0 ? 1.0 : -1.0) * sap_v3_dot(n, g.velocity) + g.rate * g.about +
             left * g.rate * g.rate * g.arm;
  }
  return speed;
}

// Finds the first touch by conservative advancement of a pair whose `count` contacts at q0 are in
// a->ahead.found; returns the number of contacts at the touch, which replace them, 0: none. v*
// may leave some distance.
static int32_t advance_to_touch(sap_mj* a, mjData* d, int32_t count, bool is_solution,
                                double* time) {
  const mjContact first = a->ahead.found[0];
  const double h = a->model->opt.timestep, rest = first.includemargin;
  const double way = relative_way(a, d, &first);
  const double size = sap_mj_pair_size(a->model, &first), near = sap_ahead_gap(size, way);
  const double fall = h * h * sap_v3_norm(a->model->opt.gravity);
  const double spare = is_solution ? 0.0 : sap_ahead_slack(size, way, fall);
  double t = 0.0;
  for (int32_t k = 0; k < ADVANCES_MAX && count > 0; ++k) {
    const mjContact* deepest = deepest_of(a->ahead.found, count);
    const double gap = deepest->dist - rest;
    const double speed = closing_speed(a, d, &first, t, deepest->frame);
    if (!(speed * (h - t) > gap - spare)) {
      return 0;
    }
    if (gap <= (k > 0 ? SAP_AHEAD_LATE : 1.0) * near) {
      break;
    }
    t += (gap - near) / speed;
    count = collide(a, d, &first, t, rest + near + spare + way);
  }
  *time = t;
  return count;
}

// Finds the first touch of an inexact pair between samples of its way.
static int32_t bisect_touch(sap_mj* a, mjData* d, const mjContact* c, double* time) {
  const double h = a->model->opt.timestep, rest = c->includemargin;
  const double samples = ceil(relative_way(a, d, c) / (SAMPLE * sap_mj_pair_size(a->model, c)));
  const int32_t n = (int32_t)fmin(fmax(samples, 1.0), SAMPLES_MAX);
  double open = 0.0, closed = 0.0;
  int32_t count = 0;
  for (int32_t i = 1; count == 0 && i <= n; ++i) {
    open = closed;
    closed = h * i / n;
    count = collide(a, d, c, closed, rest);
  }
  if (count == 0) {
    return 0;
  }
  for (int32_t i = 0; i < BISECTIONS; ++i) {
    const double middle = 0.5 * (open + closed);
    *(collide(a, d, c, middle, rest) > 0 ? &closed : &open) = middle;
  }
  *time = closed;
  return collide(a, d, c, closed, rest);
}

// Moves a contact of the time t to q0, where each body has its own way until then. MuJoCo has one
// point for both: two bodies that move get the mean of their ways, and the Jacobian the rest.
static sap_status bring_back(sap_mj* a, const mjData* d, double t, mjContact* c, sap_error* error) {
  const int32_t geoms[2] = {c->geom1, c->geom2};
  double ways[2][3], part[3] = {0.0, 0.0, 0.0}, p[3], v[3] = {0.0, 0.0, 0.0};
  int32_t moving = 0;
  if (!(t > 0.0)) {
    return SAP_STATUS_OK;
  }
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t body = a->model->geom_bodyid[geoms[side]];
    const bool moves = a->trees.of_body[body] >= 0;  // others have no Jacobian
    sap_v3_scale(ways[side], a->ahead.motion + 6 * body + 3, moves ? t : 0.0);
    moving += moves ? 1 : 0;
  }
  if (moving == 2) {
    sap_v3_sub(part, ways[1], ways[0]);
    const double own = sap_ahead_own_ways(sap_mj_pair_size(a->model, c), sap_v3_norm(part));
    sap_v3_scale(part, part, 0.5 * own);
  }
  for (int32_t side = 0; side < 2; ++side) {
    sap_v3_add_scaled(c->pos, ways[side], moving == 2 ? -0.5 : -1.0);
  }
  for (int32_t side = 0; side < 2; ++side) {
    sap_v3_copy(p, c->pos);
    sap_v3_add_scaled(p, part, side == 0 ? 1.0 : -1.0);
    add_velocity(a, d, geoms[side], p, side == 0 ? -1.0 : 1.0, v);
  }
  const double change = -t * sap_v3_dot(c->frame, v);
  c->dist += change;
  if (sap_mj_patches_stiffness(c) > 0.0) {
    c->solimp[4] += change;
    c->dist = t > 0.0 ? fmax(c->dist, 0.0) : c->dist;
  }
  return sap_mj_ahead_keep_part(a, d, t, c, part, error);
}

// --- contacts of mjData ---

// `exclude` of contacts in the list of what is open.
enum {
  IS_ADDED,     // to mjData
  IS_EXPECTED,  // of a pair that v0 may close
  IS_LATE,      // of a pair that v0 leaves open
  IS_POINT      // of a pair that touches elsewhere
};

static sap_status keep(sap_mj* a, const mjContact* c, int32_t state, sap_error* error) {
  SAP_TRY(SAP_ROOM(&a->pool, &a->ahead.list, a->ahead.count + 1, error));
  a->ahead.list[a->ahead.count] = *c;
  a->ahead.list[a->ahead.count++].exclude = state;
  return SAP_STATUS_OK;
}

// The contacts that mj_collision found for one pair.
typedef struct run {
  double force, detect;  // sap_mj_position_own_margins
  double ahead;          // contacts act below this gap, 0: the pair is apart
  int32_t state;         // of the others in the list
} run;

// Puts a contact into mjData, at index *kept, or into the list of what is open. Contacts beyond
// MuJoCo's own margins are in mjData only if they may act.
static sap_status settle(sap_mj* a, mjData* d, const run* of, const mjContact* found, int32_t* kept,
                         sap_error* error) {
  mjContact c = *found;
  const double gap = c.dist - of->force;
  const bool own = c.dist < of->detect;
  c.includemargin = of->force;
  if (c.exclude <= 1) {
    c.exclude = gap < of->ahead ? 0 : 1;
#if SAP_MJ_SINCE(3, 11, 0)
    c.adhesion = own ? c.adhesion : 0.0;
#endif
    if (c.exclude != 0) {
      SAP_TRY(keep(a, &c, of->state, error));
    }
  }
  if (c.exclude == 0) {
    sap_mj_position_place(a, &c);
  }
  if (c.exclude == 0 || own) {
    d->contact[(*kept)++] = c;
  }
  return SAP_STATUS_OK;
}

// Decides about a pair with that gap: pairs that touch, or that v0 may close and whose contacts are
// those of q0, have contacts.
static void expect(sap_mj* a, const mjData* d, double gap, bool exact, const mjContact* c,
                   run* of) {
  const double way = relative_way(a, d, c), reach = WAY * way;
  const bool is_near = exact && gap <= sap_ahead_gap(sap_mj_pair_size(a->model, c), way);
  of->state = gap > fmax(reach, 0.0) ? IS_LATE : gap > 0.0 && !is_near ? IS_EXPECTED : IS_POINT;
  of->ahead = of->state == IS_POINT ? fmax(DBL_MIN, reach) : 0.0;
  a->ahead.is_expected = a->ahead.is_expected || of->state == IS_EXPECTED;
}

// Settles the `count` contacts of a pair of geoms, which `list` has. Inexact pairs are collided
// again, and the list of what is open has one contact of a pair that has none.
static sap_status settle_pair(sap_mj* a, mjData* d, const mjContact* list, int32_t count,
                              int32_t* kept, sap_error* error) {
  const mjModel* m = a->model;
  mjContact first = *list;
  const int32_t room = count;
  run of = {0};
  sap_mj_position_own_margins(m, &first, &of.force, &of.detect);
  first.includemargin = of.force;
  const bool exact = sap_mj_position_is_exact(m, &first);
  if (!exact) {
    count = collide(a, d, &first, 0.0, of.detect);
    list = a->ahead.found;
    if (count == 0) {
      const bool collides = first.exclude <= 1;
      a->ahead.is_expected = true;
      return collides ? keep(a, &first, IS_EXPECTED, error) : SAP_STATUS_OK;
    }
    count = count < room ? count : room;
  }
  const double gap = deepest_of(list, count)->dist - of.force;
  const bool is_patch = sap_mj_patches_has(a, &first);
  bool touches = false, triangles = false;
  if (gap < 0.0 && first.exclude <= 1 && is_patch) {
    SAP_TRY(sap_mj_patches_touch(a, d, &first, &touches, &triangles, error));
  }
  if (touches || triangles) {
    a->ahead.is_expected = a->ahead.is_expected || !touches;
    return touches ? SAP_STATUS_OK : keep(a, &first, IS_EXPECTED, error);
  }
  expect(a, d, gap, exact && !is_patch, &first, &of);
  for (int32_t i = 0; i < count; ++i) {
    SAP_TRY(settle(a, d, &of, &list[i], kept, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_ahead_settle(sap_mj* a, mjData* d, sap_error* error) {
  int32_t kept = 0, end = 0;
  a->ahead.count = a->ahead.part_count = 0;
  a->ahead.is_expected = false;
  a->patches.count = a->patches.pair_count = 0;
  for (int32_t i = 0; i < (int32_t)d->ncon; i = end) {
    end = end_of_pair(d->contact, i, (int32_t)d->ncon);
    SAP_TRY(settle_pair(a, d, &d->contact[i], end - i, &kept, error));
  }
  d->ncon = kept;
  for (int32_t i = 0; i < a->patches.count; ++i) {
    SAP_TRY(sap_mj_contacts_append(a, d, &a->patches.found[i], error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_ahead_append(sap_mj* a, mjData* d, double t, mjContact* c, sap_error* error) {
  c->exclude = 0;
  if (sap_mj_patches_stiffness(c) == 0.0) {
    sap_mj_position_place(a, c);
  }
  SAP_TRY(bring_back(a, d, t, c, error));
  return sap_mj_contacts_append(a, d, c, error);
}

// Adds the contacts of a pair that is apart, `count` of them at q0, where the motion closes it.
static sap_status add_pair(sap_mj* a, mjData* d, mjContact* list, int32_t count, bool is_solution,
                           bool* added, sap_error* error) {
  double t = 0.0;
  memcpy(a->ahead.found, list, (size_t)count * sizeof *list);
  int32_t found = sap_mj_position_is_exact(a->model, list)
                      ? advance_to_touch(a, d, count, is_solution, &t)
                      : bisect_touch(a, d, list, &t);
  if (found > 0 && sap_mj_patches_has(a, list)) {
    SAP_TRY(sap_mj_patches_find(a, d, list, &t, a->ahead.found, &found, error));
  }
  for (int32_t i = 0; i < found; ++i) {
    SAP_TRY(sap_mj_ahead_append(a, d, t, &a->ahead.found[i], error));
  }
  for (int32_t i = 0; found > 0 && i < count; ++i) {
    list[i].exclude = IS_ADDED;
  }
  *added = *added || found > 0;
  return SAP_STATUS_OK;
}

// Adds the points of a pair that touches elsewhere where the motion closes them.
static sap_status add_points(sap_mj* a, mjData* d, mjContact* list, int32_t count, bool* added,
                             sap_error* error) {
  SAP_EACH(mjContact, c, list, count) {
    double v[3] = {0.0, 0.0, 0.0};
    add_velocity(a, d, c->geom1, c->pos, -1.0, v);
    add_velocity(a, d, c->geom2, c->pos, 1.0, v);
    const double change = a->model->opt.timestep * sap_v3_dot(c->frame, v);
    if (c->exclude != IS_ADDED && c->dist - c->includemargin + change < 0.0) {
      mjContact point = *c;
      c->exclude = IS_ADDED;
      *added = true;
      SAP_TRY(sap_mj_ahead_append(a, d, 0.0, &point, error));
    }
  }
  return SAP_STATUS_OK;
}

// Adds what the motion closes in the list of what is open.
static sap_status add_closed(sap_mj* a, mjData* d, bool is_solution, bool* added,
                             sap_error* error) {
  mjContact* list = a->ahead.list;
  int32_t end = 0;
  for (int32_t i = 0; i < a->ahead.count; i = end) {
    end = end_of_pair(list, i, a->ahead.count);
    int32_t state = IS_ADDED;
    for (int32_t k = i; k < end; ++k) {
      state = list[k].exclude > state ? list[k].exclude : state;
    }
    if (state == IS_POINT) {
      SAP_TRY(is_solution ? add_points(a, d, &list[i], end - i, added, error) : SAP_STATUS_OK);
    } else if (state == IS_EXPECTED || (state == IS_LATE && is_solution)) {
      SAP_TRY(add_pair(a, d, &list[i], end - i, is_solution, added, error));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_ahead_add(sap_mj* a, mjData* d, const double* v, bool is_solution, bool* added,
                            sap_error* error) {
  *added = false;
  if (a->ahead.is_narrow || !(is_solution || a->ahead.is_expected)) {
    return SAP_STATUS_OK;
  }
  find_motion(a, d, v);
  if (is_solution && leaves_margins(a)) {
    *added = true;
    SAP_TRY(sap_mj_position_collide(a, d, error));
  } else {
    SAP_TRY(is_solution ? sap_mj_patches_grow(a, d, added, error) : SAP_STATUS_OK);
    SAP_TRY(add_closed(a, d, is_solution, added, error));
    if (*added) {
      sap_mj_position_make_rows(a, d);
    }
    for (int32_t i = 0; *added && i < a->ahead.part_count; ++i) {
      sap_mj_ahead_add_part(a, d, &a->ahead.parts[i]);
    }
  }
  if (*added) {  // the rows' velocities, and no reference accelerations, as in step.c
    mj_referenceConstraint(&a->shadow, d);
    memset(d->efc_aref, 0, (size_t)d->nefc * sizeof(mjtNum));
  }
  return SAP_STATUS_OK;
}
