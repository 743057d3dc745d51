// SPDX-License-Identifier: BSD-3-Clause
// The builder: creation, defaults of definitions, bodies, joints, keyframes.
#include "multibody/model/builder.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"

// clang-format off
// Defines TYPE_default().
#define SAP_DEFINE_DEFAULT(type, ...)                   \
  type type##_default(void) {                           \
    return (type){.cookie = SAP_COOKIE, __VA_ARGS__};   \
  }
#define SAP_DEFAULTS(FIELDS) FIELDS(SAP_FIELD_DEFAULT, SAP_FIELD_ARRAY_DEFAULT)
#define SAP_SHAPE_MATERIAL {.relaxation_time = 0.01, .friction = 0.5}
// clang-format on

SAP_DEFINE_DEFAULT(sap_body_def, SAP_DEFAULTS(SAP_BODY_FIELDS))
SAP_DEFINE_DEFAULT(sap_joint_def, SAP_DEFAULTS(SAP_JOINT_FIELDS))
SAP_DEFINE_DEFAULT(sap_shape_def, SAP_DEFAULTS(SAP_SHAPE_FIELDS))
SAP_DEFINE_DEFAULT(sap_tendon_def, SAP_DEFAULTS(SAP_TENDON_FIELDS))
SAP_DEFINE_DEFAULT(sap_actuator_def, SAP_DEFAULTS(SAP_ACTUATOR_FIELDS))
SAP_DEFINE_DEFAULT(sap_spring_def, .name = NULL)
SAP_DEFINE_DEFAULT(sap_mesh_def, .name = NULL)
SAP_DEFINE_DEFAULT(sap_keyframe_def, .name = NULL)
SAP_DEFINE_DEFAULT(sap_site_def, .q_BX = {1.0, 0.0, 0.0, 0.0})
SAP_DEFINE_DEFAULT(sap_bushing_def, .q_AF = {1.0, 0.0, 0.0, 0.0}, .q_BG = {1.0, 0.0, 0.0, 0.0})
SAP_DEFINE_DEFAULT(sap_equality_def, .type = SAP_EQUALITY_CONNECT, .b = -1,
                   .q_AB = {1.0, 0.0, 0.0, 0.0}, .polynomial = {0.0, 1.0, 0.0, 0.0, 0.0},
                   .distance = 1.0, .torque_scale = 1.0, .stiffness = (double)INFINITY,
                   .relaxation_time = 0.01, .active = true)
SAP_DEFINE_DEFAULT(sap_pair_def, .material = sap_material_default(), .condim = 3,
                   .friction_t2 = -1.0, .friction_rolling_2 = -1.0)
SAP_DEFINE_DEFAULT(sap_sensor_def, .q_BX = {1.0, 0.0, 0.0, 0.0}, .reference = -1,
                   .q_BR = {1.0, 0.0, 0.0, 0.0}, .zone = SAP_SHAPE_SPHERE)
SAP_DEFINE_DEFAULT(sap_model_options, .gravity = {0.0, 0.0, -9.81},
                   .magnetic_field = {0.0, -0.5, 0.0}, .timestep = 0.002,
                   .friction_rule = SAP_FRICTION_HARMONIC,
                   .regularization = sap_regularization_default())

sap_muscle sap_muscle_default(void) {
  return (sap_muscle){.range = {0.75, 1.05},
                      .force = -1.0,
                      .scale = 200.0,
                      .lmin = 0.5,
                      .lmax = 1.6,
                      .vmax = 1.5,
                      .fpmax = 1.3,
                      .fvmax = 1.2};
}

sap_checker sap_builder_checker(const sap_builder* builder, sap_element kind, int32_t id,
                                sap_error* error) {
  const sap_model_names* names = &builder->names[kind];
  return (sap_checker){.kind = sap_element_text(kind),
                       .name = id < names->count ? names->text[id] : NULL,
                       .id = id,
                       .error = error};
}

sap_status sap_builder_add_name(sap_builder* builder, sap_element kind, const char* name,
                                sap_error* error) {
  SAP_TRY_OR(sap_names_add(&builder->names[kind], name, error),
             sap_error_prefix(error, "%s", sap_element_text(kind)));
  return SAP_STATUS_OK;
}

bool sap_builder_is_static(const sap_builder* builder, int32_t body) {
  while (body > 0 && builder->bodies[body].njoints == 0) {
    body = builder->bodies[body].parent;
  }
  return body <= 0;
}

static sap_status check_options(const sap_model_options* options, sap_error* error) {
  SAP_TRY(sap_check_cookie("sap_model_options", &options->cookie, error));
  const sap_checker checker = {"model", options->name, 0, error};
  SAP_TRY(sap_check_vector(&checker, "gravity", options->gravity, 3));
  SAP_TRY(sap_check_nonnegative(&checker, "fluid_density", options->fluid_density));
  SAP_TRY(sap_check_nonnegative(&checker, "fluid_viscosity", options->fluid_viscosity));
  SAP_TRY(sap_check_vector(&checker, "wind", options->wind, 3));
  SAP_TRY(sap_check_vector(&checker, "magnetic_field", options->magnetic_field, 3));
  SAP_TRY(sap_check_positive(&checker, "timestep", options->timestep));
  SAP_TRY(sap_check_nonnegative(&checker, "regularization.beta", options->regularization.beta));
  SAP_TRY(sap_check_positive(&checker, "regularization.sigma", options->regularization.sigma));
  SAP_REFUSE_IF(options->friction_rule != SAP_FRICTION_HARMONIC &&
                    options->friction_rule != SAP_FRICTION_MAXIMUM,
                &checker, "friction_rule = %d must be harmonic (0) or maximum (1)",
                (int)options->friction_rule);
  return SAP_STATUS_OK;
}

// Sets the options and adds the world.
static sap_status init_builder(sap_builder* builder, const sap_model_options* options,
                               sap_error* error) {
  builder->options = *options;
  builder->options.name = sap_duplicate_string(options->name);
  SAP_FAIL_IF(options->name != NULL && builder->options.name == NULL, error, SAP_STATUS_MEMORY,
              "out of memory: name '%s'", options->name);
  const sap_model_body world = {.parent = -1, .q_PB = {1.0, 0.0, 0.0, 0.0}};
  int32_t id;
  SAP_BUILDER_APPEND_NAMED(builder, bodies, SAP_ELEMENT_BODY, "world", world, &id, error);
  return SAP_STATUS_OK;
}

sap_status sap_builder_create(const sap_model_options* options, sap_builder** out,
                              sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  const sap_model_options chosen = options != NULL ? *options : sap_model_options_default();
  SAP_TRY(check_options(&chosen, error));
  sap_builder* builder;
  SAP_TRY(SAP_NEW(&builder, 1, "builder", error));
  SAP_TRY_OR(init_builder(builder, &chosen, error), sap_builder_destroy(builder));
  *out = builder;
  return SAP_STATUS_OK;
}

static void clear_key(sap_builder_key* key) {
  for (int i = 0; i < SAP_KEY_ARRAYS; ++i) {
    sap_free(key->values[i]);
  }
  *key = (sap_builder_key){0};
}

#define FREE_LIST(type, name) sap_free(builder->name);

void sap_builder_destroy(sap_builder* builder) {
  if (builder == NULL) {
    return;
  }
  for (int32_t i = 0; i < builder->nkeys; ++i) {
    clear_key(&builder->keys[i]);
  }
  for (int kind = 0; kind < SAP_ELEMENT_COUNT; ++kind) {
    sap_names_clear(&builder->names[kind]);
  }
  for (int32_t i = 0; i < builder->nmeshes; ++i) {
    sap_hull_clear(&builder->meshes[i]);
  }
  sap_free((char*)builder->options.name);
  SAP_MODEL_LISTS(FREE_LIST)
  sap_free(builder->meshes);
  sap_free(builder->keys);
  sap_free(builder);
}

void sap_builder_counts(const sap_builder* builder, int32_t* nq, int32_t* nv, int32_t* nu) {
  sap_store_index(nq, builder != NULL ? builder->nq : 0);
  sap_store_index(nv, builder != NULL ? builder->nv : 0);
  sap_store_index(nu, builder != NULL ? builder->nactuators : 0);
}

// --- bodies ---

SAP_DEFINE_CHECK_FIELDS(body, sap_body_def, SAP_BODY_FIELDS(SAP_FIELD_ROW, SAP_FIELD_ARRAY_ROW))
SAP_DEFINE_COPY(body, sap_body_def, sap_model_body, SAP_BODY_FIELDS)

sap_status sap_builder_add_body(sap_builder* builder, const sap_body_def* def, int32_t* id,
                                sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_body_def, "body", error);
  const sap_checker checker = {"body", def->name, builder->nbodies, error};
  sap_model_body body = {.first_joint = -1};
  copy_body(def, &body);
  SAP_TRY(sap_check_id(&checker, "parent", def->parent, 0, builder->nbodies));
  SAP_TRY(check_body_fields(&checker, "", def));
  SAP_TRY(sap_check_unit(&checker, "q_PB", def->q_PB, 4, body.q_PB));
  const double* q = def->q_BI;
  if (q[0] != 0.0 || q[1] != 0.0 || q[2] != 0.0 || q[3] != 0.0) {
    SAP_TRY(sap_check_unit(&checker, "q_BI", q, 4, body.q_BI));
  }
  SAP_TRY(sap_check_inertia(&checker, "I_BCo_B", def->I_BCo_B, def->any_inertia));
  SAP_BUILDER_APPEND_NAMED(builder, bodies, SAP_ELEMENT_BODY, def->name, body, id, error);
  return SAP_STATUS_OK;
}

sap_status sap_builder_scale_masses(sap_builder* builder, double total, sap_error* error) {
  double sum = 0.0;
  bool good = true;
  for (int32_t b = 1; b < builder->nbodies; ++b) {
    sum += builder->bodies[b].mass;
  }
  for (int32_t b = 1; b < builder->nbodies && sum > 0.0; ++b) {
    sap_model_body* body = &builder->bodies[b];
    body->mass *= total / sum;
    good = good && isfinite(body->mass);
    for (int k = 0; k < 6; ++k) {
      body->I_BCo_B[k] *= total / sum;
      good = good && isfinite(body->I_BCo_B[k]);
    }
  }
  return good ? SAP_STATUS_OK
              : sap_fail(error, SAP_STATUS_NOT_FINITE,
                         "masses and inertias overflow when %g kg are scaled to %g kg", sum, total);
}

// --- joints ---

SAP_DEFINE_CHECK_FIELDS(joint, sap_joint_def, SAP_JOINT_FIELDS(SAP_FIELD_ROW, SAP_FIELD_ARRAY_ROW))

// Copies a definition; fields that the type does not use get their defaults.
static void copy_joint(const sap_joint_def* from, sap_model_joint_data* to) {
  SAP_JOINT_FIELDS(SAP_FIELD_COPY, SAP_FIELD_ARRAY_COPY);
  to->nq = sap_joint_position_count(from->type);
  to->nv = sap_joint_velocity_count(from->type);
  if (from->type == SAP_JOINT_FREE) {
    sap_v3_set(to->p_BJ, 0.0, 0.0, 0.0);
  }
  if (from->type == SAP_JOINT_BALL) {
    to->lower = -(double)INFINITY;
  }
  if (!sap_joint_is_scalar(from->type)) {
    sap_v3_set(to->axis, 0.0, 0.0, 1.0);
    to->reference = to->spring_reference = 0.0;
  }
}

// A free joint must be alone on its body, and the parent must be static.
static sap_status check_free(const sap_checker* checker, const sap_builder* builder,
                             const sap_joint_def* def) {
  const sap_model_body* body = &builder->bodies[def->body];
  SAP_REFUSE_IF(body->njoints > 0 && builder->joints[body->first_joint].type == SAP_JOINT_FREE,
                checker, "body = %d has a free joint, which must be its only one", (int)def->body);
  if (def->type != SAP_JOINT_FREE) {
    return SAP_STATUS_OK;
  }
  SAP_REFUSE_IF(body->njoints > 0, checker,
                "body = %d has joints, but a free joint must be the only one", (int)def->body);
  SAP_REFUSE_IF(!sap_builder_is_static(builder, body->parent), checker,
                "body = %d hangs on a moving body, but a free joint must connect to the "
                "world or to a static body",
                (int)def->body);
  return SAP_STATUS_OK;
}

static sap_status check_joint_limits(const sap_checker* checker, const sap_joint_def* def) {
  SAP_TRY(sap_check_limits(checker, "", def->lower, def->upper));
  SAP_REFUSE_IF(def->type == SAP_JOINT_FREE &&
                    (def->lower > -(double)INFINITY || def->upper < (double)INFINITY),
                checker, "lower = %g, upper = %g: a free joint has no limits", def->lower,
                def->upper);
  SAP_REFUSE_IF(def->type == SAP_JOINT_BALL && !(def->upper > 0.0 && def->lower <= 0.0), checker,
                "upper = %g must be > 0 (a ball joint's largest angle) and lower = %g "
                "must be 0 or -inf",
                def->upper, def->lower);
  return SAP_STATUS_OK;
}

// Checks springs and motors against the joint's type.
static sap_status check_joint_forces(const sap_checker* checker, const sap_joint_def* def) {
  SAP_REFUSE_IF(def->type == SAP_JOINT_FREE && def->stiffness > 0.0, checker,
                "stiffness = %g: a free joint has no spring", def->stiffness);
  SAP_REFUSE_IF(def->type == SAP_JOINT_FREE && def->spring_time > 0.0, checker,
                "spring_time = %g: a free joint has no spring", def->spring_time);
  SAP_TRY(sap_check_limits(checker, "effort_", def->effort_lower, def->effort_upper));
  SAP_RETURN_IF(
      !(def->motor_speed > 0.0),
      sap_check_fail(checker, isnan(def->motor_speed) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT,
                     "motor_speed = %g must be > 0", def->motor_speed));
  if (sap_joint_is_scalar(def->type)) {
    return SAP_STATUS_OK;
  }
  SAP_REFUSE_IF(def->stiffness_cubic > 0.0, checker,
                "stiffness_cubic = %g: only a hinge or slide joint has a cubic spring",
                def->stiffness_cubic);
  SAP_REFUSE_IF(def->effort_lower > -(double)INFINITY || def->effort_upper < (double)INFINITY,
                checker,
                "effort_lower = %g, effort_upper = %g: only a hinge or slide joint has bounds",
                def->effort_lower, def->effort_upper);
  return SAP_STATUS_OK;
}

static sap_status check_joint(const sap_checker* checker, const sap_builder* builder,
                              const sap_joint_def* def, sap_model_joint_data* joint) {
  SAP_REFUSE_IF((int)def->type < SAP_JOINT_FREE || (int)def->type > SAP_JOINT_SLIDE, checker,
                "type = %d must be free (0), ball (1), hinge (2) or slide (3)", (int)def->type);
  SAP_TRY(sap_check_id(checker, "body", def->body, 1, builder->nbodies));
  SAP_TRY(check_free(checker, builder, def));
  SAP_TRY(check_joint_fields(checker, "", def));
  if (sap_joint_is_scalar(def->type)) {
    SAP_TRY(sap_check_unit(checker, "axis", def->axis, 3, joint->axis));
  }
  SAP_TRY(check_joint_limits(checker, def));
  return check_joint_forces(checker, def);
}

sap_status sap_builder_add_joint(sap_builder* builder, const sap_joint_def* def, int32_t* id,
                                 sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_joint_def, "joint", error);
  const sap_checker checker = {"joint", def->name, builder->njoints, error};
  sap_model_joint_data joint = {0};
  copy_joint(def, &joint);
  SAP_TRY(check_joint(&checker, builder, def, &joint));
  SAP_RETURN_IF(builder->nq > INT32_MAX - joint.nq || builder->nv > INT32_MAX - joint.nv,
                sap_check_fail(&checker, SAP_STATUS_MEMORY, "too many coordinates"));
  SAP_BUILDER_APPEND_NAMED(builder, joints, SAP_ELEMENT_JOINT, def->name, joint, id, error);
  sap_model_body* body = &builder->bodies[def->body];
  if (body->njoints++ == 0) {
    body->first_joint = builder->njoints - 1;
  }
  builder->nq += joint.nq;
  builder->nv += joint.nv;
  return SAP_STATUS_OK;
}

sap_status sap_builder_check_scalar_joint(const sap_checker* checker, const sap_builder* builder,
                                          const char* field, int32_t joint) {
  SAP_TRY(sap_check_id(checker, field, joint, 0, builder->njoints));
  return sap_joint_is_scalar(builder->joints[joint].type)
             ? SAP_STATUS_OK
             : sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                              "%s = %d must be a hinge or slide joint", field, (int)joint);
}

// --- keyframes ---

static sap_status append_key(sap_builder* builder, const sap_checker* checker,
                             const sap_keyframe_def* def, sap_builder_key* key, int32_t* id) {
  static const char* const fields[SAP_KEY_ARRAYS] = {"q", "v", "control", "act"};
  const double* const values[SAP_KEY_ARRAYS] = {def->q, def->v, def->control, def->act};
  SAP_TRY(sap_check_finite(checker, "t", def->t));
  for (int i = 0; i < SAP_KEY_ARRAYS; ++i) {
    if (values[i] != NULL) {
      const size_t count = (size_t)key->sizes[i];
      SAP_TRY(sap_check_vector(checker, fields[i], values[i], key->sizes[i]));
      SAP_TRY(SAP_NEW(&key->values[i], count, "keyframe", checker->error));
      memcpy(key->values[i], values[i], count * sizeof *values[i]);
    }
  }
  SAP_BUILDER_APPEND_NAMED(builder, keys, SAP_ELEMENT_KEYFRAME, def->name, *key, id,
                           checker->error);
  return SAP_STATUS_OK;
}

sap_status sap_builder_add_keyframe(sap_builder* builder, const sap_keyframe_def* def, int32_t* id,
                                    sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_keyframe_def, "keyframe", error);
  const sap_checker checker = {"keyframe", def->name, builder->nkeys, error};
  sap_builder_key key = {.t = def->t,
                         .sizes = {builder->nq, builder->nv, builder->nactuators, builder->na}};
  SAP_TRY_OR(append_key(builder, &checker, def, &key, id), clear_key(&key));
  return SAP_STATUS_OK;
}
