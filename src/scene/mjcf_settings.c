// SPDX-License-Identifier: BSD-3-Clause
// What MJCF has no words for, as <custom><numeric name="sapstep:..." data="..."/>; and <option>.
// The names are listed in include/sapstep/scene.h.
#include <math.h>
#include <string.h>

#include "math/vector3.h"
#include "scene/mjcf.h"
#include "scene/number.h"

static const char prefix[] = "sapstep:";
static const char global_names[] =
    "sapstep:stiffness sapstep:relaxation_time sapstep:beta sapstep:sigma "
    "sapstep:limit_stiffness sapstep:limit_relaxation_time";
static const char* const geom_prefixes[] = {"sapstep:stiffness:", "sapstep:relaxation_time:"};

// Calls for every <custom><numeric> of a model.
static const sap_xml_node* next_numeric(const sap_mjcf_model* model, const sap_xml_node* last) {
  const sap_xml_node* section = last != NULL ? last->parent : model->root->first_child;
  const sap_xml_node* node = last != NULL ? last->next : NULL;
  for (; section != NULL; section = section->next, node = NULL) {
    if (!sap_xml_is(section, "custom")) {
      continue;
    }
    for (node = node != NULL || last != NULL ? node : section->first_child; node != NULL;
         node = node->next) {
      if (sap_xml_is(node, "numeric")) {
        return node;
      }
    }
    last = NULL;
  }
  return NULL;
}

// The last setting of that name; NULL: none.
static const sap_xml_node* find_setting(const sap_mjcf_model* model, const char* a, const char* b) {
  const sap_xml_node* found = NULL;
  const size_t length = strlen(a);
  for (const sap_xml_node* n = next_numeric(model, NULL); n; n = next_numeric(model, n)) {
    const char* name = sap_xml_get(n, "name");
    if (name != NULL && strncmp(name, a, length) == 0 && strcmp(name + length, b) == 0) {
      found = n;
    }
  }
  return found;
}

static sap_status read_setting(sap_mjcf_reader* r, const sap_xml_node* node, bool positive,
                               double* value) {
  const sap_status status = sap_xml_numbers(node, "data", 1, 1, value, NULL, r->error);
  if (status == SAP_STATUS_OK && !(positive ? *value > 0.0 : *value >= 0.0)) {
    return sap_xml_fail(node, "data", SAP_STATUS_SYNTAX, r->error, "of '%s' must be %s 0",
                        sap_xml_get(node, "name"), positive ? ">" : ">=");
  }
  return status;
}

// The model's own setting, or else the main file's; leaves *value alone without one.
static sap_status read_global(sap_mjcf_reader* r, const sap_mjcf_model* model, const char* name,
                              bool positive, double* value) {
  const sap_xml_node* node = find_setting(model, name, "");
  if (node == NULL && model != r->main) {
    node = find_setting(r->main, name, "");
  }
  return node != NULL ? read_setting(r, node, positive, value) : SAP_STATUS_OK;
}

sap_status sap_mjcf_limit_settings(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                   double* stiffness, double* relaxation_time) {
  const sap_status status = read_global(r, model, "sapstep:limit_stiffness", true, stiffness);
  return status != SAP_STATUS_OK
             ? status
             : read_global(r, model, "sapstep:limit_relaxation_time", false, relaxation_time);
}

// For one geom, by its full name in the main file or by its own name in its own file.
static sap_status read_for_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, int which,
                                const char* full_name, double* value) {
  const char* own = sap_xml_get(item->node, "name");
  const char* start = geom_prefixes[which];
  const sap_xml_node* node = full_name != NULL ? find_setting(r->main, start, full_name) : NULL;
  if (node == NULL && own != NULL) {
    node = find_setting(item->scope.model, start, own);
  }
  if (node == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status =
      sap_lookup_add(&r->used_settings, sap_xml_get(node, "name"), 0, NULL, r->error);
  return status == SAP_STATUS_OK ? read_setting(r, node, which == 0, value) : status;
}

sap_status sap_mjcf_geom_material(sap_mjcf_reader* r, const sap_mjcf_item* item,
                                  const sap_mjcf_sources* s, const char* full_name,
                                  sap_material* material) {
  *material = r->options->default_material;
  const sap_mjcf_model* model = item->scope.model;
  sap_status status = read_global(r, model, "sapstep:stiffness", true, &material->stiffness);
  if (status == SAP_STATUS_OK) {
    status = read_global(r, model, "sapstep:relaxation_time", false, &material->relaxation_time);
  }
  // Positive values are MuJoCo's solver tuning (time constant, damping ratio).
  double solref[2] = {0.02, 1.0};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "solref", (const int32_t[]){1, 2}, solref, NULL);
  }
  if (solref[0] < 0.0 && solref[1] <= 0.0) {
    material->stiffness = -solref[0];
    material->relaxation_time = solref[1] / solref[0];
  }
  if (status == SAP_STATUS_OK) {
    status = read_for_geom(r, item, 0, full_name, &material->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = read_for_geom(r, item, 1, full_name, &material->relaxation_time);
  }
  return status;
}

static sap_status check_model(sap_mjcf_reader* r, const sap_mjcf_model* model) {
  for (const sap_xml_node* n = next_numeric(model, NULL); n; n = next_numeric(model, n)) {
    const char* name = sap_xml_get(n, "name");
    if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0 ||
        sap_word_index(global_names, name) >= 0) {
      continue;
    }
    const bool geom = strncmp(name, geom_prefixes[0], strlen(geom_prefixes[0])) == 0 ||
                      strncmp(name, geom_prefixes[1], strlen(geom_prefixes[1])) == 0;
    if (!geom) {
      return sap_xml_fail(n, "name", SAP_STATUS_SYNTAX, r->error, "unknown setting; known are %s",
                          global_names);
    }
    // An attached model may be there in part only.
    if (model == r->main && sap_lookup_find(&r->used_settings, name) < 0) {
      return sap_xml_fail(n, "name", SAP_STATUS_SYNTAX, r->error, "there is no such geom");
    }
  }
  sap_status status = SAP_STATUS_OK;
  for (const sap_mjcf_model* m = model->assets; m && status == SAP_STATUS_OK; m = m->next) {
    status = check_model(r, m);
  }
  return status;
}

sap_status sap_mjcf_check_settings(sap_mjcf_reader* r) {
  return check_model(r, r->main);
}

static sap_status read_option(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_model_options* options, bool* no_gravity) {
  sap_status status = SAP_STATUS_OK;
  if (sap_xml_get(node, "timestep") != NULL) {
    status = sap_xml_numbers(node, "timestep", 1, 1, &options->timestep, NULL, r->error);
    if (status == SAP_STATUS_OK && !(options->timestep > 0.0)) {
      return sap_xml_fail(node, "timestep", SAP_STATUS_SYNTAX, r->error, "must be > 0 s");
    }
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "gravity") != NULL) {
    status = sap_xml_numbers(node, "gravity", 3, 3, options->gravity, NULL, r->error);
  }
  for (const sap_xml_node* f = node->first_child; f != NULL; f = f->next) {
    const char* gravity = sap_xml_get(f, "gravity");
    if (gravity != NULL) {
      *no_gravity = strcmp(gravity, "disable") == 0;
    }
  }
  return status;
}

sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options) {
  *options = sap_model_options_default();
  options->name = sap_xml_get(r->main->root, "model");
  options->friction_rule = SAP_FRICTION_MAXIMUM;
  bool no_gravity = false;
  for (const sap_xml_node* s = r->main->root->first_child; s != NULL; s = s->next) {
    if (sap_xml_is(s, "option")) {
      const sap_status status = read_option(r, s, options, &no_gravity);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
  }
  if (no_gravity) {
    sap_v3_set(options->gravity, 0.0, 0.0, 0.0);
  }
  const sap_status status =
      read_global(r, r->main, "sapstep:beta", false, &options->regularization.beta);
  return status != SAP_STATUS_OK
             ? status
             : read_global(r, r->main, "sapstep:sigma", true, &options->regularization.sigma);
}
