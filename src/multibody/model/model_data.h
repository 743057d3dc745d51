// SPDX-License-Identifier: BSD-3-Clause
// The compiled model: flat arrays that dynamics, geometry and the contact assembly read.
#ifndef SAP_MULTIBODY_MODEL_MODEL_DATA_H
#define SAP_MULTIBODY_MODEL_MODEL_DATA_H

#include <stdatomic.h>

#include <sapstep/model.h>

#include "core/error.h"
#include "core/name_map.h"

typedef struct sap_model_body {
  int32_t parent;
  int32_t tree;         // -1: does not move
  int32_t first_joint;  // its joints are body_joints[first_joint ...], in the order of motion
  int32_t njoints;
  int32_t first_dof;  // its own dofs; -1 without any
  int32_t ndofs;
  int32_t last_dof;  // the last dof at or above it on the path to the root; -1: does not move
  int32_t weld;      // the body whose motion it shares: itself, or an ancestor (0: the world)
  double p_PB[3], q_PB[4];
  double mass;
  double p_BCo[3];
  double I_BCo_B[6];  // about the centre of mass, body axes: xx yy zz xy xz yz
  bool any_inertia;
  double gravity_compensation;
} sap_model_body;

typedef struct sap_model_joint_data {
  sap_joint_type type;
  int32_t body, tree;
  int32_t q_start, v_start, nq, nv;
  double p_BJ[3], axis[3];
  double reference;
  double lower, upper;
  double limit_stiffness, limit_relaxation_time;
  double stiffness, spring_reference, damping, armature, friction_loss;
  double stiffness_cubic;
  double effort_lower, effort_upper;         // infinite: none
  double motor_speed;                        // infinite: none
  double spring_time, spring_damping_ratio;  // have gone into stiffness and damping
  bool locked;
} sap_model_joint_data;

typedef struct sap_model_tendon {
  int32_t first, count;          // into tendon_joints, tendon_coefficients; count 0: spatial
  int32_t first_point, npoints;  // into tendon_point_bodies, tendon_points; npoints 0: fixed
  double lower, upper, limit_stiffness, limit_relaxation_time;
  double stiffness, damping, friction_loss;
  double spring_lower, spring_upper;  // numbers, once compiled
  double effort_lower, effort_upper;  // infinite: none
  double length0;                     // in the default pose (compiled)
} sap_model_tendon;

typedef struct sap_model_actuator {
  sap_transmission transmission;
  int32_t target;  // joint or tendon
  int32_t crank_body, slider_body;
  double crank_point[3], slider_point[3], slider_axis[3], crank_length;
  double direction[6];
  bool in_parent;
  int32_t site_body, reference_body;
  double site_point[3], site_q[4], reference_point[3], reference_q[4];
  double gear, control_lower, control_upper, force_lower, force_upper;
  double gain, gain_slope[2], bias[3];
  double damping_ratio;  // has gone into bias[2], once compiled
  int32_t act;           // index of its activation, -1: none
  sap_activation activation;
  double activation_time[3], activation_lower, activation_upper;
  bool activation_early, muscle_gain, muscle_bias;
  sap_muscle muscle;                  // force > 0, once compiled
  double length_lower, length_upper;  // numbers of muscles, once compiled
} sap_model_actuator;

// Convex hull of a mesh. Its numbers count from its own first vertex and face.
typedef struct sap_model_mesh {
  int32_t first_vertex, nvertices;  // into mesh_vertices, mesh_neighbor_start
  int32_t first_face, nfaces;       // into mesh_planes, mesh_face_start
  double center[3];                 // of its bounding box, in its frame
  double half[3];                   // half extents of that box
  double radius;                    // of the ball about the center that holds it
} sap_model_mesh;

typedef struct sap_model_names {
  char** text;  // one per id, NULL: none; owned
  int32_t count;
  int32_t capacity;  // of text
  sap_name_map ids;
} sap_model_names;

struct sap_model {
  atomic_int holders;         // beside the one that created it
  sap_model_options options;  // options.name is owned
  sap_model_sizes sizes;

  sap_model_body* bodies;        // by body id, the builder's                      (bodies)
  int32_t* body_order;           // body ids, depth first, parents before children (bodies)
  sap_model_joint_data* joints;  // by joint id, the builder's                     (joints)
  int32_t* body_joints;          // joint ids grouped by body: bodies[b].first_joint indexes here
  sap_shape_def* shapes;         // by shape id, names NULL, quaternions unit      (shapes)
  sap_model_tendon* tendons;
  int32_t* tendon_joints;
  double* tendon_coefficients;
  int32_t* tendon_point_bodies;
  double* tendon_points;
  sap_tendon_wrap* tendon_wraps;  // axes unit
  sap_model_actuator* actuators;
  sap_equality_def* equalities;  // names NULL, quaternions unit; of bodies b >= 0
  sap_spring_def* springs;       // names NULL
  sap_bushing_def* bushings;     // names NULL, quaternions unit
  sap_pair_def* pairs;           // shape_a < shape_b, sorted, each pair once

  sap_model_mesh* meshes;        // by mesh id                                    (meshes)
  double* mesh_vertices;         // of all hulls, in the mesh's frame             (3 vertices)
  int32_t* mesh_neighbor_start;  // of each vertex, into mesh_neighbors           (vertices + 1)
  int32_t* mesh_neighbors;       // vertices one edge away
  double* mesh_planes;           // outward unit normal n and d: n.x <= d inside  (4 faces)
  int32_t* mesh_face_start;      // of each face, into mesh_face_vertices         (faces + 1)
  int32_t* mesh_face_vertices;   // convex polygons, counter-clockwise from outside
  int32_t (*exclusions)[2];      // body pairs a < b, sorted
  int32_t exclusion_count;

  int32_t* tree_sizes;  // dofs of each tree                              (trees)
  int32_t* tree_dofs;   // first dof of each tree                         (trees + 1)
  int32_t* dof_body;    //                                                (nv)
  int32_t* dof_joint;   // joint id                                       (nv)
  int32_t* dof_parent;  // previous dof on the path to the root, -1       (nv)
  int32_t* dof_tree;    //                                                (nv)

  double* dof_inertia;  // diagonal of the mass matrix in the default pose (nv)

  double* q_default;  //                                                (nq)
  double* key_t;      //                                                (keyframes)
  double* key_q;      //                                                (keyframes nq)
  double* key_v;
  double* key_control;
  double* key_act;
  sap_model_names names[SAP_ELEMENT_COUNT];  // by sap_element
};

// One more that needs the model: it ends when its creator has destroyed it and all others
// have released it. Release takes NULL.
const sap_model* sap_model_hold(const sap_model* model);
void sap_model_release(const sap_model* model);

#endif
