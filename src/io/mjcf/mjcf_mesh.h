// SPDX-License-Identifier: BSD-3-Clause
// <asset><mesh>: read when a geom first needs it.
#ifndef SAP_IO_MJCF_MJCF_MESH_H
#define SAP_IO_MJCF_MJCF_MESH_H

#include "io/mjcf/mjcf.h"

typedef struct sap_mjcf_mesh {
  const sap_xml_node* asset;
  const sap_mjcf_model* model;
  sap_mesh_def def;  // empty until it is needed; its arrays are owned; the name is full
  sap_mesh_solid solid;
  int32_t id;  // the builder's, -1: none yet
} sap_mjcf_mesh;

// The mesh of that name in the model of `scope`; `node`: the element that names it.
sap_status sap_mjcf_mesh_find(sap_mjcf_reader* r, const sap_mjcf_scope* scope,
                              const sap_xml_node* node, const char* name, int32_t* index);
// Its mass properties at density 1, as its attribute `inertia` says.
sap_status sap_mjcf_mesh_mass(sap_mjcf_reader* r, int32_t index, sap_mesh_mass* out);
// Its id in the builder, which makes its hull.
sap_status sap_mjcf_mesh_id(sap_mjcf_reader* r, int32_t index, int32_t* id);
// mjcf_fit.c: sizes of a primitive of def->type, and its pose in the one that the geom gives.
sap_status sap_mjcf_fit(sap_mjcf_reader* r, const sap_mjcf_sources* s, const sap_mjcf_item* item,
                        int32_t mesh, sap_shape_def* def);
void sap_mjcf_meshes_clear(sap_mjcf_reader* r);

#endif
