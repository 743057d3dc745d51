// SPDX-License-Identifier: BSD-3-Clause
// Links and joints of a URDF file, linked into a tree and checked to be one.

#include "core/memory.h"
#include "io/urdf/urdf.h"

static sap_status required_name(sap_urdf_reader* r, const sap_xml_node* node, const char** name) {
  *name = sap_xml_get(node, "name");
  return *name != NULL && (*name)[0] != '\0'
             ? SAP_STATUS_OK
             : sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "has no name");
}

static sap_status add_name(sap_urdf_reader* r, sap_name_map* names, const sap_xml_node* node,
                           const char* name, int32_t id) {
  bool added = false;
  const sap_status status = sap_name_map_add(names, name, id, &added, r->error);
  return status == SAP_STATUS_OK && !added ? sap_xml_fail(node, "name", SAP_STATUS_SYNTAX, r->error,
                                                          "a second <%s> of that name", node->name)
                                           : status;
}

static sap_status read_link(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_urdf_link link = {.node = node, .joint = -1, .children = -1, .body = -1};
  sap_status status = required_name(r, node, &link.name);
  if (status == SAP_STATUS_OK) {
    status = add_name(r, &r->link_names, node, link.name, r->link_count);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&r->links, &r->link_capacity, r->link_count + 1, r->error);
  }
  if (status == SAP_STATUS_OK) {
    r->links[r->link_count++] = link;
  }
  return status;
}

static sap_status find_link(sap_urdf_reader* r, const sap_xml_node* joint, const char* which,
                            int32_t* link) {
  const sap_xml_node* node = NULL;
  const sap_status status = sap_urdf_child(r, joint, which, &node);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const char* name = node != NULL ? sap_xml_get(node, "link") : NULL;
  if (name == NULL) {
    return sap_xml_fail(joint, NULL, SAP_STATUS_SYNTAX, r->error, "has no <%s link=...>", which);
  }
  *link = sap_name_map_find(&r->link_names, name);
  return *link >= 0 ? SAP_STATUS_OK
                    : sap_xml_fail(node, "link", SAP_STATUS_SYNTAX, r->error, "unknown link");
}

static sap_status read_joint(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_urdf_joint joint = {.node = node, .next = -1, .id = -1};
  sap_status status = required_name(r, node, &joint.name);
  if (status == SAP_STATUS_OK) {
    status = add_name(r, &r->joint_names, node, joint.name, r->joint_count);
  }
  if (status == SAP_STATUS_OK) {
    status = find_link(r, node, "parent", &joint.parent);
  }
  if (status == SAP_STATUS_OK) {
    status = find_link(r, node, "child", &joint.child);
  }
  if (status == SAP_STATUS_OK && r->links[joint.child].joint >= 0) {
    return sap_xml_fail(node, "name", SAP_STATUS_SYNTAX, r->error,
                        "link '%.60s' is already the child of joint '%.60s': close loops by "
                        "<loop_joint> or <drake:ball_constraint>",
                        r->links[joint.child].name, r->joints[r->links[joint.child].joint].name);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&r->joints, &r->joint_capacity, r->joint_count + 1, r->error);
  }
  if (status == SAP_STATUS_OK) {
    r->links[joint.child].joint = r->joint_count;
    r->joints[r->joint_count++] = joint;
  }
  return status;
}

// The only link that no joint moves.
static sap_status find_root(sap_urdf_reader* r, const sap_xml_node* robot, int32_t* root) {
  *root = -1;
  for (int32_t i = 0; i < r->link_count; ++i) {
    if (r->links[i].joint >= 0) {
      continue;
    }
    if (*root >= 0) {
      return sap_xml_fail(r->links[i].node, "name", SAP_STATUS_SYNTAX, r->error,
                          "a second root: no joint moves it, nor link '%.60s'",
                          r->links[*root].name);
    }
    *root = i;
  }
  if (*root < 0) {
    return r->link_count == 0
               ? sap_xml_fail(robot, NULL, SAP_STATUS_SYNTAX, r->error, "has no links")
               : sap_xml_fail(robot, NULL, SAP_STATUS_SYNTAX, r->error,
                              "has no root link: the joints form a cycle");
  }
  return SAP_STATUS_OK;
}

// With one root, a link that does not lead to it lies on or behind a cycle.
static sap_status check_cycles(sap_urdf_reader* r, int32_t root) {
  for (int32_t i = 0; i < r->link_count; ++i) {
    int32_t link = i;
    for (int32_t steps = 0; link != root; ++steps) {
      if (steps > r->link_count) {
        return sap_xml_fail(r->links[i].node, "name", SAP_STATUS_SYNTAX, r->error,
                            "the joints above this link form a cycle");
      }
      link = r->joints[r->links[link].joint].parent;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_read_tree(sap_urdf_reader* r, const sap_xml_node* robot, int32_t* root) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = robot->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    status = sap_xml_is(n, "link") ? read_link(r, n) : SAP_STATUS_OK;
  }
  for (const sap_xml_node* n = robot->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    const bool is_joint = sap_xml_is(n, "joint") || sap_xml_is(n, "drake:joint");
    status = is_joint ? read_joint(r, n) : SAP_STATUS_OK;
  }
  if (status == SAP_STATUS_OK) {
    status = find_root(r, robot, root);
  }
  if (status == SAP_STATUS_OK) {
    status = check_cycles(r, *root);
  }
  for (int32_t i = r->joint_count - 1; i >= 0 && status == SAP_STATUS_OK; --i) {
    sap_urdf_joint* joint = &r->joints[i];
    joint->next = r->links[joint->parent].children;
    r->links[joint->parent].children = i;
  }
  return status;
}
