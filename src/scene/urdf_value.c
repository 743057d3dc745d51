// SPDX-License-Identifier: BSD-3-Clause
#include "scene/number.h"
#include "scene/urdf.h"

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

sap_status sap_urdf_origin(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  const sap_xml_node* origin = NULL;
  sap_status status = sap_urdf_child(r, node, "origin", &origin);
  if (status != SAP_STATUS_OK || origin == NULL) {
    return status;
  }
  double rpy[3] = {0.0, 0.0, 0.0};
  if (sap_xml_get(origin, "xyz") != NULL) {
    status = sap_xml_numbers(origin, "xyz", 3, 3, pose->p, NULL, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(origin, "rpy") != NULL) {
    status = sap_xml_numbers(origin, "rpy", 3, 3, rpy, NULL, r->error);
  }
  sap_quaternion_from_euler(pose->q, "XYZ", rpy);  // roll, pitch, yaw about the fixed axes
  return status;
}
