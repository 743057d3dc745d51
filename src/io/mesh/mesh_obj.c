// SPDX-License-Identifier: BSD-3-Clause
// OBJ.
//   v X Y Z [colour]   a vertex
//   f A B C ...        a face; corners number the vertices from 1, or backwards from the last with
//                      a minus sign; "/texture/normal" may follow
// Faces are cut into triangles that share the first corner. All other lines are ignored, and so are
// vertices without a face.
#include <stdlib.h>

#include "core/memory.h"
#include "io/mesh/mesh_source.h"

typedef struct positions {
  double* p;  // (3 count)
  int32_t count, capacity;
} positions;

static sap_status read_vertex(sap_mesh_source* s, positions* all) {
  if (all->count == INT32_MAX / 12) {
    return sap_mesh_fail_line(s, SAP_STATUS_MEMORY, "too many vertices");
  }
  SAP_TRY(SAP_GROW(&all->p, &all->capacity, 3 * (all->count + 1), s->error));
  double* p = all->p + 3 * (size_t)all->count;
  for (int k = 0; k < 3; ++k) {
    SAP_TRY(sap_mesh_number(s, sap_mesh_word_of_line(s), &p[k]));
  }
  ++all->count;
  return SAP_STATUS_OK;
}

static sap_status add_corner(sap_mesh_source* s, const positions* all, sap_mesh_word word) {
  char* end = NULL;
  const long given = strtol(word.text, &end, 10);
  const long index = given < 0 ? given + all->count : given - 1;
  if (end == word.text || !(*end == '/' || end == word.text + word.length)) {
    return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s' is not a corner of a face",
                              word.length < 40 ? word.length : 40, word.text);
  }
  if (index < 0 || index >= all->count) {
    return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "vertex %ld is not one of the %d so far", given,
                              all->count);
  }
  return sap_mesh_add_vertex(s, all->p + 3 * (size_t)index);
}

static sap_status read_face(sap_mesh_source* s, const positions* all) {
  const int32_t first = s->out->vertex_count;
  int32_t corners = 0;
  sap_mesh_word word = sap_mesh_word_of_line(s);
  for (; word.length > 0 && word.text[0] != '#'; word = sap_mesh_word_of_line(s)) {
    SAP_TRY(add_corner(s, all, word));
    if (++corners > 2) {
      SAP_TRY(sap_mesh_add_triangle(s, first, first + corners - 2, first + corners - 1));
    }
  }
  return corners >= 3 ? SAP_STATUS_OK
                      : sap_mesh_fail_line(s, SAP_STATUS_SYNTAX,
                                           "a face has %d corners, must have at least 3", corners);
}

sap_status sap_mesh_read_obj(sap_mesh_source* s) {
  positions all = {0};
  sap_status status = SAP_STATUS_OK;
  while (s->at < s->size && status == SAP_STATUS_OK) {
    const sap_mesh_word word = sap_mesh_word_of_line(s);
    if (sap_mesh_word_is(word, "v")) {
      status = read_vertex(s, &all);
    } else if (sap_mesh_word_is(word, "f")) {
      status = read_face(s, &all);
    }
    if (status == SAP_STATUS_OK) {
      sap_mesh_skip_line(s);
    }
  }
  sap_free(all.p);
  return status;
}
