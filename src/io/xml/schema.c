// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/xml/number.h"

void sap_scene_warn(const sap_scene_options* options, const sap_xml_node* node,
                    const char* attribute, const char* text) {
  if (options->warning != NULL) {
    sap_error line;
    (void)sap_xml_fail(node, attribute, SAP_STATUS_UNSUPPORTED, &line, "%s", text);
    options->warning(options->warning_context, line.message);
  }
}

sap_status sap_scene_unsupported(const sap_scene_options* options, const sap_xml_node* node,
                                 const char* attribute, const char* why, sap_error* error) {
  if (options->lenient) {
    sap_scene_warn(options, node, attribute, why);
    return SAP_STATUS_OK;
  }
  return sap_xml_fail(node, attribute, SAP_STATUS_UNSUPPORTED, error, "%s", why);
}

void sap_scene_override(const sap_scene_options* options, sap_material* material) {
  const sap_material* m = options->override_material;
  if (m == NULL) {
    return;
  }
#define SAP_X_STIFFNESS(name) material->name = isnan(m->name) ? material->name : m->name;
#define SAP_X_NOT_NEGATIVE(name) SAP_X_STIFFNESS(name)
#define SAP_X_OWN(name)
#define SAP_X(type, name, value, range) SAP_X_##range(name)
  SAP_MATERIAL_FIELDS(SAP_X)
#undef SAP_X
#undef SAP_X_OWN
#undef SAP_X_NOT_NEGATIVE
#undef SAP_X_STIFFNESS
  material->model = m->model == SAP_CONTACT_BY_MATERIAL ? material->model : m->model;
}

static bool listed(const char* list, const char* word) {
  return list != NULL && sap_word_index(list, word) >= 0;
}

static bool all_zero(const char* text) {
  return strspn(text, "0.+-eE \t\r\n") == strlen(text);
}

static const sap_schema_value* find_value(const sap_schema_element* schema, const char* name) {
  for (const sap_schema_value* v = schema->value; v != NULL && v->attribute != NULL; ++v) {
    if (strcmp(v->attribute, name) == 0) {
      return v;
    }
  }
  return NULL;
}

// `attribute` NULL: the element itself.
static sap_status unknown(const sap_schema_element* schema, const sap_scene_options* options,
                          const sap_xml_node* node, const char* attribute, const char* what,
                          sap_error* error) {
  if (schema->extensible && options->lenient) {
    sap_scene_warn(options, node, attribute, "unknown, left out");
    return SAP_STATUS_OK;
  }
  const bool xacro = attribute == NULL && strncmp(node->name, "xacro:", 6) == 0;
  return sap_xml_fail(
      node, attribute, SAP_STATUS_SYNTAX, error, "unknown %s%s%s", what,
      schema->extensible ? "; left out if lenient" : "",
      xacro ? "; xacro makes the URDF of such a file: xacro FILE > robot.urdf" : "");
}

// Sets *drop when the attribute is not supported and the reader is lenient.
static sap_status check_attribute(const sap_schema_element* schema, const sap_xml_node* node,
                                  const sap_xml_attribute* attribute,
                                  const sap_scene_options* options, bool* drop, sap_error* error) {
  const char* name = attribute->name;
  const sap_schema_value* value = find_value(schema, name);
  *drop = false;
  if (value != NULL) {
    if (listed(value->allowed, attribute->value)) {
      return SAP_STATUS_OK;
    }
    *drop = !value->keep;
    char why[128] = "not supported, only: ";
    strncat(why, value->allowed, sizeof why - strlen(why) - 1);
    return sap_scene_unsupported(options, node, name, why, error);
  }
  if (listed(schema->used, name) || listed(schema->skipped, name)) {
    return SAP_STATUS_OK;
  }
  if (listed(schema->neglected, name)) {
    if (!all_zero(attribute->value)) {
      sap_scene_warn(options, node, name, "its influence is neglected");
    }
    return SAP_STATUS_OK;
  }
  if (listed(schema->zero, name)) {
    *drop = true;
    return all_zero(attribute->value)
               ? SAP_STATUS_OK
               : sap_scene_unsupported(options, node, name, "not supported, only zero", error);
  }
  if (listed(schema->unsupported, name)) {
    *drop = true;
    return sap_scene_unsupported(options, node, name, "not supported", error);
  }
  *drop = true;
  return schema->open ? SAP_STATUS_OK : unknown(schema, options, node, name, "attribute", error);
}

static const sap_schema_child* find_child(const sap_schema_element* schema, const char* name) {
  for (const sap_schema_child* c = schema->child; c != NULL && c->names != NULL; ++c) {
    if (sap_word_index(c->names, name) >= 0) {
      return c;
    }
  }
  return NULL;
}

static void unlink_child(sap_xml_node* parent, sap_xml_node* previous, sap_xml_node* child) {
  if (previous != NULL) {
    previous->next = child->next;
  } else {
    parent->first_child = child->next;
  }
  if (parent->last_child == child) {
    parent->last_child = previous;
  }
}

static sap_status check_children(const sap_schema_element* schema, sap_xml_node* node,
                                 const sap_scene_options* options, sap_error* error) {
  sap_xml_node* previous = NULL;
  for (sap_xml_node* child = node->first_child; child != NULL; child = child->next) {
    const sap_schema_child* known = find_child(schema, child->name);
    sap_status status = SAP_STATUS_OK;
    if (known == NULL) {
      char what[64];
      (void)snprintf(what, sizeof what, "element in <%.40s>", node->name);
      status = schema->open ? SAP_STATUS_OK : unknown(schema, options, child, NULL, what, error);
    } else if (known->unsupported != NULL) {
      status = sap_scene_unsupported(options, child, NULL, known->unsupported, error);
    } else if (known->element != NULL) {
      status = sap_schema_check(known->element, child, options, error);
    }
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (known == NULL || known->unsupported != NULL) {
      unlink_child(node, previous, child);
    } else {
      previous = child;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_schema_check(const sap_schema_element* schema, sap_xml_node* node,
                            const sap_scene_options* options, sap_error* error) {
  for (int32_t i = 0; i < node->nattributes; ++i) {
    sap_xml_attribute* attribute = &node->attributes[i];
    bool drop;
    const sap_status status = check_attribute(schema, node, attribute, options, &drop, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (drop) {
      attribute->name = "";
    }
  }
  return check_children(schema, node, options, error);
}
