// SPDX-License-Identifier: BSD-3-Clause
// One MJCF model: includes, schema, compiler settings, default classes and the models it names.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf.h"
#include "io/xml/edit.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

static const double degree = 3.14159265358979323846 / 180.0;  // [rad]

static sap_status read_bool(sap_mjcf_reader* r, const sap_xml_node* node, const char* attribute,
                            bool* value) {
  int32_t index;
  if (sap_xml_get(node, attribute) == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_xml_choice(node, attribute, "false true", &index, r->error);
  if (status == SAP_STATUS_OK) {
    *value = index == 1;
  }
  return status;
}

static sap_status read_angles(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_mjcf_compiler* out) {
  int32_t index;
  if (sap_xml_get(node, "angle") != NULL) {
    const sap_status status = sap_xml_choice(node, "angle", "radian degree", &index, r->error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    out->angle_unit = index == 0 ? 1.0 : degree;
  }
  const char* sequence = sap_xml_get(node, "eulerseq");
  if (sequence != NULL) {
    if (strlen(sequence) != 3 || strspn(sequence, "xyzXYZ") != 3) {
      return sap_xml_fail(node, "eulerseq", SAP_STATUS_SYNTAX, r->error,
                          "must be three letters of xyzXYZ");
    }
    memcpy(out->euler_sequence, sequence, 4);
  }
  return SAP_STATUS_OK;
}

static sap_status read_masses(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_mjcf_compiler* out) {
  sap_status status = sap_xml_nonnegative(node, "boundmass", &out->bound_mass, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_nonnegative(node, "boundinertia", &out->bound_inertia, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "inertiafromgeom") != NULL) {
    int32_t index;
    status = sap_xml_choice(node, "inertiafromgeom", "false true auto", &index, r->error);
    if (status == SAP_STATUS_OK) {
      out->inertia_from_geom = (sap_mjcf_tristate)index;
    }
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "inertiagrouprange") != NULL) {
    double range[2];
    status = sap_xml_numbers(node, "inertiagrouprange", 2, 2, range, NULL, r->error);
    if (status == SAP_STATUS_OK) {
      out->group_range[0] = (int32_t)fmax(fmin(range[0], 1e6), -1e6);
      out->group_range[1] = (int32_t)fmax(fmin(range[1], 1e6), -1e6);
    }
  }
  return status == SAP_STATUS_OK
             ? sap_xml_optional(node, "settotalmass", 1, 1, &out->total_mass, r->error)
             : status;
}

static sap_status read_compiler(sap_mjcf_reader* r, const sap_xml_node* node,
                                sap_mjcf_compiler* out) {
  sap_status status = read_angles(r, node, out);
  if (status == SAP_STATUS_OK) {
    status = read_masses(r, node, out);
  }
  if (status == SAP_STATUS_OK) {
    status = read_bool(r, node, "autolimits", &out->auto_limits);
  }
  if (status == SAP_STATUS_OK) {
    status = read_bool(r, node, "balanceinertia", &out->balance_inertia);
  }
  if (status == SAP_STATUS_OK) {
    status = read_bool(r, node, "fitaabb", &out->fit_span);
  }
  for (const sap_xml_node* c = node->first_child; c && status == SAP_STATUS_OK; c = c->next) {
    status = read_bool(r, c, "useexisting", &out->use_lengths);
    if (status == SAP_STATUS_OK) {
      status = read_bool(r, c, "uselimit", &out->use_limits);
    }
  }
  return status;
}

int32_t sap_mjcf_find_class(const sap_mjcf_model* model, const char* name) {
  for (int32_t i = model->class_count - 1; i >= 0; --i) {
    if (strcmp(model->classes[i].name, name) == 0) {
      return i;
    }
  }
  return -1;
}

// A class takes its parent's defaults as they are when it begins: several <default> at the top
// continue each other, and each nested class hangs on the part that it stands in.
static sap_status read_class(sap_mjcf_reader* r, sap_mjcf_model* model, const sap_xml_node* node,
                             int32_t parent) {
  const bool top = sap_xml_is(node->parent, "mujoco") || node->parent == model->root;
  const char* name = sap_xml_get(node, "class");
  if (name == NULL && !top) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'class' is missing");
  }
  name = name != NULL ? name : "main";
  if (!top && sap_mjcf_find_class(model, name) >= 0) {
    return sap_xml_fail(node, "class", SAP_STATUS_SYNTAX, r->error, "the class is defined twice");
  }
  const sap_status status =
      SAP_GROW(&model->classes, &model->class_capacity, model->class_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t index = model->class_count++;
  model->classes[index] = (sap_mjcf_class){.name = name, .parent = parent, .node = node};
  if (top) {
    model->main_class = index;
  }
  for (const sap_xml_node* child = node->first_child; child != NULL; child = child->next) {
    if (sap_xml_is(child, "default")) {
      const sap_status nested = read_class(r, model, child, index);
      if (nested != SAP_STATUS_OK) {
        return nested;
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_asset(sap_mjcf_reader* r, sap_mjcf_model* model, const sap_xml_node* node) {
  const char* file = sap_xml_get(node, "file");
  if (file == NULL) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'file' is missing");
  }
  const char* path = sap_mjcf_sibling(r->store, model->root->file, file);
  if (path == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (const sap_mjcf_model* m = model; m != NULL; m = m->user) {
    if (strcmp(m->root->file, path) == 0) {
      return sap_xml_fail(node, "file", SAP_STATUS_SYNTAX, r->error, "the model contains itself");
    }
  }
  sap_xml_node* root = NULL;
  sap_status status = sap_xml_read(r->store, path, &root, r->error);
  if (status != SAP_STATUS_OK) {
    return status == SAP_STATUS_IO ? sap_xml_locate(node, status, r->error) : status;
  }
  if (!sap_xml_is(root, "mujoco")) {
    return sap_xml_fail(root, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                        "only MJCF models can be attached");
  }
  sap_mjcf_model* asset = NULL;
  status = sap_mjcf_load_model(r, path, root, model, &asset);
  if (status == SAP_STATUS_OK) {
    const char* name = sap_xml_get(node, "name");
    asset->name = name != NULL ? name : sap_xml_get(root, "model");
    asset->next = model->assets;
    model->assets = asset;
  }
  return status;
}

static sap_status read_sections(sap_mjcf_reader* r, sap_mjcf_model* model) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* s = model->root->first_child; s && status == SAP_STATUS_OK;
       s = s->next) {
    if (sap_xml_is(s, "compiler")) {
      status = read_compiler(r, s, &model->compiler);
    } else if (sap_xml_is(s, "default")) {
      status = read_class(r, model, s, model->main_class);
    } else if (sap_xml_is(s, "asset")) {
      for (const sap_xml_node* c = s->first_child; c && status == SAP_STATUS_OK; c = c->next) {
        status = sap_xml_is(c, "model") ? read_asset(r, model, c) : SAP_STATUS_OK;
      }
    }
  }
  return status;
}

sap_status sap_mjcf_load_model(sap_mjcf_reader* r, const char* path, sap_xml_node* root,
                               const sap_mjcf_model* user, sap_mjcf_model** out) {
  *out = NULL;
  sap_status status = sap_mjcf_include(r->store, path, root, r->error);
  if (status == SAP_STATUS_OK && user == NULL) {
    status = sap_scene_apply_edits(r->store, root, r->options, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_schema_check(&sap_mjcf_schema, root, r->options, r->error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_mjcf_model* model = sap_allocate(1, sizeof *model);
  if (model == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  model->root = root;
  model->user = user;
  model->main_class = -1;
  model->compiler = (sap_mjcf_compiler){.angle_unit = degree,
                                        .euler_sequence = "xyz",
                                        .auto_limits = true,
                                        .inertia_from_geom = SAP_MJCF_AUTO,
                                        .group_range = {0, 5},
                                        .use_lengths = true};
  status = read_sections(r, model);
  if (status != SAP_STATUS_OK) {
    sap_mjcf_free_model(model);
    return status;
  }
  *out = model;
  return SAP_STATUS_OK;
}

void sap_mjcf_free_model(sap_mjcf_model* model) {
  if (model == NULL) {
    return;
  }
  while (model->assets != NULL) {
    sap_mjcf_model* next = model->assets->next;
    sap_mjcf_free_model(model->assets);
    model->assets = next;
  }
  sap_free(model->classes);
  sap_free(model);
}
