// SPDX-License-Identifier: BSD-3-Clause
// The MJCF reader's parts. Element order, numbering and names are MuJoCo's.
#ifndef SAP_IO_MJCF_MJCF_H
#define SAP_IO_MJCF_MJCF_H

#include <sapstep/scene.h>

#include "core/name_map.h"
#include "io/mesh/mesh_file.h"
#include "io/xml/pose.h"
#include "io/xml/xml.h"

// --- one MJCF model: a file with its includes ---------------------------------------------------

typedef enum sap_mjcf_tristate {
  SAP_MJCF_FALSE,
  SAP_MJCF_TRUE,
  SAP_MJCF_AUTO,
} sap_mjcf_tristate;

typedef struct sap_mjcf_compiler {
  double angle_unit;  // [rad] per unit of the file's angles
  char euler_sequence[4];
  bool auto_limits;
  bool balance_inertia;
  bool fit_span;  // fitaabb
  sap_mjcf_tristate inertia_from_geom;
  int32_t group_range[2];
  double bound_mass, bound_inertia;  // lower bounds [kg, kg m^2]
  double total_mass;             // settotalmass [kg]; > 0: all masses and inertias are scaled to it
  bool use_lengths, use_limits;  // of <lengthrange>: useexisting, uselimit
} sap_mjcf_compiler;

typedef struct sap_mjcf_class {
  const char* name;
  int32_t parent;  // -1: none
  const sap_xml_node* node;
} sap_mjcf_class;

typedef struct sap_mjcf_model sap_mjcf_model;
struct sap_mjcf_model {
  const sap_xml_node* root;
  sap_mjcf_compiler compiler;
  sap_mjcf_class* classes;
  int32_t class_count, class_capacity;
  int32_t main_class;  // -1: no defaults
  // Models named in <asset>, as a list in the reader's store.
  const char* name;            // of this one as an asset
  const sap_mjcf_model* user;  // the model whose asset this is; NULL: the main file
  sap_mjcf_model* assets;
  sap_mjcf_model* next;
};

// --- reader -------------------------------------------------------------------------------------

// Where names live: a model (the main file or one attached), or one copy of a replicate in it.
// A name n of the file becomes prefix n suffix.
typedef struct sap_mjcf_space {
  const sap_mjcf_model* model;
  int32_t parent;  // enclosing space, -1
  const char *prefix, *suffix;
  // Of a whole model only, for its keyframes (see mjcf_keyframe.c):
  bool is_model;
  bool in_copy;            // is it, or something around it, a copy other than the first
  int32_t q_skip, v_skip;  // coordinates of the model before what is attached
  int32_t q_first, v_first;
  int32_t nq, nv;  // coordinates that came of it
} sap_mjcf_space;

// Where an element stands.
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
  const sap_xml_node* node;
  int32_t space;
  sap_joint_type type;
  int32_t q_start, v_start;
  double range[2];
} sap_mjcf_joint;

// Pose in the parent.
typedef struct sap_mjcf_place {
  int32_t parent, space;
  sap_pose pose;
} sap_mjcf_place;

typedef struct sap_mjcf_site {
  int32_t body, space;
  sap_pose pose;  // in the body
} sap_mjcf_site;

// A geom that tendons may go round.
typedef struct sap_mjcf_obstacle {
  const sap_xml_node* node;
  int32_t body, space;
  sap_shape_type type;
  sap_pose pose;  // in the body
  double radius;
} sap_mjcf_obstacle;

// What actuators need to know of a tendon.
typedef struct sap_mjcf_tendon {
  int32_t space;
  double range[2];
} sap_mjcf_tendon;

// The id of a geom that is no shape of the model.
enum { SAP_MJCF_LEFT_OUT = -2 };

typedef struct sap_mjcf_control {
  const sap_xml_node* node;
  int32_t space;
  int32_t id;  // the builder's, -1: not supported and left out
  bool has_activation;
} sap_mjcf_control;

// What <flag> switches off; constraint="disable" the first four. Without springs and dampers there
// are no passive forces at all.
typedef struct sap_mjcf_disabled {
  bool contact, equality, limit, frictionloss;
  bool spring, damper, actuation, control_range;
} sap_mjcf_disabled;

// Of all contacts, if `on`: mjcf_override.c.
typedef struct sap_mjcf_override {
  bool on;
  double margin, friction[5], solref[2];
} sap_mjcf_override;

typedef struct sap_mjcf_reader {
  const sap_scene_options* options;
  sap_error* error;
  const char* path;
  sap_xml_store* store;
  sap_builder* builder;
  sap_mjcf_model* main;
  sap_mjcf_disabled disabled;
  sap_mjcf_override override;

  sap_mjcf_item* items;  // a stack: elements of the bodies being read
  int32_t item_count, item_capacity;
  int64_t total;  // elements instantiated so far

  sap_mjcf_space* spaces;
  int32_t space_count, space_capacity;
  sap_mjcf_joint* joints;  // by joint id
  int32_t joint_count, joint_capacity;
  sap_mjcf_control* controls;  // in MuJoCo's order of actuators
  int32_t control_count, control_capacity;
  double* q_default;  // MuJoCo's qpos0
  int32_t nq, q_capacity, nv;
  sap_mjcf_place* places;  // by body id
  int32_t place_capacity;
  sap_mjcf_site* sites;
  int32_t site_count, site_capacity;
  sap_mjcf_obstacle* obstacles;
  int32_t obstacle_count, obstacle_capacity;
  sap_mjcf_tendon* tendons;  // by tendon id
  int32_t tendon_capacity;
  sap_name_map body_names, joint_names, site_names, geom_names, obstacle_names, tendon_names;
  struct sap_mjcf_mesh* meshes;  // see mjcf_mesh.h
  int32_t mesh_count, mesh_capacity;
  sap_mesh_files mesh_files;
  sap_name_map used_settings;  // names of <numeric> that set something for one geom
} sap_mjcf_reader;

sap_status sap_mjcf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error);

// mjcf_model.c: includes, schema, compiler, classes, assets. `user` as in sap_mjcf_model.
sap_status sap_mjcf_load_model(sap_mjcf_reader* r, const char* path, sap_xml_node* root,
                               const sap_mjcf_model* user, sap_mjcf_model** out);
void sap_mjcf_free_model(sap_mjcf_model* model);
// include.c: replaces <include> by what the named files hold.
sap_status sap_mjcf_include(sap_xml_store* store, const char* path, sap_xml_node* root,
                            sap_error* error);
// `file` as seen from the folder of `path`; NULL for lack of memory.
const char* sap_mjcf_sibling(sap_xml_store* store, const char* path, const char* file);

// mjcf_attribute.c: attributes of an element after those of its default classes.
enum { SAP_MJCF_MAX_SOURCES = 256 };
typedef struct sap_mjcf_sources {
  const sap_xml_node* nodes[SAP_MJCF_MAX_SOURCES];  // outermost class first, the element last
  int32_t count;
} sap_mjcf_sources;
// kind: the element's name in <default> ("geom"); "motor" takes those of all actuators.
sap_status sap_mjcf_find_sources(sap_mjcf_reader* r, const sap_xml_node* node, const char* kind,
                                 const sap_mjcf_scope* scope, sap_mjcf_sources* out);
// The node that has the last word on an attribute, NULL: none has it.
const sap_xml_node* sap_mjcf_source(const sap_mjcf_sources* sources, const char* attribute);
// Later sources overwrite the first values of earlier ones; *count (NULL allowed): the most given.
sap_status sap_mjcf_numbers(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                            const int32_t least_most[2], double* values, int32_t* count);
sap_status sap_mjcf_number(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                           double* value);
sap_status sap_mjcf_integer(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                            int32_t* value);
sap_status sap_mjcf_choice(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                           const char* choices, int32_t* value);
// range and limited/auto: leaves lower, upper alone when not limited.
typedef struct sap_mjcf_range {
  const char *range, *limited;  // attributes
  double unit;
  double lower, upper;
} sap_mjcf_range;
sap_status sap_mjcf_read_range(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_mjcf_scope* scope, sap_mjcf_range* range);
// A negative solref is (-k, -k tau_d): then what it says, and true. Positive values are MuJoCo's
// solver tuning (time constant, damping ratio).
static inline bool sap_mjcf_take_solref(const double solref[2], double* k, double* tau_d) {
  const bool physical = solref[0] < 0.0 && solref[1] <= 0.0;
  *k = physical ? -solref[0] : *k;
  *tau_d = physical ? solref[1] / solref[0] : *tau_d;
  return physical;
}
// A limit with a margin rests so far inside its range.
sap_status sap_mjcf_apply_margin(sap_mjcf_reader* r, const sap_mjcf_sources* s, double* lower,
                                 double* upper);
// Negative solreflimit: {-k, -d} becomes stiffness and relaxation time d/k.
sap_status sap_mjcf_read_limit_material(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                                        const sap_mjcf_scope* scope, double* stiffness,
                                        double* relaxation_time);
// Index of a class by name, -1.
int32_t sap_mjcf_find_class(const sap_mjcf_model* model, const char* name);
// prefix name suffix; NULL for NULL.
sap_status sap_mjcf_full_name(sap_mjcf_reader* r, int32_t space, const char* name,
                              const char** out);

// orientation.c
sap_status sap_mjcf_orientation(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                                const sap_mjcf_scope* scope, double q[4]);
void sap_mjcf_euler(const sap_mjcf_compiler* compiler, const double angles[3], double q[4]);
// pos and orientation of an element without defaults.
sap_status sap_mjcf_pose(sap_mjcf_reader* r, const sap_xml_node* node, const sap_mjcf_scope* scope,
                         sap_pose* pose);

// mjcf_geom.c, mjcf_inertia.c
typedef struct sap_mjcf_geom {
  const sap_xml_node* node;
  sap_shape_def def;  // pose in the body, names full
  bool supported;     // not a height field or the like
  bool collides;
  int32_t mesh;       // index of the reader's mesh, -1
  double mass;        // [kg]; NaN: it follows from a mesh or from what is not supported
  double density;     // of a mesh [kg/m^3]
  double p_SCo[3];    // centre of mass in the shape's frame [m]
  double I_SCo_S[6];  // about it, in its axes [kg m^2]: xx yy zz xy xz yz
  int32_t group;
} sap_mjcf_geom;
sap_status sap_mjcf_read_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, sap_mjcf_geom* out);
// Mass, centre and inertia of a mesh geom: reads the mesh.
sap_status sap_mjcf_geom_mesh_mass(sap_mjcf_reader* r, sap_mjcf_geom* geom);
// Mass, centre and inertia of a body from <inertial> (NULL: none) or its geoms.
sap_status sap_mjcf_body_inertia(sap_mjcf_reader* r, const sap_mjcf_item* body,
                                 const sap_mjcf_item* inertial, sap_mjcf_geom* geoms,
                                 int32_t geom_count, sap_body_def* def);

// mjcf_override.c: from an <option>, for a geom and for a pair.
sap_status sap_mjcf_read_override(sap_mjcf_reader* r, const sap_xml_node* option);
sap_status sap_mjcf_override_geom(sap_mjcf_reader* r, const sap_xml_node* geom, sap_shape_def* def);
void sap_mjcf_override_pair(const sap_mjcf_reader* r, sap_pair_def* def);

// mjcf_joint.c
sap_status sap_mjcf_joint_type(sap_mjcf_reader* r, const sap_xml_node* node,
                               const sap_mjcf_scope* scope, sap_joint_type* type);
sap_status sap_mjcf_add_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body,
                              const sap_body_def* body_def);
// mjcf_color.c: stays as it is where nothing says.
sap_status sap_mjcf_read_color(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_mjcf_model* model, double color[4]);

// mjcf_settings.c: <custom><numeric name="sapstep:..."/>
sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options);
// A setting of the model or else of the main file, >= 0 or, if `positive`, > 0; leaves *value alone
// without one.
sap_status sap_mjcf_global_setting(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                   const char* name, bool positive, double* value);
sap_status sap_mjcf_geom_material(sap_mjcf_reader* r, const sap_mjcf_item* item,
                                  const sap_mjcf_sources* s, const char* full_name,
                                  sap_material* material);
// Overrides the velocity and the turning of a geom's surface by its custom setting.
sap_status sap_mjcf_geom_belt(sap_mjcf_reader* reader, const sap_mjcf_item* item,
                              const char* full_name, double surface[6]);
sap_status sap_mjcf_limit_settings(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                   double* stiffness, double* relaxation_time);
sap_status sap_mjcf_check_settings(sap_mjcf_reader* r);

// mjcf_collect.c: frames, replicates and attached models flattened.
sap_status sap_mjcf_collect(sap_mjcf_reader* r, const sap_xml_node* node,
                            const sap_mjcf_scope* scope);
sap_status sap_mjcf_add_space(sap_mjcf_reader* r, const sap_mjcf_space* space, int32_t* index);
// Coordinates that a model has on its own before `stop` (NULL: in all).
sap_status sap_mjcf_count_coordinates(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                      const sap_xml_node* stop, int32_t* nq, int32_t* nv);
sap_status sap_mjcf_replicate_count(sap_mjcf_reader* r, const sap_xml_node* node, int32_t* count);
// The model and the element below its worldbody (NULL: all) that an <attach> names.
sap_status sap_mjcf_attached(sap_mjcf_reader* r, const sap_xml_node* node,
                             const sap_mjcf_model* user, const sap_mjcf_model** model,
                             const sap_xml_node** element);
// mjcf_body.c
sap_status sap_mjcf_read_bodies(sap_mjcf_reader* r);
// mjcf_reference.c: sites; contact exclusions and pairs, tendons, actuators, equality.
sap_status sap_mjcf_add_site(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body);
sap_status sap_mjcf_read_references(sap_mjcf_reader* r);
// mjcf_keyframe.c
sap_status sap_mjcf_read_keyframes(sap_mjcf_reader* r);

#endif
