// SPDX-License-Identifier: BSD-3-Clause
// Which points of flexes have stiffness and damping in A: by stretch (MuJoCo's Hessian, positive
// semidefinite), bending, springs along edges, and the cells of interpolated flexes, all on points
// whose bodies have three slides of their own. Pinned points and those of other bodies keep
// explicit forces, which leaves A a principal part of what it would be, and positive definite. K of
// stretch and bending comes with MuJoCo 4.0 alone; before, flexes have springs along edges.
#include <stdlib.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

#if SAP_MJ_SINCE(3, 3, 0)

enum { CORNERS = 4 };  // points that an edge bends

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
  SAP_TRY(SAP_GROW(&a->elastics, &a->elastic_capacity, a->elastic_count + 1, error));
  a->elastics[a->elastic_count++] = element;
  return SAP_STATUS_OK;
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

#if SAP_MJ_KNOWS_STRETCH
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
#if SAP_MJ_KNOWS_STRETCH
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
#if SAP_MJ_KNOWS_STRETCH
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
  if (!a->options.implicit) {
    return status;
  }
  for (int32_t f = 0; status == SAP_STATUS_OK && f < sap_mj_flex_count(a->model); ++f) {
    status = add_flex(a, f, error);
  }
  if (a->elastic_count > 0) {
    qsort(a->elastics, (size_t)a->elastic_count, sizeof *a->elastics, compare);
  }
#if SAP_MJ_KNOWS_STRETCH
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

#else

sap_status sap_mj_find_elastics(sap_mj* a, sap_error* error) {
  (void)a;
  (void)error;
  return SAP_STATUS_OK;
}

#endif
