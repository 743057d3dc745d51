// SPDX-License-Identifier: BSD-3-Clause
// Convex hull: faces by qhull, which merges facets that are coplanar to SAP_HULL_FLATNESS, and the
// edges between their corners.
//   A hull depends on its vertices alone, not on points inside: a saved model has the same faces.
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

#include "math/vector3.h"
#include "multibody/model/model_data.h"

// A hull with less than this part of the volume of its bounding cube counts as flat.
#define FLAT_VOLUME 1e-12

// The distance of a facet's middle from its neighbour's plane at which qhull merges them, relative
// to what the corners of a face may have.
#define MERGED 0.3

// A corner of a face, by its angle about the middle of the face.
typedef struct face_corner {
  double angle;
  int32_t point;
} face_corner;

typedef struct work {
  sap_pool pool;         // of all arrays below
  double* points;        // scaled to [-1, 1]                                       (3 count)
  int32_t* vertex;       // of the hull, of each point, -1                          (count)
  face_corner* corners;  // of one face                                             (count)
  int32_t count;
} work;

static int compare_corners(const void* a, const void* b) {
  const face_corner *p = a, *q = b;
  return p->angle != q->angle ? (p->angle > q->angle) - (p->angle < q->angle)
                              : (p->point > q->point) - (p->point < q->point);
}

// Adds a facet as a face whose vertices are numbers of points, counter-clockwise from outside.
static void add_face(qhT* qh, const facetT* facet, const double* points, work* w, sap_hull* hull) {
  vertexT *vertex, **vertexp;
  facetT *neighbor, **neighborp;
  double R[9], middle[3] = {0.0};  // columns t1, t2, n
  double* plane = hull->planes + 4 * (size_t)hull->nfaces;
  const int32_t size = qh_setsize(qh, facet->vertices), first = hull->face_start[hull->nfaces];
  int32_t n = 0;
  sap_v3_copy(plane, facet->normal);
  sap_m3_from_normal(R, plane);
  plane[3] = -(double)INFINITY;
  FOREACHvertex_(facet->vertices) {
    sap_v3_add_scaled(middle, vertex->point, 1.0 / size);
  }
  FOREACHvertex_(facet->vertices) {
    const int32_t point = qh_pointid(qh, vertex->point);
    double way[3];
    sap_v3_sub(way, vertex->point, middle);
    w->corners[n++] = (face_corner){atan2(sap_v3_dot(R + 3, way), sap_v3_dot(R, way)), point};
  }
  FOREACHneighbor_(facet) {  // of a convex body, these have the highest vertices
    FOREACHvertex_(neighbor->vertices) {
      const double* point = points + 3 * (size_t)qh_pointid(qh, vertex->point);
      plane[3] = fmax(plane[3], sap_v3_dot(plane, point));
    }
  }
  qsort(w->corners, (size_t)size, sizeof *w->corners, compare_corners);
  for (int32_t i = 0; i < size; ++i) {
    hull->face_vertices[first + i] = w->corners[i].point;
  }
  hull->face_start[++hull->nfaces] = first + size;
}

static sap_status add_faces(qhT* qh, const double* points, work* w, sap_hull* hull,
                            sap_error* error) {
  const facetT* facet;
  const vertexT* vertex;
  size_t faces = 0, corners = 0;
  SAP_FAIL_IF(!(qh->totvol > 8.0 * FLAT_VOLUME), error, SAP_STATUS_ARGUMENT,
              "the vertices lie in a plane, so that they have no convex hull with a volume");
  FORALLfacets {
    faces += 1;
    corners += (size_t)qh_setsize(qh, facet->vertices);
  }
  FORALLvertices {
    w->vertex[qh_pointid(qh, vertex->point)] = 0;
  }
  SAP_TRY(SAP_POOL_ADD_ALL(&hull->pool, error, SAP_ARRAY(&hull->planes, 4 * faces),
                           SAP_ARRAY(&hull->face_start, faces + 1),
                           SAP_ARRAY(&hull->face_vertices, corners)));
  FORALLfacets {
    add_face(qh, facet, points, w, hull);
  }
  return SAP_STATUS_OK;
}

// Runs qhull with a command. It neither changes nor frees the points.
static sap_status run_qhull(qhT* qh, const char* with, FILE* silent, const double* points, work* w,
                            sap_hull* hull, sap_error* error) {
  char command[64];
  (void)snprintf(command, sizeof command, "qhull C-0 Q12 FA Pp %s", with);
  qh_zero(qh, silent);
  const int code = qh_new_qhull(qh, 3, w->count, w->points, False, command, silent, silent);
  const sap_status status =
      code == qh_ERRnone ? add_faces(qh, points, w, hull, error)
      : code == qh_ERRsingular || code == qh_ERRinput
          ? sap_fail(error, SAP_STATUS_ARGUMENT,
                     "the vertices lie in a plane, so that they have no convex hull with a volume")
      : code == qh_ERRmem
          ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull")
          : sap_fail(error, SAP_STATUS_INTERNAL, "convex hull failed: qhull's code %d", code);
  int blocks, bytes;
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &blocks, &bytes);
  return status;
}

// Finds the faces of the scaled points; where qhull cannot merge facets that are so nearly coplanar,
// those that it finds. Fails with ARGUMENT if they are flat.
static sap_status find_faces(const double* points, work* w, sap_hull* hull, sap_error* error) {
  qhT* qh;
  SAP_TRY(SAP_POOL_ADD(&w->pool, &qh, 1, error));
  FILE* silent = fopen("/dev/null", "w");
  SAP_FAIL_IF(silent == NULL, error, SAP_STATUS_IO,
              "convex hull: cannot open the null device for qhull");
  char merge[32];
  (void)snprintf(merge, sizeof merge, "C%g", MERGED * SAP_HULL_FLATNESS);
  sap_status status = run_qhull(qh, merge, silent, points, w, hull, error);
  if (status == SAP_STATUS_INTERNAL) {
    status = run_qhull(qh, "", silent, points, w, hull, error);
  }
  (void)fclose(silent);
  return status;
}

// Scales the points into [-1, 1], where qhull's tolerances fit any unit of length.
static sap_status scale_points(work* w, const double* points, sap_error* error) {
  double lower[3], upper[3], half = 0.0;
  sap_v3_copy(lower, points);
  sap_v3_copy(upper, points);
  for (int32_t i = 0; i < w->count; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double x = points[3 * (size_t)i + (size_t)k];
      SAP_FAIL_IF(!isfinite(x), error, SAP_STATUS_NOT_FINITE,
                  "vertex %d has %g, but must be finite", (int)i, x);
      lower[k] = fmin(lower[k], x);
      upper[k] = fmax(upper[k], x);
    }
  }
  for (int k = 0; k < 3; ++k) {
    half = fmax(half, 0.5 * upper[k] - 0.5 * lower[k]);
  }
  SAP_FAIL_IF(!(half > 0.0), error, SAP_STATUS_ARGUMENT, "all its %d vertices are one point",
              (int)w->count);
  for (size_t i = 0; i < 3 * (size_t)w->count; ++i) {
    w->points[i] = (points[i] - (0.5 * lower[i % 3] + 0.5 * upper[i % 3])) / half;
  }
  return SAP_STATUS_OK;
}

// Numbers the corners of faces in the order of the points.
static sap_status number_vertices(work* w, const double* points, sap_hull* hull, sap_error* error) {
  for (int32_t i = 0; i < w->count; ++i) {
    w->vertex[i] = w->vertex[i] == 0 ? hull->nvertices++ : -1;
  }
  SAP_TRY(SAP_POOL_ADD(&hull->pool, &hull->vertices, 3 * (size_t)hull->nvertices, error));
  for (int32_t i = 0; i < w->count; ++i) {
    if (w->vertex[i] >= 0) {
      sap_v3_copy(hull->vertices + 3 * (size_t)w->vertex[i], points + 3 * (size_t)i);
    }
  }
  for (int32_t i = 0; i < hull->face_start[hull->nfaces]; ++i) {
    hull->face_vertices[i] = w->vertex[hull->face_vertices[i]];
  }
  return SAP_STATUS_OK;
}

// Fills the neighbours from the faces: both directions of every edge, each once.
static sap_status join_vertices(sap_pool* scratch, sap_hull* hull, sap_error* error) {
  const int32_t total = hull->face_start[hull->nfaces];
  int32_t(*edges)[2];
  SAP_TRY(SAP_POOL_ADD(scratch, &edges, 2 * (size_t)total, error));
  SAP_TRY(SAP_POOL_ADD(&hull->pool, &hull->neighbors, 2 * (size_t)total, error));
  SAP_TRY(SAP_POOL_ADD(&hull->pool, &hull->neighbor_start, (size_t)hull->nvertices + 1, error));
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
  qsort(edges, count, sizeof *edges, sap_compare_id_pairs);
  int32_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || sap_compare_id_pairs(edges[i - 1], edges[i]) != 0) {
      hull->neighbors[kept++] = edges[i][1];
      hull->neighbor_start[edges[i][0] + 1] = kept;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status build_hull(work* w, const double* points, sap_hull* hull, sap_error* error) {
  SAP_TRY(SAP_POOL_ADD_ALL(&w->pool, error, SAP_ARRAY(&w->points, 3 * (size_t)w->count),
                           SAP_ARRAY(&w->vertex, w->count), SAP_ARRAY(&w->corners, w->count)));
  SAP_TRY(scale_points(w, points, error));
  memset(w->vertex, -1, (size_t)w->count * sizeof *w->vertex);
  SAP_TRY(find_faces(points, w, hull, error));
  SAP_TRY(number_vertices(w, points, hull, error));
  return join_vertices(&w->pool, hull, error);
}

sap_status sap_hull_create(const double* points, int32_t count, sap_hull* out, sap_error* error) {
  *out = (sap_hull){0};
  SAP_FAIL_IF(count < 4 || points == NULL, error, SAP_STATUS_ARGUMENT,
              "has %d vertices, but a hull needs at least 4", (int)count);
  work w = {.count = count, .pool.owner = "convex hull"};
  out->pool.owner = "convex hull";
  sap_status status = build_hull(&w, points, out, error);
  sap_pool_free(&w.pool);
  sap_hull all = *out;
  if (status == SAP_STATUS_OK && all.nvertices < count) {  // the hull of the vertices alone
    status = sap_hull_create(all.vertices, all.nvertices, out, error);
    sap_hull_clear(&all);
  }
  if (status != SAP_STATUS_OK) {
    sap_hull_clear(out);
  }
  return status;
}
