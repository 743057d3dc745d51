// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of a rigid mesh that is not convex and a shape with a field: the triangles in the
// shape, found through a tree of bounding boxes. The surface lies on them: p = kappa d(x). A small
// triangle has few samples and those of the border; one that is large, or in which a side of the
// shape ends, is a facet with three walls.
// cost: O(log n) and that of the triangles near the shape; of the tree O(n (log n)^2)
#include <stdlib.h>
#include <string.h>

#include "multibody/geometry/broadphase.h"
#include "multibody/geometry/patch_fan.h"

enum { LEAF = 4, NEWTON = 60, LEVELS = 6 };
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

// A triangle; x: its corners, from A's centre in world axes.
typedef struct triangle {
  sap_patch_surface* s;
  int side;                 // of the mesh
  double x[3][3], axes[9];  // axes: the last one is the normal
  const double* n;
  sap_patch_depth at[3];  // of the other shape at the corners
  int32_t part;           // of the other shape: its side that is the nearest one
  bool smooth;            // that holds for the border, too
} triangle;

// Sets the planes of the triangle: its own and its walls, whose normals lie in it.
static void set_planes(const triangle* t) {
  double(*planes)[4] = t->s->planes[t->side];
  sap_v3_copy(planes[0], t->n);
  planes[0][3] = sap_v3_dot(t->n, t->x[0]);
  for (int k = 0; k < 3; ++k) {
    double edge[3], wall[3];
    sap_v3_sub(edge, t->x[k < 2 ? k + 1 : 0], t->x[k]);
    sap_v3_cross(wall, edge, t->n);
    sap_v3_scale(planes[1 + k], wall, 1.0 / sap_v3_norm(wall));
    planes[1 + k][3] = sap_v3_dot(planes[1 + k], t->x[k]);
  }
  t->s->nplanes[t->side] = 4;
}

// Returns true if the triangle is outside of a plane that bounds the concave depth, at a corner.
static bool is_outside(const triangle* t) {
  for (int k = 0; k < 3; ++k) {
    bool outside = t->at[k].d < 0.0;
    for (int j = 0; j < 3 && outside; ++j) {
      double way[3];
      sap_v3_sub(way, t->x[j], t->x[k]);
      outside = t->at[k].d - sap_v3_dot(t->at[k].m, way) <= 0.0;
    }
    if (outside) {
      return true;
    }
  }
  return false;
}

static bool add_sample(const triangle* t, const double x[3], double area) {
  sap_fan_spot at = {.slant = 1.0};
  sap_v3_copy(at.x, x);
  sap_v3_copy(at.at[t->side].m, t->n);
  sap_patch_find_depth_at(t->s, 1 - t->side, x, &at.at[1 - t->side]);
  at.p = t->s->series * at.at[1 - t->side].d;
  return sap_fan_add_spot(t->s, (const double(*)[3])t->axes, &at, area);
}

// Adds the samples of a part of the triangle: of a rule of degree 4, or below.
static bool add_samples(const triangle* t, const double* a, const double* b, const double* c,
                        int coarse) {
  // Weights of one corner and of the sample, for each corner.
  static const double rules[3][2][2] = {
      {{0.81684757298045851, 0.10995174365532187}, {0.10810301816807023, 0.22338158967801147}},
      {{2.0 / 3.0, 1.0 / 3.0}},
      {{1.0 / 3.0, 1.0}}};
  static const int counts[3] = {6, 3, 1};
  const double* corners[3] = {a, b, c};
  double u[3], v[3], cross[3];
  sap_v3_sub(u, b, a);
  sap_v3_sub(v, c, a);
  sap_v3_cross(cross, u, v);
  const double area = 0.5 * sap_v3_norm(cross);
  for (int i = 0; i < counts[coarse]; ++i) {
    const double *rule = rules[coarse][i / 3], rest = 0.5 * (1.0 - rule[0]);
    double x[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < 3; ++k) {
      sap_v3_add_scaled(x, corners[k], k == i % 3 ? rule[0] : rest);
    }
    if (!add_sample(t, x, rule[1] * area)) {
      return false;
    }
  }
  return true;
}

// Adds the part between a chord and the border of the shape, from P to Q with the triangle at the
// right. Where it is flat, it is a parabola's, and p falls linearly to the border: one sample
// has its force.
static bool add_border(triangle* t, const double P[3], const double Q[3], int levels) {
  static const double FLAT = 1.0 / 32.0, CLOSE = 1e-5;  // over the chord
  static const double FINE = 1.0 / 32.0;                // over the least radius
  double way[3], out[3], middle[3], x[3], y = 0.0, step = HUGE_VAL;
  int32_t part = t->part;
  sap_v3_sub(way, Q, P);
  const double c = sap_v3_norm(way);
  sap_v3_cross(out, way, t->n);
  sap_v3_scale(out, out, 1.0 / c);
  sap_v3_add(middle, P, Q);
  sap_v3_scale(middle, middle, 0.5);
  for (int k = 0; k < NEWTON && fabs(step) > CLOSE * c; ++k) {
    sap_patch_depth at;
    sap_v3_copy(x, middle);
    sap_v3_add_scaled(x, out, y);
    sap_patch_find_depth_at(t->s, 1 - t->side, x, &at);
    const double fall = sap_v3_dot(at.m, out);
    part = at.side;
    step = fall > 0.0 ? at.d / fall : c;
    y += step;
  }
  t->smooth = t->smooth && (part == t->part || t->s->coarse == SAP_PATCH_COARSEST);
  const int rule = c < FINE * t->s->shape[1 - t->side]->inner ? 1 : t->s->coarse;
  const bool flat = y <= FLAT * c || levels == 0;
  sap_v3_copy(x, middle);
  sap_v3_add_scaled(x, out, flat ? 0.6 * y : y);
  return !(y > 0.0) || (flat ? add_sample(t, x, 2.0 / 3.0 * c * y)
                             : add_samples(t, P, x, Q, rule) && add_border(t, P, x, levels - 1) &&
                                   add_border(t, x, Q, levels - 1));
}

// The part of a triangle in a curved shape, without the parts beyond chords of the border.
typedef struct outline {
  int32_t count;
  double x[6][3];
  bool chord[6];    // from this corner to the next one
  int32_t part[6];  // the shape's side that is the nearest one
} outline;

static void add_corner(const double x[3], bool chord, int32_t part, outline* o) {
  sap_v3_copy(o->x[o->count], x);
  o->part[o->count] = part;
  o->chord[o->count++] = chord;
}

static void set_outline(const triangle* t, outline* o) {
  o->count = o->part[0] = 0;
  for (int k = 0; k < 3; ++k) {
    const int next = k < 2 ? k + 1 : 0;
    double way[3], part[2], x[3];
    if (t->at[k].d >= 0.0) {
      add_corner(t->x[k], false, t->at[k].side, o);
      t->s->deepest = sap_most(t->s->deepest, t->at[k].d);
    }
    sap_v3_sub(way, t->x[next], t->x[k]);
    if ((t->at[k].d < 0.0 || t->at[next].d < 0.0) &&
        sap_patch_cut(t->s, 1 - t->side, t->x[k], way, part)) {
      for (int end = 0; end < 2; ++end) {
        if (part[end] > 0.0 && part[end] < 1.0) {
          sap_patch_depth at;
          sap_v3_copy(x, t->x[k]);
          sap_v3_add_scaled(x, way, part[end]);
          sap_patch_find_depth_at(t->s, 1 - t->side, x, &at);
          add_corner(x, end == 1, at.side, o);
        }
      }
    }
  }
}

// Returns true if the field is nearly a parabola over the outline, and of one side of the shape.
static bool is_smooth(const triangle* t, const outline* o) {
  static const double SMALL = 0.35;  // of the least distance from the tip of the field
  const double deepest = sap_most(t->at[0].d, sap_most(t->at[1].d, t->at[2].d));
  const double most = SMALL * (t->s->shape[1 - t->side]->inner - sap_most(deepest, 0.0));
  bool smooth = o->count > 0;
  for (int32_t i = 0; i < o->count && smooth; ++i) {
    double edge[3];
    sap_v3_sub(edge, o->x[i + 1 < o->count ? i + 1 : 0], o->x[i]);
    smooth = sap_v3_norm(edge) < most && o->part[i] == o->part[0];
  }
  return smooth || (o->count > 0 && t->s->coarse == SAP_PATCH_COARSEST);
}

// Returns true if the curved shape meets the plane in the triangle, about where it is deepest.
static bool is_met(const triangle* t) {
  double plane[4], x[3], edge[3], way[3], across[3];
  sap_patch_depth at;
  sap_v3_copy(plane, t->n);
  plane[3] = sap_v3_dot(t->n, t->x[0]);
  bool met = sap_patch_meet(t->s, 1 - t->side, plane, x);
  for (int k = 0; k < 3; ++k) {
    sap_v3_sub(edge, t->x[k < 2 ? k + 1 : 0], t->x[k]);
    sap_v3_sub(way, x, t->x[k]);
    sap_v3_cross(across, edge, way);
    met = met && sap_v3_dot(across, t->n) >= 0.0;
  }
  if (met) {
    sap_patch_find_depth_at(t->s, 1 - t->side, x, &at);
    t->s->deepest = sap_most(t->s->deepest, at.d);
  }
  return met;
}

// Adds the part in a curved shape.
static bool add_curved(triangle* t) {
  const int coarse = t->s->coarse;
  const int32_t npieces = t->s->npieces, ncorners = t->s->ncorners;
  outline o;
  set_outline(t, &o);
  if (!is_met(t) && o.count == 0) {
    return true;
  }
  t->part = o.part[0];
  t->smooth = is_smooth(t, &o);
  for (int32_t i = 0; i < o.count && t->smooth; ++i) {
    const int32_t next = i + 1 < o.count ? i + 1 : 0;
    if ((i > 0 && next > 0 && !add_samples(t, o.x[0], o.x[i], o.x[next], coarse)) ||
        (o.chord[i] && !add_border(t, o.x[i], o.x[next], coarse == 0 ? LEVELS : 0))) {
      return false;
    }
  }
  if (t->smooth) {
    return true;
  }
  t->s->npieces = npieces;
  t->s->ncorners = ncorners;
  set_planes(t);
  return sap_patch_add_facet(t->s, t->side);
}

// Adds the part of a triangle that is in the other shape; false: there is no room.
static bool add_triangle(sap_patch_surface* s, int side, const double corners[9]) {
  triangle t = {.s = s, .side = side};
  double u[3], v[3], n[3];
  for (int k = 0; k < 3; ++k) {
    sap_v3_place(t.x[k], s->centre[side], s->shape[side]->R, corners + 3 * k);
    sap_patch_find_depth_at(s, 1 - side, t.x[k], &t.at[k]);
  }
  sap_v3_sub(u, t.x[1], t.x[0]);
  sap_v3_sub(v, t.x[2], t.x[0]);
  sap_v3_cross(n, u, v);
  const double norm = sap_v3_norm(n);
  sap_v3_scale(n, n, 1.0 / norm);
  sap_m3_from_normal(t.axes, n);
  t.n = t.axes + 6;
  if (!(norm > 0.0) || is_outside(&t)) {
    return true;
  }
  return sap_patch_is_flat(s->shape[1 - side])
             ? sap_patch_add_triangle(s, side, (const double(*)[3])t.x, t.n)
             : add_curved(&t);
}

// Returns true if the box may touch the other shape, whose depth has a slope of at most one.
static bool is_near(const sap_patch_surface* s, int side, const sap_aabb* box) {
  double middle[3], half[3], x[3];
  sap_patch_depth at;
  sap_v3_add(middle, box->lower, box->upper);
  sap_v3_scale(middle, middle, 0.5);
  sap_v3_sub(half, box->upper, middle);
  sap_v3_place(x, s->centre[side], s->shape[side]->R, middle);
  sap_patch_find_depth_at(s, 1 - side, x, &at);
  return at.d + sap_v3_norm(half) > 0.0;
}

// Adds the triangles near the other shape; false: there is no room for all.
static bool add_triangles(sap_patch_surface* s, int side) {
  const sap_patch_mesh* mesh = s->shape[side]->hull->triangles;
  s->npieces = s->ncorners = 0;
  s->deepest = 0.0;
  for (int32_t i = 0; i < mesh->nnodes;) {
    const sap_patch_node* node = &mesh->nodes[i];
    const bool near = is_near(s, side, &node->box);
    for (int32_t k = node->first; near && k < node->first + node->count; ++k) {
      if (!add_triangle(s, side, mesh->corners[k])) {
        return false;
      }
    }
    i = near ? i + 1 : node->skip;
  }
  return true;
}

bool sap_patch_add_mesh(sap_patch_surface* s, int side) {
  sap_v3_copy(s->x0, s->centre[s->shape[1]->bound < s->shape[0]->bound]);
  s->depth = FIRST_DEPTH * sap_least(s->shape[0]->bound, s->shape[1]->bound);
  for (s->coarse = 0; !add_triangles(s, side) && s->coarse < SAP_PATCH_COARSEST;) {
    ++s->coarse;  // a part of the surface is better than none
  }
  s->depth = s->deepest;
  for (int32_t i = 0; i < s->ncorners; ++i) {
    s->depth = sap_most(s->depth, s->corners[i].p / s->series);
  }
  return s->npieces > 0;
}
