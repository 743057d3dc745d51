// SPDX-License-Identifier: BSD-3-Clause
// Convex hull: facets by qhull, merged to faces, and the edges between their corners.
//   Merging starts with the largest facet; each takes the neighbours whose vertices lie in its
//   plane. A face's polygon is the planar hull of all vertices that it took.
//   qhull (reentrant library) reports errors by longjmp to a point that qh_new_qhull itself sets,
//   and returns an exit code; none of our frames lies between. It prints to a stream that must not
//   be NULL: the null device. Calls after qh_new_qhull only follow pointers. qhull allocates its
//   own memory.
#include "multibody/model/hull.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libqhull_r/qhull_ra.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/polygon.h"

// The hull as qhull finds it: facets with their points and their neighbours.
typedef struct hull_facets {
  int32_t count;
  double* normals;          // outward, unit                                         (3 count)
  int32_t* point_start;     // into points                                           (count + 1)
  int32_t* points;          // numbers of its vertices, in no order
  int32_t* neighbor_start;  // into neighbors                                        (count + 1)
  int32_t* neighbors;       // facets
} hull_facets;

static void clear_facets(hull_facets* facets) {
  sap_free(facets->normals);
  sap_free(facets->point_start);
  sap_free(facets->points);
  sap_free(facets->neighbor_start);
  sap_free(facets->neighbors);
  *facets = (hull_facets){0};
}

// Numbers the facets and counts what they refer to.
static void count_facets(qhT* qh, hull_facets* out, int32_t* npoints, int32_t* nneighbors) {
  facetT* facet;
  *npoints = *nneighbors = 0;
  FORALLfacets {
    facet->visitid = (unsigned)out->count++;
    *npoints += qh_setsize(qh, facet->vertices);
    *nneighbors += qh_setsize(qh, facet->neighbors);
  }
}

static void copy_facets(qhT* qh, hull_facets* out) {
  facetT *facet, *neighbor, **neighborp;
  vertexT *vertex, **vertexp;
  int32_t f = 0, points = 0, neighbors = 0;
  FORALLfacets {
    memcpy(out->normals + 3 * (size_t)f, facet->normal, 3 * sizeof *out->normals);
    FOREACHvertex_(facet->vertices) {
      out->points[points++] = qh_pointid(qh, vertex->point);
    }
    FOREACHneighbor_(facet) {
      out->neighbors[neighbors++] = (int32_t)neighbor->visitid;
    }
    ++f;
    out->point_start[f] = points;
    out->neighbor_start[f] = neighbors;
  }
}

static sap_status get_facets(qhT* qh, hull_facets* out, sap_error* error) {
  int32_t points, neighbors;
  count_facets(qh, out, &points, &neighbors);
  const size_t count = (size_t)out->count;
  out->normals = sap_allocate(3 * count, sizeof *out->normals);
  out->point_start = sap_allocate(count + 1, sizeof *out->point_start);
  out->points = sap_allocate((size_t)points, sizeof *out->points);
  out->neighbor_start = sap_allocate(count + 1, sizeof *out->neighbor_start);
  out->neighbors = sap_allocate((size_t)neighbors, sizeof *out->neighbors);
  if (out->normals == NULL || out->point_start == NULL || out->points == NULL ||
      out->neighbor_start == NULL || out->neighbors == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  copy_facets(qh, out);
  return SAP_STATUS_OK;
}

static sap_status run_qhull(qhT* qh, const double* points, int32_t count, FILE* silent,
                            hull_facets* out, sap_error* error) {
  // qhull neither changes nor frees the points. Q12: facets may be wide after merging.
  char command[] = "qhull Q12 Pp";
  qh_zero(qh, silent);
  const int code = qh_new_qhull(qh, 3, count, (double*)points, False, command, silent, silent);
  sap_status status = SAP_STATUS_OK;
  if (code == qh_ERRsingular || code == qh_ERRinput) {
    status = sap_fail(error, SAP_STATUS_ARGUMENT,
                      "the vertices lie in a plane, so that they have "
                      "no convex hull with a volume");
  } else if (code == qh_ERRmem) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  } else if (code != qh_ERRnone) {
    status = sap_fail(error, SAP_STATUS_INTERNAL, "convex hull failed: qhull's code %d", code);
  } else {
    status = get_facets(qh, out, error);
  }
  int blocks, bytes;
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &blocks, &bytes);
  return status;
}

// Finds the facets of points of a size near 1. Fails with ARGUMENT if they are flat.
static sap_status create_facets(const double* points, int32_t count, hull_facets* out,
                                sap_error* error) {
  *out = (hull_facets){0};
  qhT* qh = sap_allocate(1, sizeof *qh);
  if (qh == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  FILE* silent = fopen("/dev/null", "w");
  const sap_status status =
      silent != NULL
          ? run_qhull(qh, points, count, silent, out, error)
          : sap_fail(error, SAP_STATUS_IO, "convex hull: cannot open the null device for qhull");
  if (silent != NULL) {
    (void)fclose(silent);
  }
  sap_free(qh);
  if (status != SAP_STATUS_OK) {
    clear_facets(out);
  }
  return status;
}
// A hull with less than this part of the volume of its bounding cube counts as flat.
#define FLAT_VOLUME 1e-12

typedef struct work {
  double* points;  // scaled to [-1, 1]                                       (3 count)
  int32_t count;
  hull_facets facets;
  int32_t* order;    // facets by descending area                                  (facets)
  int32_t* owner;    // the face that took the facet, -1                        (facets)
  int32_t* queue;    //                                                         (facets)
  int32_t* seeds;    // the facet that gave a face its plane                    (facets)
  int32_t* stamp;    // the last face that collected the point, + 1             (count)
  int32_t* corner;   // point -> vertex of the hull, -1                         (count)
  int32_t* members;  // point numbers of the current face                       (count)
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
  clear_facets(&w->facets);
  sap_polygon_clear(&w->polygon);
  void* const owned[] = {w->points, w->order, w->owner,  w->queue,
                         w->seeds,  w->stamp, w->corner, w->members};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) {
    sap_free(owned[i]);
  }
}

// Scales the points into [-1, 1], where qhull's tolerances fit any unit of length.
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

// Builds the polygon of one facet alone.
static void build_facet_polygon(work* w, int32_t f) {
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

// Orders the facets by area; the volume is the sum of their cones from the middle.
static sap_status order_facets(work* w, sap_error* error) {
  facet_area* rows = sap_allocate((size_t)w->facets.count, sizeof *rows);
  if (rows == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  double volume = 0.0;
  for (int32_t f = 0; f < w->facets.count; ++f) {
    build_facet_polygon(w, f);
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

// Returns the largest n . x of a facet.
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

// Collects the facets and points of the face that starts at `seed`; returns the number of points.
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

// Makes faces with point numbers for vertices; drops slivers without three corners.
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

// Numbers the corners in the order of the points and sets the planes of the seed facets.
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

static int compare_edges(const void* a, const void* b) {
  const int32_t* p = a;
  const int32_t* q = b;
  const int32_t i = p[0] != q[0] ? 0 : 1;
  return (p[i] > q[i]) - (p[i] < q[i]);
}

// Fills the neighbours from the faces: both directions of every edge, each once.
static sap_status join_vertices(sap_hull* hull, sap_error* error) {
  const int32_t total = hull->face_start[hull->nfaces];
  int32_t(*edges)[2] = sap_allocate(2 * (size_t)total, sizeof *edges);
  hull->neighbors = sap_allocate(2 * (size_t)total, sizeof *hull->neighbors);
  hull->neighbor_start = sap_allocate((size_t)hull->nvertices + 1, sizeof *hull->neighbor_start);
  if (edges == NULL || hull->neighbors == NULL || hull->neighbor_start == NULL) {
    sap_free(edges);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  size_t count = 0;
  for (int32_t f = 0; f < hull->nfaces; ++f) {
    const int32_t first = hull->face_start[f], end = hull->face_start[f + 1];
    for (int32_t i = first; i < end; ++i) {
      const int32_t a = hull->face_vertices[i];
      const int32_t b = hull->face_vertices[i + 1 < end ? i + 1 : first];
      edges[count][0] = edges[count + 1][1] = a;
      edges[count][1] = edges[count + 1][0] = b;
      count += 2;
    }
  }
  qsort(edges, count, sizeof *edges, compare_edges);
  int32_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || compare_edges(edges[i - 1], edges[i]) != 0) {
      hull->neighbors[kept++] = edges[i][1];
      hull->neighbor_start[edges[i][0] + 1] = kept;
    }
  }
  sap_free(edges);
  return SAP_STATUS_OK;
}

static sap_status build_hull(work* w, const double* points, sap_hull* hull, sap_error* error) {
  SAP_TRY(scale_points(w, points, error));
  SAP_TRY(create_facets(w->points, w->count, &w->facets, error));
  SAP_TRY(allocate_work(w, error));
  SAP_TRY(order_facets(w, error));
  const size_t facets = (size_t)w->facets.count;
  hull->planes = sap_allocate(4 * facets, sizeof *hull->planes);
  hull->face_start = sap_allocate(facets + 1, sizeof *hull->face_start);
  hull->face_vertices =
      sap_allocate((size_t)w->facets.point_start[facets], sizeof *hull->face_vertices);
  if (hull->planes == NULL || hull->face_start == NULL || hull->face_vertices == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  make_faces(w, hull);
  SAP_TRY(number_vertices(w, points, hull, error));
  return join_vertices(hull, error);
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
                                ? build_hull(&w, points, out, error)
                                : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  clear_work(&w);
  if (status != SAP_STATUS_OK) {
    sap_hull_clear(out);
  }
  return status;
}
