// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
  material->model = m->model == SAP_CONTACT_BY_MATERIAL ? material->model : m->model;
}

typedef struct checker {
  const sap_scene_options* options;
  bool extensible;  // the format
  sap_error* error;
} checker;

static bool is_listed(const char* list, const char* word) {
  return list != NULL && sap_word_index(list, word) >= 0;
}

static bool is_zero(const char* text) {
  return strspn(text, "0.+-eE \t\r\n") == strlen(text);
}

static const sap_schema_value* find_value(const sap_schema_element* schema, const char* name) {
  const sap_schema_value* v = schema->value;
  while (v != NULL && v->attribute != NULL && strcmp(v->attribute, name) != 0) {
    ++v;
  }
  return v != NULL && v->attribute != NULL ? v : NULL;
}

static sap_status unsupported(const checker* c, const sap_xml_node* node, const char* attribute,
                              const char* why) {
  return sap_scene_unsupported(c->options, node, attribute, why, c->error);
}

// `attribute` NULL: the element itself.
static sap_status refuse_unknown(const checker* c, const sap_xml_node* node, const char* attribute,
                                 const char* kind) {
  if (c->extensible && c->options->lenient) {
    sap_scene_warn(c->options, node, attribute, "unknown, ignored");
    return SAP_STATUS_OK;
  }
  const bool xacro = attribute == NULL && strncmp(node->name, "xacro:", 6) == 0;
  return sap_xml_syntax(node, attribute, c->error, "unknown %s%s%s", kind,
                        c->extensible ? "; ignored if lenient" : "",
                        xacro ? "; convert the file to URDF first: xacro FILE > robot.urdf" : "");
}

// Sets *drop when the attribute is not supported and the reader is lenient.
static sap_status check_attribute(const checker* c, const sap_schema_element* schema,
                                  const sap_xml_node* node, const sap_xml_attribute* attribute,
                                  bool* drop) {
  const char* name = attribute->name;
  const sap_schema_value* value = find_value(schema, name);
  *drop = false;
  if (value != NULL) {
    if (is_listed(value->allowed, attribute->value)) {
      return SAP_STATUS_OK;
    }
    *drop = !value->keep;
    char why[128] = "not supported, only: ";
    strncat(why, value->allowed, sizeof why - strlen(why) - 1);
    return unsupported(c, node, name, why);
  }
  if (is_listed(schema->used, name) || is_listed(schema->skipped, name)) {
    return SAP_STATUS_OK;
  }
  if (is_listed(schema->neglected, name)) {
    if (!is_zero(attribute->value)) {
      sap_scene_warn(c->options, node, name, "its influence is neglected");
    }
    return SAP_STATUS_OK;
  }
  *drop = true;
  if (is_listed(schema->zero, name)) {
    return is_zero(attribute->value) ? SAP_STATUS_OK
                                     : unsupported(c, node, name, "not supported, only zero");
  }
  SAP_RETURN_IF(is_listed(schema->unsupported, name), unsupported(c, node, name, "not supported"));
  return schema->open ? SAP_STATUS_OK : refuse_unknown(c, node, name, "attribute");
}

static const sap_schema_child* find_child(const sap_schema_element* schema, const char* name) {
  for (const sap_schema_child* child = schema->child; child && child->names; ++child) {
    if (sap_word_index(child->names, name) >= 0) {
      return child;
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

static sap_status check_element(const checker* c, const sap_schema_element* schema,
                                sap_xml_node* node);

static sap_status check_child(const checker* c, const sap_schema_element* schema,
                              const sap_schema_child* known, sap_xml_node* child) {
  if (known == NULL) {
    char kind[64];
    (void)snprintf(kind, sizeof kind, "element in <%.40s>", child->parent->name);
    return schema->open ? SAP_STATUS_OK : refuse_unknown(c, child, NULL, kind);
  }
  SAP_RETURN_IF(known->unsupported != NULL, unsupported(c, child, NULL, known->unsupported));
  return known->element != NULL ? check_element(c, known->element, child) : SAP_STATUS_OK;
}

static sap_status check_element(const checker* c, const sap_schema_element* schema,
                                sap_xml_node* node) {
  for (int32_t i = 0; i < node->nattributes; ++i) {
    sap_xml_attribute* attribute = &node->attributes[i];
    bool drop;
    SAP_TRY(check_attribute(c, schema, node, attribute, &drop));
    if (drop) {
      attribute->name = "";
    }
  }
  sap_xml_node* previous = NULL;
  for (sap_xml_node* child = node->first_child; child != NULL; child = child->next) {
    const sap_schema_child* known = find_child(schema, child->name);
    SAP_TRY(check_child(c, schema, known, child));
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
  const checker c = {.options = options, .extensible = schema->extensible, .error = error};
  return check_element(&c, schema, node);
}
