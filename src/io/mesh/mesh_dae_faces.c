// SPDX-License-Identifier: BSD-3-Clause
// Faces of DAE's geometries: <triangles>, <polylist>, <polygons>, <trifans>, <tristrips>. Each of
// their corners is a group of integers, one per input; that of the input VERTEX counts positions.
// Polygons are cut into triangles that share the first corner; holes are filled; lines are none of
// ours.
#include <string.h>

#include "io/mesh/mesh_dae.h"

enum { MOST_INPUTS = 64 };

// Corners of one element of faces.
typedef struct faces {
  sap_mesh_source* s;
  const sap_xml_node* node;
  const sap_dae_pose* pose;
  const sap_dae_positions* positions;
  int32_t group, offset;  // integers of a corner; the one that counts positions
} faces;

// The positions of an element of faces, and where its corners say which.
static sap_status find_inputs(const sap_xml_node* mesh, faces* f, sap_dae_positions* positions) {
  const sap_xml_node* source = NULL;
  sap_error* error = f->s->error;
  for (const sap_xml_node* in = f->node->first_child; in != NULL; in = in->next) {
    const char* semantic = sap_xml_is(in, "input") ? sap_xml_get(in, "semantic") : NULL;
    int32_t offset = 0;
    if (semantic == NULL) {
      continue;
    }
    const sap_status status = sap_dae_read_count(in, "offset", 0, &offset, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (offset >= MOST_INPUTS) {
      return sap_xml_fail(in, "offset", SAP_STATUS_SYNTAX, error, "must be below %d",
                          (int)MOST_INPUTS);
    }
    f->group = offset >= f->group ? offset + 1 : f->group;
    if (strcmp(semantic, "VERTEX") != 0) {
      continue;
    }
    f->offset = offset;
    const sap_xml_node* vertices = sap_dae_find(mesh, in, "source");
    for (const sap_xml_node* v = vertices != NULL ? vertices->first_child : NULL; v != NULL;
         v = v->next) {
      const char* meaning = sap_xml_is(v, "input") ? sap_xml_get(v, "semantic") : NULL;
      if (meaning != NULL && strcmp(meaning, "POSITION") == 0) {
        source = sap_dae_find(mesh, v, "source");
      }
    }
  }
  return source == NULL ? sap_xml_fail(f->node, NULL, SAP_STATUS_SYNTAX, error,
                                       "there are no positions for its corners")
                        : sap_dae_read_positions(source, positions, error);
}

// Adds the vertex of the next corner; *found false: the text has ended.
static sap_status add_corner(const faces* f, const sap_xml_node* list, const char** at,
                             bool* found) {
  int32_t index = -1;
  for (int32_t k = 0; k < f->group; ++k) {
    int32_t value = 0;
    const sap_status status = sap_dae_next_integer(list, at, &value, found, f->s->error);
    if (status != SAP_STATUS_OK || (!*found && k == 0)) {
      return status;
    }
    if (!*found) {
      return sap_xml_fail(list, NULL, SAP_STATUS_SYNTAX, f->s->error, "ends within a corner");
    }
    index = k == f->offset ? value : index;
  }
  if (index < 0 || index >= f->positions->count) {
    return sap_xml_fail(list, NULL, SAP_STATUS_SYNTAX, f->s->error,
                        "vertex %d is none of the %d that there are", (int)index,
                        (int)f->positions->count);
  }
  if (f->s->out->vertex_count >= SAP_DAE_MOST) {
    return sap_xml_fail(list, NULL, SAP_STATUS_MEMORY, f->s->error, "too many corners of faces");
  }
  const double* p = f->positions->p + 3 * (size_t)index;
  double placed[3];
  for (int i = 0; i < 3; ++i) {
    const double* row = f->pose->A[i];
    placed[i] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + f->pose->b[i];
  }
  return sap_mesh_add_vertex(f->s, placed);
}

// A polygon of `corners` corners, or of all that are left (-1). fan false: a strip, of which every
// other triangle is turned.
static sap_status add_polygon(const faces* f, const sap_xml_node* list, const char** at,
                              int32_t corners, bool fan, bool* found) {
  const int32_t first = f->s->out->vertex_count;
  sap_status status = SAP_STATUS_OK;
  for (int32_t n = 0; status == SAP_STATUS_OK && n != corners; ++n) {
    status = add_corner(f, list, at, found);
    if (status != SAP_STATUS_OK || !*found) {
      return status == SAP_STATUS_OK && corners > 0 && n > 0
                 ? sap_xml_fail(list, NULL, SAP_STATUS_SYNTAX, f->s->error, "ends within a face")
                 : status;
    }
    if (n >= 2) {
      const bool turned = !fan && n % 2 == 1;
      const int32_t a = fan ? first : first + n - 2, b = first + n - 1;
      status = sap_mesh_add_triangle(f->s, turned ? b : a, turned ? a : b, first + n);
    }
  }
  return status;
}

// <triangles> and <polylist>: faces one after the other, of three corners or of those that <vcount>
// says.
static sap_status read_list(const faces* f, const sap_xml_node* list, const sap_xml_node* counts) {
  const char* at = list->text;
  const char* count_at = counts != NULL ? counts->text : NULL;
  sap_status status = SAP_STATUS_OK;
  for (bool found = true; found && status == SAP_STATUS_OK;) {
    int32_t corners = 3;
    if (counts != NULL) {
      status = sap_dae_next_integer(counts, &count_at, &corners, &found, f->s->error);
      if (status != SAP_STATUS_OK || !found) {
        return status;
      }
      if (corners < 0) {
        return sap_xml_fail(counts, NULL, SAP_STATUS_SYNTAX, f->s->error, "a face has %d corners",
                            (int)corners);
      }
    }
    status = add_polygon(f, list, &at, corners, true, &found);
    if (status == SAP_STATUS_OK && !found && counts != NULL) {
      status = sap_xml_fail(list, NULL, SAP_STATUS_SYNTAX, f->s->error,
                            "has fewer corners than <vcount> says");
    }
  }
  return status;
}

static sap_status read_faces(const faces* f) {
  const bool list = sap_xml_is(f->node, "triangles") || sap_xml_is(f->node, "polylist");
  const bool fan = !sap_xml_is(f->node, "tristrips");
  const sap_xml_node* counts =
      sap_xml_is(f->node, "polylist") ? sap_xml_child(f->node, "vcount") : NULL;
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* p = f->node->first_child; p != NULL && status == SAP_STATUS_OK;
       p = p->next) {
    const bool holes = sap_xml_is(p, "ph");
    const sap_xml_node* ring = holes ? sap_xml_child(p, "p") : p;
    if (ring == NULL) {
      return sap_xml_fail(p, NULL, SAP_STATUS_SYNTAX, f->s->error,
                          "there is no <p> around its holes");
    }
    if (!sap_xml_is(ring, "p")) {
      continue;
    }
    const char* at = ring->text;
    bool found = true;
    status = list ? read_list(f, ring, counts) : add_polygon(f, ring, &at, -1, fan, &found);
  }
  return status;
}

// An element without faces may lack the positions as well.
static bool has_faces(const sap_xml_node* node) {
  return sap_xml_child(node, "p") != NULL || sap_xml_child(node, "ph") != NULL;
}

sap_status sap_dae_read_geometry(sap_mesh_source* s, const sap_xml_node* geometry,
                                 const sap_dae_pose* pose, sap_dae_positions* positions) {
  static const char* const kinds[] = {"triangles", "polylist", "polygons", "trifans", "tristrips"};
  const sap_xml_node* mesh = sap_xml_child(geometry, "mesh");
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* node = mesh != NULL ? mesh->first_child : NULL;
       node != NULL && status == SAP_STATUS_OK; node = node->next) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
      if (sap_xml_is(node, kinds[i]) && has_faces(node)) {
        faces f = {.s = s, .node = node, .pose = pose, .positions = positions};
        status = find_inputs(mesh, &f, positions);
        status = status == SAP_STATUS_OK ? read_faces(&f) : status;
      }
    }
  }
  return status;
}
