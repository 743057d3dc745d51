// SPDX-License-Identifier: BSD-3-Clause
// Two-point springs and bushings of the builder.
#include <stdio.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

static sap_status check_bodies(const sap_checker* checker, const sap_builder* builder, int32_t a,
                               int32_t b) {
  sap_status status = sap_check_id(checker, "body_a", a, 0, builder->nbodies);
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(checker, "body_b", b, 0, builder->nbodies);
  }
  if (status == SAP_STATUS_OK && a == b) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "body_a = body_b = %d must be two different bodies", (int)a);
  }
  return status;
}

static sap_status check_spring(const sap_checker* checker, const sap_builder* builder,
                               const sap_spring_def* def) {
  sap_status status = check_bodies(checker, builder, def->body_a, def->body_b);
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "point_A", def->point_A, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "point_B", def->point_B, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "stiffness", def->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "damping", def->damping);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "rest_length", def->rest_length);
  }
  return status;
}

sap_status sap_builder_add_spring(sap_builder* builder, const sap_spring_def* def, int32_t* id,
                                  sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "spring: builder or definition is NULL");
  }
  const sap_checker checker = {"spring", def->name, builder->nsprings, error};
  sap_status status = check_spring(&checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->springs, &builder->spring_capacity, builder->nsprings + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_SPRING, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  builder->springs[builder->nsprings] = *def;
  builder->springs[builder->nsprings].name = NULL;
  if (id != NULL) {
    *id = builder->nsprings;
  }
  ++builder->nsprings;
  return SAP_STATUS_OK;
}

// Six values >= 0.
static sap_status check_six(const sap_checker* checker, const char* field, const double* values) {
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < 6 && status == SAP_STATUS_OK; ++i) {
    char text[32];
    (void)snprintf(text, sizeof text, "%s[%d]", field, i);
    status = sap_check_nonnegative(checker, text, values[i]);
  }
  return status;
}

static sap_status check_bushing(const sap_checker* checker, const sap_builder* builder,
                                sap_bushing_def* def) {
  sap_status status = check_bodies(checker, builder, def->body_a, def->body_b);
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "p_AF", def->p_AF, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "q_AF", def->q_AF, def->q_AF);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "p_BG", def->p_BG, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "q_BG", def->q_BG, def->q_BG);
  }
  if (status == SAP_STATUS_OK) {
    status = check_six(checker, "stiffness", def->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = check_six(checker, "damping", def->damping);
  }
  return status;
}

sap_status sap_builder_add_bushing(sap_builder* builder, const sap_bushing_def* def, int32_t* id,
                                   sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "bushing: builder or definition is NULL");
  }
  const sap_checker checker = {"bushing", def->name, builder->nbushings, error};
  sap_bushing_def bushing = *def;
  bushing.name = NULL;
  sap_status status = check_bushing(&checker, builder, &bushing);
  if (status == SAP_STATUS_OK) {
    status =
        SAP_GROW(&builder->bushings, &builder->bushing_capacity, builder->nbushings + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_BUSHING, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  builder->bushings[builder->nbushings] = bushing;
  if (id != NULL) {
    *id = builder->nbushings;
  }
  ++builder->nbushings;
  return SAP_STATUS_OK;
}
