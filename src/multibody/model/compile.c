// SPDX-License-Identifier: BSD-3-Clause
// From a builder to a model: copies, keyframes and checks of the whole.
#include "multibody/model/compile.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "multibody/model/names.h"

// Stores a copy of `count` elements at the address `out` of a pointer.
static bool copy_array(const void* from, int32_t count, size_t size, void* out) {
  void* copy = sap_allocate((size_t)count, size);
  if (copy == NULL) {
    return false;
  }
  if (count > 0) {
    memcpy(copy, from, (size_t)count * size);
  }
  memcpy(out, &copy, sizeof copy);
  return true;
}

#define COPY(from, count, to) copy_array((from), (count), sizeof *(from), &(to))

static int compare_pairs(const void* a, const void* b) {
  const int32_t* p = a;
  const int32_t* q = b;
  const int32_t i = p[0] != q[0] ? 0 : 1;
  return (p[i] > q[i]) - (p[i] < q[i]);
}

static int compare_pair_defs(const void* a, const void* b) {
  const sap_pair_def* p = a;
  const sap_pair_def* q = b;
  const int32_t pair_p[2] = {p->shape_a, p->shape_b}, pair_q[2] = {q->shape_a, q->shape_b};
  return compare_pairs(pair_p, pair_q);
}

// Sorted, each pair once.
static void sort_exclusions(sap_model* model, int32_t count) {
  qsort(model->exclusions, (size_t)count, sizeof *model->exclusions, compare_pairs);
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (kept == 0 || compare_pairs(model->exclusions[kept - 1], model->exclusions[i]) != 0) {
      memmove(model->exclusions[kept], model->exclusions[i], sizeof *model->exclusions);
      ++kept;
    }
  }
  model->exclusion_count = kept;
}

// Copies all records that need no numbering.
static sap_status copy(const sap_builder* builder, sap_model* model, sap_error* error) {
  model->options = builder->options;
  model->options.name = sap_duplicate_string(builder->options.name);
  model->sizes = (sap_model_sizes){.bodies = builder->nbodies,
                                   .joints = builder->njoints,
                                   .shapes = builder->nshapes,
                                   .tendons = builder->ntendons,
                                   .actuators = builder->nactuators,
                                   .keyframes = builder->nkeys,
                                   .nq = builder->nq,
                                   .nv = builder->nv,
                                   .nu = builder->nactuators,
                                   .na = builder->na,
                                   .equalities = builder->nequalities,
                                   .springs = builder->nsprings,
                                   .bushings = builder->nbushings};
  const bool copied =
      (builder->options.name == NULL || model->options.name != NULL) &&
      COPY(builder->bodies, builder->nbodies, model->bodies) &&
      COPY(builder->joints, builder->njoints, model->joints) &&
      COPY(builder->shapes, builder->nshapes, model->shapes) &&
      COPY(builder->tendons, builder->ntendons, model->tendons) &&
      COPY(builder->tendon_joints, builder->ntendon_joints, model->tendon_joints) &&
      COPY(builder->tendon_coefficients, builder->ntendon_joints, model->tendon_coefficients) &&
      COPY(builder->tendon_point_bodies, builder->ntendon_points, model->tendon_point_bodies) &&
      COPY(builder->tendon_points, 3 * builder->ntendon_points, model->tendon_points) &&
      COPY(builder->tendon_wraps, builder->ntendon_points, model->tendon_wraps) &&
      COPY(builder->actuators, builder->nactuators, model->actuators) &&
      COPY(builder->equalities, builder->nequalities, model->equalities) &&
      COPY(builder->springs, builder->nsprings, model->springs) &&
      COPY(builder->bushings, builder->nbushings, model->bushings) &&
      COPY(builder->pairs, builder->npairs, model->pairs) &&
      COPY(builder->exclusions, builder->nexclusions, model->exclusions);
  if (!copied) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: model");
  }
  sort_exclusions(model, builder->nexclusions);
  qsort(model->pairs, (size_t)builder->npairs, sizeof *model->pairs, compare_pair_defs);
  model->sizes.pairs = builder->npairs;
  for (int kind = 0; kind < SAP_ELEMENT_COUNT; ++kind) {
    const sap_status status = sap_names_copy(&builder->names[kind], &model->names[kind], error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return SAP_STATUS_OK;
}

// What later additions to the builder may have broken: free joints and planes need static bodies.
static sap_status check(const sap_builder* builder, const sap_model* model, sap_error* error) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const int32_t parent = model->bodies[joint->body].parent;
    if (joint->type == SAP_JOINT_FREE && model->bodies[parent].tree >= 0) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, j, error);
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "body = %d hangs on a moving body, but a free joint must connect to "
                            "the world or to a static body",
                            (int)joint->body);
    }
  }
  for (int32_t s = 0; s < model->sizes.shapes; ++s) {
    const sap_shape_def* shape = &model->shapes[s];
    if (shape->type == SAP_SHAPE_PLANE && model->bodies[shape->body].tree >= 0) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_SHAPE, s, error);
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "body = %d moves, but a plane must be on the world or a static body",
                            (int)shape->body);
    }
  }
  return SAP_STATUS_OK;
}

// Makes the quaternions of a keyframe's q unit.
static sap_status normalize_key(const sap_checker* checker, const sap_model* model, double* q) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    if (joint->nq < 4) {
      continue;
    }
    const int32_t start = joint->q_start + joint->nq - 4;
    double unit[4];
    const sap_status status = sap_check_quaternion(checker, "q: quaternion", q + start, unit);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    memcpy(q + start, unit, sizeof unit);
  }
  return SAP_STATUS_OK;
}

static sap_status set_keyframes(const sap_builder* builder, sap_model* model, sap_error* error) {
  const size_t keys = (size_t)builder->nkeys;
  const size_t nq = (size_t)model->sizes.nq, nv = (size_t)model->sizes.nv;
  const size_t nu = (size_t)model->sizes.nu, na = (size_t)model->sizes.na;
  model->key_t = sap_allocate(keys, sizeof *model->key_t);
  model->key_q = sap_allocate(keys * nq, sizeof *model->key_q);
  model->key_v = sap_allocate(keys * nv, sizeof *model->key_v);
  model->key_control = sap_allocate(keys * nu, sizeof *model->key_control);
  model->key_act = sap_allocate(keys * na, sizeof *model->key_act);
  if (model->key_t == NULL || model->key_q == NULL || model->key_v == NULL ||
      model->key_control == NULL || model->key_act == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d keyframes", (int)builder->nkeys);
  }
  for (size_t k = 0; k < keys; ++k) {
    const sap_builder_key* key = &builder->keys[k];
    const sap_checker checker =
        sap_builder_checker(builder, SAP_ELEMENT_KEYFRAME, (int32_t)k, error);
    if ((key->q != NULL && key->nq != model->sizes.nq) ||
        (key->v != NULL && key->nv != model->sizes.nv) ||
        (key->control != NULL && key->nu != model->sizes.nu)) {
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "has nq = %d, nv = %d, nu = %d, but the model has %d, %d, %d: add "
                            "keyframes last",
                            (int)key->nq, (int)key->nv, (int)key->nu, (int)model->sizes.nq,
                            (int)model->sizes.nv, (int)model->sizes.nu);
    }
    if (key->act != NULL && key->na != model->sizes.na) {
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "has na = %d, but the model has %d: add keyframes last", (int)key->na,
                            (int)model->sizes.na);
    }
    double* q = model->key_q + k * nq;
    model->key_t[k] = key->t;
    memcpy(q, key->q != NULL ? key->q : model->q_default, nq * sizeof *q);
    if (key->v != NULL) {
      memcpy(model->key_v + k * nv, key->v, nv * sizeof *key->v);
    }
    if (key->control != NULL) {
      memcpy(model->key_control + k * nu, key->control, nu * sizeof *key->control);
    }
    if (key->act != NULL) {
      memcpy(model->key_act + k * na, key->act, na * sizeof *key->act);
    }
    const sap_status status = normalize_key(&checker, model, q);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_builder_compile(const sap_builder* builder, sap_model** out, sap_error* error) {
  if (out == NULL || builder == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "compile: builder or out is NULL");
  }
  *out = NULL;
  sap_model* model = sap_allocate(1, sizeof *model);
  if (model == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: model");
  }
  sap_status status = copy(builder, model, error);
  if (status == SAP_STATUS_OK) {
    status = sap_compile_number(model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check(builder, model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_compile_stiffness(model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_compile_meshes(builder, model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_compile_tendons(model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_keyframes(builder, model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_compile_check_inertia(builder, model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_compile_springs(builder, model, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_compile_actuators(builder, model, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_model_destroy(model);
    return status;
  }
  *out = model;
  return SAP_STATUS_OK;
}
