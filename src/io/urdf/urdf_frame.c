// SPDX-License-Identifier: BSD-3-Clause
// Drake's <frame name link xyz rpy>: places fixed in links that force elements name. A link's name
// means the link's own frame.

#include "core/memory.h"
#include "io/urdf/urdf.h"

static sap_status find_link(sap_urdf_reader* r, const sap_xml_node* node, const char* attribute,
                            sap_urdf_frame* out) {
  const sap_status status = sap_urdf_find(r, &r->link_names, node, attribute, "link", &out->link);
  if (status == SAP_STATUS_OK) {
    out->body = r->links[out->link].body;
    out->pose = sap_pose_identity;
  }
  return status;
}

static sap_status read_frame(sap_urdf_reader* r, const sap_xml_node* node, sap_urdf_frame* out) {
  const sap_status status = find_link(r, node, "link", out);
  return status == SAP_STATUS_OK ? sap_urdf_pose(r, node, &out->pose) : status;
}

sap_status sap_urdf_read_frames(sap_urdf_reader* r, const sap_xml_node* robot) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = robot->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    if (!sap_xml_is(n, "frame")) {
      continue;
    }
    const char* name = sap_xml_get(n, "name");
    sap_urdf_frame frame;
    bool added = false;
    if (name == NULL || name[0] == '\0') {
      return sap_xml_fail(n, NULL, SAP_STATUS_SYNTAX, r->error, "has no name");
    }
    status = sap_name_map_add(&r->frame_names, name, r->frame_count, &added, r->error);
    if (status == SAP_STATUS_OK && (!added || sap_name_map_find(&r->link_names, name) >= 0)) {
      return sap_xml_fail(n, "name", SAP_STATUS_SYNTAX, r->error,
                          "a second <frame> or <link> of that name");
    }
    if (status == SAP_STATUS_OK) {
      status = SAP_GROW(&r->frames, &r->frame_capacity, r->frame_count + 1, r->error);
    }
    if (status == SAP_STATUS_OK) {
      r->frames[r->frame_count++] = n;
      status = read_frame(r, n, &frame);
    }
  }
  return status;
}

static sap_status required_child(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                                 const sap_xml_node** child) {
  const sap_status status = sap_urdf_child(r, node, name, child);
  return status == SAP_STATUS_OK && *child == NULL
             ? sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "has no <%s>", name)
             : status;
}

sap_status sap_urdf_link_of(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                            const char* attribute, sap_urdf_frame* out) {
  const sap_xml_node* named = NULL;
  const sap_status status = required_child(r, node, child, &named);
  return status == SAP_STATUS_OK ? find_link(r, named, attribute, out) : status;
}

sap_status sap_urdf_frame_of(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                             sap_urdf_frame* out) {
  const sap_xml_node* named = NULL;
  sap_status status = required_child(r, node, child, &named);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const char* name = sap_xml_get(named, "name");
  if (name != NULL && sap_name_map_find(&r->link_names, name) >= 0) {
    return find_link(r, named, "name", out);
  }
  int32_t frame = -1;
  status = sap_urdf_find(r, &r->frame_names, named, "name", "frame or link", &frame);
  return status == SAP_STATUS_OK ? read_frame(r, r->frames[frame], out) : status;
}
