// SPDX-License-Identifier: BSD-3-Clause
// The compiled model: flat arrays for dynamics, geometry and the contact assembly.
#pragma once

#include <sapstep/model.h>
#include <sapstep/sensor.h>
#include <sapstep/system.h>

#include "core/hash_map.h"
#include "core/memory.h"
#include "multibody/model/hull.h"

typedef struct sap_model_body {
  SAP_BODY_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
  int32_t tree;         // -1: does not move
  int32_t first_joint;  // its joints are body_joints[first_joint ...], in the order of motion
  int32_t njoints;
  int32_t first_dof;  // its own dofs; -1 without any
  int32_t ndofs;
  int32_t last_dof;  // the last dof at or above it on the path to the root; -1: does not move
  int32_t root;      // the body on its path to the world that is on it; the world: 0
  int32_t weld;      // the body whose motion it shares: itself, or an ancestor (0: the world)
} sap_model_body;

// Fields that a joint's type does not use have their defaults; once compiled, spring_time and
// spring_damping_ratio are 0: they have become stiffness and damping.
typedef struct sap_model_joint_data {
  SAP_JOINT_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
  int32_t tree;
  int32_t q_start, v_start, nq, nv;
} sap_model_joint_data;

// Once compiled, spring_lower and spring_upper are numbers.
typedef struct sap_model_tendon {
  SAP_TENDON_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
  int32_t first, count;          // into tendon_joints, tendon_coefficients; count 0: spatial
  int32_t first_point, npoints;  // into tendon_point_bodies, tendon_points; npoints 0: fixed
  double length0;                // in the default pose (compiled)
} sap_model_tendon;

// Once compiled, damping_ratio has become bias[2], muscle.force is > 0 and the lengths of muscles
// are numbers.
typedef struct sap_model_actuator {
  SAP_ACTUATOR_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
  int32_t act;  // index of its activation, -1: none
} sap_model_actuator;

typedef struct sap_model_names {
  char** text;  // one per id, NULL: none; owned
  int32_t count;
  int32_t capacity;  // of text
  sap_name_map ids;
} sap_model_names;

typedef int32_t sap_id_pair[2];  // a < b

// Meshes for drawing alone, as recordings have them: {first vertex, vertices, first triangle,
// triangles}; a triangle's corners are numbered from its mesh's first vertex.
typedef int32_t sap_visual_mesh[4];
typedef float sap_visual_vertex[3];
typedef int32_t sap_visual_triangle[3];
enum {
  SAP_VISUALS,
  SAP_VISUAL_MESHES,
  SAP_VISUAL_VERTICES,
  SAP_VISUAL_TRIANGLES,
  SAP_VISUAL_LISTS
};

// Records that the model copies from the builder's lists of the same names: LIST(type, name)
#define SAP_MODEL_LISTS(LIST)                                                                   \
  LIST(sap_model_body, bodies)                                                                  \
  LIST(sap_model_joint_data, joints)                                                            \
  LIST(sap_shape_def, shapes) /* names NULL, quaternions unit */                                \
  LIST(sap_model_tendon, tendons)                                                               \
  LIST(int32_t, tendon_joints)                                                                  \
  LIST(double, tendon_coefficients) /* as tendon_joints */                                      \
  LIST(int32_t, tendon_point_bodies)                                                            \
  LIST(double, tendon_points)         /* three per point */                                     \
  LIST(sap_tendon_wrap, tendon_wraps) /* as tendon_point_bodies; axes unit */                   \
  LIST(sap_model_actuator, actuators)                                                           \
  LIST(sap_equality_def, equalities) /* names NULL, quaternions unit; of bodies b >= 0 */       \
  LIST(sap_spring_def, springs)      /* names NULL */                                           \
  LIST(sap_bushing_def, bushings)    /* names NULL, quaternions unit */                         \
  LIST(sap_shape_def, visuals)       /* mesh: of the visual ones; name and material are void */ \
  LIST(sap_visual_mesh, visual_meshes)                                                          \
  LIST(sap_visual_vertex, visual_vertices)                                                      \
  LIST(sap_visual_triangle, visual_triangles)                                                   \
  LIST(sap_sensor_def, sensors) /* names NULL, quaternions unit */                              \
  LIST(sap_site_def, sites)     /* names NULL, quaternions unit */                              \
  LIST(sap_pair_def, pairs)     /* shape_a < shape_b; sorted, each pair once, in models */      \
  LIST(sap_id_pair, exclusions) /* of bodies; sorted, each pair once, in models */
#define SAP_MODEL_LIST(type, name) type* name;

struct sap_model {
  sap_model_options options;  // options.name is owned
  sap_model_sizes sizes;
  sap_pool pool;  // of all arrays below

  SAP_MODEL_LISTS(SAP_MODEL_LIST)
  int32_t* body_order;   // body ids, depth first, parents before children (bodies)
  int32_t* body_joints;  // joint ids grouped by body: bodies[b].first_joint indexes here

  sap_hull* meshes;  // convex hulls by mesh id; their own pools are not used     (meshes)

  int32_t exclusion_count;
  int32_t visual_counts[SAP_VISUAL_LISTS];  // of visuals, visual_meshes, ...

  int32_t* tree_sizes;  // dofs of each tree                              (trees)
  int32_t* tree_dofs;   // first dof of each tree                         (trees + 1)
  int32_t* dof_body;    //                                                (nv)
  int32_t* dof_joint;   // joint id                                       (nv)
  int32_t* dof_parent;  // previous dof on the path to the root, -1       (nv)
  int32_t* dof_tree;    //                                                (nv)
  int32_t* dof_group;   // first dof of the dofs that turn with it        (nv)

  double* dof_inertia;  // diagonal of the mass matrix in the default pose (nv)

  double* q_default;  //                                                (nq)
  double* key_t;      //                                                (keyframes)
  double* key_q;      //                                                (keyframes nq)
  double* key_v;
  double* key_control;
  double* key_act;
  sap_model_names names[SAP_ELEMENT_COUNT];  // by sap_element
};

// Appends the next id's name (NULL or "": none); fails if the name is in use. A failed call changes
// nothing.
sap_status sap_names_add(sap_model_names* names, const char* text, sap_error* error);
sap_status sap_names_copy(const sap_model_names* from, sap_model_names* to, sap_error* error);
void sap_names_clear(sap_model_names* names);

// Returns the text of an element's kind: "body", "joint", ...
const char* sap_element_text(sap_element kind);

// Orders id pairs and contact pairs, for qsort and bsearch.
int sap_compare_id_pairs(const void* a, const void* b);
// Sorts id pairs and drops repeated ones; returns how many are left.
int32_t sap_sort_id_pairs(sap_id_pair* pairs, int32_t count);
int sap_compare_pair_defs(const void* a, const void* b);
// Returns the contact pair of two shapes; NULL: none.
const sap_pair_def* sap_model_find_pair(const sap_model* model, int32_t shape_a, int32_t shape_b);

typedef enum sap_sensor_object {
  SAP_SENSES_FRAME,
  SAP_SENSES_SCALAR_JOINT,
  SAP_SENSES_BALL_JOINT,
  SAP_SENSES_TENDON,
  SAP_SENSES_ACTUATOR,
  SAP_SENSES_BODY,
  SAP_SENSES_NOTHING,
} sap_sensor_object;
// The columns of SAP_SENSOR_TYPES.
typedef struct sap_sensor_traits {
  const char* name;  // NULL: not a type
  int32_t values;
  sap_sensor_object object;
  bool of_step;
} sap_sensor_traits;
sap_sensor_traits sap_sensor_find_traits(int type);

// Stores a number for a caller who wants it: `out` may be NULL.
static inline void sap_store_index(int32_t* out, int32_t value) {
  if (out != NULL) {
    *out = value;
  }
}

static inline bool sap_joint_is_scalar(sap_joint_type type) {
  return type == SAP_JOINT_HINGE || type == SAP_JOINT_SLIDE;
}
static inline int32_t sap_joint_position_count(sap_joint_type type) {
  return type == SAP_JOINT_FREE ? 7 : type == SAP_JOINT_BALL ? 4 : 1;
}
static inline int32_t sap_joint_velocity_count(sap_joint_type type) {
  return type == SAP_JOINT_FREE ? 6 : type == SAP_JOINT_BALL ? 3 : 1;
}

// Visits sizes, then options, then all elements. Names of elements, colors and keyframes are no
// traits; nor are numbers that compiling finds from others.
void sap_model_traits(const sap_model* model, sap_trait_visitor visit, void* visitor);
