// SPDX-License-Identifier: BSD-3-Clause
// Tendons of the builder.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

sap_status sap_builder_check_scalar_joint(const sap_checker* checker, const sap_builder* builder,
                                          const char* field, int32_t joint) {
  const sap_status status = sap_check_id(checker, field, joint, 0, builder->njoints);
  if (status == SAP_STATUS_OK && !sap_joint_is_scalar(builder->joints[joint].type)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "%s = %d must be a hinge or slide joint",
                          field, (int)joint);
  }
  return status;
}

static sap_status check_fixed(const sap_checker* checker, const sap_builder* builder,
                              const sap_tendon_def* def) {
  if (def->njoints < 1 || def->joints == NULL || def->coefficients == NULL) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "njoints = %d must be >= 1, with joints and coefficients",
                          (int)def->njoints);
  }
  sap_status status = sap_check_vector(checker, "coefficients", def->coefficients, def->njoints);
  for (int32_t i = 0; i < def->njoints && status == SAP_STATUS_OK; ++i) {
    status = sap_builder_check_scalar_joint(checker, builder, "joints", def->joints[i]);
    for (int32_t j = 0; j < i && status == SAP_STATUS_OK; ++j) {
      if (def->joints[i] == def->joints[j]) {
        status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                                "joints: %d stands twice, but may only once", (int)def->joints[i]);
      }
    }
  }
  return status;
}

static sap_status check_wrap(const sap_checker* checker, const sap_builder* builder,
                             const sap_tendon_wrap* wrap) {
  double axis[3];
  sap_status status = SAP_STATUS_OK;
  switch (wrap->way) {
    case SAP_TENDON_POINT:
      return SAP_STATUS_OK;
    case SAP_TENDON_PULLEY:
      return sap_check_positive(checker, "divisor", wrap->divisor);
    case SAP_TENDON_CYLINDER:
      status = sap_check_axis(checker, "axis", wrap->axis, axis);
      break;
    case SAP_TENDON_SPHERE:
      break;
    default:
      return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "way = %d must be point (0), sphere (1), cylinder (2) or pulley (3)",
                            (int)wrap->way);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_positive(checker, "radius", wrap->radius);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(checker, "side_body", wrap->side_body, -1, builder->nbodies);
  }
  return status == SAP_STATUS_OK && wrap->side_body >= 0
             ? sap_check_vector(checker, "side_point", wrap->side_point, 3)
             : status;
}

static sap_tendon_way way_at(const sap_tendon_def* def, int32_t i) {
  return def->wraps == NULL ? SAP_TENDON_POINT : def->wraps[i].way;
}

// Parts between pulleys begin and end with points, have two, and no two obstacles in a row.
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
                            "element %d of its path must stand behind a point", (int)i);
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
  if (def->npoints < 2 || def->point_bodies == NULL || def->points == NULL) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "npoints = %d must be >= 2, with point_bodies and points",
                          (int)def->npoints);
  }
  if (def->njoints != 0) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "njoints = %d must be 0: a tendon goes through points or joints",
                          (int)def->njoints);
  }
  if (def->npoints > INT32_MAX / 3) {
    return sap_check_fail(checker, SAP_STATUS_MEMORY, "too many points");
  }
  sap_status status = sap_check_vector(checker, "points", def->points, 3 * def->npoints);
  for (int32_t i = 0; i < def->npoints && status == SAP_STATUS_OK; ++i) {
    status = sap_check_id(checker, "point_bodies", def->point_bodies[i], 0, builder->nbodies);
    if (status == SAP_STATUS_OK && def->wraps != NULL) {
      status = check_wrap(checker, builder, &def->wraps[i]);
    }
  }
  return status == SAP_STATUS_OK ? check_order(checker, def) : status;
}

// NaN, NaN or a range.
static sap_status check_spring(const sap_checker* checker, const sap_tendon_def* def) {
  if (isnan(def->spring_lower) && isnan(def->spring_upper)) {
    return SAP_STATUS_OK;
  }
  if (!isfinite(def->spring_lower) || !isfinite(def->spring_upper)) {
    return sap_check_fail(checker, SAP_STATUS_NOT_FINITE,
                          "spring_lower = %g, spring_upper = %g must be finite, or both NaN",
                          def->spring_lower, def->spring_upper);
  }
  return sap_check_limits(checker, "spring_", def->spring_lower, def->spring_upper);
}

static sap_status check_tendon(const sap_checker* checker, const sap_builder* builder,
                               const sap_tendon_def* def) {
  sap_status status =
      def->npoints != 0 ? check_spatial(checker, builder, def) : check_fixed(checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(checker, "", def->lower, def->upper);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_limits(checker, "effort_", def->effort_lower, def->effort_upper);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_stiffness(checker, "limit_stiffness", def->limit_stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "limit_relaxation_time", def->limit_relaxation_time);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "stiffness", def->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "damping", def->damping);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "friction_loss", def->friction_loss);
  }
  return status == SAP_STATUS_OK ? check_spring(checker, def) : status;
}

static sap_status reserve_tendon(sap_builder* builder, const sap_tendon_def* def,
                                 sap_error* error) {
  if (def->njoints > INT32_MAX - builder->ntendon_joints ||
      def->npoints > INT32_MAX / 3 - builder->ntendon_points) {
    return sap_fail(error, SAP_STATUS_MEMORY, "too many tendon joints or points");
  }
  const int32_t joints = builder->ntendon_joints + def->njoints;
  const int32_t points = builder->ntendon_points + def->npoints;
  sap_status status =
      SAP_GROW(&builder->tendons, &builder->tendon_capacity, builder->ntendons + 1, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_joints, &builder->tendon_joint_capacity, joints, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_coefficients, &builder->tendon_coefficient_capacity, joints,
                      error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_point_bodies, &builder->tendon_point_body_capacity, points,
                      error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_points, &builder->tendon_point_capacity, 3 * points, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->tendon_wraps, &builder->tendon_wrap_capacity, points, error);
  }
  return status;
}

static void copy_path(const sap_checker* checker, sap_builder* builder, const sap_tendon_def* def) {
  if (def->npoints > 0) {
    memcpy(builder->tendon_point_bodies + builder->ntendon_points, def->point_bodies,
           (size_t)def->npoints * sizeof *def->point_bodies);
    memcpy(builder->tendon_points + 3 * (size_t)builder->ntendon_points, def->points,
           3 * (size_t)def->npoints * sizeof *def->points);
    for (int32_t i = 0; i < def->npoints; ++i) {
      sap_tendon_wrap* wrap = &builder->tendon_wraps[builder->ntendon_points + i];
      *wrap = (sap_tendon_wrap){.way = SAP_TENDON_POINT, .side_body = -1};
      if (def->wraps != NULL) {
        *wrap = def->wraps[i];
      }
      if (wrap->way == SAP_TENDON_CYLINDER) {
        (void)sap_check_axis(checker, "axis", wrap->axis, wrap->axis);
      }
    }
  } else {
    memcpy(builder->tendon_joints + builder->ntendon_joints, def->joints,
           (size_t)def->njoints * sizeof *def->joints);
    memcpy(builder->tendon_coefficients + builder->ntendon_joints, def->coefficients,
           (size_t)def->njoints * sizeof *def->coefficients);
  }
}

sap_status sap_builder_add_tendon(sap_builder* builder, const sap_tendon_def* def, int32_t* id,
                                  sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "tendon: builder or definition is NULL");
  }
  const sap_checker checker = {"tendon", def->name, builder->ntendons, error};
  sap_status status = check_tendon(&checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status = reserve_tendon(builder, def, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_TENDON, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  copy_path(&checker, builder, def);
  builder->tendons[builder->ntendons] =
      (sap_model_tendon){.first = builder->ntendon_joints,
                         .count = def->njoints,
                         .first_point = builder->ntendon_points,
                         .npoints = def->npoints,
                         .lower = def->lower,
                         .upper = def->upper,
                         .limit_stiffness = def->limit_stiffness,
                         .limit_relaxation_time = def->limit_relaxation_time,
                         .stiffness = def->stiffness,
                         .damping = def->damping,
                         .friction_loss = def->friction_loss,
                         .spring_lower = def->spring_lower,
                         .spring_upper = def->spring_upper,
                         .effort_lower = def->effort_lower,
                         .effort_upper = def->effort_upper};
  builder->ntendon_joints += def->njoints;
  builder->ntendon_points += def->npoints;
  if (id != NULL) {
    *id = builder->ntendons;
  }
  ++builder->ntendons;
  return SAP_STATUS_OK;
}
