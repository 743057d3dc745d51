// SPDX-License-Identifier: BSD-3-Clause
// What a definition of an actuator must hold: what it acts on, its law, its activation.
#include <math.h>

#include "multibody/model/builder.h"

static sap_status check_slider_crank(const sap_checker* checker, const sap_builder* builder,
                                     const sap_actuator_def* def) {
  double axis[3];
  sap_status status = sap_check_id(checker, "crank_body", def->crank_body, 0, builder->nbodies);
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(checker, "slider_body", def->slider_body, 0, builder->nbodies);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "crank_point", def->crank_point, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "slider_point", def->slider_point, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_axis(checker, "slider_axis", def->slider_axis, axis);
  }
  return status == SAP_STATUS_OK ? sap_check_positive(checker, "crank_length", def->crank_length)
                                 : status;
}

static double largest(const double* x, int32_t n) {
  double most = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

// `count` numbers of the direction count.
static sap_status check_direction(const sap_checker* checker, const sap_actuator_def* def,
                                  int32_t count) {
  const sap_status status = sap_check_vector(checker, "direction", def->direction, 6);
  return status == SAP_STATUS_OK && !(largest(def->direction, count) > 0.0)
             ? sap_check_fail(checker, SAP_STATUS_ARGUMENT, "direction must not be zero")
             : status;
}

static sap_status check_ball(const sap_checker* checker, const sap_builder* builder,
                             const sap_actuator_def* def) {
  const int32_t body = builder->joints[def->target].body;
  int32_t joints = 0;
  for (int32_t j = 0; j < builder->njoints; ++j) {
    joints += builder->joints[j].body == body ? 1 : 0;
  }
  return def->in_parent && joints > 1
             ? sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                              "in_parent needs a ball joint that is alone on its body")
             : check_direction(checker, def, 3);
}

static sap_status check_joint(const sap_checker* checker, const sap_builder* builder,
                              const sap_actuator_def* def) {
  const sap_status status = sap_check_id(checker, "target", def->target, 0, builder->njoints);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  switch (builder->joints[def->target].type) {
    case SAP_JOINT_FREE:
      return check_direction(checker, def, 6);
    case SAP_JOINT_BALL:
      return check_ball(checker, builder, def);
    case SAP_JOINT_HINGE:
    case SAP_JOINT_SLIDE:
      break;
  }
  return SAP_STATUS_OK;
}

static sap_status check_site(const sap_checker* checker, const sap_builder* builder,
                             const sap_actuator_def* def) {
  double q[4];
  sap_status status = sap_check_id(checker, "site_body", def->site_body, 0, builder->nbodies);
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(checker, "reference_body", def->reference_body, -1, builder->nbodies);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "site_point", def->site_point, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "site_q", def->site_q, q);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "reference_point", def->reference_point, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "reference_q", def->reference_q, q);
  }
  return status == SAP_STATUS_OK ? check_direction(checker, def, 6) : status;
}

// There is no length that its force could depend on.
static sap_status check_adhesion(const sap_checker* checker, const sap_builder* builder,
                                 const sap_actuator_def* def) {
  const sap_status status = sap_check_id(checker, "target", def->target, 0, builder->nbodies);
  const bool constant = def->gain_slope[0] == 0.0 && def->gain_slope[1] == 0.0 &&
                        def->bias[1] == 0.0 && def->bias[2] == 0.0 && def->damping_ratio == 0.0 &&
                        !def->muscle_gain && !def->muscle_bias;
  return status == SAP_STATUS_OK && !constant
             ? sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                              "adhesion has no length: gain_slope, bias[1], bias[2] and "
                              "damping_ratio must be 0, and it is no muscle")
             : status;
}

static sap_status check_target(const sap_checker* checker, const sap_builder* builder,
                               const sap_actuator_def* def) {
  switch (def->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return check_joint(checker, builder, def);
    case SAP_TRANSMISSION_TENDON:
      return sap_check_id(checker, "target", def->target, 0, builder->ntendons);
    case SAP_TRANSMISSION_SLIDER_CRANK:
      return check_slider_crank(checker, builder, def);
    case SAP_TRANSMISSION_SITE:
      return check_site(checker, builder, def);
    case SAP_TRANSMISSION_ADHESION:
      return check_adhesion(checker, builder, def);
  }
  return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                        "transmission = %d must be 0 (joint) to %d (adhesion)",
                        (int)def->transmission, (int)SAP_TRANSMISSION_ADHESION);
}

// The relative damping stands for bias[2], which compiling computes.
static sap_status check_damping_ratio(const sap_checker* checker, const sap_actuator_def* def) {
  const sap_status status = sap_check_nonnegative(checker, "damping_ratio", def->damping_ratio);
  if (status != SAP_STATUS_OK || def->damping_ratio == 0.0) {
    return status;
  }
  if (!(def->bias[1] < 0.0) || def->bias[2] != 0.0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "damping_ratio = %g needs bias[1] = %g < 0 and bias[2] = %g = 0",
                          def->damping_ratio, def->bias[1], def->bias[2]);
  }
  return SAP_STATUS_OK;
}

// Positive feedback of length or rate has no stable implicit law.
static sap_status check_law(const sap_checker* checker, const sap_actuator_def* def) {
  sap_status status = sap_check_finite(checker, "gear", def->gear);
  if (status == SAP_STATUS_OK && !(def->gear != 0.0)) {
    status = sap_check_fail(checker, SAP_STATUS_ARGUMENT, "gear = 0 must not be zero");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(checker, "gain", def->gain);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "gain_slope", def->gain_slope, 2);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "bias", def->bias, 3);
  }
  for (int i = 1; i < 3 && status == SAP_STATUS_OK; ++i) {
    if (!(def->bias[i] <= 0.0)) {
      status = sap_check_fail(checker, SAP_STATUS_ARGUMENT, "bias[%d] = %g must be <= 0", i,
                              def->bias[i]);
    }
  }
  return status;
}

static sap_status check_activation(const sap_checker* checker, const sap_actuator_def* def) {
  if (!(def->activation >= SAP_ACTIVATION_NONE && def->activation <= SAP_ACTIVATION_MUSCLE)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "activation = %d must be 0 to %d",
                          (int)def->activation, (int)SAP_ACTIVATION_MUSCLE);
  }
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < 3 && status == SAP_STATUS_OK; ++i) {
    status = sap_check_nonnegative(checker, "activation_time", def->activation_time[i]);
  }
  return status == SAP_STATUS_OK ? sap_check_limits(checker, "activation_", def->activation_lower,
                                                    def->activation_upper)
                                 : status;
}

// Of a muscle: finite numbers, and intervals in their order.
static sap_status check_muscle(const sap_checker* checker, const sap_actuator_def* def) {
  const sap_muscle* m = &def->muscle;
  if (!def->muscle_gain && !def->muscle_bias) {
    return SAP_STATUS_OK;
  }
  const double numbers[] = {m->range[0], m->range[1], m->force, m->scale, m->lmin,
                            m->lmax,     m->vmax,     m->fpmax, m->fvmax};
  sap_status status = sap_check_vector(checker, "muscle", numbers, 9);
  if (status == SAP_STATUS_OK && !(m->range[0] < m->range[1])) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "muscle: range = %g, %g must rise",
                          m->range[0], m->range[1]);
  }
  if (status == SAP_STATUS_OK && !(m->lmin < 1.0 && 1.0 < m->lmax)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "muscle: 1 must lie between lmin = %g and lmax = %g", m->lmin, m->lmax);
  }
  if (status == SAP_STATUS_OK && !(m->fvmax >= 1.0)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "muscle: fvmax = %g must be >= 1",
                          m->fvmax);
  }
  const struct {
    const char* field;
    double value;
  } positive[] = {{"muscle.vmax", m->vmax}, {"muscle.scale", m->scale}};
  for (size_t i = 0; i < 2 && status == SAP_STATUS_OK; ++i) {
    status = sap_check_positive(checker, positive[i].field, positive[i].value);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "muscle.fpmax", m->fpmax);
  }
  if (status == SAP_STATUS_OK && !(isnan(def->length_lower) && isnan(def->length_upper)) &&
      !(isfinite(def->length_lower) && isfinite(def->length_upper) &&
        def->length_lower < def->length_upper)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "length_lower = %g must be < length_upper = %g, or both NaN",
                          def->length_lower, def->length_upper);
  }
  return status;
}

sap_status sap_builder_check_actuator(const sap_checker* checker, const sap_builder* builder,
                                      const sap_actuator_def* def) {
  sap_status status = check_target(checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status = check_law(checker, def);
  }
  if (status == SAP_STATUS_OK) {
    status = check_damping_ratio(checker, def);
  }
  if (status == SAP_STATUS_OK) {
    status = check_activation(checker, def);
  }
  if (status == SAP_STATUS_OK) {
    status = check_muscle(checker, def);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(checker, "control_", def->control_lower, def->control_upper);
  }
  return status == SAP_STATUS_OK
             ? sap_check_limits(checker, "force_", def->force_lower, def->force_upper)
             : status;
}
