// SPDX-License-Identifier: BSD-3-Clause
// The URDF reader: its state, values of elements, and its parts.
#pragma once

#include <sapstep/scene.h>

#include "core/hash_map.h"
#include "core/memory.h"
#include "io/geometry.h"
#include "io/xml/xml.h"

typedef struct sap_urdf_link {
  const sap_xml_node* node;
  const char* name;
  int32_t joint;     // that moves the link, -1: a root
  int32_t children;  // first joint with this parent, -1
  int32_t body;      // of the model, -1: not added yet
  bool is_static;
} sap_urdf_link;

typedef struct sap_urdf_joint {
  const sap_xml_node* node;
  const char* name;
  int32_t parent, child;  // links
  int32_t type;           // see urdf_joint.c
  bool is_fixed;
  int32_t next;                  // joint of the same parent, in the file's order; -1
  int32_t id;                    // of the model, -1: none
  bool is_scalar;                // hinge or slide
  double start;                  // q in the default pose [rad, m]
  const sap_xml_node* actuator;  // of the first transmission that drives this joint alone, NULL
} sap_urdf_joint;

// A mesh file with a scale.
typedef struct sap_urdf_mesh_use {
  const sap_xml_node* node;  // the first <mesh> that names it
  const char* path;
  double scale[3];
  int32_t id, visual;  // mesh of the model, and of what is only drawn; -1: none yet
} sap_urdf_mesh_use;

typedef struct sap_urdf_reader {
  sap_pool pool;  // of all arrays
  const sap_scene_options* options;
  sap_error* error;
  sap_xml_store* store;
  sap_builder* builder;
  sap_urdf_link* links;
  int32_t link_count;
  sap_urdf_joint* joints;
  int32_t joint_count;
  const sap_xml_node* root;  // of the root link, if a free joint moves it
  int32_t root_joint;
  sap_urdf_mesh_use* meshes;
  int32_t mesh_count;
  sap_name_map link_names, joint_names, frame_names, group_names;
  const sap_xml_node** frames;
  int32_t frame_count;
} sap_urdf_reader;

// Builds a model from the tree of a file, which it may edit.
sap_status sap_urdf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error);

// Reads the pose of a node's <origin>; the identity without one.
sap_status sap_urdf_origin(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose);
// Reads a pose from the attributes xyz and rpy, each zero when absent.
sap_status sap_urdf_pose(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose);
// Reads <axis>, x without one; not normalised. SYNTAX: zero.
sap_status sap_urdf_axis(sap_urdf_reader* r, const sap_xml_node* node, double axis[3]);
// Finds the id of the name in an attribute; `kind` is for messages: "link".
sap_status sap_urdf_find(sap_urdf_reader* r, const sap_name_map* names, const sap_xml_node* node,
                         const char* attribute, const char* kind, int32_t* id);
// Adds the node's attribute "name" to a map. SYNTAX: none, or not unique.
sap_status sap_urdf_add_name(sap_urdf_reader* r, sap_name_map* names, const sap_xml_node* node,
                             int32_t id, const char** name);

// urdf_link.c: reads mass properties into `def`; adds the shapes of a body, and what is
// only drawn of it where the options ask for it.
sap_status sap_urdf_inertial(sap_urdf_reader* r, const sap_urdf_link* link, sap_body_def* def);
sap_status sap_urdf_shapes(sap_urdf_reader* r, const sap_urdf_link* link);

// urdf_joint.c
sap_status sap_urdf_read_type(sap_urdf_reader* r, sap_urdf_joint* joint);
// Adds the joints (none if fixed) of `body`.
sap_status sap_urdf_add_joint(sap_urdf_reader* r, sap_urdf_joint* joint, int32_t body);
// Finds the coordinates of joints with <mimic> in the default pose, where all others are 0.
sap_status sap_urdf_find_starts(sap_urdf_reader* r);
// Moves the pose of a joint's child from q = 0 to the default pose.
sap_status sap_urdf_move_to_start(sap_urdf_reader* r, const sap_urdf_joint* joint, sap_pose* pose);
// Adds <mimic> of every joint, once all joints are added.
sap_status sap_urdf_add_mimics(sap_urdf_reader* r);
// Finds the transmissions of the joints; later adds them as actuators.
void sap_urdf_find_transmissions(sap_urdf_reader* r, const sap_xml_node* robot);
sap_status sap_urdf_add_actuators(sap_urdf_reader* r);

// urdf_constraint.c: adds loops, force elements, tendons and collision filters, once all links are
// added.
sap_status sap_urdf_add_constraints(sap_urdf_reader* r, const sap_xml_node* robot);
