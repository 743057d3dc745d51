// SPDX-License-Identifier: BSD-3-Clause
// Records of the builder, and the steps that compile them to a model.
#pragma once

#include "multibody/model/check.h"
#include "multibody/model/hull.h"
#include "multibody/model/model_data.h"

enum { SAP_KEY_ARRAYS = 4 };  // q, v, control, act

typedef struct sap_builder_key {
  double t;
  int32_t sizes[SAP_KEY_ARRAYS];   // of the model when the keyframe was added
  double* values[SAP_KEY_ARRAYS];  // NULL: default pose, zero
} sap_builder_key;

// A growing list: n<name> records.
#define SAP_BUILDER_LIST(type, name) \
  type* name;                        \
  int32_t n##name, name##_capacity;

struct sap_builder {
  sap_model_options options;  // options.name is owned
  // The model's records before numbering. A body has only the fields of its definition, njoints and
  // first_joint (here: the id of its first joint).
  SAP_MODEL_LISTS(SAP_BUILDER_LIST)
  SAP_BUILDER_LIST(sap_hull, meshes)
  SAP_BUILDER_LIST(sap_builder_key, keys)
  int32_t nq, nv, na;
  // Armature [kg m^2, kg] that joints without inertia in their direction get when the model is
  // compiled; with 0, the default, compiling fails. Not for massless bodies with free joints.
  double spare_armature;
  sap_model_names names[SAP_ELEMENT_COUNT];
};

// Scales masses and inertias so that the sum of all masses is `total`, if there is any mass. Fails
// with NOT_FINITE if they overflow.
sap_status sap_builder_scale_masses(sap_builder* builder, double total, sap_error* error);

// Adds a shape that is for drawing alone. Of the type mesh, shape->mesh is a visual mesh, -1: that
// of the definition becomes a new one. Fails with MEMORY only.
sap_status sap_builder_add_visual(sap_builder* builder, const sap_mesh_def* mesh,
                                  sap_shape_def* shape, sap_error* error);

// Fails with ARGUMENT for a NULL builder or definition, or a wrong cookie.
#define SAP_BUILDER_BEGIN(builder, def, type, text, error)                                   \
  do {                                                                                       \
    if ((builder) == NULL || (def) == NULL) {                                                \
      return sap_fail((error), SAP_STATUS_ARGUMENT, text ": builder or definition is NULL"); \
    }                                                                                        \
    SAP_TRY(sap_check_cookie(#type, &(def)->cookie, (error)));                               \
  } while (0)

// Makes room for `count` more records of a list.
#define SAP_BUILDER_RESERVE(builder, list, count, error)                                         \
  SAP_GROW(&(builder)->list, &(builder)->list##_capacity, (int64_t)(builder)->n##list + (count), \
           (error))
// Appends a record to a list and stores its id (NULL allowed).
#define SAP_BUILDER_APPEND(builder, list, record, id, error) \
  do {                                                       \
    SAP_TRY(SAP_BUILDER_RESERVE(builder, list, 1, error));   \
    if ((id) != NULL) {                                      \
      *(id) = (builder)->n##list;                            \
    }                                                        \
    (builder)->list[(builder)->n##list++] = (record);        \
  } while (0)
// Does the same for an element with a name.
#define SAP_BUILDER_APPEND_NAMED(builder, list, kind, text, record, id, error) \
  do {                                                                         \
    SAP_TRY(SAP_BUILDER_RESERVE(builder, list, 1, error));                     \
    SAP_TRY(sap_builder_add_name((builder), (kind), (text), (error)));         \
    SAP_BUILDER_APPEND(builder, list, record, id, error);                      \
  } while (0)

// Returns a checker for the next element of a kind, or for an existing one.
sap_checker sap_builder_checker(const sap_builder* builder, sap_element kind, int32_t id,
                                sap_error* error);
// Registers the next id's name; fails with the kind in the message when the name is taken.
sap_status sap_builder_add_name(sap_builder* builder, sap_element kind, const char* name,
                                sap_error* error);
// Requires that `field` is the id of a hinge or slide joint.
sap_status sap_builder_check_scalar_joint(const sap_checker* checker, const sap_builder* builder,
                                          const char* field, int32_t joint);
// Returns true if there is no joint on the path from the world to the body, the body itself
// included.
bool sap_builder_is_static(const sap_builder* builder, int32_t body);

// The part of sap_builder_compile that needs no pose: fills a zeroed model; sap_model_destroy frees
// it at any stage.
sap_status sap_compile_records(const sap_builder* builder, sap_model* model, sap_error* error);
