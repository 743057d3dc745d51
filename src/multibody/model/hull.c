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
#include "multibody/model/model_data.h"

// The hull as qhull finds it: facets with their points and their neighbours.
typedef struct hull_facets {
  int32_t count;
  double* normals;          // outward, unit                                         (3 count)
  int32_t* point_start;     // into points                                           (count + 1)
  int32_t* points;          // numbers of its vertices, in no order
  int32_t* neighbor_start;  // into neighbors                                        (count + 1)
  int32_t* neighbors;       // facets
} hull_facets;

static sap_status get_facets(qhT* qh, sap_pool* pool, hull_facets* out, sap_error* error) {
  facetT *facet, *neighbor, **neighborp;
  vertexT *vertex, **vertexp;
  int32_t f = 0, points = 0, neighbors = 0;
  FORALLfacets {
    facet->visitid = (unsigned)out->count++;
  }
  const size_t count = (size_t)out->count;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&out->normals, 3 * count),
                           SAP_ARRAY(&out->point_start, count + 1),
                           SAP_ARRAY(&out->neighbor_start, count + 1)));
  FORALLfacets {
    memcpy(out->normals + 3 * (size_t)f, facet->normal, 3 * sizeof *out->normals);
    FOREACHvertex_(facet->vertices) {
      SAP_TRY(SAP_ROOM(pool, &out->points, points + 1, error));
      out->points[points++] = qh_pointid(qh, vertex->point);
    }
    FOREACHneighbor_(facet) {
      SAP_TRY(SAP_ROOM(pool, &out->neighbors, neighbors + 1, error));
      out->neighbors[neighbors++] = (int32_t)neighbor->visitid;
    }
    ++f;
    out->point_start[f] = points;
    out->neighbor_start[f] = neighbors;
  }
  return SAP_STATUS_OK;
}

// --- planar polygons ---

typedef struct polygon_point {
  double x, y;
  int32_t id;
} polygon_point;

typedef struct polygon {
  int32_t count;
  int32_t* points;  // numbers of the corners, counter-clockwise seen against the normal
  double area;
  polygon_point* sorted;  // workspace
  polygon_point* chain;
} polygon;

// For points of size 1; below the resolution of single precision.
#define POLYGON_FLATNESS 1e-7

static int compare_points(const void* a, const void* b) {
  const polygon_point* p = a;
  const polygon_point* q = b;
  if (p->x != q->x) {
    return p->x < q->x ? -1 : 1;
  }
  if (p->y != q->y) {
    return p->y < q->y ? -1 : 1;
  }
  return (p->id > q->id) - (p->id < q->id);
}

// Returns twice the area of the triangle; > 0: counter-clockwise.
static double turn(const polygon_point* a, const polygon_point* b, const polygon_point* c) {
  return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

static int32_t make_chain(polygon* out, int32_t count) {
  const polygon_point* p = out->sorted;
  polygon_point* chain = out->chain;
  int32_t n = 0;
  for (int32_t i = 0; i < count; ++i) {
    while (n >= 2 && !(turn(&chain[n - 2], &chain[n - 1], &p[i]) > 0.0)) {
      --n;
    }
    chain[n++] = p[i];
  }
  const int32_t lower = n + 1;
  for (int32_t i = count - 2; i >= 0; --i) {
    while (n >= lower && !(turn(&chain[n - 2], &chain[n - 1], &p[i]) > 0.0)) {
      --n;
    }
    chain[n++] = p[i];
  }
  return n - 1;  // the first point is also the last
}

// Removes corners on the line through their neighbours until there is none.
static int32_t thin_out(polygon_point* chain, int32_t n) {
  for (int32_t i = 0, kept = 0; n >= 3 && kept < n;) {
    const polygon_point* a = &chain[(i + n - 1) % n];
    const polygon_point* c = &chain[(i + 1) % n];
    const double base = hypot(c->x - a->x, c->y - a->y);
    if (turn(a, &chain[i], c) > POLYGON_FLATNESS * base) {
      ++kept;
      i = (i + 1) % n;
      continue;
    }
    for (int32_t k = i; k + 1 < n; ++k) {
      chain[k] = chain[k + 1];
    }
    --n;
    kept = 0;
    i = n > 0 ? i % n : 0;
  }
  return n >= 3 ? n : 0;
}

// Builds the planar hull of points ids[0 ... count) seen along the unit normal, by Andrew's
// monotone chain, without corners closer than POLYGON_FLATNESS to the line through their
// neighbours. A sliver has count 0. cost: O(n log n)
static void build_polygon(polygon* out, const double* points, const int32_t* ids, int32_t count,
                          const double normal[3]) {
  double R[9];  // columns t1, t2, n
  sap_m3_from_normal(R, normal);
  for (int32_t i = 0; i < count; ++i) {
    const double* p = points + 3 * (size_t)ids[i];
    out->sorted[i] = (polygon_point){sap_v3_dot(R, p), sap_v3_dot(R + 3, p), ids[i]};
  }
  qsort(out->sorted, (size_t)count, sizeof *out->sorted, compare_points);
  const polygon_point* chain = out->chain;
  out->count = thin_out(out->chain, count >= 3 ? make_chain(out, count) : 0);
  out->area = 0.0;
  for (int32_t i = 0; i < out->count; ++i) {
    out->points[i] = chain[i].id;
    if (i >= 2) {
      out->area += 0.5 * turn(&chain[0], &chain[i - 1], &chain[i]);
    }
  }
}

// --- faces ---

// A hull with less than this part of the volume of its bounding cube counts as flat.
#define FLAT_VOLUME 1e-12

typedef struct work {
  sap_pool pool;   // of all arrays below
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
  polygon polygon;
} work;

void sap_hull_clear(sap_hull* hull) {
  sap_pool_free(&hull->pool);
  *hull = (sap_hull){0};
}

static sap_status run_qhull(qhT* qh, FILE* silent, work* w, sap_error* error) {
  // qhull neither changes nor frees the points. Q12: facets may be wide after merging.
  char command[] = "qhull Q12 Pp";
  qh_zero(qh, silent);
  const int code = qh_new_qhull(qh, 3, w->count, w->points, False, command, silent, silent);
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
    status = get_facets(qh, &w->pool, &w->facets, error);
  }
  int blocks, bytes;
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &blocks, &bytes);
  return status;
}

// Finds the facets of the scaled points. Fails with ARGUMENT if they are flat.
static sap_status find_facets(work* w, sap_error* error) {
  qhT* qh;
  SAP_TRY(SAP_POOL_ADD(&w->pool, &qh, 1, error));
  FILE* silent = fopen("/dev/null", "w");
  SAP_FAIL_IF(silent == NULL, error, SAP_STATUS_IO,
              "convex hull: cannot open the null device for qhull");
  const sap_status status = run_qhull(qh, silent, w, error);
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

static sap_status allocate_work(work* w, sap_error* error) {
  const size_t points = (size_t)w->count, facets = (size_t)w->facets.count;
  return SAP_POOL_ADD_ALL(
      &w->pool, error, SAP_ARRAY(&w->order, facets), SAP_ARRAY(&w->owner, facets),
      SAP_ARRAY(&w->queue, facets), SAP_ARRAY(&w->seeds, facets), SAP_ARRAY(&w->stamp, points),
      SAP_ARRAY(&w->corner, points), SAP_ARRAY(&w->members, points),
      SAP_ARRAY(&w->polygon.points, points), SAP_ARRAY(&w->polygon.sorted, points),
      SAP_ARRAY(&w->polygon.chain, 2 * points));
}

// Builds the polygon of one facet alone.
static void build_facet_polygon(work* w, int32_t f) {
  const int32_t first = w->facets.point_start[f];
  build_polygon(&w->polygon, w->points, w->facets.points + first,
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
  facet_area* rows;
  SAP_TRY(SAP_POOL_ADD(&w->pool, &rows, w->facets.count, error));
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
  SAP_FAIL_IF(!(volume > 8.0 * FLAT_VOLUME), error, SAP_STATUS_ARGUMENT,
              "the vertices lie in a plane, so that they have "
              "no convex hull with a volume");
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
    build_polygon(&w->polygon, w->points, w->members, members, n);
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
  SAP_TRY(SAP_POOL_ADD(&hull->pool, &hull->vertices, 3 * (size_t)hull->nvertices, error));
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
  SAP_TRY(SAP_POOL_ADD(&w->pool, &w->points, 3 * (size_t)w->count, error));
  SAP_TRY(scale_points(w, points, error));
  SAP_TRY(find_facets(w, error));
  SAP_TRY(allocate_work(w, error));
  SAP_TRY(order_facets(w, error));
  const size_t facets = (size_t)w->facets.count;
  SAP_TRY(SAP_POOL_ADD_ALL(&hull->pool, error, SAP_ARRAY(&hull->planes, 4 * facets),
                           SAP_ARRAY(&hull->face_start, facets + 1),
                           SAP_ARRAY(&hull->face_vertices, w->facets.point_start[facets])));
  make_faces(w, hull);
  SAP_TRY(number_vertices(w, points, hull, error));
  return join_vertices(&w->pool, hull, error);
}

sap_status sap_hull_create(const double* points, int32_t count, sap_hull* out, sap_error* error) {
  *out = (sap_hull){0};
  SAP_FAIL_IF(count < 4 || points == NULL, error, SAP_STATUS_ARGUMENT,
              "has %d vertices, but a hull needs at least 4", (int)count);
  work w = {.count = count, .pool.owner = "convex hull"};
  out->pool.owner = "convex hull";
  const sap_status status = build_hull(&w, points, out, error);
  sap_pool_free(&w.pool);
  if (status != SAP_STATUS_OK) {
    sap_hull_clear(out);
  }
  return status;
}
