// SPDX-License-Identifier: BSD-3-Clause
// Stiffness and damping of flexes in A: stretch (MuJoCo's Hessian, positive semidefinite), bending,
// springs along edges, and the cells of interpolated flexes, all on points whose bodies have three
// slides of their own. Pinned points and those of other bodies keep explicit forces, which leaves A
// a principal part of what it would be, and positive definite. Forces F at the start of the step
// become
//   F - h K v - D (v - v0)
// K of stretch and bending comes with MuJoCo 4.0 alone; before, flexes have springs along edges.
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

#if SAP_MJ_SINCE(3, 3, 0)

#if SAP_MJ_SINCE(4, 0, 0) && !SAP_MJ_SINCE(4, 1, 0)
#define KNOWS_STRETCH 1
// Exported by MuJoCo but not declared: res += (s1 + s2 damping) K vec, by way of the Hessians in
// mjData; and the cells' stiffness, turned with them, its sign reversed.
void mjd_flexStretch_mul(const mjModel* m, mjData* d, mjtNum* res, const mjtNum* vec, mjtNum s1,
                         mjtNum s2);
void mjd_flexInterp_cacheKrot(const mjModel* m, mjData* d, mjtNum* K);
#else
#define KNOWS_STRETCH 0
#endif

enum { BEND_SIZE = 17, CORNERS = 4 };  // numbers of an edge in flex_bending; points it bends

// First velocity of the body; -1: it has not three slides of its own.
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

// Of two points, bodies of which are given; nothing where one of them has no velocities.
static sap_status add(sap_mj* a, sap_mj_elastic element, int32_t body_i, int32_t body_j,
                      sap_error* error) {
  const int32_t first = body_dof(a->model, body_i), second = body_dof(a->model, body_j);
  if (first < 0 || second < 0) {
    return SAP_STATUS_OK;
  }
  element.swapped = first < second;
  element.a = element.swapped ? second : first;
  element.b = element.swapped ? first : second;
  element.tree_a = a->dof_tree[element.a];
  element.tree_b = a->dof_tree[element.b];
  element.order = a->elastic_count;
  const sap_status status =
      SAP_GROW(&a->elastics, &a->elastic_capacity, a->elastic_count + 1, error);
  if (status == SAP_STATUS_OK) {
    a->elastics[a->elastic_count++] = element;
  }
  return status;
}

// Springs along an edge and its stretch.
static sap_status add_edge(sap_mj* a, int32_t flex, int32_t edge, bool stretch, sap_error* error) {
  const mjModel* m = a->model;
  const int* bodies = m->flex_vertbodyid + m->flex_vertadr[flex];
  const int body[2] = {bodies[m->flex_edge[2 * edge]], bodies[m->flex_edge[2 * edge + 1]]};
  const bool spring = m->flex_edgestiffness[flex] > 0.0 || m->flex_edgedamping[flex] > 0.0;
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; spring && i < 2; ++i) {
    for (int32_t j = 0; status == SAP_STATUS_OK && j <= i; ++j) {
      const sap_mj_elastic element = {
          .kind = SAP_MJ_ELASTIC_SPRING, .flex = flex, .source = edge, .i = i, .j = j};
      status = add(a, element, body[i], body[j], error);
    }
  }
  if (stretch && status == SAP_STATUS_OK) {
    const sap_mj_elastic element = {
        .kind = SAP_MJ_ELASTIC_STRETCH, .flex = flex, .source = edge, .i = 0, .j = 1};
    status = add(a, element, body[0], body[1], error);
  }
  return status;
}

#if KNOWS_STRETCH
static void find_corners(const mjModel* m, int32_t edge, int32_t corner[CORNERS]) {
  for (int32_t k = 0; k < 2; ++k) {
    corner[k] = m->flex_edge[2 * edge + k];
    corner[2 + k] = m->flex_edgeflap[2 * edge + k];
  }
}

static sap_status add_bending(sap_mj* a, int32_t flex, int32_t edge, sap_error* error) {
  const mjModel* m = a->model;
  const int* bodies = m->flex_vertbodyid + m->flex_vertadr[flex];
  int32_t corner[CORNERS];
  find_corners(m, edge, corner);
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; corner[2] >= 0 && corner[3] >= 0 && i < CORNERS; ++i) {
    for (int32_t j = 0; status == SAP_STATUS_OK && j <= i; ++j) {
      const sap_mj_elastic element = {
          .kind = SAP_MJ_ELASTIC_BEND, .flex = flex, .source = edge, .i = i, .j = j};
      status = add(a, element, bodies[corner[i]], bodies[corner[j]], error);
    }
  }
  return status;
}

// Flexes of one cell, whose nodes all move along the world's axes.
static sap_status add_cell(sap_mj* a, int32_t flex, sap_error* error) {
  const mjModel* m = a->model;
  const int32_t count = m->flex_nodenum[flex];
  const int* bodies = m->flex_nodebodyid + m->flex_nodeadr[flex];
  const int* cells = m->flex_cellnum + 3 * flex;
  if (cells[0] * cells[1] * cells[2] != 1 || m->flex_stiffnessadr[flex] < 0) {
    return SAP_STATUS_OK;
  }
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; status == SAP_STATUS_OK && j <= i; ++j) {
      const sap_mj_elastic element = {
          .kind = SAP_MJ_ELASTIC_CELL, .flex = flex, .source = count, .i = i, .j = j};
      status = add(a, element, bodies[i], bodies[j], error);
    }
  }
  a->has_cells = true;
  return status;
}
#endif

static sap_status add_flex(sap_mj* a, int32_t flex, sap_error* error) {
  const mjModel* m = a->model;
  if (m->flex_rigid[flex]) {
    return SAP_STATUS_OK;
  }
  sap_status status = SAP_STATUS_OK;
  bool stretches = false;
#if KNOWS_STRETCH
  if (m->flex_interp[flex] != 0) {
    return add_cell(a, flex, error);
  }
  const int32_t stiffness = m->flex_stiffnessadr[flex];
  stretches = m->flex_dim[flex] > 1 && stiffness >= 0 && m->flex_stiffness[stiffness] != 0.0;
  a->has_stretch = a->has_stretch || stretches;
  const int* bodies = m->flex_vertbodyid + m->flex_vertadr[flex];
  for (int32_t v = 0; stretches && v < m->flex_vertnum[flex] && status == SAP_STATUS_OK; ++v) {
    const sap_mj_elastic element = {.kind = SAP_MJ_ELASTIC_POINT,
                                    .flex = flex,
                                    .source = m->flex_vertadr[flex] + v,
                                    .i = 0,
                                    .j = 0};
    status = add(a, element, bodies[v], bodies[v], error);
  }
#endif
  const int32_t first = m->flex_edgeadr[flex], end = first + m->flex_edgenum[flex];
  for (int32_t e = first; e < end && status == SAP_STATUS_OK; ++e) {
    status = add_edge(a, flex, e, stretches, error);
#if KNOWS_STRETCH
    if (status == SAP_STATUS_OK && m->flex_dim[flex] == 2 && m->flex_bendingadr[flex] >= 0) {
      status = add_bending(a, flex, e, error);
    }
#endif
  }
  return status;
}

// By blocks of A, and the same way with every sort.
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

sap_status sap_mj_find_elastics(sap_mj* a, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t f = 0; status == SAP_STATUS_OK && f < sap_mj_flex_count(a->model); ++f) {
    status = add_flex(a, f, error);
  }
  if (a->elastic_count > 0) {
    qsort(a->elastics, (size_t)a->elastic_count, sizeof *a->elastics, compare);
  }
#if KNOWS_STRETCH
  const size_t cells = a->has_cells ? (size_t)a->model->nflexstiffness : 0;
  if (status == SAP_STATUS_OK && cells > 0) {
    a->cell_stiffness = sap_allocate(cells, sizeof(double));
    status = a->cell_stiffness != NULL
                 ? SAP_STATUS_OK
                 : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: stiffness of flexes");
  }
#endif
  return status;
}

static const mjtNum* axes_of(const mjModel* m, const mjData* d, int32_t dof) {
  return d->xaxis + 3 * m->dof_jntid[dof];
}

// K = Xa' H Xb, X the axes of the points' slides, H row-major in the world.
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

static void scale(const double K[9], double factor, double out[9]) {
  for (int k = 0; k < 9; ++k) {
    out[k] = factor * K[k];
  }
}

static void set_spring(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  const mjtNum* x = d->flexvert_xpos + 3 * m->flex_vertadr[e->flex];
  const int* ends = m->flex_edge + 2 * e->source;
  const double k = m->flex_edgestiffness[e->flex], b = m->flex_edgedamping[e->flex];
  double u[3], H[9];
  mju_sub3(u, x + 3 * ends[1], x + 3 * ends[0]);
  (void)mju_normalize3(u);
  for (int i = 0; i < 9; ++i) {
    H[i] = (e->i == e->j ? 1.0 : -1.0) * u[i / 3] * u[i % 3];
  }
  project(m, d, e, H);
  scale(e->K, b, e->D);
  scale(e->K, k, e->K);
}

#if KNOWS_STRETCH
static void set_stretch(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  static const int packed[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  double H[9];
  for (int k = 0; k < 9; ++k) {
    const int at =
        e->swapped ? 3 * (k % 3) + k / 3 : k;  // from the edge's first point to its other
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
  const double* K = a->cell_stiffness + a->model->flex_stiffnessadr[e->flex];
  const int32_t row = e->swapped ? e->j : e->i, column = e->swapped ? e->i : e->j;
  for (int32_t k = 0; k < 9; ++k) {
    e->K[k] = -K[(3 * row + k / 3) * n + 3 * column + k % 3];
  }
}

static void set_elastic(const sap_mj* a, const mjData* d, sap_mj_elastic* e) {
  const mjModel* m = a->model;
  if (e->kind == SAP_MJ_ELASTIC_CELL) {
    set_cell(a, e);
  } else if (e->kind == SAP_MJ_ELASTIC_BEND) {
    set_bending(m, d, e);
  } else {
    set_stretch(m, d, e);
  }
  scale(e->K, m->flex_damping[e->flex], e->D);
}
#endif

void sap_mj_set_elastics(sap_mj* a, mjData* d) {
  const mjModel* m = a->model;
  const bool springs = sap_mj_springs_are_on(m), dampers = sap_mj_dampers_are_on(m);
#if KNOWS_STRETCH
  if (a->has_stretch) {
    memset(a->v_guess, 0, (size_t)a->nv * sizeof(double));
    memset(a->v_star, 0, (size_t)a->nv * sizeof(double));
    mjd_flexStretch_mul(m, d, a->v_star, a->v_guess, 1.0, 0.0);  // fills the Hessians
  }
  if (a->has_cells) {
    mjd_flexInterp_cacheKrot(m, d, a->cell_stiffness);
  }
#endif
  for (int32_t i = 0; i < a->elastic_count; ++i) {
    sap_mj_elastic* e = &a->elastics[i];
    if (e->kind == SAP_MJ_ELASTIC_SPRING) {
      set_spring(m, d, e);
    }
#if KNOWS_STRETCH
    else {
      set_elastic(a, d, e);
    }
#endif
    scale(e->K, springs ? 1.0 : 0.0, e->K);
    scale(e->D, dampers ? 1.0 : 0.0, e->D);
  }
}

#else

sap_status sap_mj_find_elastics(sap_mj* a, sap_error* error) {
  (void)a;
  (void)error;
  return SAP_STATUS_OK;
}

void sap_mj_set_elastics(sap_mj* a, mjData* d) {
  (void)a;
  (void)d;
}

#endif

void sap_mj_elastic_times(const sap_mj* a, bool damping, double factor, const double* v,
                          double* to) {
  for (int32_t i = 0; i < a->elastic_count; ++i) {
    const sap_mj_elastic* e = &a->elastics[i];
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
