// SPDX-License-Identifier: BSD-3-Clause
// Shapes of the builder.
#include <math.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

// Sizes that a shape's type uses.
static int size_count(sap_shape_type type) {
  switch (type) {
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_MESH:
      return 0;
    case SAP_SHAPE_SPHERE:
      return 1;
    case SAP_SHAPE_CAPSULE:
    case SAP_SHAPE_CYLINDER:
      return 2;
    case SAP_SHAPE_BOX:
    case SAP_SHAPE_ELLIPSOID:
      return 3;
  }
  return -1;
}

static sap_status check_size(const sap_checker* checker, const sap_shape_def* def) {
  static const char* const fields[] = {"size[0]", "size[1]", "size[2]"};
  const int count = size_count(def->type);
  if (count < 0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "type = %d must be plane (0), sphere (1), capsule (2), cylinder (3), "
                          "box (4), ellipsoid (5) or mesh (6)",
                          (int)def->type);
  }
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    status = sap_check_positive(checker, fields[i], def->size[i]);
  }
  return status;
}

static sap_status check_fluid(const sap_checker* checker, const sap_shape_def* def) {
  static const char* const fields[] = {"fluid_coefficients[0]", "fluid_coefficients[1]",
                                       "fluid_coefficients[2]", "fluid_coefficients[3]",
                                       "fluid_coefficients[4]"};
  if (def->fluid_ellipsoid && size_count(def->type) == 0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "fluid_ellipsoid is not for planes and meshes");
  }
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < 5 && status == SAP_STATUS_OK; ++i) {
    status = sap_check_nonnegative(checker, fields[i], def->fluid_coefficients[i]);
  }
  return status;
}

static sap_status check_shape(const sap_checker* checker, const sap_builder* builder,
                              const sap_shape_def* def, sap_shape_def* shape) {
  sap_status status = check_size(checker, def);
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(checker, "body", def->body, 0, builder->nbodies);
  }
  if (status == SAP_STATUS_OK && def->type == SAP_SHAPE_PLANE &&
      !sap_builder_is_static(builder, def->body)) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "body = %d moves, but a plane must be on the world or a static body",
                            (int)def->body);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "p_BS", def->p_BS, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "q_BS", def->q_BS, shape->q_BS);
  }
  if (status == SAP_STATUS_OK && def->type == SAP_SHAPE_MESH) {
    status = sap_check_id(checker, "mesh", def->mesh, 0, builder->nmeshes);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "surface_velocity", def->surface_velocity, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "surface_rotation", def->surface_rotation, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = check_fluid(checker, def);
  }
  sap_material material = def->material;
  if (material.stiffness == 0.0) {
    material.stiffness = HUGE_VAL;  // chosen when the model is compiled
  }
  const sap_contact_fields fields = {&material,
                                     def->condim,
                                     def->margin,
                                     def->rest_distance,
                                     def->friction_torsional,
                                     def->friction_rolling};
  return status == SAP_STATUS_OK ? sap_builder_check_contact(checker, &fields) : status;
}

sap_status sap_builder_add_shape(sap_builder* builder, const sap_shape_def* def, int32_t* id,
                                 sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "shape: builder or definition is NULL");
  }
  const sap_checker checker = {"shape", def->name, builder->nshapes, error};
  sap_shape_def shape = *def;
  shape.name = NULL;
  sap_status status = check_shape(&checker, builder, def, &shape);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->shapes, &builder->shape_capacity, builder->nshapes + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_SHAPE, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int i = size_count(def->type); i < 3; ++i) {
    shape.size[i] = 0.0;
  }
  shape.mesh = def->type == SAP_SHAPE_MESH ? def->mesh : -1;
  builder->shapes[builder->nshapes] = shape;
  if (id != NULL) {
    *id = builder->nshapes;
  }
  ++builder->nshapes;
  return SAP_STATUS_OK;
}
