// SPDX-License-Identifier: BSD-3-Clause
// Edges of a hull from its polygons.
#include <stdlib.h>

#include "core/memory.h"
#include "multibody/model/hull.h"

static int compare_edges(const void* a, const void* b) {
  const int32_t* p = a;
  const int32_t* q = b;
  const int32_t i = p[0] != q[0] ? 0 : 1;
  return (p[i] > q[i]) - (p[i] < q[i]);
}

sap_status sap_hull_join_vertices(sap_hull* hull, sap_error* error) {
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
