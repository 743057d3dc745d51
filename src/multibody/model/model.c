// SPDX-License-Identifier: BSD-3-Clause
// What a compiled model tells about itself, its states, and its end.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"
#include "multibody/model/names.h"

// A model that lives does not change but for its holders, which any thread may count.
static sap_model* countable(const sap_model* model) {
  return (sap_model*)(uintptr_t)model;
}

const sap_model* sap_model_hold(const sap_model* model) {
  atomic_fetch_add(&countable(model)->holders, 1);
  return model;
}

void sap_model_release(const sap_model* model) {
  sap_model_destroy(countable(model));
}

void sap_model_destroy(sap_model* model) {
  if (model == NULL || atomic_fetch_sub(&model->holders, 1) > 0) {
    return;
  }
  for (int kind = 0; kind < SAP_ELEMENT_COUNT; ++kind) {
    sap_names_clear(&model->names[kind]);
  }
  void* const owned[] = {(char*)model->options.name,
                         model->bodies,
                         model->body_order,
                         model->joints,
                         model->body_joints,
                         model->shapes,
                         model->tendons,
                         model->tendon_joints,
                         model->tendon_coefficients,
                         model->tendon_point_bodies,
                         model->tendon_points,
                         model->tendon_wraps,
                         model->actuators,
                         model->equalities,
                         model->springs,
                         model->bushings,
                         model->pairs,
                         model->meshes,
                         model->mesh_vertices,
                         model->mesh_neighbor_start,
                         model->mesh_neighbors,
                         model->mesh_planes,
                         model->mesh_face_start,
                         model->mesh_face_vertices,
                         model->exclusions,
                         model->tree_sizes,
                         model->tree_dofs,
                         model->dof_body,
                         model->dof_joint,
                         model->dof_parent,
                         model->dof_tree,
                         model->dof_inertia,
                         model->q_default,
                         model->key_t,
                         model->key_q,
                         model->key_v,
                         model->key_control,
                         model->key_act};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) {
    sap_free(owned[i]);
  }
  sap_free(model);
}

sap_model_sizes sap_model_get_sizes(const sap_model* model) {
  return model != NULL ? model->sizes : (sap_model_sizes){0};
}

const sap_model_options* sap_model_get_options(const sap_model* model) {
  return model != NULL ? &model->options : NULL;
}

const char* sap_model_name(const sap_model* model, sap_element kind, int32_t id) {
  if (model == NULL || (int)kind < 0 || (int)kind >= SAP_ELEMENT_COUNT || id < 0 ||
      id >= model->names[kind].count || model->names[kind].text[id] == NULL) {
    return "";
  }
  return model->names[kind].text[id];
}

int32_t sap_model_find(const sap_model* model, sap_element kind, const char* name) {
  if (model == NULL || (int)kind < 0 || (int)kind >= SAP_ELEMENT_COUNT) {
    return -1;
  }
  return sap_names_find(&model->names[kind], name);
}

// ARGUMENT unless 0 <= id < count.
static sap_status check_id(const sap_model* model, sap_element kind, int32_t id, int32_t count,
                           sap_error* error) {
  if (model == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s %d: model is NULL", sap_element_text(kind),
                    (int)id);
  }
  if (id < 0 || id >= count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s %d: the model has %d", sap_element_text(kind),
                    (int)id, (int)count);
  }
  return SAP_STATUS_OK;
}

static void store(int32_t* out, int32_t value) {
  if (out != NULL) {
    *out = value;
  }
}

sap_status sap_model_joint(const sap_model* model, int32_t joint, sap_joint_type* type,
                           int32_t* body, int32_t* q_start, int32_t* v_start, sap_error* error) {
  const sap_status status =
      check_id(model, SAP_ELEMENT_JOINT, joint, sap_model_get_sizes(model).joints, error);
  const bool known = status == SAP_STATUS_OK;
  if (known && type != NULL) {
    *type = model->joints[joint].type;
  }
  store(body, known ? model->joints[joint].body : -1);
  store(q_start, known ? model->joints[joint].q_start : -1);
  store(v_start, known ? model->joints[joint].v_start : -1);
  return status;
}

sap_status sap_model_shape(const sap_model* model, int32_t shape, sap_shape_def* out,
                           sap_error* error) {
  const sap_status status =
      check_id(model, SAP_ELEMENT_SHAPE, shape, sap_model_get_sizes(model).shapes, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "shape %d: out is NULL", (int)shape);
  }
  *out = model->shapes[shape];
  out->name = model->names[SAP_ELEMENT_SHAPE].text[shape];
  return SAP_STATUS_OK;
}

double sap_model_body_mass(const sap_model* model, int32_t body) {
  return model != NULL && body >= 0 && body < model->sizes.bodies ? model->bodies[body].mass
                                                                  : (double)NAN;
}

static void fill(double* to, const double* from, int32_t count) {
  if (count > 0) {
    memcpy(to, from, (size_t)count * sizeof *to);
  }
}

sap_status sap_model_default_state(const sap_model* model, sap_state* state, sap_error* error) {
  if (model == NULL || state == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "default state: model or state is NULL");
  }
  const sap_model_sizes* n = &model->sizes;
  const sap_status status = sap_state_resize_with(state, n->nq, n->nv, n->na, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  state->t = 0.0;
  fill(state->q, model->q_default, model->sizes.nq);
  for (int32_t i = 0; i < model->sizes.nv; ++i) {
    state->v[i] = 0.0;
  }
  for (int32_t i = 0; i < model->sizes.na; ++i) {
    state->act[i] = 0.0;
  }
  return SAP_STATUS_OK;
}

sap_status sap_model_keyframe(const sap_model* model, int32_t keyframe, sap_state* state,
                              double* control, sap_error* error) {
  sap_status status =
      check_id(model, SAP_ELEMENT_KEYFRAME, keyframe, sap_model_get_sizes(model).keyframes, error);
  if (status == SAP_STATUS_OK && state == NULL) {
    status = sap_fail(error, SAP_STATUS_ARGUMENT, "keyframe %d: state is NULL", (int)keyframe);
  }
  if (status == SAP_STATUS_OK) {
    const sap_model_sizes* n = &model->sizes;
    status = sap_state_resize_with(state, n->nq, n->nv, n->na, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const size_t k = (size_t)keyframe;
  state->t = model->key_t[k];
  fill(state->q, model->key_q + k * (size_t)model->sizes.nq, model->sizes.nq);
  fill(state->v, model->key_v + k * (size_t)model->sizes.nv, model->sizes.nv);
  fill(state->act, model->key_act + k * (size_t)model->sizes.na, model->sizes.na);
  if (control != NULL) {
    fill(control, model->key_control + k * (size_t)model->sizes.nu, model->sizes.nu);
  }
  return SAP_STATUS_OK;
}
