// SPDX-License-Identifier: BSD-3-Clause
// Tendons and actuators of the builder.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

SAP_DEFINE_CHECK_FIELDS(tendon, sap_tendon_def,
                        SAP_TENDON_FIELDS(SAP_FIELD_ROW, SAP_FIELD_ARRAY_ROW))
SAP_DEFINE_COPY(tendon, sap_tendon_def, sap_model_tendon, SAP_TENDON_FIELDS)
SAP_DEFINE_CHECK_FIELDS(actuator, sap_actuator_def,
                        SAP_ACTUATOR_FIELDS(SAP_FIELD_ROW, SAP_FIELD_ARRAY_ROW))
SAP_DEFINE_COPY(actuator, sap_actuator_def, sap_model_actuator, SAP_ACTUATOR_FIELDS)

// --- tendons ---

static sap_status check_fixed(const sap_checker* checker, const sap_builder* builder,
                              const sap_tendon_def* def) {
  SAP_REFUSE_IF(def->njoints < 1 || def->joints == NULL || def->coefficients == NULL, checker,
                "njoints = %d must be >= 1, with joints and coefficients", (int)def->njoints);
  SAP_TRY(sap_check_vector(checker, "coefficients", def->coefficients, def->njoints));
  for (int32_t i = 0; i < def->njoints; ++i) {
    SAP_TRY(sap_builder_check_scalar_joint(checker, builder, "joints", def->joints[i]));
    for (int32_t j = 0; j < i; ++j) {
      SAP_REFUSE_IF(def->joints[i] == def->joints[j], checker, "joints: %d is listed twice",
                    (int)def->joints[i]);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check_wrap(const sap_checker* checker, const sap_builder* builder,
                             const sap_tendon_wrap* wrap) {
  double axis[3];
  switch (wrap->way) {
    case SAP_TENDON_POINT:
      return SAP_STATUS_OK;
    case SAP_TENDON_PULLEY:
      return sap_check_positive(checker, "divisor", wrap->divisor);
    case SAP_TENDON_CYLINDER:
      SAP_TRY(sap_check_unit(checker, "axis", wrap->axis, 3, axis));
      break;
    case SAP_TENDON_SPHERE:
      break;
    default:
      return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "way = %d must be point (0), sphere (1), cylinder (2) or pulley (3)",
                            (int)wrap->way);
  }
  SAP_TRY(sap_check_positive(checker, "radius", wrap->radius));
  SAP_TRY(sap_check_id(checker, "side_body", wrap->side_body, -1, builder->nbodies));
  return wrap->side_body >= 0 ? sap_check_vector(checker, "side_point", wrap->side_point, 3)
                              : SAP_STATUS_OK;
}

static sap_tendon_way way_at(const sap_tendon_def* def, int32_t i) {
  return def->wraps == NULL ? SAP_TENDON_POINT : def->wraps[i].way;
}

// Requires that each part between pulleys begins and ends with a point and has two or more, and
// that each obstacle follows a point.
static sap_status check_order(const sap_checker* checker, const sap_tendon_def* def) {
  int32_t points = 0;
  for (int32_t i = 0; i <= def->npoints; ++i) {
    const bool end = i == def->npoints || way_at(def, i) == SAP_TENDON_PULLEY;
    const bool after_point = i > 0 && way_at(def, i - 1) == SAP_TENDON_POINT;
    if (i == 0 && end) {
      continue;  // a pulley may come first
    }
    if (!end && way_at(def, i) == SAP_TENDON_POINT) {
      ++points;
    } else if (!after_point) {
      return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "element %d of its path must follow a point", (int)i);
    } else if (end && points < 2) {
      return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "the part of its path that ends at element %d has %d points, but must "
                            "have 2 or more",
                            (int)i, (int)points);
    }
    points = end ? 0 : points;
  }
  return SAP_STATUS_OK;
}

static sap_status check_spatial(const sap_checker* checker, const sap_builder* builder,
                                const sap_tendon_def* def) {
  SAP_REFUSE_IF(def->npoints < 2 || def->point_bodies == NULL || def->points == NULL, checker,
                "npoints = %d must be >= 2, with point_bodies and points", (int)def->npoints);
  SAP_REFUSE_IF(def->njoints != 0, checker,
                "njoints = %d must be 0: a tendon goes through points or joints",
                (int)def->njoints);
  SAP_RETURN_IF(def->npoints > INT32_MAX / 3,
                sap_check_fail(checker, SAP_STATUS_MEMORY, "too many points"));
  SAP_TRY(sap_check_vector(checker, "points", def->points, 3 * def->npoints));
  for (int32_t i = 0; i < def->npoints; ++i) {
    SAP_TRY(sap_check_id(checker, "point_bodies", def->point_bodies[i], 0, builder->nbodies));
    if (def->wraps != NULL) {
      SAP_TRY(check_wrap(checker, builder, &def->wraps[i]));
    }
  }
  return check_order(checker, def);
}

// Requires NaN, NaN or a range.
static sap_status check_tendon_spring(const sap_checker* checker, const sap_tendon_def* def) {
  if (isnan(def->spring_lower) && isnan(def->spring_upper)) {
    return SAP_STATUS_OK;
  }
  SAP_RETURN_IF(!isfinite(def->spring_lower) || !isfinite(def->spring_upper),
                sap_check_fail(checker, SAP_STATUS_NOT_FINITE,
                               "spring_lower = %g, spring_upper = %g must be finite, or both NaN",
                               def->spring_lower, def->spring_upper));
  return sap_check_limits(checker, "spring_", def->spring_lower, def->spring_upper);
}

static sap_status check_tendon(const sap_checker* checker, const sap_builder* builder,
                               const sap_tendon_def* def) {
  SAP_TRY(def->npoints != 0 ? check_spatial(checker, builder, def)
                            : check_fixed(checker, builder, def));
  SAP_TRY(sap_check_limits(checker, "", def->lower, def->upper));
  SAP_TRY(sap_check_limits(checker, "effort_", def->effort_lower, def->effort_upper));
  SAP_TRY(check_tendon_fields(checker, "", def));
  return check_tendon_spring(checker, def);
}

static sap_status reserve_tendon(sap_builder* builder, const sap_tendon_def* def,
                                 sap_error* error) {
  SAP_TRY(SAP_BUILDER_RESERVE(builder, tendons, 1, error));
  SAP_TRY(SAP_BUILDER_RESERVE(builder, tendon_joints, def->njoints, error));
  SAP_TRY(SAP_BUILDER_RESERVE(builder, tendon_coefficients, def->njoints, error));
  SAP_TRY(SAP_BUILDER_RESERVE(builder, tendon_point_bodies, def->npoints, error));
  SAP_TRY(SAP_BUILDER_RESERVE(builder, tendon_points, 3 * def->npoints, error));
  return SAP_BUILDER_RESERVE(builder, tendon_wraps, def->npoints, error);
}

// Copies `count` values to the end of a list that has room for them.
#define COPY_VALUES(builder, list, values, count)                                                 \
  do {                                                                                            \
    if ((count) > 0) {                                                                            \
      memcpy((builder)->list + (builder)->n##list, (values), (size_t)(count) * sizeof *(values)); \
    }                                                                                             \
    (builder)->n##list += (count);                                                                \
  } while (0)

static void copy_path(const sap_checker* checker, sap_builder* builder, const sap_tendon_def* def) {
  COPY_VALUES(builder, tendon_joints, def->joints, def->njoints);
  COPY_VALUES(builder, tendon_coefficients, def->coefficients, def->njoints);
  COPY_VALUES(builder, tendon_point_bodies, def->point_bodies, def->npoints);
  COPY_VALUES(builder, tendon_points, def->points, 3 * def->npoints);
  for (int32_t i = 0; i < def->npoints; ++i) {
    sap_tendon_wrap* wrap = &builder->tendon_wraps[builder->ntendon_wraps++];
    *wrap = def->wraps != NULL ? def->wraps[i]
                               : (sap_tendon_wrap){.way = SAP_TENDON_POINT, .side_body = -1};
    if (wrap->way == SAP_TENDON_CYLINDER) {
      (void)sap_check_unit(checker, "axis", wrap->axis, 3, wrap->axis);
    }
  }
}

sap_status sap_builder_add_tendon(sap_builder* builder, const sap_tendon_def* def, int32_t* id,
                                  sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_tendon_def, "tendon", error);
  const sap_checker checker = {"tendon", def->name, builder->ntendons, error};
  sap_model_tendon tendon = {.first = builder->ntendon_joints,
                             .count = def->njoints,
                             .first_point = builder->ntendon_point_bodies,
                             .npoints = def->npoints};
  SAP_TRY(check_tendon(&checker, builder, def));
  SAP_TRY(reserve_tendon(builder, def, error));
  copy_tendon(def, &tendon);
  SAP_BUILDER_APPEND_NAMED(builder, tendons, SAP_ELEMENT_TENDON, def->name, tendon, id, error);
  copy_path(&checker, builder, def);
  return SAP_STATUS_OK;
}

// --- actuators ---

static sap_status check_slider_crank(const sap_checker* checker, const sap_builder* builder,
                                     sap_actuator_def* def) {
  SAP_TRY(sap_check_id(checker, "crank_body", def->crank_body, 0, builder->nbodies));
  SAP_TRY(sap_check_id(checker, "slider_body", def->slider_body, 0, builder->nbodies));
  SAP_TRY(sap_check_vector(checker, "crank_point", def->crank_point, 3));
  SAP_TRY(sap_check_vector(checker, "slider_point", def->slider_point, 3));
  SAP_TRY(sap_check_unit(checker, "slider_axis", def->slider_axis, 3, def->slider_axis));
  return sap_check_positive(checker, "crank_length", def->crank_length);
}

// Requires that the first `count` numbers of the direction are not all zero.
static sap_status check_direction(const sap_checker* checker, const sap_actuator_def* def,
                                  int32_t count) {
  SAP_TRY(sap_check_vector(checker, "direction", def->direction, 6));
  for (int32_t i = 0; i < count; ++i) {
    if (def->direction[i] != 0.0) {
      return SAP_STATUS_OK;
    }
  }
  return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "direction must not be zero");
}

static sap_status check_joint(const sap_checker* checker, const sap_builder* builder,
                              const sap_actuator_def* def) {
  SAP_TRY(sap_check_id(checker, "target", def->target, 0, builder->njoints));
  const sap_joint_type type = builder->joints[def->target].type;
  return sap_joint_is_scalar(type) ? SAP_STATUS_OK
                                   : check_direction(checker, def, type == SAP_JOINT_FREE ? 6 : 3);
}

static sap_status check_site(const sap_checker* checker, const sap_builder* builder,
                             sap_actuator_def* def) {
  SAP_TRY(sap_check_id(checker, "site_body", def->site_body, 0, builder->nbodies));
  SAP_TRY(sap_check_id(checker, "reference_body", def->reference_body, -1, builder->nbodies));
  SAP_TRY(sap_check_vector(checker, "site_point", def->site_point, 3));
  SAP_TRY(sap_check_unit(checker, "site_q", def->site_q, 4, def->site_q));
  SAP_TRY(sap_check_vector(checker, "reference_point", def->reference_point, 3));
  SAP_TRY(sap_check_unit(checker, "reference_q", def->reference_q, 4, def->reference_q));
  return check_direction(checker, def, 6);
}

// Adhesion has no length on which its force could depend.
static sap_status check_adhesion(const sap_checker* checker, const sap_builder* builder,
                                 const sap_actuator_def* def) {
  SAP_TRY(sap_check_id(checker, "target", def->target, 0, builder->nbodies));
  const bool constant = def->gain_slope[0] == 0.0 && def->gain_slope[1] == 0.0 &&
                        def->bias[1] == 0.0 && def->bias[2] == 0.0 && def->damping_ratio == 0.0 &&
                        !def->muscle_gain && !def->muscle_bias;
  return constant ? SAP_STATUS_OK
                  : sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                                   "adhesion has no length: gain_slope, bias[1], bias[2] and "
                                   "damping_ratio must be 0, and it is no muscle");
}

// Also makes the axis and the quaternions of its transmission unit.
static sap_status check_target(const sap_checker* checker, const sap_builder* builder,
                               sap_actuator_def* def) {
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

// Refuses positive feedback of length or rate: it has no stable implicit law. damping_ratio > 0
// replaces bias[2], which compiling computes.
static sap_status check_law(const sap_checker* checker, const sap_actuator_def* def) {
  SAP_TRY(sap_check_finite(checker, "gear", def->gear));
  SAP_REFUSE_IF(!(def->gear != 0.0), checker, "gear = 0 must not be zero");
  SAP_TRY(check_actuator_fields(checker, "", def));
  for (int i = 1; i < 3; ++i) {
    SAP_REFUSE_IF(!(def->bias[i] <= 0.0), checker, "bias[%d] = %g must be <= 0", i, def->bias[i]);
  }
  SAP_REFUSE_IF(def->damping_ratio > 0.0 && (!(def->bias[1] < 0.0) || def->bias[2] != 0.0), checker,
                "damping_ratio = %g needs bias[1] = %g < 0 and bias[2] = %g = 0",
                def->damping_ratio, def->bias[1], def->bias[2]);
  return SAP_STATUS_OK;
}

static sap_status check_activation(const sap_checker* checker, const sap_actuator_def* def) {
  SAP_REFUSE_IF(
      !(def->activation >= SAP_ACTIVATION_NONE && def->activation <= SAP_ACTIVATION_MUSCLE),
      checker, "activation = %d must be 0 to %d", (int)def->activation, (int)SAP_ACTIVATION_MUSCLE);
  for (int i = 0; i < 3; ++i) {
    SAP_TRY(sap_check_nonnegative(checker, "activation_time", def->activation_time[i]));
  }
  return sap_check_limits(checker, "activation_", def->activation_lower, def->activation_upper);
}

// Requires finite numbers and ordered intervals of a muscle.
static sap_status check_muscle(const sap_checker* checker, const sap_actuator_def* def) {
  const sap_muscle* m = &def->muscle;
  if (!def->muscle_gain && !def->muscle_bias) {
    return SAP_STATUS_OK;
  }
  const double numbers[] = {m->range[0], m->range[1], m->force, m->scale, m->lmin,
                            m->lmax,     m->vmax,     m->fpmax, m->fvmax};
  SAP_TRY(sap_check_vector(checker, "muscle", numbers, 9));
  SAP_REFUSE_IF(!(m->range[0] < m->range[1]), checker, "muscle: range = %g, %g must rise",
                m->range[0], m->range[1]);
  SAP_REFUSE_IF(!(m->lmin < 1.0 && 1.0 < m->lmax), checker,
                "muscle: 1 must lie between lmin = %g and lmax = %g", m->lmin, m->lmax);
  SAP_REFUSE_IF(!(m->fvmax >= 1.0), checker, "muscle: fvmax = %g must be >= 1", m->fvmax);
  SAP_TRY(sap_check_positive(checker, "muscle.vmax", m->vmax));
  SAP_TRY(sap_check_positive(checker, "muscle.scale", m->scale));
  SAP_TRY(sap_check_nonnegative(checker, "muscle.fpmax", m->fpmax));
  SAP_REFUSE_IF(!(isnan(def->length_lower) && isnan(def->length_upper)) &&
                    !(isfinite(def->length_lower) && isfinite(def->length_upper) &&
                      def->length_lower < def->length_upper),
                checker, "length_lower = %g must be < length_upper = %g, or both NaN",
                def->length_lower, def->length_upper);
  return SAP_STATUS_OK;
}

static sap_status check_actuator(const sap_checker* checker, const sap_builder* builder,
                                 sap_actuator_def* def) {
  SAP_TRY(check_target(checker, builder, def));
  SAP_TRY(check_law(checker, def));
  SAP_TRY(check_activation(checker, def));
  SAP_TRY(check_muscle(checker, def));
  SAP_TRY(sap_check_limits(checker, "control_", def->control_lower, def->control_upper));
  return sap_check_limits(checker, "force_", def->force_lower, def->force_upper);
}

sap_status sap_builder_add_actuator(sap_builder* builder, const sap_actuator_def* def, int32_t* id,
                                    sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_actuator_def, "actuator", error);
  const sap_checker checker = {"actuator", def->name, builder->nactuators, error};
  sap_actuator_def checked = *def;
  SAP_TRY(check_actuator(&checker, builder, &checked));
  const bool has_activation = def->activation != SAP_ACTIVATION_NONE;
  sap_model_actuator actuator = {.act = has_activation ? builder->na : -1};
  copy_actuator(&checked, &actuator);
  SAP_BUILDER_APPEND_NAMED(builder, actuators, SAP_ELEMENT_ACTUATOR, def->name, actuator, id,
                           error);
  builder->na += has_activation ? 1 : 0;
  return SAP_STATUS_OK;
}
