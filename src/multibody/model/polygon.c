// SPDX-License-Identifier: BSD-3-Clause
// Andrew's monotone chain; then flat corners are removed. cost: O(n log n)
#include "multibody/model/polygon.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "math/vector3.h"

sap_status sap_polygon_reserve(sap_polygon* polygon, int32_t count, sap_error* error) {
  const size_t n = (size_t)count;
  polygon->points = sap_allocate(n, sizeof *polygon->points);
  polygon->sorted = sap_allocate(n, sizeof *polygon->sorted);
  polygon->chain = sap_allocate(2 * n, sizeof *polygon->chain);
  if (polygon->points == NULL || polygon->sorted == NULL || polygon->chain == NULL) {
    sap_polygon_clear(polygon);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: polygon");
  }
  return SAP_STATUS_OK;
}

void sap_polygon_clear(sap_polygon* polygon) {
  sap_free(polygon->points);
  sap_free(polygon->sorted);
  sap_free(polygon->chain);
  *polygon = (sap_polygon){0};
}

static int compare_points(const void* a, const void* b) {
  const sap_polygon_point* p = a;
  const sap_polygon_point* q = b;
  if (p->x != q->x) {
    return p->x < q->x ? -1 : 1;
  }
  if (p->y != q->y) {
    return p->y < q->y ? -1 : 1;
  }
  return (p->id > q->id) - (p->id < q->id);
}

// Returns twice the area of the triangle; > 0: counter-clockwise.
static double turn(const sap_polygon_point* a, const sap_polygon_point* b,
                   const sap_polygon_point* c) {
  return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

static int32_t make_chain(sap_polygon* polygon, int32_t count) {
  const sap_polygon_point* p = polygon->sorted;
  sap_polygon_point* chain = polygon->chain;
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
static int32_t thin_out(sap_polygon_point* chain, int32_t n) {
  for (int32_t i = 0, kept = 0; n >= 3 && kept < n;) {
    const sap_polygon_point* a = &chain[(i + n - 1) % n];
    const sap_polygon_point* c = &chain[(i + 1) % n];
    const double base = hypot(c->x - a->x, c->y - a->y);
    if (turn(a, &chain[i], c) > SAP_POLYGON_FLATNESS * base) {
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

void sap_polygon_build(sap_polygon* polygon, const double* points, const int32_t* ids,
                       int32_t count, const double normal[3]) {
  double R[9];  // columns t1, t2, n
  sap_m3_from_normal(R, normal);
  for (int32_t i = 0; i < count; ++i) {
    const double* p = points + 3 * (size_t)ids[i];
    polygon->sorted[i] = (sap_polygon_point){sap_v3_dot(R, p), sap_v3_dot(R + 3, p), ids[i]};
  }
  qsort(polygon->sorted, (size_t)count, sizeof *polygon->sorted, compare_points);
  const sap_polygon_point* chain = polygon->chain;
  polygon->count = thin_out(polygon->chain, count >= 3 ? make_chain(polygon, count) : 0);
  polygon->area = 0.0;
  for (int32_t i = 0; i < polygon->count; ++i) {
    polygon->points[i] = chain[i].id;
    if (i >= 2) {
      polygon->area += 0.5 * turn(&chain[0], &chain[i - 1], &chain[i]);
    }
  }
}
