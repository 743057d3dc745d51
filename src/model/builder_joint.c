// SPDX-License-Identifier: BSD-3-Clause
// Joints, tendons and actuators of the builder.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "model/builder.h"

static bool is_scalar(sap_joint_type type) {
  return type == SAP_JOINT_HINGE || type == SAP_JOINT_SLIDE;
}

// What a joint's type allows on its body.
static sap_status check_place(const sap_checker* checker, const sap_builder* builder,
                              const sap_joint_def* def) {
  const sap_model_body* body = &builder->bodies[def->body];
  if (body->njoints > 0 && builder->joints[body->first_joint].type == SAP_JOINT_FREE) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "body = %d has a free joint, which must be its only one", (int)def->body);
  }
  if (def->type != SAP_JOINT_FREE) {
    return SAP_STATUS_OK;
  }
  if (body->njoints > 0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "body = %d has joints, but a free joint must be the only one",
                          (int)def->body);
  }
  if (!sap_builder_is_static(builder, body->parent)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "body = %d hangs on a moving body, but a free joint must connect to the "
                          "world or to a static body",
                          (int)def->body);
  }
  return SAP_STATUS_OK;
}

static sap_status check_joint_limits(const sap_checker* checker, const sap_joint_def* def) {
  sap_status status = sap_check_limits(checker, "", def->lower, def->upper);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (def->type == SAP_JOINT_FREE &&
      (def->lower > -(double)INFINITY || def->upper < (double)INFINITY)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "lower = %g, upper = %g: a free joint has no limits", def->lower,
                          def->upper);
  }
  if (def->type == SAP_JOINT_BALL && !(def->upper > 0.0 && def->lower <= 0.0)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "upper = %g must be > 0 (a ball joint's largest angle) and lower = %g "
                          "must be 0 or -inf",
                          def->upper, def->lower);
  }
  status = sap_check_stiffness(checker, "limit_stiffness", def->limit_stiffness);
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "limit_relaxation_time", def->limit_relaxation_time);
  }
  return status;
}

static sap_status check_joint_forces(const sap_checker* checker, const sap_joint_def* def) {
  sap_status status = sap_check_nonnegative(checker, "stiffness", def->stiffness);
  if (status == SAP_STATUS_OK && def->type == SAP_JOINT_FREE && def->stiffness > 0.0) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "stiffness = %g: a free joint has no spring", def->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(checker, "spring_reference", def->spring_reference);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "damping", def->damping);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "armature", def->armature);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "friction_loss", def->friction_loss);
  }
  return status;
}

static sap_status check_joint(const sap_checker* checker, const sap_builder* builder,
                              const sap_joint_def* def, sap_model_joint_data* joint) {
  if ((int)def->type < SAP_JOINT_FREE || (int)def->type > SAP_JOINT_SLIDE) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "type = %d must be free (0), ball (1), hinge (2) or slide (3)",
                          (int)def->type);
  }
  sap_status status = sap_check_id(checker, "body", def->body, 1, builder->nbodies);
  if (status == SAP_STATUS_OK) {
    status = check_place(checker, builder, def);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "p_BJ", def->p_BJ, 3);
  }
  if (status == SAP_STATUS_OK && is_scalar(def->type)) {
    status = sap_check_axis(checker, "axis", def->axis, joint->axis);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(checker, "reference", def->reference);
  }
  if (status == SAP_STATUS_OK) {
    status = check_joint_limits(checker, def);
  }
  if (status == SAP_STATUS_OK) {
    status = check_joint_forces(checker, def);
  }
  return status;
}

sap_status sap_builder_add_joint(sap_builder* builder, const sap_joint_def* def, int32_t* id,
                                 sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "joint: builder or definition is NULL");
  }
  const sap_checker checker = {"joint", def->name, builder->njoints, error};
  sap_model_joint_data joint = {
      .type = def->type,
      .body = def->body,
      .nq = sap_joint_nq(def->type),
      .nv = sap_joint_nv(def->type),
      .axis = {0.0, 0.0, 1.0},
      .lower = def->type == SAP_JOINT_BALL ? -(double)INFINITY : def->lower,
      .upper = def->upper,
      .limit_stiffness = def->limit_stiffness,
      .limit_relaxation_time = def->limit_relaxation_time,
      .stiffness = def->stiffness,
      .damping = def->damping,
      .armature = def->armature,
      .friction_loss = def->friction_loss};
  sap_status status = check_joint(&checker, builder, def, &joint);
  if (status == SAP_STATUS_OK &&
      (builder->nq > INT32_MAX - joint.nq || builder->nv > INT32_MAX - joint.nv)) {
    status = sap_check_fail(&checker, SAP_STATUS_MEMORY, "too many coordinates");
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->joints, &builder->joint_capacity, builder->njoints + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_JOINT, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (def->type != SAP_JOINT_FREE) {
    sap_v3_copy(joint.p_BJ, def->p_BJ);
  }
  if (is_scalar(def->type)) {
    joint.reference = def->reference;
    joint.spring_reference = def->spring_reference;
  }
  sap_model_body* body = &builder->bodies[def->body];
  if (body->njoints == 0) {
    body->first_joint = builder->njoints;
  }
  ++body->njoints;
  builder->nq += joint.nq;
  builder->nv += joint.nv;
  builder->joints[builder->njoints] = joint;
  if (id != NULL) {
    *id = builder->njoints;
  }
  ++builder->njoints;
  return SAP_STATUS_OK;
}

// `field` names an existing hinge or slide joint.
static sap_status check_scalar_joint(const sap_checker* checker, const sap_builder* builder,
                                     const char* field, int32_t joint) {
  const sap_status status = sap_check_id(checker, field, joint, 0, builder->njoints);
  if (status == SAP_STATUS_OK && !is_scalar(builder->joints[joint].type)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "%s = %d must be a hinge or slide joint",
                          field, (int)joint);
  }
  return status;
}

static sap_status check_tendon(const sap_checker* checker, const sap_builder* builder,
                               const sap_tendon_def* def) {
  if (def->njoints < 1 || def->joints == NULL || def->coefficients == NULL) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "njoints = %d must be >= 1, with joints and coefficients",
                          (int)def->njoints);
  }
  sap_status status = sap_check_vector(checker, "coefficients", def->coefficients, def->njoints);
  for (int32_t i = 0; i < def->njoints && status == SAP_STATUS_OK; ++i) {
    status = check_scalar_joint(checker, builder, "joints", def->joints[i]);
    for (int32_t j = 0; j < i && status == SAP_STATUS_OK; ++j) {
      if (def->joints[i] == def->joints[j]) {
        status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                                "joints: %d stands twice, but may only once", (int)def->joints[i]);
      }
    }
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(checker, "", def->lower, def->upper);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_stiffness(checker, "limit_stiffness", def->limit_stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "limit_relaxation_time", def->limit_relaxation_time);
  }
  return status;
}

static sap_status reserve_tendon(sap_builder* builder, int32_t njoints, sap_error* error) {
  if (njoints > INT32_MAX - builder->ntendon_joints) {
    return sap_fail(error, SAP_STATUS_MEMORY, "too many tendon joints");
  }
  const int32_t needed = builder->ntendon_joints + njoints;
  sap_status status =
      SAP_GROW(&builder->tendons, &builder->tendon_capacity, builder->ntendons + 1, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_joints, &builder->tendon_joint_capacity, needed, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_coefficients, &builder->tendon_coefficient_capacity, needed,
                      error);
  }
  return status;
}

sap_status sap_builder_add_tendon(sap_builder* builder, const sap_tendon_def* def, int32_t* id,
                                  sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "tendon: builder or definition is NULL");
  }
  const sap_checker checker = {"tendon", def->name, builder->ntendons, error};
  sap_status status = check_tendon(&checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status = reserve_tendon(builder, def->njoints, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_TENDON, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t first = builder->ntendon_joints;
  memcpy(builder->tendon_joints + first, def->joints, (size_t)def->njoints * sizeof *def->joints);
  memcpy(builder->tendon_coefficients + first, def->coefficients,
         (size_t)def->njoints * sizeof *def->coefficients);
  builder->tendons[builder->ntendons] =
      (sap_model_tendon){.first = first,
                         .count = def->njoints,
                         .lower = def->lower,
                         .upper = def->upper,
                         .limit_stiffness = def->limit_stiffness,
                         .limit_relaxation_time = def->limit_relaxation_time};
  builder->ntendon_joints += def->njoints;
  if (id != NULL) {
    *id = builder->ntendons;
  }
  ++builder->ntendons;
  return SAP_STATUS_OK;
}

sap_status sap_builder_add_actuator(sap_builder* builder, const sap_actuator_def* def, int32_t* id,
                                    sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "actuator: builder or definition is NULL");
  }
  const sap_checker checker = {"actuator", def->name, builder->nactuators, error};
  sap_status status = check_scalar_joint(&checker, builder, "joint", def->joint);
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(&checker, "gear", def->gear);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(&checker, "control_", def->control_lower, def->control_upper);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(&checker, "force_", def->force_lower, def->force_upper);
  }
  if (status == SAP_STATUS_OK) {
    status =
        SAP_GROW(&builder->actuators, &builder->actuator_capacity, builder->nactuators + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_ACTUATOR, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  builder->actuators[builder->nactuators] =
      (sap_model_actuator){.joint = def->joint,
                           .gear = def->gear,
                           .control_lower = def->control_lower,
                           .control_upper = def->control_upper,
                           .force_lower = def->force_lower,
                           .force_upper = def->force_upper};
  if (id != NULL) {
    *id = builder->nactuators;
  }
  ++builder->nactuators;
  return SAP_STATUS_OK;
}
