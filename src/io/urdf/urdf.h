// SPDX-License-Identifier: BSD-3-Clause
// The URDF reader's parts.
#ifndef SAP_IO_URDF_URDF_H
#define SAP_IO_URDF_URDF_H

#include <sapstep/scene.h>

#include "core/name_map.h"
#include "io/mesh/mesh_file.h"
#include "io/xml/pose.h"
#include "io/xml/xml.h"

typedef struct sap_urdf_link {
  const sap_xml_node* node;
  const char* name;
  int32_t joint;     // that moves it, -1: a root
  int32_t children;  // first joint that hangs on it, -1
  int32_t body;      // the model's, -1: not yet reached
  bool is_static;
} sap_urdf_link;

typedef struct sap_urdf_joint {
  const sap_xml_node* node;
  const char* name;
  int32_t parent, child;         // links
  int32_t next;                  // joint of the same parent, in the file's order; -1
  int32_t id;                    // the model's, -1: none
  bool is_scalar;                // hinge or slide
  const sap_xml_node* actuator;  // of the first transmission that drives it alone, NULL
} sap_urdf_joint;

// A frame named by an element: fixed in a link's body.
typedef struct sap_urdf_frame {
  int32_t link, body;
  sap_pose pose;  // in the body
} sap_urdf_frame;

// A mesh file with a scale, as a mesh of the model.
typedef struct sap_urdf_mesh_use {
  const char* path;
  double scale[3];
  int32_t id;
} sap_urdf_mesh_use;

typedef struct sap_urdf_reader {
  const sap_scene_options* options;
  sap_error* error;
  sap_xml_store* store;
  sap_builder* builder;
  sap_urdf_link* links;
  int32_t link_count, link_capacity;
  sap_urdf_joint* joints;
  int32_t joint_count, joint_capacity;
  const sap_xml_node* root;  // the root link's, if a free joint moves it
  int32_t root_joint;
  sap_urdf_mesh_use* meshes;
  int32_t mesh_count, mesh_capacity;
  sap_mesh_files mesh_files;
  sap_name_map link_names, joint_names, frame_names;
  const sap_xml_node** frames;
  int32_t frame_count, frame_capacity;
} sap_urdf_reader;

sap_status sap_urdf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error);

// urdf_value.c
// Pose of a node's <origin>; the identity without one.
sap_status sap_urdf_origin(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose);
// A number of an attribute; `required` or left alone when absent.
sap_status sap_urdf_number(sap_urdf_reader* r, const sap_xml_node* node, const char* attribute,
                           bool required, double* value);
// Pose by attributes xyz and rpy, each zero when absent.
sap_status sap_urdf_pose(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose);
// The numbers in `value` of the child `name`, that must be there if `required`.
sap_status sap_urdf_values(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                           bool required, int32_t count, double* values);
// The id of what an attribute names; `kind` is for messages: "link".
sap_status sap_urdf_find(sap_urdf_reader* r, const sap_name_map* names, const sap_xml_node* node,
                         const char* attribute, const char* kind, int32_t* id);
// The only child of that name, NULL: none; SYNTAX for two.
sap_status sap_urdf_child(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                          const sap_xml_node** out);

// urdf_link.c: mass properties into `def`; collision shapes of a body.
sap_status sap_urdf_inertial(sap_urdf_reader* r, const sap_urdf_link* link, sap_body_def* def);
sap_status sap_urdf_shapes(sap_urdf_reader* r, const sap_urdf_link* link);
// urdf_joint.c: adds the joint (none if fixed) to `body`.
sap_status sap_urdf_is_fixed(sap_urdf_reader* r, const sap_urdf_joint* joint, bool* fixed);
sap_status sap_urdf_add_joint(sap_urdf_reader* r, sap_urdf_joint* joint, int32_t body);
// urdf_mimic.c: <mimic> of every joint, once all are there.
sap_status sap_urdf_add_mimics(sap_urdf_reader* r);
// urdf_frame.c: <frame> elements by name; the link or frame that the child `child` names.
sap_status sap_urdf_read_frames(sap_urdf_reader* r, const sap_xml_node* robot);
sap_status sap_urdf_link_of(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                            const char* attribute, sap_urdf_frame* out);
sap_status sap_urdf_frame_of(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                             sap_urdf_frame* out);
// urdf_loop.c, urdf_force.c, urdf_filter.c: Drake's constraints, force elements, collision filters
// and Isaac's loop_joint, once all links are there.
sap_status sap_urdf_add_loops(sap_urdf_reader* r, const sap_xml_node* robot);
sap_status sap_urdf_add_forces(sap_urdf_reader* r, const sap_xml_node* robot);
sap_status sap_urdf_add_filters(sap_urdf_reader* r, const sap_xml_node* robot);
// urdf_actuator.c: finds the transmissions of the joints; makes them actuators.
sap_status sap_urdf_find_transmissions(sap_urdf_reader* r, const sap_xml_node* robot);
sap_status sap_urdf_add_actuators(sap_urdf_reader* r);
// urdf_mesh.c: id of the mesh that a <mesh> names.
sap_status sap_urdf_mesh(sap_urdf_reader* r, const sap_xml_node* node, int32_t* id);
void sap_urdf_meshes_clear(sap_urdf_reader* r);
// urdf_tree.c: reads links and joints, finds the root.
sap_status sap_urdf_read_tree(sap_urdf_reader* r, const sap_xml_node* root, int32_t* root_link);

#endif
