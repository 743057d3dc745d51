// SPDX-License-Identifier: BSD-3-Clause
// Do triangles enclose a volume? Every directed edge must stand once, and once the other way.
#include <stdlib.h>

#include "core/memory.h"
#include "multibody/model/mesh.h"

typedef struct directed_edge {
  int32_t low, high;
  int32_t sign;  // +1: from low to high
} directed_edge;

static int compare_edges(const void* a, const void* b) {
  const directed_edge* p = a;
  const directed_edge* q = b;
  if (p->low != q->low) {
    return p->low < q->low ? -1 : 1;
  }
  if (p->high != q->high) {
    return p->high < q->high ? -1 : 1;
  }
  return (p->sign > q->sign) - (p->sign < q->sign);
}

sap_status sap_mesh_check_closed(const sap_checker* checker, const int32_t* faces, int32_t count) {
  const size_t total = 3 * (size_t)count;
  directed_edge* edges = sap_allocate(total, sizeof *edges);
  if (edges == NULL) {
    return sap_check_fail(checker, SAP_STATUS_MEMORY, "out of memory");
  }
  for (size_t i = 0; i < total; ++i) {
    const int32_t a = faces[i], b = faces[i % 3 == 2 ? i - 2 : i + 1];
    edges[i] = (directed_edge){a < b ? a : b, a < b ? b : a, a < b ? 1 : -1};
  }
  qsort(edges, total, sizeof *edges, compare_edges);
  sap_status status = SAP_STATUS_OK;
  for (size_t i = 0; i < total && status == SAP_STATUS_OK; i += 2) {
    const directed_edge* e = &edges[i];
    const bool paired = i + 1 < total && e[1].low == e->low && e[1].high == e->high &&
                        e->sign == -1 && e[1].sign == 1;
    const bool again = i + 2 < total && e[2].low == e->low && e[2].high == e->high;
    if (!paired || again) {
      status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                              "its faces are not closed: the edge between vertices %d and %d does "
                              "not belong to two faces of the same orientation",
                              (int)e->low, (int)e->high);
    }
  }
  sap_free(edges);
  return status;
}
