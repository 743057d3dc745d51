// SPDX-License-Identifier: BSD-3-Clause
// Stiffness and damping of joints, tendons, actuators and flexes: k = -dF/dq and b = -dF/dv of
// MuJoCo's passive forces.
//
// Joints and tendons: forces are linear, or polynomials since MuJoCo 3.7. A slope that would push
// counts as 0, and so does that of a tendon within its dead band.
//
// Flexes: K and D between points, along the axes of the points' slides. Stretch (MuJoCo's Hessian,
// positive semidefinite), bending, springs along edges, and the cells of interpolated flexes. Only
// points whose bodies have three slides of their own are in A; pinned points and others keep
// explicit forces. A is then a principal part of the full matrix and positive definite. Stretch and
// bending need MuJoCo 4.0; older versions have springs along edges only. Forces F at the start of
// the step become
//   F - h K v - D (v - v0)
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

static int32_t joint_velocities(const mjModel* m, int32_t joint) {
  return m->jnt_type[joint] == mjJNT_FREE ? 6 : m->jnt_type[joint] == mjJNT_BALL ? 3 : 1;
}

// Returns a joint's distance from its spring's rest; of a free joint in translation or in rotation.
static double displacement_of(const mjModel* m, const mjData* d, int32_t joint, bool translation) {
  const int type = m->jnt_type[joint];
  const int32_t address = m->jnt_qposadr[joint];
  const mjtNum *q = d->qpos + address, *rest = m->qpos_spring + address;
  if (type == mjJNT_HINGE || type == mjJNT_SLIDE) {
    return q[0] - rest[0];
  }
  mjtNum turn[3];
  if (translation) {
    return mju_dist3(q, rest);
  }
  const int32_t quaternion = type == mjJNT_FREE ? 3 : 0;
  mju_subQuat(turn, q + quaternion, rest + quaternion);
  return mju_norm3(turn);
}

// Returns the slope along the displacement x. Springs of three directions have f/x across it: the
// larger of the slopes at 0 and at x bounds both.
static double joint_stiffness(const mjModel* m, const mjData* d, int32_t joint, bool translation) {
  const double k = m->jnt_stiffness[joint];
  const mjtNum* higher = SAP_MJ_HIGHER(m->jnt_stiffnesspoly, joint);
  if (sap_mj_is_linear(higher)) {
    return fmax(k, 0.0);
  }
  const double slope = sap_mj_stiffness(k, higher, displacement_of(m, d, joint, translation));
  return joint_velocities(m, joint) > 1 ? fmax(slope, sap_mj_stiffness(k, higher, 0.0)) : slope;
}

static void update_joints(sap_mj_elements* elements, const mjModel* m, const mjData* d) {
  const bool springs = sap_mj_springs_are_on(m), dampers = sap_mj_dampers_are_on(m);
  for (int32_t i = 0; i < (int32_t)m->nv; ++i) {
    const mjtNum* higher = SAP_MJ_HIGHER(m->dof_dampingpoly, i);
    elements->dof_stiffness[i] = 0.0;
    elements->dof_damping[i] =
        dampers ? sap_mj_damping(m->dof_damping[i], higher, d->qvel[i]) : 0.0;
  }
  for (int32_t j = 0; springs && j < (int32_t)m->njnt; ++j) {
    const int32_t first = m->jnt_dofadr[j], count = joint_velocities(m, j);
    for (int32_t i = first; i < first + count; ++i) {
      elements->dof_stiffness[i] = joint_stiffness(m, d, j, count == 6 && i < first + 3);
    }
  }
}

static void update_tendons(sap_mj_elements* elements, const mjModel* m, const mjData* d) {
  const bool springs = sap_mj_springs_are_on(m), dampers = sap_mj_dampers_are_on(m);
  for (int32_t t = 0; t < (int32_t)m->ntendon; ++t) {
    const double length = d->ten_length[t];
#if SAP_MJ_SINCE(3, 0, 0)
    const mjtNum* rest = m->tendon_lengthspring + 2 * t;  // no force in between
    const double x = length > rest[1]   ? length - rest[1]
                     : length < rest[0] ? length - rest[0]
                                        : 0.0;
    const bool slack = rest[0] < rest[1] && x == 0.0;
#else
    const double x = length - m->tendon_lengthspring[t];
    const bool slack = false;
#endif
    const mjtNum* stiffer = SAP_MJ_HIGHER(m->tendon_stiffnesspoly, t);
    const mjtNum* damper = SAP_MJ_HIGHER(m->tendon_dampingpoly, t);
    elements->tendon_stiffness[t] =
        springs && !slack ? sap_mj_stiffness(m->tendon_stiffness[t], stiffer, x) : 0.0;
    elements->tendon_damping[t] =
        dampers ? sap_mj_damping(m->tendon_damping[t], damper, d->ten_velocity[t]) : 0.0;
  }
}

#if SAP_MJ_SINCE(3, 9, 0)
// Adds the dampers of actuators to the joint or tendon that they drive, of velocity v:
//   f = -gear^2 (b v + b_2 v |v| + ...)
static void add_actuator_dampers(sap_mj_elements* elements, const mjModel* m, const mjData* d) {
  for (int32_t i = 0; sap_mj_dampers_are_on(m) && i < sap_mj_actuator_count(m); ++i) {
    const mjtNum* higher = SAP_MJ_HIGHER(m->actuator_dampingpoly, i);
    const int type = m->actuator_trntype[i];
    if (type != mjTRN_TENDON && type != mjTRN_JOINT && type != mjTRN_JOINTINPARENT) {
      continue;
    }
    const bool tendon = type == mjTRN_TENDON;
    const int32_t id = m->actuator_trnid[2 * i], first = tendon ? id : m->jnt_dofadr[id];
    const int32_t count = tendon ? 1 : joint_velocities(m, id);
    const double gear = m->actuator_gear[6 * sap_mj_first_output(m, i)];
    const mjtNum* v = tendon ? d->ten_velocity : d->qvel;
    double* damping = tendon ? elements->tendon_damping : elements->dof_damping;
    for (int32_t k = first; k < first + count; ++k) {
      damping[k] += gear * gear * sap_mj_damping(m->actuator_damping[i], higher, v[k]);
    }
  }
}
#endif

#if SAP_MJ_SINCE(3, 3, 0)

#if SAP_MJ_KNOWS_STRETCH
// Exported by MuJoCo but not declared: res += (s1 + s2 damping) K vec, which fills the Hessians in
// mjData; and the cells' stiffness, rotated with the cells, with reversed sign.
void mjd_flexStretch_mul(const mjModel* m, mjData* d, mjtNum* res, const mjtNum* vec, mjtNum s1,
                         mjtNum s2);
void mjd_flexInterp_cacheKrot(const mjModel* m, mjData* d, mjtNum* K);
#endif

enum {
  CORNERS = 4,    // points that an edge bends
  BEND_SIZE = 17  // numbers per edge in flex_bending
};

// Returns the first velocity of a body with three slides of its own, -1 for other bodies.
static int32_t body_dof(const mjModel* m, int32_t body) {
  if (body < 0 || m->body_dofnum[body] != 3 || m->body_jntnum[body] != 3) {
    return -1;
  }
  for (int32_t j = m->body_jntadr[body]; j < m->body_jntadr[body] + 3; ++j) {
    if (m->jnt_type[j] != mjJNT_SLIDE) {
      return -1;
    }
  }
  return m->body_dofadr[body];
}

// Adds `element` between its points i and j of the given bodies, if both have velocities.
static sap_status add_element(sap_mj* a, sap_mj_elastic element, const int* bodies,
                              sap_error* error) {
  sap_mj_elements* p = &a->elements;
  const int32_t first = body_dof(a->model, bodies[element.i]);
  const int32_t second = body_dof(a->model, bodies[element.j]);
  if (first < 0 || second < 0) {
    return SAP_STATUS_OK;
  }
  element.is_swapped = first < second;
  element.a = element.is_swapped ? second : first;
  element.b = element.is_swapped ? first : second;
  element.tree_a = a->trees.of_dof[element.a];
  element.tree_b = a->trees.of_dof[element.b];
  element.order = p->elastic_count;
  SAP_TRY(SAP_ROOM(&a->pool, &p->elastics, p->elastic_count + 1, error));
  p->elastics[p->elastic_count++] = element;
  return SAP_STATUS_OK;
}

// Adds elements of one kind between all pairs of `count` points, and of each point with itself.
static sap_status add_pairs(sap_mj* a, sap_mj_elastic element, const int* bodies, int32_t count,
                            sap_error* error) {
  for (element.i = 0; element.i < count; ++element.i) {
    for (element.j = 0; element.j <= element.i; ++element.j) {
      SAP_TRY(add_element(a, element, bodies, error));
    }
  }
  return SAP_STATUS_OK;
}

// Adds the spring along an edge, its stretch and its bending.
static sap_status add_edge(sap_mj* a, int32_t flex, int32_t edge, bool stretches,
                           sap_error* error) {
  const mjModel* m = a->model;
  const int* bodies = m->flex_vertbodyid + m->flex_vertadr[flex];
  const int ends[2] = {bodies[m->flex_edge[2 * edge]], bodies[m->flex_edge[2 * edge + 1]]};
  sap_mj_elastic element = {.kind = SAP_MJ_ELASTIC_SPRING, .flex = flex, .source = edge};
  if (m->flex_edgestiffness[flex] > 0.0 || m->flex_edgedamping[flex] > 0.0) {
    SAP_TRY(add_pairs(a, element, ends, 2, error));
  }
  if (stretches) {
    element.kind = SAP_MJ_ELASTIC_STRETCH;
    element.j = 1;
    SAP_TRY(add_element(a, element, ends, error));
  }
#if SAP_MJ_KNOWS_STRETCH
  const int* flap = m->flex_edgeflap + 2 * edge;
  if (m->flex_dim[flex] == 2 && m->flex_bendingadr[flex] >= 0 && flap[0] >= 0 && flap[1] >= 0) {
    const int corners[CORNERS] = {ends[0], ends[1], bodies[flap[0]], bodies[flap[1]]};
    element.kind = SAP_MJ_ELASTIC_BEND;
    SAP_TRY(add_pairs(a, element, corners, CORNERS, error));
  }
#endif
  return SAP_STATUS_OK;
}

#if SAP_MJ_KNOWS_STRETCH
// Adds a flex of one cell, whose nodes all move along the world's axes.
static sap_status add_cell(sap_mj* a, int32_t flex, sap_error* error) {
  const mjModel* m = a->model;
  const int32_t count = m->flex_nodenum[flex];
  const int* cells = m->flex_cellnum + 3 * flex;
  if (cells[0] * cells[1] * cells[2] != 1 || m->flex_stiffnessadr[flex] < 0) {
    return SAP_STATUS_OK;
  }
  a->elements.has_cells = true;
  const sap_mj_elastic element = {.kind = SAP_MJ_ELASTIC_CELL, .flex = flex, .source = count};
  return add_pairs(a, element, m->flex_nodebodyid + m->flex_nodeadr[flex], count, error);
}
#endif

static sap_status add_flex(sap_mj* a, int32_t flex, sap_error* error) {
  const mjModel* m = a->model;
  if (m->flex_rigid[flex]) {
    return SAP_STATUS_OK;
  }
  bool stretches = false;
#if SAP_MJ_KNOWS_STRETCH
  if (m->flex_interp[flex] != 0) {
    return add_cell(a, flex, error);
  }
  const int32_t stiffness = m->flex_stiffnessadr[flex];
  stretches = m->flex_dim[flex] > 1 && stiffness >= 0 && m->flex_stiffness[stiffness] != 0.0;
  a->elements.has_stretch = a->elements.has_stretch || stretches;
  const int32_t vertex = m->flex_vertadr[flex];
  for (int32_t v = 0; stretches && v < m->flex_vertnum[flex]; ++v) {
    const sap_mj_elastic element = {
        .kind = SAP_MJ_ELASTIC_POINT, .flex = flex, .source = vertex + v};
    SAP_TRY(add_element(a, element, m->flex_vertbodyid + vertex + v, error));
  }
#endif
  const int32_t first = m->flex_edgeadr[flex], end = first + m->flex_edgenum[flex];
  for (int32_t e = first; e < end; ++e) {
    SAP_TRY(add_edge(a, flex, e, stretches, error));
  }
  return SAP_STATUS_OK;
}

// Orders by blocks of A; a total order, so that each sort gives the same list.
static int compare(const void* x, const void* y) {
  const sap_mj_elastic *p = x, *q = y;
  const int32_t first[5] = {p->tree_a, p->tree_b, p->a, p->b, p->order};
  const int32_t second[5] = {q->tree_a, q->tree_b, q->a, q->b, q->order};
  for (int32_t k = 0; k < 5; ++k) {
    if (first[k] != second[k]) {
      return first[k] < second[k] ? -1 : 1;
    }
  }
  return 0;
}

static sap_status create_elastics(sap_mj* a, sap_error* error) {
  sap_mj_elements* p = &a->elements;
  for (int32_t f = 0; f < sap_mj_flex_count(a->model); ++f) {
    SAP_TRY(add_flex(a, f, error));
  }
  if (p->elastic_count > 0) {
    qsort(p->elastics, (size_t)p->elastic_count, sizeof *p->elastics, compare);
  }
#if SAP_MJ_KNOWS_STRETCH
  if (p->has_cells) {
    SAP_TRY(SAP_POOL_ADD(&a->pool, &p->cell_stiffness, a->model->nflexstiffness, error));
  }
#endif
  return SAP_STATUS_OK;
}

static const mjtNum* axes_of(const mjModel* m, const mjData* d, int32_t dof) {
  return d->xaxis + 3 * m->dof_jntid[dof];
}

// K = Xa' H Xb with X the axes of the points' slides and H row-major in the world.
static void project(const mjModel* m, const mjData* d, sap_mj_elastic* e, const double H[9]) {
  const mjtNum *x = axes_of(m, d, e->a), *y = axes_of(m, d, e->b);
  for (int r = 0; r < 3; ++r) {
    double row[3];
    for (int c = 0; c < 3; ++c) {
      row[c] = x[3 * r] * H[c] + x[3 * r + 1] * H[3 + c] + x[3 * r + 2] * H[6 + c];
    }
    for (int c = 0; c < 3; ++c) {
      e->K[3 * r + c] = row[0] * y[3 * c] + row[1] * y[3 * c + 1] + row[2] * y[3 * c + 2];
    }
  }
}

// Sets K of a spring of 1 N/m.
static void set_spring(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  const mjtNum* x = d->flexvert_xpos + 3 * m->flex_vertadr[e->flex];
  const int* ends = m->flex_edge + 2 * e->source;
  double u[3], H[9];
  mju_sub3(u, x + 3 * ends[1], x + 3 * ends[0]);
  (void)mju_normalize3(u);
  for (int i = 0; i < 9; ++i) {
    H[i] = (e->i == e->j ? 1.0 : -1.0) * u[i / 3] * u[i % 3];
  }
  project(m, d, e, H);
}

#if SAP_MJ_KNOWS_STRETCH
static void set_stretch(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  static const int packed[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  double H[9];
  for (int k = 0; k < 9; ++k) {
    const int at = e->is_swapped ? 3 * (k % 3) + k / 3 : k;  // from the edge's first point
    H[k] = e->kind == SAP_MJ_ELASTIC_POINT ? d->flexvert_hessian[6 * e->source + packed[k]]
                                           : d->flexedge_hessian[9 * e->source + at];
  }
  project(m, d, e, H);
}

static void set_bending(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  const int32_t edge = e->source - m->flex_edgeadr[e->flex];
  const mjtNum* b = m->flex_bending + m->flex_bendingadr[e->flex] + BEND_SIZE * edge;
  double H[9] = {0.0};
  H[0] = H[4] = H[8] = b[CORNERS * e->i + e->j];
  project(m, d, e, H);
}

static void set_cell(const sap_mj* a, sap_mj_elastic* e) {
  const int32_t n = 3 * e->source;
  const double* K = a->elements.cell_stiffness + a->model->flex_stiffnessadr[e->flex];
  const int32_t row = e->is_swapped ? e->j : e->i, column = e->is_swapped ? e->i : e->j;
  for (int32_t k = 0; k < 9; ++k) {
    e->K[k] = -K[(3 * row + k / 3) * n + 3 * column + k % 3];
  }
}

#endif

static void set_stiffness(const sap_mj* a, const mjData* d, sap_mj_elastic* e) {
  switch (e->kind) {
    case SAP_MJ_ELASTIC_SPRING:
      set_spring(a->model, d, e);
      break;
#if SAP_MJ_KNOWS_STRETCH
    case SAP_MJ_ELASTIC_CELL:
      set_cell(a, e);
      break;
    case SAP_MJ_ELASTIC_BEND:
      set_bending(a->model, d, e);
      break;
    case SAP_MJ_ELASTIC_POINT:
    case SAP_MJ_ELASTIC_STRETCH:
      set_stretch(a->model, d, e);
      break;
#endif
    default:
      break;
  }
}

static void update_elastics(sap_mj* a, mjData* d) {
  const mjModel* m = a->model;
  const double springs = sap_mj_springs_are_on(m) ? 1.0 : 0.0;
  const double dampers = sap_mj_dampers_are_on(m) ? 1.0 : 0.0;
#if SAP_MJ_KNOWS_STRETCH
  if (a->elements.has_stretch) {
    memset(a->momentum.v_guess, 0, (size_t)a->nv * sizeof(double));
    memset(a->momentum.v_star, 0, (size_t)a->nv * sizeof(double));
    mjd_flexStretch_mul(m, d, a->momentum.v_star, a->momentum.v_guess, 1.0, 0.0);
  }
  if (a->elements.has_cells) {
    mjd_flexInterp_cacheKrot(m, d, a->elements.cell_stiffness);
  }
#endif
  for (int32_t i = 0; i < a->elements.elastic_count; ++i) {
    sap_mj_elastic* e = &a->elements.elastics[i];
    const bool spring = e->kind == SAP_MJ_ELASTIC_SPRING;
    const double k = springs * (spring ? m->flex_edgestiffness[e->flex] : 1.0);
    const double b = dampers * (spring ? m->flex_edgedamping[e->flex] : m->flex_damping[e->flex]);
    set_stiffness(a, d, e);
    for (int32_t r = 0; r < 9; ++r) {
      e->D[r] = b * e->K[r];
      e->K[r] *= k;
    }
  }
}

#endif

sap_status sap_mj_elements_create(sap_mj* a, sap_error* error) {
#if SAP_MJ_SINCE(3, 3, 0)
  return a->options.implicit ? create_elastics(a, error) : SAP_STATUS_OK;
#else
  (void)a;
  (void)error;
  return SAP_STATUS_OK;
#endif
}

void sap_mj_elements_update(sap_mj* a, mjData* d) {
  if (!a->options.implicit) {
    return;
  }
  update_joints(&a->elements, a->model, d);
  update_tendons(&a->elements, a->model, d);
#if SAP_MJ_SINCE(3, 9, 0)
  add_actuator_dampers(&a->elements, a->model, d);
#endif
#if SAP_MJ_SINCE(3, 3, 0)
  update_elastics(a, d);
#endif
}

void sap_mj_elements_multiply(const sap_mj* a, bool damping, double factor, const double* v,
                              double* to) {
  for (int32_t i = 0; i < a->elements.elastic_count; ++i) {
    const sap_mj_elastic* e = &a->elements.elastics[i];
    const double* K = damping ? e->D : e->K;
    for (int32_t r = 0; r < 3; ++r) {
      for (int32_t c = 0; c < 3; ++c) {
        const double k = factor * K[3 * r + c];
        to[e->a + r] += k * v[e->b + c];
        if (e->a != e->b) {
          to[e->b + c] += k * v[e->a + r];
        }
      }
    }
  }
}
