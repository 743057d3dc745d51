// SPDX-License-Identifier: BSD-3-Clause
// The builder's records: those of the compiled model before numbering.
#ifndef SAP_MULTIBODY_MODEL_BUILDER_H
#define SAP_MULTIBODY_MODEL_BUILDER_H

#include "multibody/model/check.h"
#include "multibody/model/hull.h"
#include "multibody/model/model_data.h"

typedef struct sap_builder_key {
  double t;
  int32_t nq, nv, nu, na;  // of the model when the keyframe was added
  double* q;               // NULL: default pose
  double* v;               // NULL: zero
  double* control;         // NULL: zero
  double* act;             // NULL: zero
} sap_builder_key;

struct sap_builder {
  sap_model_options options;  // options.name is owned
  // Of a body only parent, pose, inertia, njoints and first_joint (here: the id of its first joint)
  // are set; of a joint all but the numbering.
  sap_model_body* bodies;
  sap_model_joint_data* joints;
  sap_shape_def* shapes;
  sap_model_tendon* tendons;
  int32_t* tendon_joints;
  double* tendon_coefficients;
  int32_t* tendon_point_bodies;
  double* tendon_points;
  sap_tendon_wrap* tendon_wraps;
  sap_model_actuator* actuators;
  sap_equality_def* equalities;
  sap_spring_def* springs;
  sap_bushing_def* bushings;
  sap_pair_def* pairs;
  sap_hull* hulls;  // of the meshes
  int32_t (*exclusions)[2];
  sap_builder_key* keys;
  int32_t nbodies, njoints, nshapes, ntendons, ntendon_joints, nactuators, nexclusions, nkeys;
  int32_t ntendon_points, nequalities, nsprings, nbushings, npairs, nmeshes;
  int32_t body_capacity, joint_capacity, shape_capacity, tendon_capacity, tendon_joint_capacity,
      tendon_coefficient_capacity, actuator_capacity, exclusion_capacity, key_capacity;
  int32_t tendon_point_body_capacity, tendon_point_capacity, tendon_wrap_capacity,
      equality_capacity, spring_capacity, bushing_capacity, pair_capacity, hull_capacity;
  int32_t nq, nv, na;
  double spare_armature;  // of joints that move nothing with inertia; 0: they are refused
  sap_model_names names[SAP_ELEMENT_COUNT];
};

// Scales masses and inertias so that all bodies together have the mass `total`, if they have any.
// NOT_FINITE: they overflow.
sap_status sap_builder_scale_masses(sap_builder* builder, double total, sap_error* error);
// Joints whose bodies have no inertia in their direction get this armature [kg m^2, kg] when the
// model is compiled, instead of being refused: but for the displacements of free joints.
void sap_builder_spare_armature(sap_builder* builder, double armature);
void sap_builder_clear_key(sap_builder_key* key);
// check_actuator.c: a definition that is about to be added.
sap_status sap_builder_check_actuator(const sap_checker* checker, const sap_builder* builder,
                                      const sap_actuator_def* def);
// Text of an element's kind: "body", "joint", ...
const char* sap_element_text(sap_element kind);
// A checker for the next element of a kind, or for an existing one.
sap_checker sap_builder_checker(const sap_builder* builder, sap_element kind, int32_t id,
                                sap_error* error);
// Registers the next id's name; tells the kind when the name is taken.
sap_status sap_builder_add_name(sap_builder* builder, sap_element kind, const char* name,
                                sap_error* error);
// `field` names an existing hinge or slide joint.
sap_status sap_builder_check_scalar_joint(const sap_checker* checker, const sap_builder* builder,
                                          const char* field, int32_t joint);
// Material and condim of a shape or a pair, and the rest that they share.
typedef struct sap_contact_fields {
  const sap_material* material;
  int32_t condim;
  double margin, rest_distance, friction_torsional, friction_rolling;
} sap_contact_fields;
sap_status sap_builder_check_contact(const sap_checker* checker, const sap_contact_fields* fields);
// No joint on the path from the world to the body, the body itself included.
bool sap_builder_is_static(const sap_builder* builder, int32_t body);

static inline bool sap_joint_is_scalar(sap_joint_type type) {
  return type == SAP_JOINT_HINGE || type == SAP_JOINT_SLIDE;
}
static inline int32_t sap_joint_nq(sap_joint_type type) {
  return type == SAP_JOINT_FREE ? 7 : type == SAP_JOINT_BALL ? 4 : 1;
}
static inline int32_t sap_joint_nv(sap_joint_type type) {
  return type == SAP_JOINT_FREE ? 6 : type == SAP_JOINT_BALL ? 3 : 1;
}

#endif
