// SPDX-License-Identifier: BSD-3-Clause
#include "io/mesh/mesh_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/mesh/mesh_source.h"

typedef sap_status (*mesh_reader)(sap_mesh_source* source);

static const char formats[] = "stl obj ply msh";
static const mesh_reader readers[] = {sap_mesh_read_stl, sap_mesh_read_obj, sap_mesh_read_ply,
                                      sap_mesh_read_msh};

typedef struct numbered_point {
  double p[3];
  int32_t id;
} numbered_point;

static int compare_points(const void* a, const void* b) {
  const numbered_point* p = a;
  const numbered_point* q = b;
  for (int i = 0; i < 3; ++i) {
    if (p->p[i] != q->p[i]) {
      return p->p[i] < q->p[i] ? -1 : 1;
    }
  }
  return (p->id > q->id) - (p->id < q->id);
}

static bool same_point(const numbered_point* a, const numbered_point* b) {
  return a->p[0] == b->p[0] && a->p[1] == b->p[1] && a->p[2] == b->p[2];
}

// Joins equal positions and renumbers the faces. Each position keeps its first vertex; the order of
// the first vertices is kept.
static sap_status join_vertices(const sap_mesh_source* s) {
  sap_mesh_data* data = s->out;
  const size_t count = (size_t)data->vertex_count;
  numbered_point* points;
  int32_t* number;
  SAP_TRY(SAP_POOL_ADD(s->scratch, &points, count, s->error));
  SAP_TRY(SAP_POOL_ADD(s->scratch, &number, count, s->error));
  for (size_t i = 0; i < count; ++i) {
    memcpy(points[i].p, data->vertices + 3 * i, sizeof points[i].p);
    points[i].id = (int32_t)i;
  }
  qsort(points, count, sizeof *points, compare_points);
  for (size_t i = 0, first = 0; i < count; ++i) {
    first = i > 0 && same_point(&points[first], &points[i]) ? first : i;
    number[points[i].id] = points[first].id;
  }
  int32_t count_out = 0;
  for (size_t i = 0; i < count; ++i) {
    if (number[i] == (int32_t)i) {
      memmove(data->vertices + 3 * (size_t)count_out, data->vertices + 3 * i, sizeof points->p);
      number[i] = count_out++;
    } else {
      number[i] = number[number[i]];  // an earlier vertex, already renumbered
    }
  }
  for (int32_t i = 0; i < 3 * data->face_count; ++i) {
    data->faces[i] = number[data->faces[i]];
  }
  data->vertex_count = count_out;
  return SAP_STATUS_OK;
}

enum { EXTENSION_SIZE = 8, MAX_FILE_BYTES = 2000000000 };

// Writes the extension in lower case, cut to its first 7 letters; "" without one.
static void find_extension(const char* path, char extension[EXTENSION_SIZE]) {
  const char* dot = strrchr(path, '.');
  memset(extension, 0, EXTENSION_SIZE);
  for (size_t i = 0; dot != NULL && i + 1 < EXTENSION_SIZE && dot[1 + i] != '\0'; ++i) {
    const char c = dot[1 + i];
    extension[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
}

const char* sap_mesh_unsupported(const char* path) {
  char extension[EXTENSION_SIZE];
  find_extension(path, extension);
  if (strcmp(extension, "dae") == 0) {
    return "DAE (COLLADA) meshes are not supported: convert it to OBJ or STL, for instance with: "
           "assimp export mesh.dae mesh.obj";
  }
  return sap_word_index(formats, extension) >= 0 ? NULL
                                                 : "mesh files must be one of: stl obj ply msh";
}

// Checks that vertices are finite and that triangles have existing corners.
static sap_status check_mesh(const sap_mesh_source* s) {
  const sap_mesh_data* m = s->out;
  if (m->vertex_count == 0) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "the file has no faces");
  }
  for (int32_t i = 0; i < 3 * m->vertex_count; ++i) {
    if (!isfinite(m->vertices[i])) {
      return sap_mesh_fail(s, SAP_STATUS_NOT_FINITE, "vertex %d is not finite", i / 3);
    }
  }
  for (int32_t i = 0; i < 3 * m->face_count; ++i) {
    if (m->faces[i] < 0 || m->faces[i] >= m->vertex_count) {
      return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "triangle %d: no vertex %d of %d", i / 3,
                           m->faces[i], m->vertex_count);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_source(sap_xml_store* store, sap_mesh_source* s) {
  char extension[EXTENSION_SIZE];
  char* bytes;
  SAP_TRY(sap_file_regular(s->path, s->error));
  SAP_TRY(sap_scene_read_bytes(s->path, MAX_FILE_BYTES, s->scratch, &bytes, &s->size, s->error));
  if (s->size == 0) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "the file is empty");
  }
  s->bytes = bytes;
  SAP_TRY(sap_scene_report_file(store, s->path, bytes, s->size, s->error));
  find_extension(s->path, extension);
  SAP_TRY(readers[sap_word_index(formats, extension)](s));
  SAP_TRY(check_mesh(s));
  return join_vertices(s);
}

sap_status sap_mesh_read(sap_xml_store* store, const char* path, sap_mesh_data* out,
                         sap_error* error) {
  sap_pool scratch = {.owner = "mesh"};
  sap_mesh_source source = {.path = path,
                            .line = 1,
                            .out = out,
                            .pool = &store->pool,
                            .scratch = &scratch,
                            .error = error};
  const char* why = sap_mesh_unsupported(path);
  *out = (sap_mesh_data){0};
  const sap_status status = why == NULL ? read_source(store, &source)
                                        : sap_mesh_fail(&source, SAP_STATUS_UNSUPPORTED, "%s", why);
  sap_pool_free(&scratch);
  return status;
}
