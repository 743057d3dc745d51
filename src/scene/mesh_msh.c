// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's binary mesh format MSH, little-endian: int32 vertices, normals, texture coordinates,
// triangles; then float32 of the first three (3, 3 and 2 each), and int32 of the triangles'
// corners.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "scene/mesh_file.h"

enum { HEADER_NUMBERS = 4, MAX_COUNT = INT32_MAX / 12 };

static uint32_t decode(const unsigned char* b) {
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int32_t decode_integer(const unsigned char* bytes) {
  const uint32_t bits = decode(bytes);
  int32_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double decode_real(const unsigned char* bytes) {
  const uint32_t bits = decode(bytes);
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

typedef struct msh_counts {
  int32_t vertices, normals, texture, faces;
} msh_counts;

static bool read_counts(FILE* file, msh_counts* counts) {
  unsigned char header[4 * HEADER_NUMBERS];
  if (fread(header, sizeof header, 1, file) != 1) {
    return false;
  }
  int32_t* const to[HEADER_NUMBERS] = {&counts->vertices, &counts->normals, &counts->texture,
                                       &counts->faces};
  for (int i = 0; i < HEADER_NUMBERS; ++i) {
    *to[i] = decode_integer(header + 4 * i);
    if (*to[i] < 0 || *to[i] > MAX_COUNT) {
      return false;
    }
  }
  return counts->vertices > 0;
}

static bool read_vertices(FILE* file, int32_t count, double* vertices) {
  unsigned char bytes[4];
  for (int32_t i = 0; i < 3 * count; ++i) {
    if (fread(bytes, sizeof bytes, 1, file) != 1) {
      return false;
    }
    vertices[i] = decode_real(bytes);
  }
  return true;
}

static bool read_faces(FILE* file, const msh_counts* counts, int32_t* faces) {
  unsigned char bytes[4];
  for (int32_t i = 0; i < 3 * counts->faces; ++i) {
    if (fread(bytes, sizeof bytes, 1, file) != 1) {
      return false;
    }
    faces[i] = decode_integer(bytes);
    if (faces[i] < 0 || faces[i] >= counts->vertices) {
      return false;
    }
  }
  return fread(bytes, 1, 1, file) == 0;  // nothing follows
}

// As many bytes as the header says? Asked before memory is taken for them.
static bool is_complete(FILE* file, const msh_counts* counts) {
  const long expected = 4L * HEADER_NUMBERS + 12L * counts->vertices + 12L * counts->normals +
                        8L * counts->texture + 12L * counts->faces;
  return fseek(file, 0, SEEK_END) == 0 && ftell(file) == expected &&
         fseek(file, 4L * HEADER_NUMBERS, SEEK_SET) == 0;
}

static sap_status read_body(FILE* file, const char* path, const msh_counts* counts,
                            sap_mesh_data* out, sap_error* error) {
  out->vertices = sap_allocate(3 * (size_t)counts->vertices, sizeof *out->vertices);
  out->faces = sap_allocate(3 * (size_t)counts->faces, sizeof *out->faces);
  if (out->vertices == NULL || out->faces == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  out->vertex_count = counts->vertices;
  out->face_count = counts->faces;
  const long skipped = 12L * counts->normals + 8L * counts->texture;
  if (!read_vertices(file, counts->vertices, out->vertices) ||
      fseek(file, skipped, SEEK_CUR) != 0 || !read_faces(file, counts, out->faces)) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: a triangle has no such vertex", path);
  }
  return sap_mesh_join_vertices(out, error);
}

sap_status sap_mesh_read_msh(const char* path, sap_mesh_data* out, sap_error* error) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    return sap_fail_io(error, errno, "read", path);
  }
  msh_counts counts;
  const bool whole = read_counts(file, &counts) && is_complete(file, &counts);
  const sap_status status = whole ? read_body(file, path, &counts, out, error)
                                  : sap_fail(error, SAP_STATUS_SYNTAX,
                                             "%.300s: the file is no mesh that can be read", path);
  (void)fclose(file);
  return status;
}
