// SPDX-License-Identifier: BSD-3-Clause
// What MJCF has no words for, as <custom><numeric name="sapstep:..." data="..."/> or <text .../>.
// The names are listed in include/sapstep/scene.h.
#include <stddef.h>
#include <string.h>

#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"

// A setting of the scene that may be said of one geom, too: NAME:GEOM.
typedef struct material_setting {
  const char* name;
  bool positive;
  size_t field;  // of sap_material
} material_setting;

static const char prefix[] = "sapstep:";
static const char contact_model[] = "sapstep:contact_model";
static const char note[] = "sapstep:exact:";                        // for programs
static const char surface_velocity[] = "sapstep:surface_velocity";  // of a geom only
static const material_setting material_settings[] = {
    {"sapstep:stiffness", true, offsetof(sap_material, stiffness)},
    {"sapstep:relaxation_time", false, offsetof(sap_material, relaxation_time)},
    {"sapstep:dissipation", false, offsetof(sap_material, dissipation)},
    {"sapstep:stiction_tolerance", true, offsetof(sap_material, stiction_tolerance)},
    {"sapstep:static_friction", false, offsetof(sap_material, static_friction)},
};
enum { MATERIAL_SETTINGS = sizeof material_settings / sizeof material_settings[0] };
static const char global_names[] =
    "sapstep:stiffness sapstep:relaxation_time sapstep:dissipation sapstep:stiction_tolerance "
    "sapstep:static_friction sapstep:contact_model sapstep:beta sapstep:sigma "
    "sapstep:limit_stiffness sapstep:limit_relaxation_time";

// Calls for every <numeric> and <text> of a model's <custom>.
static const sap_xml_node* next_setting(const sap_mjcf_model* model, const sap_xml_node* last) {
  const sap_xml_node* section = last != NULL ? last->parent : model->root->first_child;
  const sap_xml_node* node = last != NULL ? last->next : NULL;
  for (; section != NULL; section = section->next, node = NULL) {
    if (!sap_xml_is(section, "custom")) {
      continue;
    }
    for (node = node != NULL || last != NULL ? node : section->first_child; node != NULL;
         node = node->next) {
      if (sap_xml_is(node, "numeric") || sap_xml_is(node, "text")) {
        return node;
      }
    }
    last = NULL;
  }
  return NULL;
}

// Whether a setting's name is `name`, or `name`:`geom` where that is not NULL.
static bool is_named(const sap_xml_node* node, const char* name, const char* geom) {
  const char* own = sap_xml_get(node, "name");
  const size_t length = strlen(name);
  if (own == NULL || strncmp(own, name, length) != 0) {
    return false;
  }
  return geom == NULL ? own[length] == '\0'
                      : own[length] == ':' && strcmp(own + length + 1, geom) == 0;
}

// The last setting of that name; NULL: none.
static const sap_xml_node* find_setting(const sap_mjcf_model* model, const char* name,
                                        const char* geom) {
  const sap_xml_node* found = NULL;
  for (const sap_xml_node* n = next_setting(model, NULL); n; n = next_setting(model, n)) {
    found = is_named(n, name, geom) ? n : found;
  }
  return found;
}

static sap_status check_element(sap_mjcf_reader* r, const sap_xml_node* node, const char* element) {
  return sap_xml_is(node, element)
             ? SAP_STATUS_OK
             : sap_xml_fail(node, "name", SAP_STATUS_SYNTAX, r->error, "stands in <%s>", element);
}

static sap_status read_setting(sap_mjcf_reader* r, const sap_xml_node* node, bool positive,
                               double* value) {
  sap_status status = check_element(r, node, "numeric");
  if (status == SAP_STATUS_OK) {
    status = sap_xml_numbers(node, "data", 1, 1, value, NULL, r->error);
  }
  if (status == SAP_STATUS_OK && !(positive ? *value > 0.0 : *value >= 0.0)) {
    return sap_xml_fail(node, "data", SAP_STATUS_SYNTAX, r->error, "of '%s' must be %s 0",
                        sap_xml_get(node, "name"), positive ? ">" : ">=");
  }
  return status;
}

static sap_status read_contact_model(sap_mjcf_reader* r, const sap_xml_node* node,
                                     sap_contact_model* model) {
  const sap_status status = check_element(r, node, "text");
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const char* data = sap_xml_get(node, "data");
  for (int i = 0; data != NULL && i < (int)SAP_CONTACT_MODEL_COUNT; ++i) {
    if (strcmp(data, sap_contact_model_text((sap_contact_model)i)) == 0) {
      *model = (sap_contact_model)i;
      return SAP_STATUS_OK;
    }
  }
  return sap_xml_fail(node, "data", SAP_STATUS_SYNTAX, r->error,
                      "of '%s' must be sap, similar or lagged", sap_xml_get(node, "name"));
}

// The model's own setting, or else the main file's.
static const sap_xml_node* find_global(const sap_mjcf_reader* r, const sap_mjcf_model* model,
                                       const char* name) {
  const sap_xml_node* node = find_setting(model, name, NULL);
  return node == NULL && model != r->main ? find_setting(r->main, name, NULL) : node;
}

sap_status sap_mjcf_global_setting(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                   const char* name, bool positive, double* value) {
  const sap_xml_node* node = find_global(r, model, name);
  return node != NULL ? read_setting(r, node, positive, value) : SAP_STATUS_OK;
}

sap_status sap_mjcf_limit_settings(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                   double* stiffness, double* relaxation_time) {
  const sap_status status =
      sap_mjcf_global_setting(r, model, "sapstep:limit_stiffness", true, stiffness);
  return status != SAP_STATUS_OK
             ? status
             : sap_mjcf_global_setting(r, model, "sapstep:limit_relaxation_time", false,
                                       relaxation_time);
}

// For one geom, by its full name in the main file or by its own name in its own file; NULL: none.
static sap_status find_for_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, const char* name,
                                const char* full_name, const sap_xml_node** out) {
  const char* own = sap_xml_get(item->node, "name");
  const sap_xml_node* node = full_name != NULL ? find_setting(r->main, name, full_name) : NULL;
  if (node == NULL && own != NULL) {
    node = find_setting(item->scope.model, name, own);
  }
  *out = node;
  return node == NULL
             ? SAP_STATUS_OK
             : sap_name_map_add(&r->used_settings, sap_xml_get(node, "name"), 0, NULL, r->error);
}

// Settings of the scene (item NULL) or of a geom.
static sap_status read_material(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                const sap_mjcf_item* item, const char* full_name,
                                sap_material* material) {
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i <= MATERIAL_SETTINGS && status == SAP_STATUS_OK; ++i) {
    const bool is_model = i == MATERIAL_SETTINGS;
    const char* name = is_model ? contact_model : material_settings[i].name;
    const sap_xml_node* node = NULL;
    if (item != NULL) {
      status = find_for_geom(r, item, name, full_name, &node);
    } else {
      node = find_global(r, model, name);
    }
    if (status != SAP_STATUS_OK || node == NULL) {
      continue;
    }
    status = is_model ? read_contact_model(r, node, &material->model)
                      : read_setting(r, node, material_settings[i].positive,
                                     (double*)((char*)material + material_settings[i].field));
  }
  return status;
}

sap_status sap_mjcf_geom_material(sap_mjcf_reader* r, const sap_mjcf_item* item,
                                  const sap_mjcf_sources* s, const char* full_name,
                                  sap_material* material) {
  *material = r->options->default_material;
  const sap_mjcf_model* model = item->scope.model;
  sap_status status = read_material(r, model, NULL, NULL, material);
  double solref[2] = {0.02, 1.0};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "solref", (const int32_t[]){1, 2}, solref, NULL);
  }
  (void)sap_mjcf_take_solref(solref, &material->stiffness, &material->relaxation_time);
  return status == SAP_STATUS_OK ? read_material(r, model, item, full_name, material) : status;
}

sap_status sap_mjcf_geom_belt(sap_mjcf_reader* r, const sap_mjcf_item* item, const char* full_name,
                              double surface[6]) {
  const sap_xml_node* node = NULL;
  sap_status status = find_for_geom(r, item, surface_velocity, full_name, &node);
  if (status == SAP_STATUS_OK && node != NULL) {
    status = check_element(r, node, "numeric");
  }
  return status == SAP_STATUS_OK && node != NULL
             ? sap_xml_numbers(node, "data", 3, 6, surface, NULL, r->error)
             : status;
}

static bool is_for_geom(const char* name) {
  bool is = (strncmp(name, contact_model, strlen(contact_model)) == 0 &&
             name[strlen(contact_model)] == ':') ||
            (strncmp(name, surface_velocity, strlen(surface_velocity)) == 0 &&
             name[strlen(surface_velocity)] == ':');
  for (int i = 0; i < MATERIAL_SETTINGS; ++i) {
    const size_t length = strlen(material_settings[i].name);
    is = is || (strncmp(name, material_settings[i].name, length) == 0 && name[length] == ':');
  }
  return is;
}

// A setting of the scene's materials, whether or not a geom wants it.
static sap_status check_value(sap_mjcf_reader* r, const sap_xml_node* node) {
  sap_contact_model model;
  double value;
  if (is_named(node, contact_model, NULL)) {
    return read_contact_model(r, node, &model);
  }
  for (int i = 0; i < MATERIAL_SETTINGS; ++i) {
    if (is_named(node, material_settings[i].name, NULL)) {
      return read_setting(r, node, material_settings[i].positive, &value);
    }
  }
  return check_element(r, node, "numeric");
}

static sap_status pass_note(sap_mjcf_reader* r, const sap_mjcf_model* model,
                            const sap_xml_node* node) {
  const char* text = sap_xml_get(node, "data");
  const sap_status status = check_element(r, node, "text");
  if (status == SAP_STATUS_OK && text == NULL) {
    return sap_xml_fail(node, "name", SAP_STATUS_SYNTAX, r->error, "it needs data");
  }
  if (status == SAP_STATUS_OK && model == r->main && r->options->note != NULL) {
    r->options->note(r->options->note_context, sap_xml_get(node, "name") + strlen(prefix), text);
  }
  return status;
}

static sap_status check_model(sap_mjcf_reader* r, const sap_mjcf_model* model) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = next_setting(model, NULL); n && status == SAP_STATUS_OK;
       n = next_setting(model, n)) {
    const char* name = sap_xml_get(n, "name");
    if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0) {
      continue;
    }
    if (sap_word_index(global_names, name) >= 0) {
      status = check_value(r, n);
      continue;
    }
    if (strncmp(name, note, strlen(note)) == 0) {
      status = pass_note(r, model, n);
      continue;
    }
    if (!is_for_geom(name)) {
      return sap_xml_fail(n, "name", SAP_STATUS_SYNTAX, r->error, "unknown setting; known are %s",
                          global_names);
    }
    // An attached model may be there in part only.
    if (model == r->main && sap_name_map_find(&r->used_settings, name) < 0) {
      return sap_xml_fail(n, "name", SAP_STATUS_SYNTAX, r->error, "there is no such geom");
    }
  }
  for (const sap_mjcf_model* m = model->assets; m && status == SAP_STATUS_OK; m = m->next) {
    status = check_model(r, m);
  }
  return status;
}

sap_status sap_mjcf_check_settings(sap_mjcf_reader* r) {
  return check_model(r, r->main);
}
