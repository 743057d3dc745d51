// SPDX-License-Identifier: BSD-3-Clause
// Definitions back out of a compiled model.
#include <string.h>

#include "math/vector3.h"
#include "multibody/model/builder.h"

// ARGUMENT unless the id and `out` are right; *name: the element's.
static sap_status check(const sap_model* model, sap_element kind, int32_t id, const void* out,
                        const char** name, sap_error* error) {
  const char* text = sap_element_text(kind);
  if (model == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s %d: model or out is NULL", text, (int)id);
  }
  const int32_t count = model->names[kind].count;
  if (id < 0 || id >= count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s %d: the model has %d", text, (int)id,
                    (int)count);
  }
  *name = model->names[kind].text[id];
  return SAP_STATUS_OK;
}

sap_status sap_model_get_body(const sap_model* model, int32_t body, sap_body_def* out,
                              sap_error* error) {
  const char* name = NULL;
  const sap_status status = check(model, SAP_ELEMENT_BODY, body, out, &name, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_model_body* b = &model->bodies[body];
  *out = (sap_body_def){.name = name,
                        .parent = b->parent,
                        .mass = b->mass,
                        .gravity_compensation = b->gravity_compensation};
  sap_v3_copy(out->p_PB, b->p_PB);
  memcpy(out->q_PB, b->q_PB, sizeof out->q_PB);
  sap_v3_copy(out->p_BCo, b->p_BCo);
  memcpy(out->I_BCo_B, b->I_BCo_B, sizeof out->I_BCo_B);
  out->any_inertia = b->any_inertia;
  return SAP_STATUS_OK;
}

sap_status sap_model_get_joint(const sap_model* model, int32_t joint, sap_joint_def* out,
                               sap_error* error) {
  const char* name = NULL;
  const sap_status status = check(model, SAP_ELEMENT_JOINT, joint, out, &name, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_model_joint_data* j = &model->joints[joint];
  *out = (sap_joint_def){.name = name,
                         .type = j->type,
                         .body = j->body,
                         .reference = j->reference,
                         .lower = j->lower,
                         .upper = j->upper,
                         .limit_stiffness = j->limit_stiffness,
                         .limit_relaxation_time = j->limit_relaxation_time,
                         .stiffness = j->stiffness,
                         .spring_reference = j->spring_reference,
                         .damping = j->damping,
                         .armature = j->armature,
                         .friction_loss = j->friction_loss,
                         .stiffness_cubic = j->stiffness_cubic,
                         .motor_speed = j->motor_speed,
                         .effort_lower = j->effort_lower,
                         .effort_upper = j->effort_upper,
                         .locked = j->locked};
  sap_v3_copy(out->p_BJ, j->p_BJ);
  sap_v3_copy(out->axis, j->axis);
  return SAP_STATUS_OK;
}

sap_status sap_model_get_tendon(const sap_model* model, int32_t tendon, sap_tendon_def* out,
                                sap_error* error) {
  const char* name = NULL;
  const sap_status status = check(model, SAP_ELEMENT_TENDON, tendon, out, &name, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_model_tendon* t = &model->tendons[tendon];
  *out = (sap_tendon_def){.name = name,
                          .njoints = t->count,
                          .joints = model->tendon_joints + t->first,
                          .coefficients = model->tendon_coefficients + t->first,
                          .lower = t->lower,
                          .upper = t->upper,
                          .limit_stiffness = t->limit_stiffness,
                          .limit_relaxation_time = t->limit_relaxation_time,
                          .npoints = t->npoints,
                          .point_bodies = model->tendon_point_bodies + t->first_point,
                          .points = model->tendon_points + 3 * (size_t)t->first_point,
                          .wraps = model->tendon_wraps + t->first_point,
                          .stiffness = t->stiffness,
                          .damping = t->damping,
                          .friction_loss = t->friction_loss,
                          .spring_lower = t->spring_lower,
                          .spring_upper = t->spring_upper,
                          .effort_lower = t->effort_lower,
                          .effort_upper = t->effort_upper};
  return SAP_STATUS_OK;
}

sap_status sap_model_get_actuator(const sap_model* model, int32_t actuator, sap_actuator_def* out,
                                  sap_error* error) {
  const char* name = NULL;
  const sap_status status = check(model, SAP_ELEMENT_ACTUATOR, actuator, out, &name, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  // The damping ratio has become bias[2].
  const sap_model_actuator* a = &model->actuators[actuator];
  *out = (sap_actuator_def){.name = name,
                            .transmission = a->transmission,
                            .target = a->target,
                            .gear = a->gear,
                            .control_lower = a->control_lower,
                            .control_upper = a->control_upper,
                            .force_lower = a->force_lower,
                            .force_upper = a->force_upper,
                            .gain = a->gain,
                            .activation = a->activation,
                            .activation_lower = a->activation_lower,
                            .activation_upper = a->activation_upper,
                            .activation_early = a->activation_early,
                            .muscle_gain = a->muscle_gain,
                            .muscle_bias = a->muscle_bias,
                            .muscle = a->muscle,
                            .length_lower = a->length_lower,
                            .length_upper = a->length_upper};
  memcpy(out->gain_slope, a->gain_slope, sizeof out->gain_slope);
  memcpy(out->bias, a->bias, sizeof out->bias);
  memcpy(out->activation_time, a->activation_time, sizeof out->activation_time);
  out->crank_body = a->crank_body;
  out->slider_body = a->slider_body;
  out->crank_length = a->crank_length;
  memcpy(out->crank_point, a->crank_point, sizeof out->crank_point);
  memcpy(out->slider_point, a->slider_point, sizeof out->slider_point);
  memcpy(out->slider_axis, a->slider_axis, sizeof out->slider_axis);
  memcpy(out->direction, a->direction, sizeof out->direction);
  out->in_parent = a->in_parent;
  out->site_body = a->site_body;
  out->reference_body = a->reference_body;
  memcpy(out->site_point, a->site_point, sizeof out->site_point);
  memcpy(out->site_q, a->site_q, sizeof out->site_q);
  memcpy(out->reference_point, a->reference_point, sizeof out->reference_point);
  memcpy(out->reference_q, a->reference_q, sizeof out->reference_q);
  return SAP_STATUS_OK;
}

int32_t sap_model_actuator_activation(const sap_model* model, int32_t actuator) {
  return model != NULL && actuator >= 0 && actuator < model->sizes.actuators
             ? model->actuators[actuator].act
             : -1;
}

sap_status sap_model_get_equality(const sap_model* model, int32_t equality, sap_equality_def* out,
                                  sap_error* error) {
  const char* name = NULL;
  const sap_status status = check(model, SAP_ELEMENT_EQUALITY, equality, out, &name, error);
  if (status == SAP_STATUS_OK) {
    *out = model->equalities[equality];
    out->name = name;
  }
  return status;
}

sap_status sap_model_get_mesh(const sap_model* model, int32_t mesh, sap_mesh_def* out,
                              sap_error* error) {
  const char* name = NULL;
  const sap_status status = check(model, SAP_ELEMENT_MESH, mesh, out, &name, error);
  if (status == SAP_STATUS_OK) {
    const sap_model_mesh* m = &model->meshes[mesh];
    *out = (sap_mesh_def){.name = name,
                          .vertex_count = m->nvertices,
                          .vertices = model->mesh_vertices + 3 * (size_t)m->first_vertex};
  }
  return status;
}

int32_t sap_model_body_tree(const sap_model* model, int32_t body) {
  return model != NULL && body >= 0 && body < model->sizes.bodies ? model->bodies[body].tree : -1;
}

int32_t sap_model_tree_dofs(const sap_model* model, int32_t tree) {
  return model != NULL && tree >= 0 && tree < model->sizes.trees ? model->tree_sizes[tree] : 0;
}
