// SPDX-License-Identifier: BSD-3-Clause
// Equality constraints of the builder.
#include "core/memory.h"
#include "multibody/model/builder.h"

static bool is_between_bodies(sap_equality_type type) {
  return type == SAP_EQUALITY_CONNECT || type == SAP_EQUALITY_WELD || type == SAP_EQUALITY_DISTANCE;
}

// Ids; b of two bodies becomes the world's.
static sap_status check_sides(const sap_checker* checker, const sap_builder* builder,
                              sap_equality_def* def) {
  if ((int)def->type < SAP_EQUALITY_CONNECT || (int)def->type > SAP_EQUALITY_DISTANCE) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "type = %d must be connect (0), weld (1), joint (2), tendon (3) or "
                          "distance (4)",
                          (int)def->type);
  }
  sap_status status = SAP_STATUS_OK;
  if (is_between_bodies(def->type)) {
    def->b = def->b == -1 ? 0 : def->b;
    status = sap_check_id(checker, "a", def->a, 0, builder->nbodies);
    if (status == SAP_STATUS_OK) {
      status = sap_check_id(checker, "b", def->b, 0, builder->nbodies);
    }
  } else if (def->type == SAP_EQUALITY_JOINT) {
    status = sap_builder_check_scalar_joint(checker, builder, "a", def->a);
    if (status == SAP_STATUS_OK && def->b != -1) {
      status = sap_builder_check_scalar_joint(checker, builder, "b", def->b);
    }
  } else {
    status = sap_check_id(checker, "a", def->a, 0, builder->ntendons);
    if (status == SAP_STATUS_OK && def->b != -1) {
      status = sap_check_id(checker, "b", def->b, 0, builder->ntendons);
    }
  }
  if (status == SAP_STATUS_OK && def->a == def->b) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT, "a = b = %d must be two different ones",
                            (int)def->a);
  }
  return status;
}

static sap_status check_equality(const sap_checker* checker, const sap_builder* builder,
                                 sap_equality_def* def) {
  sap_status status = check_sides(checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "anchor_A", def->anchor_A, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "anchor_B", def->anchor_B, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "q_AB", def->q_AB, def->q_AB);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "polynomial", def->polynomial, 5);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_positive(checker, "distance", def->distance);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_positive(checker, "torque_scale", def->torque_scale);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_stiffness(checker, "stiffness", def->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "relaxation_time", def->relaxation_time);
  }
  return status;
}

sap_status sap_builder_add_equality(sap_builder* builder, const sap_equality_def* def, int32_t* id,
                                    sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "equality: builder or definition is NULL");
  }
  const sap_checker checker = {"equality", def->name, builder->nequalities, error};
  sap_equality_def equality = *def;
  equality.name = NULL;
  sap_status status = check_equality(&checker, builder, &equality);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->equalities, &builder->equality_capacity, builder->nequalities + 1,
                      error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_EQUALITY, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  builder->equalities[builder->nequalities] = equality;
  if (id != NULL) {
    *id = builder->nequalities;
  }
  ++builder->nequalities;
  return SAP_STATUS_OK;
}
