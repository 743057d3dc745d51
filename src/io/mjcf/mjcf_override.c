// SPDX-License-Identifier: BSD-3-Clause
// <flag override="enable"/>: what <option> says of all contacts, o_margin, o_friction and o_solref,
// goes before geoms and pairs.
#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

sap_status sap_mjcf_read_override(sap_mjcf_reader* r, const sap_xml_node* option) {
  sap_mjcf_override* o = &r->override;
  int32_t given = 0;
  sap_status status = sap_xml_optional(option, "o_margin", 1, 1, &o->margin, r->error);
  if (status == SAP_STATUS_OK && sap_xml_get(option, "o_friction") != NULL) {
    status = sap_xml_numbers(option, "o_friction", 1, 5, o->friction, &given, r->error);
  }
  return status == SAP_STATUS_OK ? sap_xml_optional(option, "o_solref", 1, 2, o->solref, r->error)
                                 : status;
}

sap_status sap_mjcf_override_geom(sap_mjcf_reader* r, const sap_xml_node* geom,
                                  sap_shape_def* def) {
  const sap_mjcf_override* o = &r->override;
  const double* mu = o->friction;
  if (!o->on) {
    return SAP_STATUS_OK;
  }
  def->rest_distance = 0.5 * o->margin;  // a pair has the sum
  def->material.friction = mu[0];
  def->friction_torsional = mu[2];
  def->friction_rolling = mu[3];
  sap_material* material = &def->material;
  if (sap_mjcf_take_solref(o->solref, &material->stiffness, &material->relaxation_time)) {
    material->stiffness *= 2.0;  // two in series
  }
  return mu[0] == mu[1] && mu[3] == mu[4]
             ? SAP_STATUS_OK
             : sap_scene_unsupported(r->options, geom, NULL,
                                     "o_friction that differs between directions is supported for "
                                     "pairs only",
                                     r->error);
}

void sap_mjcf_override_pair(const sap_mjcf_reader* r, sap_pair_def* def) {
  const sap_mjcf_override* o = &r->override;
  if (!o->on) {
    return;
  }
  def->rest_distance = o->margin;
  def->material.friction = o->friction[0];
  def->friction_t2 = o->friction[1];
  def->friction_torsional = o->friction[2];
  def->friction_rolling = o->friction[3];
  def->friction_rolling_2 = o->friction[4];
  (void)sap_mjcf_take_solref(o->solref, &def->material.stiffness, &def->material.relaxation_time);
}
