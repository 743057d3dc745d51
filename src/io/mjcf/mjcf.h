// SPDX-License-Identifier: BSD-3-Clause
// The MJCF reader and its state. The order, numbers and names of elements are MuJoCo's.
#pragma once

#include <sapstep/scene.h>
#include <sapstep/sensor.h>

#include "core/hash_map.h"
#include "core/memory.h"
#include "io/geometry.h"
#include "io/xml/xml.h"

typedef struct sap_mjcf_model sap_mjcf_model;

enum { SAP_MJCF_FALSE, SAP_MJCF_TRUE, SAP_MJCF_AUTO };

typedef struct sap_mjcf_compiler {
  double angle_unit;  // [rad] per unit of the file's angles
  char euler_sequence[4];
  bool auto_limits;
  bool balance_inertia;
  bool fit_span;              // fitaabb
  int32_t inertia_from_geom;  // false, true or auto
  int32_t group_range[2];
  double bound_mass, bound_inertia;  // lower bounds [kg, kg m^2]
  double total_mass;                 // settotalmass [kg]; > 0: scales all masses and inertias
  bool use_lengths, use_limits;      // of <lengthrange>: useexisting, uselimit
} sap_mjcf_compiler;

typedef struct sap_mjcf_class {
  const char* name;
  int32_t parent;  // -1: none
  const sap_xml_node* node;
} sap_mjcf_class;

// One MJCF model: a file with its includes, compiler settings, default classes and the models that
// it attaches.
struct sap_mjcf_model {
  const sap_xml_node* root;
  sap_mjcf_compiler compiler;
  sap_mjcf_class* classes;
  int32_t class_count;
  int32_t main_class;          // -1: no defaults
  const char* name;            // as an asset
  const sap_mjcf_model* user;  // the model whose asset this is; NULL: the main file
  sap_mjcf_model* assets;      // list of the models in <asset>
  sap_mjcf_model* next;
};

// A space of names: a model (the main file or an attached one), or one copy of a replicate in it.
// Element n of the file gets the name prefix n suffix.
typedef struct sap_mjcf_space {
  const sap_mjcf_model* model;
  int32_t parent;  // enclosing space, -1
  const char *prefix, *suffix;
  bool is_model;  // of a whole model, not of a copy
} sap_mjcf_space;

// The surroundings of an element.
typedef struct sap_mjcf_scope {
  const sap_mjcf_model* model;
  int32_t space;
  int32_t child_class;  // class index, -1
  sap_pose frame;       // of the enclosing frames, in the body
} sap_mjcf_scope;

typedef struct sap_mjcf_item {
  const sap_xml_node* node;
  sap_mjcf_scope scope;
} sap_mjcf_item;

typedef struct sap_mjcf_joint {
  int32_t space;
  sap_joint_type type;
  int32_t q_start;
  double range[2];  // without the margin
} sap_mjcf_joint;

typedef struct sap_mjcf_place {
  int32_t parent, space;
  sap_pose pose;  // in the parent
} sap_mjcf_place;

typedef struct sap_mjcf_site {
  int32_t body, space;
  sap_pose pose;  // in the body
  int32_t type;   // of a zone: sphere, capsule, ellipsoid, cylinder, box
  double size[3];
} sap_mjcf_site;

// A geom that tendons may wrap around.
typedef struct sap_mjcf_obstacle {
  int32_t body, space;
  sap_shape_type type;
  sap_pose pose;  // in the body
  double radius;
} sap_mjcf_obstacle;

typedef struct sap_mjcf_tendon {
  int32_t space;
  double range[2];  // without the margin
} sap_mjcf_tendon;

// The id of a geom that is not a shape of the model.
enum { SAP_MJCF_LEFT_OUT = -2 };

typedef struct sap_mjcf_control {
  int32_t space;
  int32_t id;  // the builder's, -1: not supported and left out
  bool has_activation;
} sap_mjcf_control;

// Disabled by <flag>; constraint="disable" sets the first four. Without springs and dampers there
// are no passive forces at all.
typedef struct sap_mjcf_disabled {
  bool contact, equality, limit, frictionloss;
  bool spring, damper, actuation, control_range;
} sap_mjcf_disabled;

// <flag override="enable"/>: margin, friction and solref of <option> replace those of all contacts.
typedef struct sap_mjcf_override {
  bool on;
  double margin, friction[5], solref[2];
} sap_mjcf_override;

typedef struct sap_mjcf_reader {
  sap_pool pool;  // of all arrays
  const sap_scene_options* options;
  sap_error* error;
  const char* path;
  sap_xml_store* store;
  sap_builder* builder;
  sap_mjcf_model* main;
  sap_mjcf_disabled disabled;
  sap_mjcf_override override;

  sap_mjcf_item* items;  // a stack: elements of the bodies being read
  int32_t item_count;
  int64_t total;  // elements instantiated so far

  sap_mjcf_space* spaces;
  int32_t space_count;
  sap_mjcf_joint* joints;  // by joint id
  int32_t joint_count;
  sap_mjcf_control* controls;  // in MuJoCo's order of actuators
  int32_t control_count;
  double* q_default;  // MuJoCo's qpos0
  int32_t nq, nv;
  sap_mjcf_place* places;  // by body id
  sap_mjcf_site* sites;
  int32_t site_count;
  sap_mjcf_obstacle* obstacles;
  int32_t obstacle_count;
  sap_mjcf_tendon* tendons;  // by tendon id
  sap_name_map body_names, joint_names, site_names, geom_names, obstacle_names, tendon_names;
  sap_name_map actuator_names;   // indices of controls
  struct sap_mjcf_mesh* meshes;  // mjcf_mesh.c
  int32_t mesh_count;
  sap_name_map used_settings;  // names of <numeric> and <text> that set something for one geom
} sap_mjcf_reader;

// Builds a model from the tree of a file, which it may edit.
sap_status sap_mjcf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error);

// Expands includes, checks the schema, reads settings, classes and assets.
sap_status sap_mjcf_load_model(sap_mjcf_reader* r, const char* path, sap_xml_node* root,
                               const sap_mjcf_model* user, sap_mjcf_model** out);
// Returns the index of a class, -1 without one.
int32_t sap_mjcf_find_class(const sap_mjcf_model* model, const char* name);
// Reads <option> of the main file into the builder's options and the reader's flags.
sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options);
// Joins prefix, name and suffix of the space; NULL for a name that is NULL or empty.
sap_status sap_mjcf_full_name(sap_mjcf_reader* r, int32_t space, const char* name,
                              const char** out);
