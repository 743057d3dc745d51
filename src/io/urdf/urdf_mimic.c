// SPDX-License-Identifier: BSD-3-Clause
// <mimic>: q = multiplier q_other + offset.
#include "io/urdf/urdf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

static sap_status read_values(sap_urdf_reader* r, const sap_xml_node* node, sap_equality_def* def) {
  const sap_status status = sap_urdf_number(r, node, "offset", false, &def->polynomial[0]);
  return status == SAP_STATUS_OK
             ? sap_urdf_number(r, node, "multiplier", false, &def->polynomial[1])
             : status;
}

// Reduced models fix joints and leave their <mimic>: what is fixed cannot follow; what follows a
// fixed joint, whose q is 0, stays at the offset.
static sap_status add_mimic(sap_urdf_reader* r, const sap_urdf_joint* joint) {
  const sap_xml_node* node = NULL;
  sap_equality_def def = sap_equality_def_default();
  sap_status status = sap_urdf_child(r, joint->node, "mimic", &node);
  if (status != SAP_STATUS_OK || node == NULL) {
    return status;
  }
  const char* other = sap_xml_get(node, "joint");
  const int32_t index = other != NULL ? sap_name_map_find(&r->joint_names, other) : -1;
  if (index < 0) {
    return sap_xml_fail(node, other != NULL ? "joint" : NULL, SAP_STATUS_SYNTAX, r->error,
                        "must name another joint");
  }
  status = read_values(r, node, &def);
  if (status == SAP_STATUS_OK && joint->id < 0) {
    sap_scene_warn(r->options, node, "joint", "a fixed joint cannot follow: neglected");
    return SAP_STATUS_OK;
  }
  def.type = SAP_EQUALITY_JOINT;
  def.a = joint->id;
  def.b = r->joints[index].id;
  if (status == SAP_STATUS_OK) {
    status =
        sap_xml_locate(node, sap_builder_add_equality(r->builder, &def, NULL, r->error), r->error);
  }
  return status;
}

sap_status sap_urdf_add_mimics(sap_urdf_reader* r) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t j = 0; j < r->joint_count && status == SAP_STATUS_OK; ++j) {
    status = add_mimic(r, &r->joints[j]);
  }
  return status;
}
