// SPDX-License-Identifier: BSD-3-Clause
// Contact pairs of the builder, and the checks that they share with shapes.
#include <math.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

sap_status sap_builder_check_contact(const sap_checker* checker, const sap_contact_fields* fields) {
  const sap_material* material = fields->material;
  sap_status status = sap_check_stiffness(checker, "material.stiffness", material->stiffness);
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "material.relaxation_time", material->relaxation_time);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "material.friction", material->friction);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "material.dissipation", material->dissipation);
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_check_nonnegative(checker, "material.stiction_tolerance", material->stiction_tolerance);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "material.static_friction", material->static_friction);
  }
  const int model = (int)material->model;
  if (status == SAP_STATUS_OK && (model < 0 || model >= (int)SAP_CONTACT_MODEL_COUNT)) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "material.model = %d is not a sap_contact_model", model);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "margin", fields->margin);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(checker, "rest_distance", fields->rest_distance);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "friction_torsional", fields->friction_torsional);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "friction_rolling", fields->friction_rolling);
  }
  const int32_t condim = fields->condim;
  if (status == SAP_STATUS_OK && condim != 1 && condim != 3 && condim != 4 && condim != 6) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT, "condim = %d must be 1, 3, 4 or 6",
                            (int)condim);
  }
  return status;
}

static sap_status check_pair(const sap_checker* checker, const sap_builder* builder,
                             const sap_pair_def* def) {
  sap_status status = sap_check_id(checker, "shape_a", def->shape_a, 0, builder->nshapes);
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(checker, "shape_b", def->shape_b, 0, builder->nshapes);
  }
  if (status == SAP_STATUS_OK &&
      builder->shapes[def->shape_a].body == builder->shapes[def->shape_b].body) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "shape_a = %d, shape_b = %d must be of two different bodies",
                            (int)def->shape_a, (int)def->shape_b);
  }
  sap_material material = def->material;
  if (material.stiffness == 0.0) {
    material.stiffness = HUGE_VAL;  // that of the two shapes, once it is chosen
  }
  const sap_contact_fields fields = {&material,
                                     def->condim,
                                     def->margin,
                                     def->rest_distance,
                                     def->friction_torsional,
                                     def->friction_rolling};
  if (status == SAP_STATUS_OK) {
    status = sap_builder_check_contact(checker, &fields);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(checker, "friction_t2", def->friction_t2);
  }
  return status == SAP_STATUS_OK
             ? sap_check_finite(checker, "friction_rolling_2", def->friction_rolling_2)
             : status;
}

sap_status sap_builder_add_pair(sap_builder* builder, const sap_pair_def* def, int32_t* id,
                                sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "pair: builder or definition is NULL");
  }
  const sap_checker checker = {"pair", NULL, builder->npairs, error};
  sap_status status = check_pair(&checker, builder, def);
  sap_pair_def pair = *def;
  pair.shape_a = def->shape_a < def->shape_b ? def->shape_a : def->shape_b;
  pair.shape_b = def->shape_a < def->shape_b ? def->shape_b : def->shape_a;
  for (int32_t i = 0; i < builder->npairs && status == SAP_STATUS_OK; ++i) {
    if (builder->pairs[i].shape_a == pair.shape_a && builder->pairs[i].shape_b == pair.shape_b) {
      status = sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                              "shape_a = %d, shape_b = %d stand in pair %d already",
                              (int)def->shape_a, (int)def->shape_b, (int)i);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->pairs, &builder->pair_capacity, builder->npairs + 1, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  builder->pairs[builder->npairs] = pair;
  if (id != NULL) {
    *id = builder->npairs;
  }
  ++builder->npairs;
  return SAP_STATUS_OK;
}
