// SPDX-License-Identifier: BSD-3-Clause
// Mesh files (STL, OBJ, MSH) as vertices and triangles, in the file's frame and units.
#pragma once

#include "io/xml/xml.h"

typedef struct sap_mesh_data {
  int32_t vertex_count, face_count;
  double* vertices;  // each position once                                    (3 vertex_count)
  int32_t* faces;    // triangles                                             (3 face_count)
} sap_mesh_data;

// Returns NULL, or why files with this extension cannot be read.
const char* sap_mesh_unsupported(const char* path);
// Reads a file of the scene in `store`, whose pool has the arrays. IO: missing or unreadable;
// UNSUPPORTED: other formats; SYNTAX, NOT_FINITE: not a valid mesh. The messages begin with the
// path.
sap_status sap_mesh_read(sap_xml_store* store, const char* path, sap_mesh_data* out,
                         sap_error* error);
