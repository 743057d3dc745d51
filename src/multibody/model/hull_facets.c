// SPDX-License-Identifier: BSD-3-Clause
// Facets of a convex hull by qhull (reentrant library): the only file that knows it.
//   qhull reports errors by longjmp to a point that qh_new_qhull itself sets, and comes back with
//   an exit code; nothing of ours lies between. It prints to a stream that must not be NULL: it
//   gets the null device, so that nothing appears. What is called after qh_new_qhull only follows
//   pointers. qhull allocates by itself.
#include <stdio.h>
#include <string.h>

#include <libqhull_r/qhull_ra.h>

#include "core/memory.h"
#include "multibody/model/hull.h"

void sap_hull_facets_clear(sap_hull_facets* facets) {
  sap_free(facets->normals);
  sap_free(facets->point_start);
  sap_free(facets->points);
  sap_free(facets->neighbor_start);
  sap_free(facets->neighbors);
  *facets = (sap_hull_facets){0};
}

// Numbers the facets and counts what they refer to.
static void count_facets(qhT* qh, sap_hull_facets* out, int32_t* npoints, int32_t* nneighbors) {
  facetT* facet;
  *npoints = *nneighbors = 0;
  FORALLfacets {
    facet->visitid = (unsigned)out->count++;
    *npoints += qh_setsize(qh, facet->vertices);
    *nneighbors += qh_setsize(qh, facet->neighbors);
  }
}

static void copy_facets(qhT* qh, sap_hull_facets* out) {
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

static sap_status take_facets(qhT* qh, sap_hull_facets* out, sap_error* error) {
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

static sap_status run(qhT* qh, const double* points, int32_t count, FILE* silent,
                      sap_hull_facets* out, sap_error* error) {
  // Qhull neither changes nor frees them. Q12: facets may be wide after merging.
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
    status = take_facets(qh, out, error);
  }
  int blocks, bytes;
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &blocks, &bytes);
  return status;
}

sap_status sap_hull_facets_create(const double* points, int32_t count, sap_hull_facets* out,
                                  sap_error* error) {
  *out = (sap_hull_facets){0};
  qhT* qh = sap_allocate(1, sizeof *qh);
  if (qh == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: convex hull");
  }
  FILE* silent = fopen("/dev/null", "w");
  const sap_status status =
      silent != NULL
          ? run(qh, points, count, silent, out, error)
          : sap_fail(error, SAP_STATUS_IO, "convex hull: cannot open the null device for qhull");
  if (silent != NULL) {
    (void)fclose(silent);
  }
  sap_free(qh);
  if (status != SAP_STATUS_OK) {
    sap_hull_facets_clear(out);
  }
  return status;
}
