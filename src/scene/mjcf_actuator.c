// SPDX-License-Identifier: BSD-3-Clause
// <actuator><motor>.
#include <math.h>

#include "core/memory.h"
#include "scene/mjcf_instance.h"
#include "scene/schema.h"

static sap_status read_motor(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                             sap_actuator_def* def) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  double gear[6] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  sap_mjcf_range control = {"ctrlrange", "ctrllimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_mjcf_range force = {"forcerange", "forcelimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_status status = sap_mjcf_find_sources(r, i->node, "motor", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, &s, "gear", (const int32_t[]){1, 6}, gear, NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &control);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &force);
  }
  def->force_lower = force.lower;
  def->force_upper = force.upper;
  def->gear = gear[0];
  def->control_lower = control.lower;
  def->control_upper = control.upper;
  return status;
}

// The joint's actuatorfrcrange bounds the sum of its motors.
static sap_status apply_joint_range(sap_mjcf_reader* r, const sap_xml_node* node,
                                    sap_mjcf_joint* joint, sap_actuator_def* def) {
  const bool bounded = isfinite(joint->force_lower) || isfinite(joint->force_upper);
  if (bounded && joint->motors++ > 0) {
    return sap_scene_unsupported(r->options, node, NULL,
                                 "a second motor on a joint with actuatorfrcrange is not supported",
                                 r->error);
  }
  if (bounded && def->gear != 0.0) {  // a zero gear is refused with the actuator
    const double a = joint->force_lower / def->gear, b = joint->force_upper / def->gear;
    const double lower = fmin(a, b), upper = fmax(a, b);
    def->force_lower = fmin(fmax(def->force_lower, lower), upper);
    def->force_upper = fmax(fmin(def->force_upper, upper), lower);
  }
  return SAP_STATUS_OK;
}

static sap_status add_motor(sap_mjcf_reader* r, const sap_mjcf_instance* i, int32_t* id) {
  sap_actuator_def def = sap_actuator_def_default();
  def.target = i->ids[0];
  sap_mjcf_joint* joint = &r->joints[def.target];
  if (joint->type == SAP_JOINT_FREE || joint->type == SAP_JOINT_BALL) {
    return sap_scene_unsupported(r->options, i->node, NULL,
                                 "motors on free and ball joints are not supported", r->error);
  }
  sap_status status = read_motor(r, i, &def);
  if (status == SAP_STATUS_OK) {
    status = apply_joint_range(r, i->node, joint, &def);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def.name);
  }
  return status == SAP_STATUS_OK
             ? sap_mjcf_locate(r, i->node, sap_builder_add_actuator(r->builder, &def, id, r->error))
             : status;
}

sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  int32_t id = -1;
  sap_status status = SAP_GROW(&r->controls, &r->control_capacity, r->control_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const bool on_joint =
      sap_xml_get(i->node, "joint") != NULL || sap_xml_get(i->node, "jointinparent") != NULL;
  if (sap_xml_is(i->node, "motor") && on_joint) {
    status = add_motor(r, i, &id);
  } else {
    status = sap_scene_unsupported(r->options, i->node, NULL,
                                   "only motors on joints are supported as actuators", r->error);
  }
  r->controls[r->control_count++] =
      (sap_mjcf_control){.node = i->node, .space = i->space, .id = id};
  return status;
}
