// SPDX-License-Identifier: BSD-3-Clause
// Shapes and contact pairs of the builder.
#include <math.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

#define SAP_ROW_OWNER sap_shape_def
static const sap_field shape_fields[] = {SAP_SHAPE_FIELDS(SAP_FIELD_ROW, SAP_FIELD_ARRAY_ROW)};
#undef SAP_ROW_OWNER
#define SAP_ROW_OWNER sap_material
static const sap_field material_fields[] = {SAP_MATERIAL_FIELDS(SAP_FIELD_ROW)};
#undef SAP_ROW_OWNER

// Checks a material, whose stiffness 0 means that compiling chooses one, and condim.
static sap_status check_contact(const sap_checker* checker, const sap_material* material,
                                int32_t condim) {
  sap_material checked = *material;
  checked.stiffness = material->stiffness == 0.0 ? HUGE_VAL : material->stiffness;
  SAP_TRY(SAP_CHECK_FIELDS(checker, "material.", &checked, material_fields));
  const int model = (int)material->model;
  if (model < 0 || model >= (int)SAP_CONTACT_MODEL_COUNT) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "material.model = %d is not a sap_contact_model", model);
  }
  if (condim != 1 && condim != 3 && condim != 4 && condim != 6) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "condim = %d must be 1, 3, 4 or 6",
                          (int)condim);
  }
  return SAP_STATUS_OK;
}

// Returns how many sizes a shape's type uses, -1: not a type.
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
  for (int i = 0; i < count; ++i) {
    SAP_TRY(sap_check_positive(checker, fields[i], def->size[i]));
  }
  return SAP_STATUS_OK;
}

static sap_status check_shape(const sap_checker* checker, const sap_builder* builder,
                              const sap_shape_def* def, sap_shape_def* shape) {
  SAP_TRY(check_size(checker, def));
  SAP_TRY(sap_check_id(checker, "body", def->body, 0, builder->nbodies));
  if (def->type == SAP_SHAPE_PLANE && !sap_builder_is_static(builder, def->body)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "body = %d moves, but a plane must be on the world or a static body",
                          (int)def->body);
  }
  SAP_TRY(SAP_CHECK_FIELDS(checker, "", def, shape_fields));
  SAP_TRY(sap_check_quaternion(checker, "q_BS", def->q_BS, shape->q_BS));
  if (def->type == SAP_SHAPE_MESH) {
    SAP_TRY(sap_check_id(checker, "mesh", def->mesh, 0, builder->nmeshes));
  }
  if (def->fluid_ellipsoid && size_count(def->type) == 0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "fluid_ellipsoid is not for planes and meshes");
  }
  return check_contact(checker, &def->material, def->condim);
}

sap_status sap_builder_add_shape(sap_builder* builder, const sap_shape_def* def, int32_t* id,
                                 sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_shape_def, "shape", error);
  const sap_checker checker = {"shape", def->name, builder->nshapes, error};
  sap_shape_def shape = *def;
  shape.name = NULL;
  SAP_TRY(check_shape(&checker, builder, def, &shape));
  for (int i = size_count(def->type); i < 3; ++i) {
    shape.size[i] = 0.0;
  }
  shape.mesh = def->type == SAP_SHAPE_MESH ? def->mesh : -1;
  SAP_BUILDER_APPEND_NAMED(builder, shapes, SAP_ELEMENT_SHAPE, def->name, shape, id, error);
  return SAP_STATUS_OK;
}

static sap_status check_pair(const sap_checker* checker, const sap_builder* builder,
                             const sap_pair_def* def) {
  SAP_TRY(sap_check_id(checker, "shape_a", def->shape_a, 0, builder->nshapes));
  SAP_TRY(sap_check_id(checker, "shape_b", def->shape_b, 0, builder->nshapes));
  if (builder->shapes[def->shape_a].body == builder->shapes[def->shape_b].body) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "shape_a = %d, shape_b = %d must be of two different bodies",
                          (int)def->shape_a, (int)def->shape_b);
  }
  SAP_TRY(check_contact(checker, &def->material, def->condim));
  SAP_TRY(sap_check_nonnegative(checker, "margin", def->margin));
  SAP_TRY(sap_check_finite(checker, "rest_distance", def->rest_distance));
  SAP_TRY(sap_check_nonnegative(checker, "friction_torsional", def->friction_torsional));
  SAP_TRY(sap_check_nonnegative(checker, "friction_rolling", def->friction_rolling));
  SAP_TRY(sap_check_finite(checker, "friction_t2", def->friction_t2));
  return sap_check_finite(checker, "friction_rolling_2", def->friction_rolling_2);
}

sap_status sap_builder_add_pair(sap_builder* builder, const sap_pair_def* def, int32_t* id,
                                sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_pair_def, "pair", error);
  const sap_checker checker = {"pair", NULL, builder->npairs, error};
  SAP_TRY(check_pair(&checker, builder, def));
  sap_pair_def pair = *def;
  pair.shape_a = def->shape_a < def->shape_b ? def->shape_a : def->shape_b;
  pair.shape_b = def->shape_a < def->shape_b ? def->shape_b : def->shape_a;
  for (int32_t i = 0; i < builder->npairs; ++i) {
    if (builder->pairs[i].shape_a == pair.shape_a && builder->pairs[i].shape_b == pair.shape_b) {
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "shape_a = %d, shape_b = %d are already in pair %d", (int)def->shape_a,
                            (int)def->shape_b, (int)i);
    }
  }
  SAP_BUILDER_APPEND(builder, pairs, pair, id, error);
  return SAP_STATUS_OK;
}
