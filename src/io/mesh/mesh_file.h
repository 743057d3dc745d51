// SPDX-License-Identifier: BSD-3-Clause
// Mesh files (STL, OBJ, PLY, MSH) as vertices and triangles, in the file's frame and units.
#ifndef SAP_IO_MESH_MESH_FILE_H
#define SAP_IO_MESH_MESH_FILE_H

#include <sapstep/scene.h>

#include "core/error.h"

typedef struct sap_mesh_data {
  int32_t vertex_count, face_count;
  double* vertices;  // each position once                                    (3 vertex_count)
  int32_t* faces;    // triangles                                             (3 face_count)
} sap_mesh_data;

typedef struct sap_mesh_file {
  char* path;
  sap_mesh_data data;
} sap_mesh_file;

// The files of one scene; each is read once. Starts as {0}.
typedef struct sap_mesh_files {
  sap_mesh_file* list;
  int32_t count, capacity;
  const sap_scene_options* options;  // `file` is called with every file; may be NULL
} sap_mesh_files;

// Returns NULL, or why files with this extension cannot be read.
const char* sap_mesh_unsupported(const char* path);
// Reads a file or returns the copy in memory. *out belongs to `files`, valid until the next call.
// IO: missing or unreadable; UNSUPPORTED: other formats; SYNTAX, NOT_FINITE: not a valid mesh. The
// messages begin with the path.
sap_status sap_mesh_files_read(sap_mesh_files* files, const char* path, const sap_mesh_data** out,
                               sap_error* error);
void sap_mesh_files_clear(sap_mesh_files* files);

#endif
