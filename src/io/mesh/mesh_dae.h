// SPDX-License-Identifier: BSD-3-Clause
// DAE (COLLADA 1.4 and 1.5): what its scene's nodes place, in metres, with the axes as they stand.
#ifndef SAP_IO_MESH_MESH_DAE_H
#define SAP_IO_MESH_MESH_DAE_H

#include "io/mesh/mesh_source.h"
#include "io/xml/xml.h"

enum { SAP_DAE_MOST = 50 * 1000 * 1000 };  // positions, corners of all faces

// x_parent = A x + b, row by row.
typedef struct sap_dae_pose {
  double A[3][3], b[3];
} sap_dae_pose;

// The positions that faces count from.
typedef struct sap_dae_positions {
  const sap_xml_node* source;  // whose they are; NULL: none
  double* p;                   // (3 count)
  int32_t count, capacity;
} sap_dae_positions;

// Numbers of a text, from the front; `at` NULL: there is none. *found false: the end.
sap_status sap_dae_next_real(const sap_xml_node* node, const char** at, double* value, bool* found,
                             sap_error* error);
sap_status sap_dae_next_integer(const sap_xml_node* node, const char** at, int32_t* value,
                                bool* found, sap_error* error);
// An attribute that is a count; `otherwise` where it is absent.
sap_status sap_dae_read_count(const sap_xml_node* node, const char* attribute, int32_t otherwise,
                              int32_t* out, sap_error* error);
// The child of `parent` that an attribute "#id" of `node` points to; NULL: none.
const sap_xml_node* sap_dae_find(const sap_xml_node* parent, const sap_xml_node* node,
                                 const char* attribute);
// Positions of a <source>, unless they are the last one's.
sap_status sap_dae_read_positions(const sap_xml_node* source, sap_dae_positions* out,
                                  sap_error* error);
// All faces of a geometry, placed. `positions` goes on to the next call.
sap_status sap_dae_read_geometry(sap_mesh_source* s, const sap_xml_node* geometry,
                                 const sap_dae_pose* pose, sap_dae_positions* positions);

#endif
