// SPDX-License-Identifier: BSD-3-Clause
// A square block with a square hole along z, as a closed mesh; with a floor it is a cup.
#ifndef SAP_TEST_SUPPORT_RING_MESH_H
#define SAP_TEST_SUPPORT_RING_MESH_H

#include <stdint.h>

enum { RING_VERTICES = 16, RING_FACES = 32 };

// outer, inner, height: half extents; floor: thickness, 0: none. Returns the number of faces.
static inline int32_t ring_mesh(double outer, double inner, double height, double floor,
                                double* vertices, int32_t* faces) {
  int32_t count = 0;
  static const int x[4] = {-1, 1, 1, -1}, y[4] = {-1, -1, 1, 1};
  for (int i = 0; i < RING_VERTICES; ++i) {  // outer below, inner below, outer above, inner above
    const double half = i / 4 % 2 == 0 ? outer : inner;
    vertices[3 * i] = half * x[i % 4];
    vertices[3 * i + 1] = half * y[i % 4];
    vertices[3 * i + 2] = i >= 8 ? height : i < 4 ? -height : floor - height;
  }
  for (int k = 0; k < 4; ++k) {
    const int32_t n = (k + 1) % 4;
    const int32_t quads[4][4] = {{k, n, 8 + n, 8 + k},
                                 {4 + n, 4 + k, 12 + k, 12 + n},
                                 {8 + k, 8 + n, 12 + n, 12 + k},
                                 {n, k, 4 + k, 4 + n}};
    const int32_t ends[2][4] = {{4, 5, 6, 7}, {0, 3, 2, 1}};  // floor and bottom
    for (int q = 0; q < 4; ++q) {
      const int32_t* quad = q < 3 || floor == 0.0 ? quads[q] : ends[k % 2];
      for (int t = 0; t < 2 && (q < 3 || floor == 0.0 || k < 2); ++t) {
        int32_t* face = faces + 3 * count++;
        face[0] = quad[0];
        face[1] = quad[1 + t];
        face[2] = quad[2 + t];
      }
    }
  }
  return count;
}

#endif
