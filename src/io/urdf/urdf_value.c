// SPDX-License-Identifier: BSD-3-Clause
#include "io/urdf/urdf.h"
#include "io/xml/number.h"

sap_status sap_urdf_child(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                          const sap_xml_node** out) {
  *out = sap_xml_child(node, name);
  if (*out == NULL) {
    return SAP_STATUS_OK;
  }
  for (const sap_xml_node* n = (*out)->next; n != NULL; n = n->next) {
    if (sap_xml_is(n, name)) {
      return sap_xml_fail(n, NULL, SAP_STATUS_SYNTAX, r->error, "given twice in <%s>", node->name);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_number(sap_urdf_reader* r, const sap_xml_node* node, const char* attribute,
                           bool required, double* value) {
  if (!required && sap_xml_get(node, attribute) == NULL) {
    return SAP_STATUS_OK;
  }
  return sap_xml_numbers(node, attribute, 1, 1, value, NULL, r->error);
}

sap_status sap_urdf_pose(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  double rpy[3] = {0.0, 0.0, 0.0};
  sap_status status = sap_xml_optional(node, "xyz", 3, 3, pose->p, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "rpy", 3, 3, rpy, r->error);
  }
  sap_quaternion_from_euler(pose->q, "XYZ", rpy);  // roll, pitch, yaw about the fixed axes
  return status;
}

sap_status sap_urdf_origin(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  const sap_xml_node* origin = NULL;
  const sap_status status = sap_urdf_child(r, node, "origin", &origin);
  return status == SAP_STATUS_OK && origin != NULL ? sap_urdf_pose(r, origin, pose) : status;
}

sap_status sap_urdf_values(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                           bool required, int32_t count, double* values) {
  const sap_xml_node* child = NULL;
  const sap_status status = sap_urdf_child(r, node, name, &child);
  if (status == SAP_STATUS_OK && child == NULL && required) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "has no <%s>", name);
  }
  return status == SAP_STATUS_OK && child != NULL
             ? sap_xml_numbers(child, "value", count, count, values, NULL, r->error)
             : status;
}

sap_status sap_urdf_find(sap_urdf_reader* r, const sap_name_map* names, const sap_xml_node* node,
                         const char* attribute, const char* kind, int32_t* id) {
  const char* name = sap_xml_get(node, attribute);
  *id = name != NULL ? sap_name_map_find(names, name) : -1;
  if (*id >= 0) {
    return SAP_STATUS_OK;
  }
  return name != NULL
             ? sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, r->error, "unknown %s", kind)
             : sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "names no %s", kind);
}
