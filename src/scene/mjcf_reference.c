// SPDX-License-Identifier: BSD-3-Clause
// Elements that name others: contact exclusions, tendons, equality constraints.
#include <math.h>
#include <string.h>

#include "scene/mjcf_instance.h"
#include "scene/number.h"
#include "scene/schema.h"

sap_status sap_mjcf_locate(sap_mjcf_reader* r, const sap_xml_node* node, sap_status status) {
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(r->error, "%.200s:%d: <%.40s>", node->file, (int)node->line, node->name);
  }
  return status;
}

static sap_status add_exclude(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  if (sap_xml_get(i->node, "body1") == NULL || sap_xml_get(i->node, "body2") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error, "must name body1 and body2");
  }
  return sap_mjcf_locate(r, i->node,
                         sap_builder_exclude(r->builder, i->ids[0], i->ids[1], r->error));
}

static sap_status tendon_limits(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                sap_tendon_def* def) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  sap_mjcf_range range = {"range", "limited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_status status = sap_mjcf_find_sources(r, i->node, "tendon", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &range);
  }
  def->lower = range.lower;
  def->upper = range.upper;
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_limit_material(r, &s, &scope, &def->limit_stiffness,
                                          &def->limit_relaxation_time);
  }
  return status == SAP_STATUS_OK
             ? sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def->name)
             : status;
}

static sap_status add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  double coefficients[SAP_MJCF_MAX_NAMES];
  sap_tendon_def def = sap_tendon_def_default();
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* c = i->node->first_child; c && status == SAP_STATUS_OK; c = c->next) {
    if (sap_xml_get(c, "joint") == NULL) {
      return sap_xml_fail(c, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'joint' is missing");
    }
    status = sap_xml_numbers(c, "coef", 1, 1, &coefficients[def.njoints++], NULL, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = tendon_limits(r, i, &def);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.joints = i->ids;
  def.coefficients = coefficients;
  return sap_mjcf_locate(r, i->node, sap_builder_add_tendon(r->builder, &def, NULL, r->error));
}

static sap_status check_equality(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                 const sap_xml_node* node) {
  const sap_mjcf_scope scope = {.model = model, .child_class = -1};
  sap_mjcf_sources s;
  int32_t active = 1;
  sap_status status = sap_mjcf_find_sources(r, node, "equality", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_choice(r, &s, "active", "false true", &active);
  }
  return status == SAP_STATUS_OK && active == 1
             ? sap_scene_unsupported(r->options, node, NULL,
                                     "equality constraints are not supported", r->error)
             : status;
}

static sap_status check_equalities(sap_mjcf_reader* r, const sap_mjcf_model* model) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* s = model->root->first_child; s && status == SAP_STATUS_OK;
       s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "equality") ? s->first_child : NULL;
    for (; n && status == SAP_STATUS_OK; n = n->next) {
      status = check_equality(r, model, n);
    }
  }
  for (const sap_mjcf_model* m = model->assets; m && status == SAP_STATUS_OK; m = m->next) {
    status = check_equalities(r, m);
  }
  return status;
}

sap_status sap_mjcf_read_references(sap_mjcf_reader* r) {
  sap_status status = check_equalities(r, r->main);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_section(r, "contact", "exclude", add_exclude);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_section(r, "tendon", "fixed", add_tendon);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_section(r, "actuator", NULL, sap_mjcf_add_actuator);
  }
  return status;
}
