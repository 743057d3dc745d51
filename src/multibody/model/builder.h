// SPDX-License-Identifier: BSD-3-Clause
// Records of the builder, and the steps that compile them to a model.
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
  // Records of the model before numbering. A body has only the fields of its definition, njoints
  // and first_joint (here: the id of its first joint).
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
  double spare_armature;  // see sap_builder_spare_armature
  sap_model_names names[SAP_ELEMENT_COUNT];
};

// Scales masses and inertias so that the sum of all masses is `total`, if there is any mass. Fails
// with NOT_FINITE if they overflow.
sap_status sap_builder_scale_masses(sap_builder* builder, double total, sap_error* error);
// Sets the armature [kg m^2, kg] that joints without inertia in their direction get when the model
// is compiled; with 0, the default, compiling fails. Not for massless bodies with free joints.
void sap_builder_spare_armature(sap_builder* builder, double armature);

// Fails with ARGUMENT for a NULL builder or definition, or a wrong cookie.
#define SAP_BUILDER_BEGIN(builder, def, type, text, error)                                   \
  do {                                                                                       \
    if ((builder) == NULL || (def) == NULL) {                                                \
      return sap_fail((error), SAP_STATUS_ARGUMENT, text ": builder or definition is NULL"); \
    }                                                                                        \
    SAP_TRY(sap_check_cookie((def)->cookie, #type, (error)));                                \
  } while (0)

// Counts an appended element and stores its id (NULL allowed).
static inline sap_status sap_builder_finish(int32_t* count, int32_t* id) {
  if (id != NULL) {
    *id = *count;
  }
  ++*count;
  return SAP_STATUS_OK;
}

// Returns a checker for the next element of a kind, or for an existing one.
sap_checker sap_builder_checker(const sap_builder* builder, sap_element kind, int32_t id,
                                sap_error* error);
// Registers the next id's name; fails with the kind in the message when the name is taken.
sap_status sap_builder_add_name(sap_builder* builder, sap_element kind, const char* name,
                                sap_error* error);
// Requires that `field` is the id of a hinge or slide joint.
sap_status sap_builder_check_scalar_joint(const sap_checker* checker, const sap_builder* builder,
                                          const char* field, int32_t joint);
// Returns true if there is no joint on the path from the world to the body, the body itself included.
bool sap_builder_is_static(const sap_builder* builder, int32_t body);

// Steps of sap_builder_compile. Each fills its part of a zeroed model; sap_model_destroy frees the
// model at any stage.

// Sets the stiffness of shapes and pairs that define none.
sap_status sap_compile_stiffness(sap_model* model, sap_error* error);
// Sets the tendons' lengths in the default pose; springs without a length are relaxed there.
sap_status sap_compile_tendons(sap_model* model, sap_error* error);
// Fails with NOT_SPD unless the mass matrix is positive definite in the default pose.
sap_status sap_compile_check_inertia(const sap_builder* builder, sap_model* model,
                                     sap_error* error);
// Sets stiffness and damping of joints from time constants and damping ratios.
sap_status sap_compile_springs(const sap_builder* builder, sap_model* model, sap_error* error);
// Sets damping from damping ratios, and forces and ranges of muscles; after
// sap_compile_check_inertia.
sap_status sap_compile_actuators(const sap_builder* builder, sap_model* model, sap_error* error);

#endif
