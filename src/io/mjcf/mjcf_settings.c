// SPDX-License-Identifier: BSD-3-Clause
// Settings that MJCF cannot express: <custom><numeric name="sapstep:..." data="..."/> or
// <text .../>. include/sapstep/scene.h lists the names.
#include <stddef.h>
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/xml/schema.h"

// Settings of materials, of all geoms or of one (NAME:GEOM): field, > 0 (else >= 0).
#define MATERIAL_FIELDS(X)    \
  X(stiffness, true)          \
  X(relaxation_time, false)   \
  X(dissipation, false)       \
  X(stiction_tolerance, true) \
  X(static_friction, false)   \
  X(modulus, false)           \
  X(field_depth, false)

typedef struct material_setting {
  const char* name;
  bool positive;
  size_t field;     // of sap_material
  bool is_contact;  // the contact model, a <text>
} material_setting;

static const char prefix[] = "sapstep:";
static const char note[] = "sapstep:exact:";                        // for programs
static const char surface_velocity[] = "sapstep:surface_velocity";  // of one geom only
static const material_setting material_settings[] = {
#define SAP_X(field, positive) {"sapstep:" #field, positive, offsetof(sap_material, field), false},
    MATERIAL_FIELDS(SAP_X)
#undef SAP_X
        {"sapstep:contact_model", false, 0, true},
};
enum { MATERIAL_SETTINGS = sizeof material_settings / sizeof material_settings[0] };
#define SAP_X(field, positive) "sapstep:" #field " "
static const char global_names[] = MATERIAL_FIELDS(SAP_X)
    "sapstep:contact_model sapstep:beta sapstep:sigma sapstep:limit_stiffness "
    "sapstep:limit_relaxation_time sapstep:harmonic_friction";
#undef SAP_X

// Iterates over <numeric> and <text> of a model's <custom>; last NULL: returns the first.
static const sap_xml_node* next_setting(const sap_mjcf_model* model, const sap_xml_node* last) {
  const sap_xml_node* node = sap_xml_next(model->root, "custom", last);
  while (node != NULL && !sap_xml_is(node, "numeric") && !sap_xml_is(node, "text")) {
    node = sap_xml_next(model->root, "custom", node);
  }
  return node;
}

// True if a setting's name is `name`, or `name`:`geom` where that is not NULL.
static bool is_named(const sap_xml_node* node, const char* name, const char* geom) {
  const char* own = sap_xml_get(node, "name");
  const size_t length = strlen(name);
  if (own == NULL || strncmp(own, name, length) != 0) {
    return false;
  }
  return geom == NULL ? own[length] == '\0'
                      : own[length] == ':' && strcmp(own + length + 1, geom) == 0;
}

// Returns the last setting of that name, NULL without one.
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
             : sap_xml_syntax(node, "name", r->error, "must be a <%s>", element);
}

static sap_status read_setting(sap_mjcf_reader* r, const sap_xml_node* node, bool positive,
                               double* value) {
  SAP_TRY(check_element(r, node, "numeric"));
  SAP_TRY(sap_xml_numbers(node, "data", 1, 1, value, NULL, r->error));
  return (positive ? *value > 0.0 : *value >= 0.0)
             ? SAP_STATUS_OK
             : sap_xml_syntax(node, "data", r->error, "of '%s' must be %s 0",
                              sap_xml_get(node, "name"), positive ? ">" : ">=");
}

static sap_status read_contact_model(sap_mjcf_reader* r, const sap_xml_node* node,
                                     sap_contact_model* model) {
  SAP_TRY(check_element(r, node, "text"));
  const char* data = sap_xml_get(node, "data");
  for (int i = 0; data != NULL && i < (int)SAP_CONTACT_MODEL_COUNT; ++i) {
    if (strcmp(data, sap_contact_model_text((sap_contact_model)i)) == 0) {
      *model = (sap_contact_model)i;
      return SAP_STATUS_OK;
    }
  }
  return sap_xml_syntax(node, "data", r->error, "of '%s' must be sap, similar or lagged",
                        sap_xml_get(node, "name"));
}

static sap_status read_row(sap_mjcf_reader* r, const sap_xml_node* node,
                           const material_setting* row, sap_material* material) {
  return row->is_contact
             ? read_contact_model(r, node, &material->model)
             : read_setting(r, node, row->positive, (double*)((char*)material + row->field));
}

// Returns the model's own setting, or else the main file's.
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

// Finds the setting of one geom, by its full name in the main file or by its own name in its own
// file; NULL: none.
static sap_status find_for_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, const char* name,
                                const char* full_name, const sap_xml_node** out) {
  const char* own = sap_xml_get(item->node, "name");
  *out = full_name != NULL ? find_setting(r->main, name, full_name) : NULL;
  if (*out == NULL && own != NULL) {
    *out = find_setting(item->scope.model, name, own);
  }
  return *out == NULL
             ? SAP_STATUS_OK
             : sap_name_map_add(&r->used_settings, sap_xml_get(*out, "name"), 0, NULL, r->error);
}

// Reads the settings of all geoms (item NULL) or of one.
static sap_status read_material(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                const sap_mjcf_item* item, const char* full_name,
                                sap_material* material) {
  SAP_EACH(const material_setting, row, material_settings, MATERIAL_SETTINGS) {
    const sap_xml_node* node = item == NULL ? find_global(r, model, row->name) : NULL;
    if (item != NULL) {
      SAP_TRY(find_for_geom(r, item, row->name, full_name, &node));
    }
    if (node != NULL) {
      SAP_TRY(read_row(r, node, row, material));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_geom_material(const sap_mjcf_sources* s, const sap_mjcf_item* item,
                                  const char* full_name, sap_material* material) {
  const double friction = material->friction;
  *material = s->r->options->default_material;
  material->friction = friction;
  SAP_TRY(read_material(s->r, s->model, NULL, NULL, material));
  SAP_TRY(sap_mjcf_read_solref(s, "solref", &material->stiffness, &material->relaxation_time));
  SAP_TRY(sap_scene_read_proximity(s->r->options, s->nodes, s->count, material, s->r->error));
  return read_material(s->r, s->model, item, full_name, material);
}

sap_status sap_mjcf_surface_setting(sap_mjcf_reader* r, const sap_mjcf_item* item,
                                    const char* full_name, double surface[6]) {
  const sap_xml_node* node;
  SAP_TRY(find_for_geom(r, item, surface_velocity, full_name, &node));
  if (node == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(check_element(r, node, "numeric"));
  return sap_xml_numbers(node, "data", 3, 6, surface, NULL, r->error);
}

// --- checks -------------------------------------------------------------------------------------

static bool starts_with_geom(const char* name, const char* setting) {
  const size_t length = strlen(setting);
  return strncmp(name, setting, length) == 0 && name[length] == ':';
}

static bool is_for_geom(const char* name) {
  bool is = starts_with_geom(name, surface_velocity);
  for (int i = 0; i < MATERIAL_SETTINGS; ++i) {
    is = is || starts_with_geom(name, material_settings[i].name);
  }
  return is;
}

// Checks a setting of all geoms, also where no geom uses it.
static sap_status check_value(sap_mjcf_reader* r, const sap_xml_node* node) {
  sap_material unused;
  for (int i = 0; i < MATERIAL_SETTINGS; ++i) {
    if (is_named(node, material_settings[i].name, NULL)) {
      return read_row(r, node, &material_settings[i], &unused);
    }
  }
  return check_element(r, node, "numeric");
}

static sap_status pass_note(sap_mjcf_reader* r, const sap_mjcf_model* model,
                            const sap_xml_node* node) {
  const char* text;
  SAP_TRY(check_element(r, node, "text"));
  SAP_TRY(sap_xml_require(node, "data", &text, r->error));
  if (model == r->main && r->options->note != NULL) {
    r->options->note(r->options->note_context, sap_xml_get(node, "name") + strlen(prefix), text);
  }
  return SAP_STATUS_OK;
}

static sap_status check_setting(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                const sap_xml_node* node) {
  const char* name = sap_xml_get(node, "name");
  if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0) {
    return SAP_STATUS_OK;
  }
  if (sap_word_index(global_names, name) >= 0) {
    return check_value(r, node);
  }
  if (strncmp(name, note, strlen(note)) == 0) {
    return pass_note(r, model, node);
  }
  SAP_RETURN_IF(!is_for_geom(name), sap_xml_syntax(node, "name", r->error,
                                                   "unknown setting; available: %s", global_names));
  // Only a part of an attached model may be used.
  return model != r->main || sap_name_map_find(&r->used_settings, name) >= 0
             ? SAP_STATUS_OK
             : sap_xml_syntax(node, "name", r->error, "unknown geom");
}

static sap_status check_model(sap_mjcf_reader* r, const sap_mjcf_model* model) {
  for (const sap_xml_node* n = next_setting(model, NULL); n; n = next_setting(model, n)) {
    SAP_TRY(check_setting(r, model, n));
  }
  for (const sap_mjcf_model* m = model->assets; m != NULL; m = m->next) {
    SAP_TRY(check_model(r, m));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_check_settings(sap_mjcf_reader* r) {
  return check_model(r, r->main);
}
