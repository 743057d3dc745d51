// SPDX-License-Identifier: BSD-3-Clause
// <contact>: exclude and pair. What a pair does not say has MuJoCo's defaults, but for the
// stiffness, which is that of its geoms.
#include <string.h>

#include "io/mjcf/mjcf_instance.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "multibody/model/builder.h"

static sap_status add_exclude(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  if (sap_xml_get(i->node, "body1") == NULL || sap_xml_get(i->node, "body2") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error, "must name body1 and body2");
  }
  return sap_xml_locate(i->node, sap_builder_exclude(r->builder, i->ids[0], i->ids[1], r->error),
                        r->error);
}

// friction: along t1 and t2, spin, rolling about t1 and t2.
static sap_status read_friction(sap_mjcf_reader* r, const sap_mjcf_sources* s, sap_pair_def* def) {
  double mu[5] = {1.0, 1.0, 0.005, 0.0001, 0.0001};  // MuJoCo's; those of the geoms do not count
  const sap_status status = sap_mjcf_numbers(r, s, "friction", (const int32_t[]){1, 5}, mu, NULL);
  def->material.friction = mu[0];
  def->friction_t2 = mu[1];
  def->friction_torsional = mu[2];
  def->friction_rolling = mu[3];
  def->friction_rolling_2 = mu[4];
  return status;
}

static sap_status read_pair(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_pair_def* def) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  double solref[2] = {0.02, 1.0};
  sap_status status = sap_mjcf_find_sources(r, i->node, "pair", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_integer(r, &s, "condim", &def->condim);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_number(r, &s, "margin", &def->rest_distance);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, &s, "solref", (const int32_t[]){1, 2}, solref, NULL);
  }
  (void)sap_mjcf_take_solref(solref, &def->material.stiffness, &def->material.relaxation_time);
  return status == SAP_STATUS_OK ? read_friction(r, &s, def) : status;
}

// Hands list some pairs twice.
static bool is_repeated(const sap_builder* builder, int32_t a, int32_t b) {
  for (int32_t i = 0; i < builder->npairs; ++i) {
    const sap_pair_def* pair = &builder->pairs[i];
    if ((pair->shape_a == a && pair->shape_b == b) || (pair->shape_a == b && pair->shape_b == a)) {
      return true;
    }
  }
  return false;
}

static sap_status add_pair(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  if (sap_xml_get(i->node, "geom1") == NULL || sap_xml_get(i->node, "geom2") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error, "must name geom1 and geom2");
  }
  if (i->ids[0] == SAP_MJCF_LEFT_OUT || i->ids[1] == SAP_MJCF_LEFT_OUT) {
    return sap_scene_unsupported(r->options, i->node, NULL, "one of its geoms was left out",
                                 r->error);
  }
  sap_pair_def def = sap_pair_def_default();
  def.shape_a = i->ids[0];
  def.shape_b = i->ids[1];
  if (is_repeated(r->builder, def.shape_a, def.shape_b)) {
    sap_scene_warn(r->options, i->node, NULL, "stands there already: the first is used");
    return SAP_STATUS_OK;
  }
  def.material.stiffness = 0.0;  // of the two shapes, once their stiffness is chosen
  sap_status status = read_pair(r, i, &def);
  sap_mjcf_override_pair(r, &def);
  sap_scene_override(r->options, &def.material);
  return status == SAP_STATUS_OK
             ? sap_xml_locate(i->node, sap_builder_add_pair(r->builder, &def, NULL, r->error),
                              r->error)
             : status;
}

sap_status sap_mjcf_read_contacts(sap_mjcf_reader* r) {
  const sap_status status = sap_mjcf_add_section(r, "contact", "exclude", add_exclude);
  return status == SAP_STATUS_OK && !r->disabled.contact
             ? sap_mjcf_add_section(r, "contact", "pair", add_pair)
             : status;
}

// Named in a pair: a geom that only pairs let collide.
bool sap_mjcf_is_paired(const sap_mjcf_model* model, const char* geom) {
  for (const sap_xml_node* s = model->root->first_child; s != NULL && geom != NULL; s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "contact") ? s->first_child : NULL;
    for (; n != NULL; n = n->next) {
      const char* a = sap_xml_get(n, "geom1");
      const char* b = sap_xml_get(n, "geom2");
      if ((a != NULL && strcmp(a, geom) == 0) || (b != NULL && strcmp(b, geom) == 0)) {
        return true;
      }
    }
  }
  return false;
}
