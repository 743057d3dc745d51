// SPDX-License-Identifier: BSD-3-Clause
// Bodies with their joints, geoms and meshes. Frames, replicates and attached models are flattened.
#pragma once

#include "io/mjcf/mjcf_attribute.h"

// mjcf_collect.c: pushes the elements of a node, or of all worldbodies, on the reader's stack.
sap_status sap_mjcf_collect(sap_mjcf_reader* r, const sap_xml_node* node,
                            const sap_mjcf_scope* scope);
sap_status sap_mjcf_collect_worldbody(sap_mjcf_reader* r, const sap_mjcf_scope* scope);
// Reads the attribute childclass.
sap_status sap_mjcf_child_class(sap_mjcf_reader* r, const sap_xml_node* node,
                                sap_mjcf_scope* scope);
sap_status sap_mjcf_add_space(sap_mjcf_reader* r, const sap_mjcf_space* space, int32_t* index);

// mjcf_joint.c
bool sap_mjcf_is_joint(const sap_xml_node* node);
sap_status sap_mjcf_add_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body,
                              const sap_body_def* body_def);

typedef struct sap_mjcf_geom {
  const sap_xml_node* node;
  int32_t space;
  sap_shape_def def;  // pose in the body, names full
  bool supported;     // false: a height field or a signed distance field
  bool collides;
  int32_t mesh;       // index of the reader's mesh, -1
  double mass;        // [kg]; NaN: of a mesh that is not read yet, or of an unsupported type
  double density;     // of a mesh [kg/m^3]
  double p_SCo[3];    // centre of mass in the shape's frame [m]
  double I_SCo_S[6];  // about it, in its axes [kg m^2]: xx yy zz xy xz yz
  int32_t group;
} sap_mjcf_geom;

// mjcf_geom.c
sap_status sap_mjcf_read_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, sap_mjcf_geom* out);
// Computes mass, centre and inertia of a mesh geom; reads the mesh. UNSUPPORTED without a filled
// error: the format of its file is not supported and the reader is lenient.
sap_status sap_mjcf_geom_mesh_mass(sap_mjcf_reader* r, sap_mjcf_geom* geom);
// Adds <contact>: exclusions and pairs.
sap_status sap_mjcf_read_contacts(sap_mjcf_reader* r);

// mjcf_mesh.c. An <asset><mesh> is read when a geom first needs it.
// Finds the mesh that `node` names in the model of the scope.
sap_status sap_mjcf_mesh_find(sap_mjcf_reader* r, const sap_mjcf_scope* scope,
                              const sap_xml_node* node, int32_t* index);
// Computes the mass properties at density 1, by the rule of the attribute `inertia`.
sap_status sap_mjcf_mesh_mass(sap_mjcf_reader* r, int32_t index, sap_mesh_mass* out);
// Adds the mesh to the builder, which computes its hull; once.
sap_status sap_mjcf_mesh_id(sap_mjcf_reader* r, int32_t index, int32_t* id);
// Keeps the mesh of a visual geom, where the options say so and its file can be read.
sap_status sap_mjcf_keep_visual(sap_mjcf_reader* r, int32_t index, const sap_shape_def* geom);
// Fits a primitive of def->type to a mesh: its sizes, and its pose in that of the geom.
sap_status sap_mjcf_fit(const sap_mjcf_sources* s, const sap_mjcf_item* item, int32_t mesh,
                        sap_shape_def* def);

// mjcf_body.c: adds all bodies, depth first, with their joints, sites and shapes.
sap_status sap_mjcf_read_bodies(sap_mjcf_reader* r);
