// SPDX-License-Identifier: BSD-3-Clause
// Joints of the builder.
#include <math.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/builder.h"

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
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "spring_time", def->spring_time);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "spring_damping_ratio", def->spring_damping_ratio);
  }
  if (status == SAP_STATUS_OK && def->type == SAP_JOINT_FREE && def->spring_time > 0.0) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "spring_time = %g: a free joint has no spring", def->spring_time);
  }
  return status;
}

// What only a hinge or slide joint may have.
static sap_status check_scalar_forces(const sap_checker* checker, const sap_joint_def* def) {
  sap_status status = sap_check_nonnegative(checker, "stiffness_cubic", def->stiffness_cubic);
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(checker, "effort_", def->effort_lower, def->effort_upper);
  }
  if (status == SAP_STATUS_OK && !(def->motor_speed > 0.0)) {
    status = sap_check_fail(checker,
                            isnan(def->motor_speed) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT,
                            "motor_speed = %g must be > 0", def->motor_speed);
  }
  if (status != SAP_STATUS_OK || sap_joint_is_scalar(def->type)) {
    return status;
  }
  if (def->stiffness_cubic > 0.0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "stiffness_cubic = %g: only a hinge or slide joint has a cubic spring",
                          def->stiffness_cubic);
  }
  if (def->effort_lower > -(double)INFINITY || def->effort_upper < (double)INFINITY) {
    return sap_check_fail(
        checker, SAP_STATUS_ARGUMENT,
        "effort_lower = %g, effort_upper = %g: only a hinge or slide joint has bounds",
        def->effort_lower, def->effort_upper);
  }
  return SAP_STATUS_OK;
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
  if (status == SAP_STATUS_OK && sap_joint_is_scalar(def->type)) {
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
  if (status == SAP_STATUS_OK) {
    status = check_scalar_forces(checker, def);
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
      .friction_loss = def->friction_loss,
      .stiffness_cubic = def->stiffness_cubic,
      .spring_time = def->spring_time,
      .spring_damping_ratio = def->spring_damping_ratio,
      .motor_speed = def->motor_speed,
      .effort_lower = def->effort_lower,
      .effort_upper = def->effort_upper,
      .locked = def->locked};
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
  if (sap_joint_is_scalar(def->type)) {
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

void sap_builder_spare_armature(sap_builder* builder, double armature) {
  builder->spare_armature = armature;
}
