// SPDX-License-Identifier: BSD-3-Clause
// Attributes after default classes: the element's class (or the nearest childclass, or main), that
// class's parents up to main, and last the element itself.
#include <string.h>

#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

static const char actuator_kinds[] =
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion "
    "dcmotor";

static bool is_kind(const char* name, const char* kind) {
  return strcmp(kind, "motor") == 0 ? sap_word_index(actuator_kinds, name) >= 0
                                    : strcmp(name, kind) == 0;
}

static sap_status add_source(sap_mjcf_reader* r, sap_mjcf_sources* out, const sap_xml_node* node) {
  if (out->count == SAP_MJCF_MAX_SOURCES) {
    return sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                        "more than %d nested defaults", SAP_MJCF_MAX_SOURCES);
  }
  out->nodes[out->count++] = node;
  return SAP_STATUS_OK;
}

// Innermost first; the caller reverses.
static sap_status add_class(sap_mjcf_reader* r, const sap_mjcf_class* c, const char* kind,
                            sap_mjcf_sources* out) {
  const sap_xml_node* found[8];
  int32_t count = 0;
  for (const sap_xml_node* n = c->node->first_child; n != NULL; n = n->next) {
    if (is_kind(n->name, kind)) {
      if (count == 8) {
        return sap_xml_fail(n, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                            "more than 8 such elements in one class");
      }
      found[count++] = n;
    }
  }
  sap_status status = SAP_STATUS_OK;
  while (count > 0 && status == SAP_STATUS_OK) {
    status = add_source(r, out, found[--count]);
  }
  return status;
}

sap_status sap_mjcf_find_sources(sap_mjcf_reader* r, const sap_xml_node* node, const char* kind,
                                 const sap_mjcf_scope* scope, sap_mjcf_sources* out) {
  out->count = 0;
  const sap_mjcf_model* model = scope->model;
  const char* name = sap_xml_get(node, "class");
  int32_t index = scope->child_class >= 0 ? scope->child_class : model->main_class;
  if (name != NULL) {
    index = sap_mjcf_find_class(model, name);
    if (index < 0) {
      return sap_xml_fail(node, "class", SAP_STATUS_SYNTAX, r->error, "unknown default class");
    }
  }
  sap_status status = add_source(r, out, node);
  for (; index >= 0 && status == SAP_STATUS_OK; index = model->classes[index].parent) {
    status = add_class(r, &model->classes[index], kind, out);
  }
  for (int32_t i = 0, j = out->count - 1; i < j; ++i, --j) {
    const sap_xml_node* swap = out->nodes[i];
    out->nodes[i] = out->nodes[j];
    out->nodes[j] = swap;
  }
  return status;
}

const sap_xml_node* sap_mjcf_source(const sap_mjcf_sources* sources, const char* attribute) {
  for (int32_t i = sources->count - 1; i >= 0; --i) {
    if (sap_xml_get(sources->nodes[i], attribute) != NULL) {
      return sources->nodes[i];
    }
  }
  return NULL;
}

sap_status sap_mjcf_numbers(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                            const int32_t least_most[2], double* values, int32_t* count) {
  if (count != NULL) {
    *count = 0;
  }
  for (int32_t i = 0; i < s->count; ++i) {
    if (sap_xml_get(s->nodes[i], attribute) == NULL) {
      continue;
    }
    int32_t given;
    const sap_status status = sap_xml_numbers(s->nodes[i], attribute, least_most[0], least_most[1],
                                              values, &given, r->error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (count != NULL && given > *count) {
      *count = given;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_number(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                           double* value) {
  return sap_mjcf_numbers(r, s, attribute, (const int32_t[]){1, 1}, value, NULL);
}

sap_status sap_mjcf_integer(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                            int32_t* value) {
  const sap_xml_node* node = sap_mjcf_source(s, attribute);
  return node != NULL ? sap_xml_integer(node, attribute, value, r->error) : SAP_STATUS_OK;
}

sap_status sap_mjcf_choice(sap_mjcf_reader* r, const sap_mjcf_sources* s, const char* attribute,
                           const char* choices, int32_t* value) {
  const sap_xml_node* node = sap_mjcf_source(s, attribute);
  return node != NULL ? sap_xml_choice(node, attribute, choices, value, r->error) : SAP_STATUS_OK;
}

sap_status sap_mjcf_read_range(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_mjcf_scope* scope, sap_mjcf_range* range) {
  int32_t limited = SAP_MJCF_AUTO;
  sap_status status = sap_mjcf_choice(r, s, range->limited, "false true auto", &limited);
  double values[2] = {0.0, 0.0};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, range->range, (const int32_t[]){2, 2}, values, NULL);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_xml_node* node = sap_mjcf_source(s, range->range);
  const bool given = values[0] != 0.0 || values[1] != 0.0;
  if (limited == SAP_MJCF_AUTO) {
    if (given && !scope->model->compiler.auto_limits) {
      return sap_xml_fail(node, range->range, SAP_STATUS_SYNTAX, r->error,
                          "'%s' must say true or false: the compiler's autolimits is off",
                          range->limited);
    }
    limited = given ? SAP_MJCF_TRUE : SAP_MJCF_FALSE;
  }
  if (limited == SAP_MJCF_FALSE) {
    return SAP_STATUS_OK;
  }
  if (!(values[0] < values[1])) {
    return sap_xml_fail(node != NULL ? node : s->nodes[s->count - 1], node ? range->range : NULL,
                        SAP_STATUS_SYNTAX, r->error,
                        "limited, but the lower end %g of '%s' is not below the upper end %g",
                        values[0], range->range, values[1]);
  }
  range->lower = values[0] * range->unit;
  range->upper = values[1] * range->unit;
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_apply_margin(sap_mjcf_reader* r, const sap_mjcf_sources* s, double* lower,
                                 double* upper) {
  double margin = 0.0;
  const sap_status status = sap_mjcf_number(r, s, "margin", &margin);
  if (status != SAP_STATUS_OK || margin == 0.0) {
    return status;
  }
  if (!(margin > 0.0 && *lower + margin < *upper - margin)) {
    return sap_xml_fail(sap_mjcf_source(s, "margin"), "margin", SAP_STATUS_SYNTAX, r->error,
                        "must be >= 0 and less than half the range");
  }
  *lower += margin;
  *upper -= margin;
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_read_limit_material(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                                        const sap_mjcf_scope* scope, double* stiffness,
                                        double* relaxation_time) {
  sap_status status = sap_mjcf_limit_settings(r, scope->model, stiffness, relaxation_time);
  double solref[2] = {0.02, 1.0};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "solreflimit", (const int32_t[]){1, 2}, solref, NULL);
  }
  if (status == SAP_STATUS_OK) {
    (void)sap_mjcf_take_solref(solref, stiffness, relaxation_time);
  }
  return status;
}

sap_status sap_mjcf_full_name(sap_mjcf_reader* r, int32_t space, const char* name,
                              const char** out) {
  *out = NULL;
  if (name == NULL || name[0] == '\0') {
    return SAP_STATUS_OK;
  }
  const sap_mjcf_space* s = &r->spaces[space];
  *out = sap_xml_join(r->store, s->prefix, name, s->suffix);
  return *out != NULL ? SAP_STATUS_OK : sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
}
