// SPDX-License-Identifier: BSD-3-Clause
// <keyframe>. A key of the main file is written for the whole scene. A key of an attached model is
// written for that model: it sets what came of it and leaves the rest at its default; as in
// MuJoCo only the first copy of a replicate brings keys along.
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

typedef struct key_arrays {
  double *q, *v, *control, *act;
  int32_t nq, nv, nu, na;  // of the whole scene
} key_arrays;

// Where the values of an attribute belong: values [skip, skip + count) of `given` in all.
typedef struct key_part {
  const char* attribute;
  int32_t given, skip, count;
  double* target;
} key_part;

static sap_status read_part(sap_mjcf_reader* r, const sap_xml_node* node, const key_part* part) {
  if (sap_xml_get(node, part->attribute) == NULL) {
    return SAP_STATUS_OK;
  }
  double* values = sap_allocate((size_t)part->given, sizeof *values);
  if (values == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  const sap_status status =
      sap_xml_numbers(node, part->attribute, part->given, part->given, values, NULL, r->error);
  if (status == SAP_STATUS_OK) {
    memcpy(part->target, values + part->skip, (size_t)part->count * sizeof *values);
  }
  sap_free(values);
  return status;
}

// Values of actuators (ctrl) or of those with an activation (act): one for each of the key's own
// model, what was left out included. In the whole scene they stand in the order of the actuators,
// in an attached model in that of its elements.
typedef struct control_list {
  const char* attribute;
  bool activations;
  double* target;
} control_list;

// How many values precede that of the element in its model's own keys; `node` NULL: how many there
// are.
static int32_t place_in_model(const sap_mjcf_reader* r, int32_t space, const sap_xml_node* node,
                              bool activations) {
  const sap_mjcf_model* model = r->spaces[space].model;
  int32_t count = 0;
  for (const sap_xml_node* s = model->root->first_child; s != NULL; s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "actuator") ? s->first_child : NULL;
    for (; n != NULL && n != node; n = n->next) {
      bool counts = !activations;
      for (int32_t i = 0; i < r->control_count && !counts; ++i) {
        counts = r->controls[i].node == n && r->controls[i].has_activation;
      }
      count += counts ? 1 : 0;
    }
    if (n != NULL) {
      break;
    }
  }
  return count;
}

static int32_t place_in_scene(const sap_mjcf_reader* r, int32_t control, bool activations) {
  int32_t count = 0;
  for (int32_t i = 0; i < control; ++i) {
    count += !activations || r->controls[i].has_activation ? 1 : 0;
  }
  return count;
}

static sap_status read_controls(sap_mjcf_reader* r, const sap_xml_node* node, int32_t space,
                                const control_list* list) {
  const bool main = space == 0, activations = list->activations;
  const int32_t count = main ? place_in_scene(r, r->control_count, activations)
                             : place_in_model(r, space, NULL, activations);
  if (sap_xml_get(node, list->attribute) == NULL) {
    return SAP_STATUS_OK;
  }
  double* values = sap_allocate((size_t)count, sizeof *values);
  if (values == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  const key_part part = {list->attribute, count, 0, count, values};
  const sap_status status = read_part(r, node, &part);
  int32_t to = 0;  // activations of what was left out do not exist
  for (int32_t i = 0; i < r->control_count && status == SAP_STATUS_OK; ++i) {
    const sap_mjcf_control* c = &r->controls[i];
    if (c->id < 0 || (activations && !c->has_activation)) {
      continue;
    }
    if (main || c->space == space) {
      const int32_t from =
          main ? place_in_scene(r, i, activations) : place_in_model(r, space, c->node, activations);
      list->target[activations ? to : c->id] = values[from];
    }
    ++to;
  }
  sap_free(values);
  return status;
}

static sap_status read_state(sap_mjcf_reader* r, const sap_xml_node* node, int32_t index,
                             key_arrays* arrays) {
  const sap_mjcf_space* space = &r->spaces[index];
  int32_t nq = arrays->nq, nv = arrays->nv;
  sap_status status = SAP_STATUS_OK;
  if (index != 0) {
    status = sap_mjcf_count_coordinates(r, space->model, NULL, &nq, &nv);
  }
  const bool main = index == 0;
  const key_part q = {"qpos", nq, main ? 0 : space->q_skip, main ? nq : space->nq,
                      arrays->q + (main ? 0 : space->q_first)};
  const key_part v = {"qvel", nv, main ? 0 : space->v_skip, main ? nv : space->nv,
                      arrays->v + (main ? 0 : space->v_first)};
  if (status == SAP_STATUS_OK) {
    status = read_part(r, node, &q);
  }
  return status == SAP_STATUS_OK ? read_part(r, node, &v) : status;
}

// A key of zeros turns nothing: quaternions that are zero become the identity, as in MuJoCo.
static void mend_turns(const sap_mjcf_reader* r, double* q) {
  for (int32_t j = 0; j < r->joint_count; ++j) {
    const sap_joint_type type = r->joints[j].type;
    if (type == SAP_JOINT_FREE || type == SAP_JOINT_BALL) {
      double* turn = q + r->joints[j].q_start + (type == SAP_JOINT_FREE ? 3 : 0);
      const bool zero = turn[0] == 0.0 && turn[1] == 0.0 && turn[2] == 0.0 && turn[3] == 0.0;
      turn[0] = zero ? 1.0 : turn[0];
    }
  }
}

static sap_status add_key(sap_mjcf_reader* r, const sap_xml_node* node, int32_t space,
                          key_arrays* arrays) {
  if (arrays->nq > 0) {
    memcpy(arrays->q, r->q_default, (size_t)arrays->nq * sizeof *arrays->q);
  }
  memset(arrays->v, 0, (size_t)arrays->nv * sizeof *arrays->v);
  memset(arrays->control, 0, (size_t)arrays->nu * sizeof *arrays->control);
  memset(arrays->act, 0, (size_t)arrays->na * sizeof *arrays->act);
  sap_keyframe_def def = sap_keyframe_def_default();
  def.q = arrays->q;
  def.v = arrays->v;
  def.control = arrays->control;
  def.act = arrays->act;
  const char* name = sap_xml_get(node, "name");
  if (name != NULL && name[0] != '\0') {  // the first copy's suffix is not part of the name
    def.name = sap_xml_join(r->store, r->spaces[space].prefix, name, NULL);
  }
  sap_status status = sap_xml_optional(node, "time", 1, 1, &def.t, r->error);
  if (status == SAP_STATUS_OK) {
    status = read_state(r, node, space, arrays);
    mend_turns(r, arrays->q);
  }
  if (status == SAP_STATUS_OK) {
    const control_list list = {"ctrl", false, arrays->control};
    status = read_controls(r, node, space, &list);
  }
  if (status == SAP_STATUS_OK) {
    const control_list list = {"act", true, arrays->act};
    status = read_controls(r, node, space, &list);
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_xml_locate(node, sap_builder_add_keyframe(r->builder, &def, NULL, r->error), r->error);
  }
  return status;
}

static sap_status add_model_keys(sap_mjcf_reader* r, int32_t space, key_arrays* arrays) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* s = r->spaces[space].model->root->first_child;
       s && status == SAP_STATUS_OK; s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "keyframe") ? s->first_child : NULL;
    for (; n && status == SAP_STATUS_OK; n = n->next) {
      status = add_key(r, n, space, arrays);
    }
  }
  return status;
}

sap_status sap_mjcf_read_keyframes(sap_mjcf_reader* r) {
  key_arrays arrays = {0};
  sap_builder_counts(r->builder, &arrays.nq, &arrays.nv, &arrays.nu);
  for (int32_t i = 0; i < r->control_count; ++i) {
    arrays.na += r->controls[i].id >= 0 && r->controls[i].has_activation ? 1 : 0;
  }
  if (arrays.nq != r->nq || arrays.nv != r->nv) {
    return sap_fail(r->error, SAP_STATUS_INTERNAL, "coordinates are counted differently");
  }
  arrays.q = sap_allocate((size_t)arrays.nq, sizeof *arrays.q);
  arrays.v = sap_allocate((size_t)arrays.nv, sizeof *arrays.v);
  arrays.control = sap_allocate((size_t)arrays.nu, sizeof *arrays.control);
  arrays.act = sap_allocate((size_t)arrays.na, sizeof *arrays.act);
  sap_status status = SAP_STATUS_OK;
  if (arrays.q == NULL || arrays.v == NULL || arrays.control == NULL || arrays.act == NULL) {
    status = sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (int32_t i = 0; i < r->space_count && status == SAP_STATUS_OK; ++i) {
    if (r->spaces[i].is_model && !r->spaces[i].in_copy) {
      status = add_model_keys(r, i, &arrays);
    }
  }
  sap_free(arrays.q);
  sap_free(arrays.v);
  sap_free(arrays.control);
  sap_free(arrays.act);
  return status;
}
