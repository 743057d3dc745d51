// SPDX-License-Identifier: BSD-3-Clause
// <transmission>: an actuator on the joint that it drives. Its control is the joint's effort, or,
// with Drake's controller gains p and d, the position of a servo
//   force = p (control - q) - d dq/dt.
// Mechanical reductions are not looked at: the control counts at the joint, as in ros_control and
// Drake. The joint's effort limit bounds the force. Transmissions that drive several joints
// (wrists, grippers), or a joint that another one drives, are left out.

#include "io/urdf/urdf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

// The only joint of a transmission, -1 and *why without one.
static int32_t driven_joint(const sap_urdf_reader* r, const sap_xml_node* node, const char** why) {
  int32_t joint = -1;
  *why = "names no joint: left out";
  for (const sap_xml_node* n = node->first_child; n != NULL; n = n->next) {
    if (!sap_xml_is(n, "joint")) {
      continue;
    }
    const char* name = sap_xml_get(n, "name");
    if (joint >= 0) {
      *why = "drives several joints: left out";
      return -1;
    }
    joint = name != NULL ? sap_name_map_find(&r->joint_names, name) : -1;
    if (joint < 0) {
      *why = "its joint is not there: left out";
      return -1;
    }
  }
  return joint;
}

sap_status sap_urdf_find_transmissions(sap_urdf_reader* r, const sap_xml_node* robot) {
  for (const sap_xml_node* n = robot->first_child; n != NULL; n = n->next) {
    const char* why = NULL;
    const sap_xml_node* actuator = NULL;
    if (!sap_xml_is(n, "transmission")) {
      continue;
    }
    const int32_t joint = driven_joint(r, n, &why);
    if (joint >= 0) {
      actuator = sap_xml_child(n, "actuator");
      why = actuator == NULL ? "has no actuator: left out" : NULL;
    }
    if (why == NULL && r->joints[joint].actuator != NULL) {
      why = "another one drives this joint: left out";
    }
    if (why == NULL) {
      r->joints[joint].actuator = actuator;
    } else {
      sap_scene_warn(r->options, n, NULL, why);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_gains(sap_urdf_reader* r, const sap_xml_node* node, sap_actuator_def* def) {
  const sap_xml_node* gains = NULL;
  double p = 0.0, d = 0.0;
  sap_status status = sap_urdf_child(r, node, "drake:controller_gains", &gains);
  if (status != SAP_STATUS_OK || gains == NULL) {
    return status;
  }
  status = sap_xml_numbers(gains, "p", 1, 1, &p, NULL, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_numbers(gains, "d", 1, 1, &d, NULL, r->error);
  }
  if (status == SAP_STATUS_OK && !(p > 0.0)) {
    return sap_xml_fail(gains, "p", SAP_STATUS_SYNTAX, r->error, "must be > 0");
  }
  if (status == SAP_STATUS_OK && !(d >= 0.0)) {
    return sap_xml_fail(gains, "d", SAP_STATUS_SYNTAX, r->error, "must be >= 0");
  }
  def->gain = p;
  def->bias[1] = -p;
  def->bias[2] = -d;
  return status;
}

// The actuator's name, or the joint's where that has none or one that is taken.
static sap_status choose_name(const sap_urdf_joint* joint, sap_name_map* names, int32_t id,
                              sap_actuator_def* def, sap_error* error) {
  bool added = false;
  const char* name = sap_xml_get(joint->actuator, "name");
  sap_status status = SAP_STATUS_OK;
  if (name != NULL && name[0] != '\0') {
    status = sap_name_map_add(names, name, id, &added, error);
  }
  if (status == SAP_STATUS_OK && !added) {
    name = joint->name;
    status = sap_name_map_add(names, name, id, &added, error);
  }
  def->name = added ? name : NULL;
  return status;
}

static sap_status add_actuator(sap_urdf_reader* r, const sap_urdf_joint* joint, sap_name_map* names,
                               int32_t* count) {
  sap_actuator_def def = sap_actuator_def_default();
  sap_status status = read_gains(r, joint->actuator, &def);
  if (status == SAP_STATUS_OK) {
    status = choose_name(joint, names, *count, &def, r->error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.target = joint->id;
  ++*count;
  return sap_xml_locate(joint->actuator, sap_builder_add_actuator(r->builder, &def, NULL, r->error),
                        r->error);
}

sap_status sap_urdf_add_actuators(sap_urdf_reader* r) {
  sap_name_map names = {0};
  int32_t count = 0;
  sap_status status = SAP_STATUS_OK;
  for (int32_t j = 0; j < r->joint_count && status == SAP_STATUS_OK; ++j) {
    const sap_urdf_joint* joint = &r->joints[j];
    if (joint->actuator == NULL) {
      continue;
    }
    if (joint->id < 0 || !joint->is_scalar) {
      sap_scene_warn(r->options, joint->actuator, NULL,
                     "drives no hinge or slide: its transmission is left out");
    } else {
      status = add_actuator(r, joint, &names, &count);
    }
  }
  sap_name_map_clear(&names);
  return status;
}
