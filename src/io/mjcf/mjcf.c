// SPDX-License-Identifier: BSD-3-Clause
// From the tree of an MJCF file to a model; keyframes.
//
// Keys of attached models are left out with a warning (mjcf_collect.c).
#include "io/mjcf/mjcf.h"

#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/mjcf/mjcf_body.h"
#include "multibody/model/builder.h"

// --- keyframes ----------------------------------------------------------------------------------

typedef struct key_arrays {
  double *q, *v, *control, *act;
  int32_t nq, nv, nu, na;  // of the whole scene
} key_arrays;

// Reads `count` numbers, in the store; NULL where the attribute is absent.
static sap_status read_values(sap_mjcf_reader* r, const sap_xml_node* node, const char* attribute,
                              int32_t count, double** values) {
  *values = NULL;
  if (sap_xml_get(node, attribute) == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_POOL_ADD(&r->store->pool, values, sap_xml_word_count(node, attribute), r->error));
  return sap_xml_numbers(node, attribute, count, count, *values, NULL, r->error);
}

// Reads the values of all actuators (ctrl), or of those with an activation (act), also of actuators
// that were left out.
static sap_status read_controls(sap_mjcf_reader* r, const sap_xml_node* node, bool activations,
                                double* target) {
  int32_t count = 0;
  for (int32_t i = 0; i < r->control_count; ++i) {
    count += !activations || r->controls[i].has_activation ? 1 : 0;
  }
  double* values;
  SAP_TRY(read_values(r, node, activations ? "act" : "ctrl", count, &values));
  int32_t from = 0, to = 0;  // among all, among activations that exist
  for (int32_t i = 0; i < r->control_count && values != NULL; ++i) {
    const sap_mjcf_control* c = &r->controls[i];
    if (activations && !c->has_activation) {
      continue;
    }
    if (c->id >= 0) {
      target[activations ? to++ : c->id] = values[from];
    }
    ++from;
  }
  return SAP_STATUS_OK;
}

static sap_status read_coordinates(sap_mjcf_reader* r, const sap_xml_node* node,
                                   const char* attribute, int32_t count, double* target) {
  double* values;
  SAP_TRY(read_values(r, node, attribute, count, &values));
  if (values != NULL) {
    memcpy(target, values, (size_t)count * sizeof *values);
  }
  return SAP_STATUS_OK;
}

// Replaces zero quaternions by the identity, as MuJoCo does.
static void mend_quaternions(const sap_mjcf_reader* r, double* q) {
  for (int32_t j = 0; j < r->joint_count; ++j) {
    const sap_joint_type type = r->joints[j].type;
    if (type == SAP_JOINT_FREE || type == SAP_JOINT_BALL) {
      double* turn = q + r->joints[j].q_start + (type == SAP_JOINT_FREE ? 3 : 0);
      const bool zero = turn[0] == 0.0 && turn[1] == 0.0 && turn[2] == 0.0 && turn[3] == 0.0;
      turn[0] = zero ? 1.0 : turn[0];
    }
  }
}

static sap_status add_key(sap_mjcf_reader* r, const sap_xml_node* node, const key_arrays* a) {
  if (a->nq > 0) {
    memcpy(a->q, r->q_default, (size_t)a->nq * sizeof *a->q);
  }
  memset(a->v, 0, (size_t)(a->nv + a->nu + a->na) * sizeof *a->v);
  sap_keyframe_def def = sap_keyframe_def_default();
  def.q = a->q;
  def.v = a->v;
  def.control = a->control;
  def.act = a->act;
  const char* name = sap_xml_get(node, "name");
  def.name = name != NULL && name[0] != '\0' ? name : def.name;
  SAP_TRY(sap_xml_optional(node, "time", 1, 1, &def.t, r->error));
  SAP_TRY(read_coordinates(r, node, "qpos", a->nq, a->q));
  SAP_TRY(read_coordinates(r, node, "qvel", a->nv, a->v));
  mend_quaternions(r, a->q);
  SAP_TRY(read_controls(r, node, false, a->control));
  SAP_TRY(read_controls(r, node, true, a->act));
  return SAP_XML_ADD(r, node, sap_builder_add_keyframe, &def, NULL);
}

// <size nkey> is the least number of keyframes: those beyond the <key>s are the default pose.
static sap_status add_spare_keys(sap_mjcf_reader* r, const key_arrays* arrays) {
  static const int32_t most = 1000000;  // more than any scene has
  SAP_XML_EACH(n, r->main->root, "size") {
    int32_t count = 0;
    SAP_TRY(sap_xml_integer(n, "nkey", &count, r->error));
    SAP_RETURN_IF(count > most,
                  sap_xml_syntax(n, "nkey", r->error, "more than %d keyframes", (int)most));
    while (r->builder->nkeys < count) {
      SAP_TRY(add_key(r, n, arrays));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status add_keys(sap_mjcf_reader* r, const key_arrays* arrays) {
  const sap_xml_node* root = r->main->root;
  for (const sap_xml_node* n = sap_xml_next(root, "keyframe", NULL); n != NULL;
       n = sap_xml_next(root, "keyframe", n)) {
    SAP_TRY(add_key(r, n, arrays));
  }
  return add_spare_keys(r, arrays);
}

static sap_status read_keyframes(sap_mjcf_reader* r) {
  key_arrays a = {0};
  sap_builder_counts(r->builder, &a.nq, &a.nv, &a.nu);
  for (int32_t i = 0; i < r->control_count; ++i) {
    a.na += r->controls[i].id >= 0 && r->controls[i].has_activation ? 1 : 0;
  }
  SAP_FAIL_IF(a.nq != r->nq || a.nv != r->nv, r->error, SAP_STATUS_INTERNAL,
              "coordinates are counted differently");
  SAP_TRY(SAP_POOL_ADD(&r->pool, &a.q, (size_t)a.nq + (size_t)a.nv + (size_t)a.nu + (size_t)a.na,
                       r->error));
  a.v = a.q + a.nq;
  a.control = a.v + a.nv;
  a.act = a.control + a.nu;
  return add_keys(r, &a);
}

// --- model --------------------------------------------------------------------------------------

static sap_status build_model(sap_mjcf_reader* r, sap_xml_node* root, sap_model** out) {
  sap_model_options options;
  SAP_TRY(sap_mjcf_load_model(r, r->path, root, NULL, &r->main));
  SAP_TRY(sap_mjcf_model_options(r, &options));
  SAP_TRY(sap_builder_create(&options, &r->builder, r->error));
  const sap_mjcf_space world = {
      .model = r->main, .parent = -1, .prefix = "", .suffix = "", .is_model = true};
  int32_t index;
  SAP_TRY(sap_mjcf_add_space(r, &world, &index));
  SAP_TRY(sap_mjcf_read_bodies(r));
  if (r->main->compiler.total_mass > 0.0) {
    SAP_TRY_OR(sap_builder_scale_masses(r->builder, r->main->compiler.total_mass, r->error),
               sap_error_prefix(r->error, "%.200s", r->path));
  }
  SAP_TRY(sap_mjcf_check_settings(r));
  // Elements that name others, in the order in which they may name each other.
  SAP_TRY(sap_mjcf_read_contacts(r));
  SAP_TRY(sap_mjcf_add_section(r, "tendon", NULL, sap_mjcf_add_tendon));
  SAP_TRY(sap_mjcf_add_section(r, "actuator", NULL, sap_mjcf_add_actuator));
  SAP_TRY(sap_mjcf_add_section(r, "equality", NULL, sap_mjcf_add_equality));
  SAP_TRY(sap_mjcf_add_section(r, "sensor", NULL, sap_mjcf_add_sensor));
  SAP_TRY(read_keyframes(r));
  SAP_TRY_OR(sap_builder_compile(r->builder, out, r->error),
             sap_error_prefix(r->error, "%.200s", r->path));
  return SAP_STATUS_OK;
}

static void clear_reader(sap_mjcf_reader* r) {
  sap_builder_destroy(r->builder);
  sap_pool_free(&r->pool);
  sap_name_map* const names[] = {&r->body_names,     &r->joint_names,  &r->site_names,
                                 &r->geom_names,     &r->tendon_names, &r->obstacle_names,
                                 &r->actuator_names, &r->used_settings};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    sap_name_map_clear(names[i]);
  }
}

sap_status sap_mjcf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error) {
  sap_mjcf_reader r = {.options = options, .error = error, .path = path, .store = store};
  const sap_status status = build_model(&r, root, out);
  clear_reader(&r);
  return status;
}
