// SPDX-License-Identifier: BSD-3-Clause
// From qhull's facets to faces: starting with the largest facet, each takes the neighbours whose
// vertices lie in its plane; a face's polygon is the planar hull of all vertices it took.
#include "multibody/model/hull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/polygon.h"

// Volume of the hull relative to that of its bounding cube below which it counts as flat.
#define FLAT_VOLUME 1e-12

typedef struct work {
  double* points;  // scaled to [-1, 1]                                       (3 count)
  int32_t count;
  sap_hull_facets facets;
  int32_t* order;    // facets by falling area                                  (facets)
  int32_t* owner;    // the face that took the facet, -1                        (facets)
  int32_t* queue;    //                                                         (facets)
  int32_t* seeds;    // the facet that gave a face its plane                    (facets)
  int32_t* stamp;    // the last face that collected the point, + 1             (count)
  int32_t* corner;   // point -> vertex of the hull, -1                         (count)
  int32_t* members;  // point numbers of the face at work                       (count)
  sap_polygon polygon;
} work;

void sap_hull_clear(sap_hull* hull) {
  sap_free(hull->vertices);
  sap_free(hull->neighbor_start);
  sap_free(hull->neighbors);
  sap_free(hull->planes);
  sap_free(hull->face_start);
  sap_free(hull->face_vertices);
  *hull = (sap_hull){0};
}

static void clear_work(work* w) {
  sap_hull_facets_clear(&w->facets);
  sap_polygon_clear(&w->polygon);
  void* const owned[] = {w->points, w->order, w->owner,  w->queue,
                         w->seeds,  w->stamp, w->corner, w->members};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) {
    sap_free(owned[i]);
  }
}

// Into [-1, 1]: qhull's tolerances are then right for every unit of length.
static sap_status scale_points(work* w, const double* points, sap_error* error) {
  double lower[3], upper[3], half = 0.0;
  sap_v3_copy(lower, points);
  sap_v3_copy(upper, points);
  for (int32_t i = 0; i < w->count; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double x = points[3 * (size_t)i + (size_t)k];
      if (!isfinite(x)) {
        return sap_fail(error, SAP_STATUS_NOT_FINITE, "vertex %d has %g, but must be finite",
                        (int)i, x);
      }
      lower[k] = fmin(lower[k], x);
      upper[k] = fmax(upper[k], x);
    }
  }
  for (int k = 0; k < 3; ++k) {
    half = fmax(half, 0.5 * upper[k] - 0.5 * lower[k]);
  }
  if (!(half > 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "all its %d vertices are one point", (int)w->count);
  }
  for (size_t i = 0; i < 3 * (size_t)w->count; ++i) {
    w->points[i] = (points[i] - (0.5 * lower[i % 3] + 0.5 * upper[i % 3])) / half;
  }
  return SAP_STATUS_OK;
}

static sap_status allocate_work(work* w, sap_error* error) {
  const size_t points = (size_t)w->count, facets = (size_t)w->facets.count;
  w->order = sap_allocate(facets, sizeof *w->order);
  w->owner = sap_allocate(facets, sizeof *w->owner);
  w->queue = sap_allocate(facets, sizeof *w->queue);
  w->seeds = sap_allocate(facets, sizeof *w->seeds);
  w->stamp = sap_allocate(points, sizeof *w->stamp);
  w->corner = sap_allocate(points, sizeof *w->corner);
  w->members = sap_allocate(points, sizeof *w->members);
  if (w->order == NULL || w->owner == NULL || w->queue == NULL || w->seeds == NULL ||
      w->stamp == NULL || w->corner == NULL || w->members == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  return sap_polygon_reserve(&w->polygon, w->count, error);
}

// The face of one facet alone.
static void facet_polygon(work* w, int32_t f) {
  const int32_t first = w->facets.point_start[f];
  sap_polygon_build(&w->polygon, w->points, w->facets.points + first,
                    w->facets.point_start[f + 1] - first, w->facets.normals + 3 * (size_t)f);
}

typedef struct facet_area {
  double area;
  int32_t facet;
} facet_area;

static int compare_areas(const void* a, const void* b) {
  const facet_area* p = a;
  const facet_area* q = b;
  if (p->area != q->area) {
    return p->area > q->area ? -1 : 1;
  }
  return (p->facet > q->facet) - (p->facet < q->facet);
}

// Orders the facets by area; their cones from the middle add up to the volume.
static sap_status order_facets(work* w, sap_error* error) {
  facet_area* rows = sap_allocate((size_t)w->facets.count, sizeof *rows);
  if (rows == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  double volume = 0.0;
  for (int32_t f = 0; f < w->facets.count; ++f) {
    facet_polygon(w, f);
    const double* point = w->points + 3 * (size_t)w->facets.points[w->facets.point_start[f]];
    rows[f] = (facet_area){w->polygon.area, f};
    volume += w->polygon.area * sap_v3_dot(w->facets.normals + 3 * (size_t)f, point) / 3.0;
  }
  qsort(rows, (size_t)w->facets.count, sizeof *rows, compare_areas);
  for (int32_t f = 0; f < w->facets.count; ++f) {
    w->order[f] = rows[f].facet;
    w->owner[f] = -1;
  }
  sap_free(rows);
  if (!(volume > 8.0 * FLAT_VOLUME)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "the vertices lie in a plane, so that they have "
                    "no convex hull with a volume");
  }
  return SAP_STATUS_OK;
}

// Highest point of a facet along n.
static double facet_top(const work* w, int32_t f, const double n[3]) {
  double top = -(double)INFINITY;
  for (int32_t i = w->facets.point_start[f]; i < w->facets.point_start[f + 1]; ++i) {
    top = fmax(top, sap_v3_dot(n, w->points + 3 * (size_t)w->facets.points[i]));
  }
  return top;
}

static bool lies_in_plane(const work* w, int32_t f, const double n[3], double d) {
  for (int32_t i = w->facets.point_start[f]; i < w->facets.point_start[f + 1]; ++i) {
    const double* point = w->points + 3 * (size_t)w->facets.points[i];
    if (!(sap_v3_dot(n, point) >= d - SAP_HULL_FLATNESS)) {
      return false;
    }
  }
  return sap_v3_dot(n, w->facets.normals + 3 * (size_t)f) > 0.0;
}

// Facets and points of the face that starts at `seed`; the number of points.
static int32_t collect_face(work* w, int32_t seed, int32_t face) {
  const double* n = w->facets.normals + 3 * (size_t)seed;
  const double d = facet_top(w, seed, n);
  int32_t members = 0, end = 0;
  w->queue[end++] = seed;
  w->owner[seed] = face;
  for (int32_t k = 0; k < end; ++k) {
    const int32_t f = w->queue[k];
    for (int32_t i = w->facets.point_start[f]; i < w->facets.point_start[f + 1]; ++i) {
      const int32_t point = w->facets.points[i];
      if (w->stamp[point] != face + 1) {
        w->stamp[point] = face + 1;
        w->members[members++] = point;
      }
    }
    for (int32_t i = w->facets.neighbor_start[f]; i < w->facets.neighbor_start[f + 1]; ++i) {
      const int32_t g = w->facets.neighbors[i];
      if (w->owner[g] < 0 && lies_in_plane(w, g, n, d)) {
        w->owner[g] = face;
        w->queue[end++] = g;
      }
    }
  }
  return members;
}

// Faces with point numbers instead of vertices. A sliver without three corners is none.
static void make_faces(work* w, sap_hull* hull) {
  int32_t face = 0;
  for (int32_t k = 0; k < w->facets.count; ++k) {
    const int32_t seed = w->order[k];
    if (w->owner[seed] >= 0) {
      continue;
    }
    const double* n = w->facets.normals + 3 * (size_t)seed;
    const int32_t members = collect_face(w, seed, face++);
    sap_polygon_build(&w->polygon, w->points, w->members, members, n);
    if (w->polygon.count < 3) {
      continue;
    }
    const int32_t first = hull->face_start[hull->nfaces];
    memcpy(hull->face_vertices + first, w->polygon.points,
           (size_t)w->polygon.count * sizeof *w->polygon.points);
    w->seeds[hull->nfaces] = seed;
    ++hull->nfaces;
    hull->face_start[hull->nfaces] = first + w->polygon.count;
  }
}

// Numbers the corners in the order of the points and puts planes through the seeds.
static sap_status number_vertices(work* w, const double* points, sap_hull* hull, sap_error* error) {
  const int32_t total = hull->face_start[hull->nfaces];
  for (int32_t i = 0; i < total; ++i) {
    w->corner[hull->face_vertices[i]] = 1;
  }
  for (int32_t i = 0; i < w->count; ++i) {
    w->corner[i] = w->corner[i] == 1 ? hull->nvertices++ : -1;
  }
  hull->vertices = sap_allocate(3 * (size_t)hull->nvertices, sizeof *hull->vertices);
  if (hull->vertices == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  for (int32_t i = 0; i < w->count; ++i) {
    if (w->corner[i] >= 0) {
      sap_v3_copy(hull->vertices + 3 * (size_t)w->corner[i], points + 3 * (size_t)i);
    }
  }
  for (int32_t f = 0; f < hull->nfaces; ++f) {
    double* plane = hull->planes + 4 * (size_t)f;
    const int32_t seed = w->seeds[f];
    sap_v3_copy(plane, w->facets.normals + 3 * (size_t)seed);
    plane[3] = -(double)INFINITY;
    for (int32_t i = w->facets.point_start[seed]; i < w->facets.point_start[seed + 1]; ++i) {
      plane[3] = fmax(plane[3], sap_v3_dot(plane, points + 3 * (size_t)w->facets.points[i]));
    }
  }
  for (int32_t i = 0; i < total; ++i) {
    hull->face_vertices[i] = w->corner[hull->face_vertices[i]];
  }
  return SAP_STATUS_OK;
}

static sap_status build(work* w, const double* points, sap_hull* hull, sap_error* error) {
  sap_status status = scale_points(w, points, error);
  if (status == SAP_STATUS_OK) {
    status = sap_hull_facets_create(w->points, w->count, &w->facets, error);
  }
  if (status == SAP_STATUS_OK) {
    status = allocate_work(w, error);
  }
  if (status == SAP_STATUS_OK) {
    status = order_facets(w, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const size_t facets = (size_t)w->facets.count;
  hull->planes = sap_allocate(4 * facets, sizeof *hull->planes);
  hull->face_start = sap_allocate(facets + 1, sizeof *hull->face_start);
  hull->face_vertices =
      sap_allocate((size_t)w->facets.point_start[facets], sizeof *hull->face_vertices);
  if (hull->planes == NULL || hull->face_start == NULL || hull->face_vertices == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  make_faces(w, hull);
  status = number_vertices(w, points, hull, error);
  return status == SAP_STATUS_OK ? sap_hull_join_vertices(hull, error) : status;
}

sap_status sap_hull_create(const double* points, int32_t count, sap_hull* out, sap_error* error) {
  *out = (sap_hull){0};
  if (count < 4 || points == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "has %d vertices, but a hull needs at least 4",
                    (int)count);
  }
  work w = {.count = count};
  w.points = sap_allocate(3 * (size_t)count, sizeof *w.points);
  const sap_status status = w.points != NULL
                                ? build(&w, points, out, error)
                                : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  clear_work(&w);
  if (status != SAP_STATUS_OK) {
    sap_hull_clear(out);
  }
  return status;
}
