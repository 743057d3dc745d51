// SPDX-License-Identifier: BSD-3-Clause
// Equality constraints, two-point springs and bushings of the builder.
#include <stdio.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

static bool is_between_bodies(sap_equality_type type) {
  return type == SAP_EQUALITY_CONNECT || type == SAP_EQUALITY_WELD || type == SAP_EQUALITY_DISTANCE;
}

// Checks the type and the ids; b = -1 between bodies becomes 0, the world.
static sap_status check_sides(const sap_checker* checker, const sap_builder* builder,
                              sap_equality_def* def) {
  if ((int)def->type < SAP_EQUALITY_CONNECT || (int)def->type > SAP_EQUALITY_DISTANCE) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "type = %d must be connect (0), weld (1), joint (2), tendon (3) or "
                          "distance (4)",
                          (int)def->type);
  }
  if (is_between_bodies(def->type)) {
    def->b = def->b == -1 ? 0 : def->b;
    SAP_TRY(sap_check_id(checker, "a", def->a, 0, builder->nbodies));
    SAP_TRY(sap_check_id(checker, "b", def->b, 0, builder->nbodies));
  } else if (def->type == SAP_EQUALITY_JOINT) {
    SAP_TRY(sap_builder_check_scalar_joint(checker, builder, "a", def->a));
    if (def->b != -1) {
      SAP_TRY(sap_builder_check_scalar_joint(checker, builder, "b", def->b));
    }
  } else {
    SAP_TRY(sap_check_id(checker, "a", def->a, 0, builder->ntendons));
    if (def->b != -1) {
      SAP_TRY(sap_check_id(checker, "b", def->b, 0, builder->ntendons));
    }
  }
  if (def->a == def->b) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "a = b = %d must be two different ones",
                          (int)def->a);
  }
  return SAP_STATUS_OK;
}

static sap_status check_equality(const sap_checker* checker, const sap_builder* builder,
                                 sap_equality_def* def) {
  SAP_TRY(check_sides(checker, builder, def));
  SAP_TRY(sap_check_vector(checker, "anchor_A", def->anchor_A, 3));
  SAP_TRY(sap_check_vector(checker, "anchor_B", def->anchor_B, 3));
  SAP_TRY(sap_check_quaternion(checker, "q_AB", def->q_AB, def->q_AB));
  SAP_TRY(sap_check_vector(checker, "polynomial", def->polynomial, 5));
  SAP_TRY(sap_check_positive(checker, "distance", def->distance));
  SAP_TRY(sap_check_positive(checker, "torque_scale", def->torque_scale));
  SAP_TRY(sap_check_stiffness(checker, "stiffness", def->stiffness));
  return sap_check_nonnegative(checker, "relaxation_time", def->relaxation_time);
}

sap_status sap_builder_add_equality(sap_builder* builder, const sap_equality_def* def, int32_t* id,
                                    sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_equality_def, "equality", error);
  const sap_checker checker = {"equality", def->name, builder->nequalities, error};
  sap_equality_def equality = *def;
  equality.name = NULL;
  SAP_TRY(check_equality(&checker, builder, &equality));
  SAP_BUILDER_APPEND_NAMED(builder, equalities, SAP_ELEMENT_EQUALITY, def->name, equality, id,
                           error);
  return SAP_STATUS_OK;
}

static sap_status check_bodies(const sap_checker* checker, const sap_builder* builder, int32_t a,
                               int32_t b) {
  SAP_TRY(sap_check_id(checker, "body_a", a, 0, builder->nbodies));
  SAP_TRY(sap_check_id(checker, "body_b", b, 0, builder->nbodies));
  if (a == b) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "body_a = body_b = %d must be two different bodies", (int)a);
  }
  return SAP_STATUS_OK;
}

static sap_status check_spring(const sap_checker* checker, const sap_builder* builder,
                               const sap_spring_def* def) {
  SAP_TRY(check_bodies(checker, builder, def->body_a, def->body_b));
  SAP_TRY(sap_check_vector(checker, "point_A", def->point_A, 3));
  SAP_TRY(sap_check_vector(checker, "point_B", def->point_B, 3));
  SAP_TRY(sap_check_nonnegative(checker, "stiffness", def->stiffness));
  SAP_TRY(sap_check_nonnegative(checker, "damping", def->damping));
  return sap_check_nonnegative(checker, "rest_length", def->rest_length);
}

sap_status sap_builder_add_spring(sap_builder* builder, const sap_spring_def* def, int32_t* id,
                                  sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_spring_def, "spring", error);
  const sap_checker checker = {"spring", def->name, builder->nsprings, error};
  sap_spring_def spring = *def;
  spring.name = NULL;
  SAP_TRY(check_spring(&checker, builder, def));
  SAP_BUILDER_APPEND_NAMED(builder, springs, SAP_ELEMENT_SPRING, def->name, spring, id, error);
  return SAP_STATUS_OK;
}

// Requires six values >= 0.
static sap_status check_six(const sap_checker* checker, const char* field, const double* values) {
  for (int i = 0; i < 6; ++i) {
    char text[32];
    (void)snprintf(text, sizeof text, "%s[%d]", field, i);
    SAP_TRY(sap_check_nonnegative(checker, text, values[i]));
  }
  return SAP_STATUS_OK;
}

static sap_status check_bushing(const sap_checker* checker, const sap_builder* builder,
                                sap_bushing_def* def) {
  SAP_TRY(check_bodies(checker, builder, def->body_a, def->body_b));
  SAP_TRY(sap_check_vector(checker, "p_AF", def->p_AF, 3));
  SAP_TRY(sap_check_quaternion(checker, "q_AF", def->q_AF, def->q_AF));
  SAP_TRY(sap_check_vector(checker, "p_BG", def->p_BG, 3));
  SAP_TRY(sap_check_quaternion(checker, "q_BG", def->q_BG, def->q_BG));
  SAP_TRY(check_six(checker, "stiffness", def->stiffness));
  return check_six(checker, "damping", def->damping);
}

sap_status sap_builder_add_bushing(sap_builder* builder, const sap_bushing_def* def, int32_t* id,
                                   sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_bushing_def, "bushing", error);
  const sap_checker checker = {"bushing", def->name, builder->nbushings, error};
  sap_bushing_def bushing = *def;
  bushing.name = NULL;
  SAP_TRY(check_bushing(&checker, builder, &bushing));
  SAP_BUILDER_APPEND_NAMED(builder, bushings, SAP_ELEMENT_BUSHING, def->name, bushing, id, error);
  return SAP_STATUS_OK;
}
