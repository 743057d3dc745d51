// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of a rigid mesh that is not convex and a shape with a field: the triangles in the
// shape, each a facet with three walls, found through a tree of bounding boxes.
// cost: O(log n) and that of the triangles near the shape; of the tree O(n (log n)^2)
#include <stdlib.h>
#include <string.h>

#include "multibody/geometry/broadphase.h"
#include "multibody/geometry/patch.h"

enum { LEAF = 4 };
// Depth, over the size, where the search for the border of a curved part begins.
static const double FIRST_DEPTH = 1e-2;

typedef struct sap_patch_node {
  sap_aabb box;
  int32_t first, count;  // triangles; 0: an inner node, whose children follow
  int32_t skip;          // node behind the last child
} sap_patch_node;

// A triangle while the tree is made.
typedef struct entry {
  double corners[9];
  double middle;  // along the axis of the sort
  int32_t number;
} entry;

static int compare_entries(const void* a, const void* b) {
  const entry *x = a, *y = b;
  return x->middle != y->middle ? (x->middle > y->middle) - (x->middle < y->middle)
                                : x->number - y->number;
}

static void make_node(sap_patch_mesh* mesh, entry* entries, int32_t first, int32_t count) {
  sap_patch_node* node = &mesh->nodes[mesh->nnodes++];
  *node = (sap_patch_node){.first = first, .count = count};
  int axis = 0;
  for (int k = 0; k < 3; ++k) {
    node->box.lower[k] = HUGE_VAL;
    node->box.upper[k] = -HUGE_VAL;
    for (int32_t i = 0; i < 3 * count; ++i) {
      const double x = entries[first + i / 3].corners[3 * (i % 3) + k];
      node->box.lower[k] = sap_least(node->box.lower[k], x);
      node->box.upper[k] = sap_most(node->box.upper[k], x);
    }
    axis = node->box.upper[k] - node->box.lower[k] > node->box.upper[axis] - node->box.lower[axis]
               ? k
               : axis;
  }
  if (count > LEAF) {
    for (int32_t i = first; i < first + count; ++i) {
      const double* c = entries[i].corners + axis;
      entries[i].middle = c[0] + c[3] + c[6];
    }
    qsort(entries + first, (size_t)count, sizeof *entries, compare_entries);
    node->count = 0;
    make_node(mesh, entries, first, count / 2);
    make_node(mesh, entries, first + count / 2, count - count / 2);
  }
  node->skip = mesh->nnodes;
}

sap_status sap_patch_mesh_create(const sap_hull* source, const double centre[3], sap_pool* pool,
                                 sap_patch_mesh** out, sap_error* error) {
  const int32_t n = source->ntriangles;
  entry* entries;
  SAP_TRY(SAP_POOL_ADD(pool, out, 1, error));
  sap_patch_mesh* mesh = *out;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&mesh->corners, n),
                           SAP_ARRAY(&mesh->nodes, 2 * (int64_t)n)));
  SAP_TRY(SAP_NEW(&entries, (size_t)n, "mesh", error));
  for (int32_t i = 0; i < n; ++i) {
    entries[i].number = i;
    for (int k = 0; k < 9; ++k) {
      entries[i].corners[k] = source->triangles[9 * (size_t)i + (size_t)k] - centre[k % 3];
    }
  }
  make_node(mesh, entries, 0, n);
  for (int32_t i = 0; i < n; ++i) {
    memcpy(mesh->corners[i], entries[i].corners, sizeof mesh->corners[i]);
  }
  sap_free(entries);
  return SAP_STATUS_OK;
}

// Sets the planes of a triangle: its own and its walls, whose normals lie in it.
static bool set_planes(sap_patch_surface* s, int side, const double corners[9]) {
  const sap_placed_shape* shape = s->shape[side];
  double x[3][3], u[3], v[3], n[3];
  double(*planes)[4] = s->planes[side];
  for (int k = 0; k < 3; ++k) {
    sap_v3_place(x[k], s->centre[side], shape->R, corners + 3 * k);
  }
  sap_v3_sub(u, x[1], x[0]);
  sap_v3_sub(v, x[2], x[0]);
  sap_v3_cross(n, u, v);
  const double norm = sap_v3_norm(n);
  sap_v3_scale(planes[0], n, 1.0 / norm);
  planes[0][3] = sap_v3_dot(planes[0], x[0]);
  for (int k = 0; k < 3 && norm > 0.0; ++k) {
    sap_v3_sub(u, x[k < 2 ? k + 1 : 0], x[k]);
    sap_v3_cross(v, u, planes[0]);
    sap_v3_scale(planes[1 + k], v, 1.0 / sap_v3_norm(v));
    planes[1 + k][3] = sap_v3_dot(planes[1 + k], x[k]);
  }
  s->nplanes[side] = 4;
  return norm > 0.0;
}

// Bounds of the other shape in the mesh's axes; infinite for a plane, whose radius is.
static void set_bounds(const sap_patch_surface* s, int side, sap_aabb* box) {
  const sap_placed_shape *mesh = s->shape[side], *shape = s->shape[1 - side];
  sap_placed_shape local = *shape;
  double from[3];
  sap_v3_sub(from, shape->p, mesh->p);
  sap_m3_tmul_v3(local.p, mesh->R, from);
  for (int k = 0; k < 3; ++k) {
    sap_m3_tmul_v3(local.R + 3 * k, mesh->R, shape->R + 3 * k);
  }
  sap_shape_bounds(&local, box->lower, box->upper);
}

// Adds the triangles near the other shape; false: there is no room for all.
static bool add_triangles(sap_patch_surface* s, int side, const sap_aabb* box) {
  const sap_patch_mesh* mesh = s->shape[side]->hull->triangles;
  const bool flat = sap_patch_is_flat(s->shape[1 - side]);
  s->npieces = s->ncorners = 0;
  s->deepest = 0.0;
  for (int32_t i = 0; i < mesh->nnodes;) {
    const sap_patch_node* node = &mesh->nodes[i];
    const bool near = sap_aabb_overlap(&node->box, box);
    for (int32_t k = node->first; near && k < node->first + node->count; ++k) {
      if (set_planes(s, side, mesh->corners[k]) &&
          !(flat ? sap_patch_add_face(s, side) : sap_patch_add_facet(s, side, 0))) {
        return false;
      }
    }
    i = near ? i + 1 : node->skip;
  }
  return true;
}

bool sap_patch_add_mesh(sap_patch_surface* s, int side) {
  sap_aabb box;
  set_bounds(s, side, &box);
  sap_v3_copy(s->x0, s->centre[s->shape[1]->bound < s->shape[0]->bound]);
  s->depth = FIRST_DEPTH * sap_least(s->shape[0]->bound, s->shape[1]->bound);
  for (s->coarse = 0; !add_triangles(s, side, &box) && s->coarse < SAP_PATCH_COARSEST;) {
    ++s->coarse;  // a part of the surface is better than none
  }
  s->depth = s->deepest;
  for (int32_t i = 0; i < s->ncorners; ++i) {
    s->depth = sap_most(s->depth, s->corners[i].p / s->series);
  }
  return s->npieces > 0;
}
