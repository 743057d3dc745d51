// SPDX-License-Identifier: BSD-3-Clause
// OBJ: lines "v X Y Z" (what follows is colour) and "f A B C ...", corners that count vertices from
// 1, or backwards from the last with a minus sign, each with "/texture/normal" behind it or not.
// Faces of more corners are cut into triangles that share the first one. All other lines are passed
// over, and so are vertices of no face.
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
  sap_status status = SAP_GROW(&all->p, &all->capacity, 3 * (all->count + 1), s->error);
  for (int k = 0; k < 3 && status == SAP_STATUS_OK; ++k) {
    status =
        sap_mesh_number(s, sap_mesh_word_of_line(s), &all->p[3 * (size_t)all->count + (size_t)k]);
  }
  all->count += status == SAP_STATUS_OK ? 1 : 0;
  return status;
}

static sap_status add_corner(sap_mesh_source* s, const positions* all, sap_mesh_word word) {
  char* end = NULL;
  const long given = strtol(word.text, &end, 10);
  const long index = given < 0 ? given + all->count : given - 1;
  if (end == word.text || !(*end == '/' || end == word.text + word.length)) {
    return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s' is no corner of a face",
                              word.length < 40 ? word.length : 40, word.text);
  }
  if (index < 0 || index >= all->count) {
    return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "vertex %ld is none of the %d so far", given,
                              all->count);
  }
  return sap_mesh_add_vertex(s, all->p + 3 * (size_t)index);
}

static sap_status read_face(sap_mesh_source* s, const positions* all) {
  const int32_t first = s->out->vertex_count;
  sap_status status = SAP_STATUS_OK;
  int32_t corners = 0;
  sap_mesh_word word = sap_mesh_word_of_line(s);
  for (; word.length > 0 && word.text[0] != '#' && status == SAP_STATUS_OK;
       word = sap_mesh_word_of_line(s)) {
    status = add_corner(s, all, word);
    if (status == SAP_STATUS_OK && ++corners > 2) {
      status = sap_mesh_add_triangle(s, first, first + corners - 2, first + corners - 1);
    }
  }
  return status == SAP_STATUS_OK && corners < 3
             ? sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "a face has %d corners, at least 3 are due",
                                  corners)
             : status;
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
