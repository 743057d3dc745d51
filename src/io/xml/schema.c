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
  const sap_material none = sap_material_unset(), *m = options->override_material;
  m = m != NULL ? m : &none;
#define SAP_X_STIFFNESS(name) material->name = isnan(m->name) ? material->name : m->name;
#define SAP_X_NOT_NEGATIVE(name) SAP_X_STIFFNESS(name)
#define SAP_X_OWN(name)
#define SAP_X(type, name, value, range) SAP_X_##range(name)
  SAP_MATERIAL_FIELDS(SAP_X)
  material->model = m->model == SAP_CONTACT_BY_MATERIAL ? material->model : m->model;
  if (material->model == SAP_CONTACT_BY_MATERIAL) {
    material->model = material->modulus > 0.0 ? SAP_CONTACT_LAGGED : SAP_CONTACT_SAP;
  }
}

sap_status sap_scene_read_proximity(const sap_scene_options* options,
                                    const sap_xml_node* const* nodes, int32_t count,
                                    sap_material* material, sap_error* error) {
#define PROPERTY(member, name, rule) SAP_XML_NUMBER(sap_material, member, "drake:" name, rule)
  static const sap_xml_field fields[] = {
      PROPERTY(stiffness, "point_contact_stiffness", POSITIVE),
      PROPERTY(relaxation_time, "relaxation_time", NONNEGATIVE),
      PROPERTY(dissipation, "hunt_crossley_dissipation", NONNEGATIVE),
      PROPERTY(static_friction, "mu_static", NONNEGATIVE),
      PROPERTY(friction, "mu_dynamic", NONNEGATIVE),
      PROPERTY(modulus, "hydroelastic_modulus", NONNEGATIVE),
      {0},
  };
  const double friction = material->friction, static_friction = material->static_friction;
  const sap_xml_node *rigid = NULL, *compliant = NULL;
  material->friction = material->static_friction = (double)NAN;
  for (int32_t i = 0; i < count; ++i) {
    const sap_xml_node *node, *is_rigid, *is_compliant;
    SAP_TRY(sap_xml_only_child(nodes[i], "drake:proximity_properties", &node, error));
    if (node != NULL) {
      SAP_TRY(sap_xml_read_children(node, fields, false, material, error));
      SAP_TRY(sap_xml_only_child(node, "drake:rigid_hydroelastic", &is_rigid, error));
      SAP_TRY(sap_xml_only_child(node, "drake:compliant_hydroelastic", &is_compliant, error));
      SAP_RETURN_IF(is_rigid != NULL && is_compliant != NULL,
                    sap_xml_syntax(is_rigid, NULL, error, "beside <%s>", is_compliant->name));
      rigid = is_compliant != NULL ? NULL : is_rigid != NULL ? is_rigid : rigid;
      compliant = is_rigid != NULL ? NULL : is_compliant != NULL ? is_compliant : compliant;
    }
  }
  if (isnan(material->friction)) {  // mu_static alone means both
    material->friction = material->static_friction > 0.0 ? material->static_friction : friction;
  }
  material->static_friction =
      isnan(material->static_friction) ? static_friction : material->static_friction;
  material->modulus = rigid != NULL ? 0.0 : material->modulus;
  const sap_material* given = options->override_material;
  return compliant == NULL || material->modulus > 0.0 || (given != NULL && !isnan(given->modulus))
             ? SAP_STATUS_OK
             : sap_scene_unsupported(options, compliant, NULL,
                                     "without <drake:hydroelastic_modulus> > 0 the shape is rigid",
                                     error);
}

typedef struct checker {
  const sap_scene_options* options;
  bool extensible;  // the format
  sap_error* error;
} checker;

// Returns the line that begins with `key` and lists `word` (NULL: any), NULL without one.
static const sap_schema_line* find(const sap_schema_line* element, const char* key,
                                   const char* word) {
  const size_t length = strlen(key);
  const sap_schema_line* found = NULL;
  for (const sap_schema_line* line = element + 1; line->indent > element->indent && !found;
       ++line) {
    if (line->indent > element->indent + 2) {
      continue;
    }
    if (line->like != NULL) {
      found = find(line->like, key, word);
    } else if (strncmp(line->text, key, length) == 0) {
      found = word == NULL || sap_word_index(line->text + length, word) >= 0 ? line : NULL;
    }
  }
  return found;
}

static bool is_zero(const char* text) {
  return strspn(text, "0.+-eE \t\r\n") == strlen(text);
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
static sap_status check_attribute(const checker* c, const sap_schema_line* element,
                                  const sap_xml_node* node, const sap_xml_attribute* attribute,
                                  bool* drop) {
  const char* name = attribute->name;
  char only[64];
  (void)snprintf(only, sizeof only, "only %.50s:", name);
  const sap_schema_line* values = find(element, only, NULL);
  *drop = false;
  if (values != NULL) {
    const char* allowed = strchr(values->text, ':') + 2;
    if (sap_word_index(allowed, attribute->value) >= 0) {
      return SAP_STATUS_OK;
    }
    *drop = find(element, "keep:", name) == NULL;
    char why[128] = "not supported, only: ";
    strncat(why, allowed, sizeof why - strlen(why) - 1);
    return unsupported(c, node, name, why);
  }
  if (find(element, "used:", name) || find(element, "skipped:", name)) {
    return SAP_STATUS_OK;
  }
  if (find(element, "neglected:", name)) {
    if (!is_zero(attribute->value)) {
      sap_scene_warn(c->options, node, name, "its influence is neglected");
    }
    return SAP_STATUS_OK;
  }
  *drop = true;
  if (find(element, "zero:", name)) {
    return is_zero(attribute->value) ? SAP_STATUS_OK
                                     : unsupported(c, node, name, "not supported, only zero");
  }
  SAP_RETURN_IF(find(element, "unsupported:", name), unsupported(c, node, name, "not supported"));
  return find(element, "open:", NULL) ? SAP_STATUS_OK : refuse_unknown(c, node, name, "attribute");
}

static sap_status check_element(const checker* c, const sap_schema_line* element,
                                sap_xml_node* node);

// Sets *keep unless a lenient reader drops the child.
static sap_status check_child(const checker* c, const sap_schema_line* element, sap_xml_node* child,
                              bool* keep) {
  const sap_schema_line* known = find(element, "<", child->name);
  const sap_schema_line* refused = known != NULL ? find(known, "refused:", NULL) : NULL;
  *keep = known != NULL ? refused == NULL : find(element, "unchecked:", child->name) != NULL;
  SAP_RETURN_IF(refused, unsupported(c, child, NULL, strchr(refused->text, ':') + 2));
  SAP_RETURN_IF(known, check_element(c, known, child));
  if (*keep || find(element, "open:", NULL)) {
    return SAP_STATUS_OK;
  }
  char kind[64];
  (void)snprintf(kind, sizeof kind, "element in <%.40s>", child->parent->name);
  return refuse_unknown(c, child, NULL, kind);
}

static sap_status check_element(const checker* c, const sap_schema_line* element,
                                sap_xml_node* node) {
  SAP_EACH(sap_xml_attribute, attribute, node->attributes, node->nattributes) {
    bool drop;
    SAP_TRY(check_attribute(c, element, node, attribute, &drop));
    if (drop) {
      attribute->name = "";
    }
  }
  for (sap_xml_node *next, *child = sap_xml_take_children(node); child != NULL; child = next) {
    bool keep;
    next = child->next;
    SAP_TRY(check_child(c, element, child, &keep));
    if (keep) {
      sap_xml_append(node, child);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_schema_check(const sap_schema_line* root, sap_xml_node* node,
                            const sap_scene_options* options, sap_error* error) {
  const checker c = {
      .options = options,
      .extensible = find(root, "extensible:", NULL) != NULL,
      .error = error,
  };
  return check_element(&c, root, node);
}
