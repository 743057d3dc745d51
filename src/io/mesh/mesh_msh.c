// SPDX-License-Identifier: BSD-3-Clause
// MSH, MuJoCo's binary mesh format, little-endian.
//   int32    numbers of vertices, normals, texture coordinates, triangles
//   float32  vertices (3 each), normals (3), texture coordinates (2)
//   int32    corners of the triangles (3)
#include <math.h>

#include "io/mesh/mesh_source.h"

enum { HEADER = 16, MAX_COUNT = INT32_MAX / 12 };

static sap_status read_vertices(sap_mesh_source* s, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    double p[3];
    for (int32_t k = 0; k < 3; ++k, s->at += 4) {
      p[k] = sap_mesh_decode_real(s->bytes + s->at);
      if (!isfinite(p[k])) {
        return sap_mesh_fail(s, SAP_STATUS_NOT_FINITE, "vertex %d is not finite", i);
      }
    }
    SAP_TRY(sap_mesh_add_vertex(s, p));
  }
  return SAP_STATUS_OK;
}

static sap_status read_triangles(sap_mesh_source* s, int32_t count) {
  for (int32_t i = 0; i < count; ++i, s->at += 12) {
    const char* at = s->bytes + s->at;
    SAP_TRY(sap_mesh_add_triangle(s, sap_mesh_decode_integer(at), sap_mesh_decode_integer(at + 4),
                                  sap_mesh_decode_integer(at + 8)));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mesh_read_msh(sap_mesh_source* s) {
  static const char* const names[4] = {"vertices", "normals", "texture coordinates", "triangles"};
  static const size_t sizes[4] = {12, 12, 8, 12};
  int32_t counts[4];
  size_t expected = HEADER;
  if (s->size < HEADER) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "has %zu bytes, fewer than its header of %d",
                         s->size, HEADER);
  }
  for (int i = 0; i < 4; ++i) {
    counts[i] = sap_mesh_decode_integer(s->bytes + 4 * i);
    if (counts[i] < (i == 0 ? 1 : 0) || counts[i] > MAX_COUNT) {
      return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "%d %s are out of range", counts[i], names[i]);
    }
    expected += sizes[i] * (size_t)counts[i];
  }
  if (s->size != expected) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "has %zu bytes, must have %zu by its header",
                         s->size, expected);
  }
  s->at = HEADER;
  SAP_TRY(read_vertices(s, counts[0]));
  s->at += sizes[1] * (size_t)counts[1] + sizes[2] * (size_t)counts[2];
  return read_triangles(s, counts[3]);
}
