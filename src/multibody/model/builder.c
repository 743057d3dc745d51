// SPDX-License-Identifier: BSD-3-Clause
// The builder's life, and bodies and exclusions.
#include "multibody/model/builder.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/names.h"

const char* sap_element_text(sap_element kind) {
  static const char* const texts[SAP_ELEMENT_COUNT] = {"body",     "joint",    "shape", "tendon",
                                                       "actuator", "keyframe", "mesh",  "equality",
                                                       "spring",   "bushing"};
  return texts[kind];
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
  const sap_status status = sap_names_add(&builder->names[kind], name, error);
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "%s", sap_element_text(kind));
  }
  return status;
}

bool sap_builder_is_static(const sap_builder* builder, int32_t body) {
  while (body > 0 && builder->bodies[body].njoints == 0) {
    body = builder->bodies[body].parent;
  }
  return body <= 0;
}

static sap_status check_options(const sap_model_options* options, sap_error* error) {
  const sap_checker checker = {"model", options->name, 0, error};
  sap_status status = sap_check_vector(&checker, "gravity", options->gravity, 3);
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(&checker, "fluid_density", options->fluid_density);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(&checker, "fluid_viscosity", options->fluid_viscosity);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(&checker, "wind", options->wind, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_positive(&checker, "timestep", options->timestep);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(&checker, "regularization.beta", options->regularization.beta);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_positive(&checker, "regularization.sigma", options->regularization.sigma);
  }
  if (status == SAP_STATUS_OK && options->friction_rule != SAP_FRICTION_HARMONIC &&
      options->friction_rule != SAP_FRICTION_MAXIMUM) {
    status = sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "friction_rule = %d must be harmonic (0) or maximum (1)",
                            (int)options->friction_rule);
  }
  return status;
}

sap_status sap_builder_create(const sap_model_options* options, sap_builder** out,
                              sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "builder: out is NULL");
  }
  *out = NULL;
  const sap_model_options chosen = options != NULL ? *options : sap_model_options_default();
  sap_status status = check_options(&chosen, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_builder* builder = sap_allocate(1, sizeof *builder);
  if (builder == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: builder");
  }
  builder->options = chosen;
  builder->options.name = sap_duplicate_string(chosen.name);
  if (chosen.name != NULL && builder->options.name == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: name '%s'", chosen.name);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->bodies, &builder->body_capacity, 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_BODY, "world", error);
  }
  if (status != SAP_STATUS_OK) {
    sap_builder_destroy(builder);
    return status;
  }
  builder->bodies[0] = (sap_model_body){.parent = -1, .q_PB = {1.0, 0.0, 0.0, 0.0}};
  builder->nbodies = 1;
  *out = builder;
  return SAP_STATUS_OK;
}

void sap_builder_destroy(sap_builder* builder) {
  if (builder == NULL) {
    return;
  }
  for (int32_t i = 0; i < builder->nkeys; ++i) {
    sap_builder_clear_key(&builder->keys[i]);
  }
  for (int kind = 0; kind < SAP_ELEMENT_COUNT; ++kind) {
    sap_names_clear(&builder->names[kind]);
  }
  sap_free((char*)builder->options.name);
  sap_free(builder->bodies);
  sap_free(builder->joints);
  sap_free(builder->shapes);
  sap_free(builder->tendons);
  sap_free(builder->tendon_joints);
  sap_free(builder->tendon_coefficients);
  sap_free(builder->tendon_point_bodies);
  sap_free(builder->tendon_points);
  sap_free(builder->tendon_wraps);
  sap_free(builder->actuators);
  sap_free(builder->equalities);
  sap_free(builder->springs);
  sap_free(builder->bushings);
  sap_free(builder->pairs);
  for (int32_t i = 0; i < builder->nmeshes; ++i) {
    sap_hull_clear(&builder->hulls[i]);
  }
  sap_free(builder->hulls);
  sap_free(builder->exclusions);
  sap_free(builder->keys);
  sap_free(builder);
}

void sap_builder_counts(const sap_builder* builder, int32_t* nq, int32_t* nv, int32_t* nu) {
  if (nq != NULL) {
    *nq = builder != NULL ? builder->nq : 0;
  }
  if (nv != NULL) {
    *nv = builder != NULL ? builder->nv : 0;
  }
  if (nu != NULL) {
    *nu = builder != NULL ? builder->nactuators : 0;
  }
}

static sap_status check_body(const sap_checker* checker, const sap_builder* builder,
                             const sap_body_def* def, sap_model_body* body) {
  sap_status status = sap_check_id(checker, "parent", def->parent, 0, builder->nbodies);
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "p_PB", def->p_PB, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_quaternion(checker, "q_PB", def->q_PB, body->q_PB);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_nonnegative(checker, "mass", def->mass);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_vector(checker, "p_BCo", def->p_BCo, 3);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_inertia(checker, "I_BCo_B", def->I_BCo_B, def->any_inertia);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_finite(checker, "gravity_compensation", def->gravity_compensation);
  }
  return status;
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

sap_status sap_builder_add_body(sap_builder* builder, const sap_body_def* def, int32_t* id,
                                sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "body: builder or definition is NULL");
  }
  const sap_checker checker = {"body", def->name, builder->nbodies, error};
  sap_model_body body = {.parent = def->parent,
                         .mass = def->mass,
                         .first_joint = -1,
                         .gravity_compensation = def->gravity_compensation};
  sap_status status = check_body(&checker, builder, def, &body);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->bodies, &builder->body_capacity, builder->nbodies + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_BODY, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_v3_copy(body.p_PB, def->p_PB);
  sap_v3_copy(body.p_BCo, def->p_BCo);
  memcpy(body.I_BCo_B, def->I_BCo_B, sizeof body.I_BCo_B);
  body.any_inertia = def->any_inertia;
  builder->bodies[builder->nbodies] = body;
  if (id != NULL) {
    *id = builder->nbodies;
  }
  ++builder->nbodies;
  return SAP_STATUS_OK;
}

sap_status sap_builder_exclude(sap_builder* builder, int32_t body_a, int32_t body_b,
                               sap_error* error) {
  if (builder == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "exclusion: builder is NULL");
  }
  const sap_checker checker = {"exclusion", NULL, builder->nexclusions, error};
  sap_status status = sap_check_id(&checker, "body_a", body_a, 0, builder->nbodies);
  if (status == SAP_STATUS_OK) {
    status = sap_check_id(&checker, "body_b", body_b, 0, builder->nbodies);
  }
  if (status == SAP_STATUS_OK && body_a == body_b) {
    status = sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "body_a = body_b = %d must be two different bodies", (int)body_a);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->exclusions, &builder->exclusion_capacity, builder->nexclusions + 1,
                      error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  builder->exclusions[builder->nexclusions][0] = body_a < body_b ? body_a : body_b;
  builder->exclusions[builder->nexclusions][1] = body_a < body_b ? body_b : body_a;
  ++builder->nexclusions;
  return SAP_STATUS_OK;
}
