// SPDX-License-Identifier: BSD-3-Clause
#include "io/urdf/urdf_reader.h"

#include "math/vector3.h"

sap_status sap_urdf_child(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                          const sap_xml_node** out) {
  *out = sap_xml_child(node, name);
  for (const sap_xml_node* n = *out != NULL ? (*out)->next : NULL; n != NULL; n = n->next) {
    if (sap_xml_is(n, name)) {
      return sap_xml_syntax(n, NULL, r->error, "given twice in <%s>", node->name);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_require_child(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                                  const sap_xml_node** out) {
  SAP_TRY(sap_urdf_child(r, node, name, out));
  return *out != NULL ? SAP_STATUS_OK : sap_xml_syntax(node, NULL, r->error, "has no <%s>", name);
}

sap_status sap_urdf_read_children(sap_urdf_reader* r, const sap_xml_node* node,
                                  const sap_xml_field* fields, bool required, void* target) {
  for (const sap_xml_field* f = fields; f->attribute != NULL; ++f) {
    const sap_xml_node* child;
    SAP_TRY(required ? sap_urdf_require_child(r, node, f->attribute, &child)
                     : sap_urdf_child(r, node, f->attribute, &child));
    sap_xml_field value[2] = {*f, {0}};
    value[0].attribute = "value";
    if (child != NULL) {
      SAP_TRY(sap_xml_require_fields(child, value, target, r->error));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_pose(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  double rpy[3] = {0.0, 0.0, 0.0};
  SAP_TRY(sap_xml_optional(node, "xyz", 3, 3, pose->p, r->error));
  SAP_TRY(sap_xml_optional(node, "rpy", 3, 3, rpy, r->error));
  sap_quaternion_from_euler(pose->q, "XYZ", rpy);  // roll, pitch, yaw about the fixed axes
  return SAP_STATUS_OK;
}

sap_status sap_urdf_origin(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  const sap_xml_node* origin;
  SAP_TRY(sap_urdf_child(r, node, "origin", &origin));
  return origin != NULL ? sap_urdf_pose(r, origin, pose) : SAP_STATUS_OK;
}

sap_status sap_urdf_axis(sap_urdf_reader* r, const sap_xml_node* node, double axis[3]) {
  const sap_xml_node* child;
  sap_v3_set(axis, 1.0, 0.0, 0.0);
  SAP_TRY(sap_urdf_child(r, node, "axis", &child));
  if (child == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_numbers(child, "xyz", 3, 3, axis, NULL, r->error));
  return sap_v3_norm(axis) > 1e-15 ? SAP_STATUS_OK
                                   : sap_xml_syntax(child, "xyz", r->error, "the axis is zero");
}

sap_status sap_urdf_find(sap_urdf_reader* r, const sap_name_map* names, const sap_xml_node* node,
                         const char* attribute, const char* kind, int32_t* id) {
  const char* name = sap_xml_get(node, attribute);
  *id = name != NULL ? sap_name_map_find(names, name) : -1;
  if (*id >= 0) {
    return SAP_STATUS_OK;
  }
  return name != NULL ? sap_xml_syntax(node, attribute, r->error, "unknown %s", kind)
                      : sap_xml_syntax(node, NULL, r->error, "names no %s", kind);
}

sap_status sap_urdf_add_name(sap_urdf_reader* r, sap_name_map* names, const sap_xml_node* node,
                             int32_t id, const char** name) {
  bool added = false;
  *name = sap_xml_get(node, "name");
  if (*name == NULL || (*name)[0] == '\0') {
    return sap_xml_syntax(node, NULL, r->error, "has no name");
  }
  SAP_TRY(sap_name_map_add(names, *name, id, &added, r->error));
  return added ? SAP_STATUS_OK
               : sap_xml_syntax(node, "name", r->error, "a second <%s> of that name", node->name);
}
