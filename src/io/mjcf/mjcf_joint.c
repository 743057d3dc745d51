// SPDX-License-Identifier: BSD-3-Clause
// <joint> and <freejoint>.
#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/mjcf/mjcf_body.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"
#include "multibody/model/model_data.h"

// A new field of sap_joint_def that is one number needs one row here.
static const sap_xml_field joint_fields[] = {
    SAP_XML_NUMBER(sap_joint_def, stiffness, "stiffness", NONNEGATIVE),
    SAP_XML_NUMBER(sap_joint_def, damping, "damping", NONNEGATIVE),
    SAP_XML_NUMBER(sap_joint_def, armature, "armature", NONNEGATIVE),
    SAP_XML_NUMBER(sap_joint_def, friction_loss, "frictionloss", NONNEGATIVE),
    SAP_XML_NUMBER(sap_joint_def, spring_reference, "springref", ANY),
    SAP_XML_NUMBER(sap_joint_def, reference, "ref", ANY),
    SAP_XML_FIELD(sap_joint_def, axis, "axis", ANY, 3, 3),
    {0},
};

bool sap_mjcf_is_joint(const sap_xml_node* node) {
  return sap_xml_is(node, "joint") || sap_xml_is(node, "freejoint");
}

// unit: of the joint's positions.
static sap_status read_properties(const sap_mjcf_sources* s, const sap_pose* frame, double unit,
                                  sap_joint_def* def) {
  static const sap_xml_field springdamper[] = {{"springdamper", SAP_XML_NONNEGATIVE, 2, 2, 0}, {0}};
  double anchor[3] = {0.0, 0.0, 0.0}, spring[2] = {0.0, 0.0};
  SAP_TRY(sap_mjcf_read_fields(s, joint_fields, def));
  SAP_TRY(sap_mjcf_read_fields(s, springdamper, spring));
  SAP_TRY(sap_mjcf_numbers(s, "pos", 3, 3, anchor, NULL));
  SAP_RETURN_IF(!(sap_v3_norm(def->axis) > 1e-15), sap_mjcf_refuse(s, "axis", "the axis is zero"));
  sap_quaternion_rotate(def->axis, frame->q, def->axis);
  sap_quaternion_place(def->p_BJ, frame->p, frame->q, anchor);
  def->spring_reference *= unit;
  def->reference *= unit;
  if (def->type != SAP_JOINT_FREE) {
    def->spring_time = spring[0];
    def->spring_damping_ratio = spring[1];
  } else if (def->stiffness != 0.0) {
    def->stiffness = 0.0;
    return sap_scene_unsupported(s->r->options, sap_mjcf_source(s, "stiffness"), "stiffness",
                                 "not supported for a free joint", s->r->error);
  }
  return SAP_STATUS_OK;
}

// range: without the margin. A free joint has no limits, even if its class has.
static sap_status read_limits(const sap_mjcf_sources* s, double unit, sap_joint_def* def,
                              double range[2]) {
  if (def->type == SAP_JOINT_FREE) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_mjcf_read_range(s, "range", unit, range));
  if (def->type == SAP_JOINT_BALL) {
    SAP_RETURN_IF(isfinite(range[0]) && range[0] != 0.0,
                  sap_mjcf_refuse(s, "range", "of a ball joint must begin with 0"));
    range[0] = -(double)INFINITY;
  }
  def->lower = range[0];
  def->upper = range[1];
  SAP_TRY(sap_mjcf_read_limit_material(s, &def->limit_stiffness, &def->limit_relaxation_time));
  return sap_mjcf_apply_margin(s, &def->lower, &def->upper);
}

// Reads the limits of actuator forces. Gravity compensation by actuators would count to them.
static sap_status read_efforts(const sap_mjcf_sources* s, sap_joint_def* def) {
  double efforts[2];
  int32_t actuated = 0;
  SAP_TRY(sap_mjcf_read_range(s, "actuatorfrcrange", 1.0, efforts));
  SAP_TRY(sap_mjcf_choice(s, "actuatorgravcomp", "false true", &actuated));
  if (def->type != SAP_JOINT_HINGE && def->type != SAP_JOINT_SLIDE) {
    return SAP_STATUS_OK;
  }
  def->effort_lower = efforts[0];
  def->effort_upper = efforts[1];
  const bool limited = isfinite(efforts[0]) || isfinite(efforts[1]);
  return actuated != 0 && limited
             ? sap_scene_unsupported(s->r->options, sap_mjcf_source(s, "actuatorgravcomp"),
                                     "actuatorgravcomp",
                                     "not supported together with actuatorfrcrange", s->r->error)
             : SAP_STATUS_OK;
}

// range: of positions, without the margin.
static sap_status read_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, sap_joint_def* def,
                             double range[2]) {
  sap_mjcf_sources s;
  int32_t type = SAP_JOINT_HINGE;
  SAP_TRY(sap_mjcf_find_sources(r, item->node, "joint", &item->scope, &s));
  SAP_TRY(sap_mjcf_choice(&s, "type", "free ball hinge slide", &type));
  def->type = (sap_joint_type)type;
  const bool angular = def->type == SAP_JOINT_HINGE || def->type == SAP_JOINT_BALL;
  const double unit = angular ? s.model->compiler.angle_unit : 1.0;
  SAP_TRY(read_properties(&s, &item->scope.frame, unit, def));
  SAP_TRY(read_limits(&s, unit, def, range));
  return read_efforts(&s, def);
}

// Stores what tendons, actuators and keyframes need.
static sap_status remember_joint(sap_mjcf_reader* r, int32_t id, const sap_joint_def* def,
                                 const sap_mjcf_joint* joint, const sap_body_def* body) {
  const int32_t nq = sap_joint_position_count(def->type), nv = sap_joint_velocity_count(def->type);
  SAP_TRY(SAP_ROOM(&r->pool, &r->joints, id + 1, r->error));
  SAP_TRY(SAP_ROOM(&r->pool, &r->q_default, r->nq + nq, r->error));
  SAP_TRY(sap_name_map_add(&r->joint_names, def->name, id, NULL, r->error));
  double* q = r->q_default + r->nq;
  if (def->type == SAP_JOINT_FREE) {
    memcpy(q, body->p_PB, 3 * sizeof *q);
    memcpy(q + 3, body->q_PB, 4 * sizeof *q);
  } else if (def->type == SAP_JOINT_BALL) {
    memcpy(q, sap_pose_identity.q, 4 * sizeof *q);
  } else {
    q[0] = def->reference;
  }
  r->joints[id] = *joint;
  r->joints[id].q_start = r->nq;
  r->joint_count = id + 1;
  r->nq += nq;
  r->nv += nv;
  return SAP_STATUS_OK;
}

// Removes what <flag> disables.
static sap_status apply_flags(const sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_joint_def* def) {
  const sap_mjcf_disabled* off = &r->disabled;
  if (off->limit) {
    def->lower = -(double)INFINITY;
    def->upper = (double)INFINITY;
  }
  SAP_RETURN_IF(off->spring != off->damper && def->spring_time > 0.0,
                sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                             "springdamper where only springs or only dampers are disabled"));
  def->friction_loss = off->frictionloss ? 0.0 : def->friction_loss;
  def->spring_time = off->spring ? 0.0 : def->spring_time;
  def->stiffness = off->spring ? 0.0 : def->stiffness;
  def->damping = off->damper ? 0.0 : def->damping;
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_add_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body,
                              const sap_body_def* body_def) {
  sap_joint_def def = sap_joint_def_default();
  sap_mjcf_joint joint = {.space = item->scope.space,
                          .range = {-(double)INFINITY, (double)INFINITY}};
  if (sap_xml_is(item->node, "freejoint")) {  // has no defaults
    def.type = SAP_JOINT_FREE;
  } else {
    SAP_TRY(read_joint(r, item, &def, joint.range));
  }
  SAP_TRY(sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &def.name));
  if (def.type == SAP_JOINT_FREE && body_def->parent != 0) {
    return sap_xml_syntax(item->node, NULL, r->error, "only a body of the world can move freely");
  }
  def.body = body;
  joint.type = def.type;
  int32_t id = -1;
  SAP_TRY(apply_flags(r, item->node, &def));
  SAP_TRY(SAP_XML_ADD(r, item->node, sap_builder_add_joint, &def, &id));
  return remember_joint(r, id, &def, &joint, body_def);
}
