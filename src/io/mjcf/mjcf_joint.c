// SPDX-License-Identifier: BSD-3-Clause
// <joint> and <freejoint>.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

static sap_status read_axis(sap_mjcf_reader* r, const sap_mjcf_sources* s, const sap_pose* frame,
                            sap_joint_def* def) {
  sap_status status = sap_mjcf_numbers(r, s, "axis", (const int32_t[]){3, 3}, def->axis, NULL);
  double anchor[3] = {0.0, 0.0, 0.0};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "pos", (const int32_t[]){3, 3}, anchor, NULL);
  }
  if (status == SAP_STATUS_OK && !(sap_v3_norm(def->axis) > 1e-15)) {
    return sap_xml_fail(sap_mjcf_source(s, "axis"), "axis", SAP_STATUS_SYNTAX, r->error,
                        "the axis is zero");
  }
  sap_quaternion_rotate(def->axis, frame->q, def->axis);
  sap_quaternion_place(def->p_BJ, frame->p, frame->q, anchor);
  return status;
}

static sap_status read_forces(sap_mjcf_reader* r, const sap_mjcf_sources* s, double unit,
                              sap_joint_def* def) {
  const struct {
    const char* name;
    double* value;
    double unit;
  } fields[] = {
      {"stiffness", &def->stiffness, 1.0},         {"damping", &def->damping, 1.0},
      {"armature", &def->armature, 1.0},           {"frictionloss", &def->friction_loss, 1.0},
      {"springref", &def->spring_reference, unit}, {"ref", &def->reference, unit},
  };
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
    const sap_status status = sap_mjcf_number(r, s, fields[i].name, fields[i].value);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (i < 4 && !(*fields[i].value >= 0.0)) {
      return sap_xml_fail(sap_mjcf_source(s, fields[i].name), fields[i].name, SAP_STATUS_SYNTAX,
                          r->error, "must be >= 0");
    }
    *fields[i].value *= fields[i].unit;
  }
  double spring[2] = {0.0, 0.0};
  const sap_status status =
      sap_mjcf_numbers(r, s, "springdamper", (const int32_t[]){2, 2}, spring, NULL);
  if (status == SAP_STATUS_OK && !(spring[0] >= 0.0 && spring[1] >= 0.0)) {
    return sap_xml_fail(sap_mjcf_source(s, "springdamper"), "springdamper", SAP_STATUS_SYNTAX,
                        r->error, "must be >= 0");
  }
  if (def->type != SAP_JOINT_FREE) {
    def->spring_time = spring[0];
    def->spring_damping_ratio = spring[1];
  }
  return status;
}

static sap_status read_limits(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                              const sap_mjcf_scope* scope, double unit, sap_joint_def* def) {
  sap_mjcf_range range = {"range", "limited", unit, -(double)INFINITY, (double)INFINITY};
  if (def->type == SAP_JOINT_FREE) {  // which has no limits, whatever its class says
    def->lower = -(double)INFINITY;
    def->upper = (double)INFINITY;
    return SAP_STATUS_OK;
  }
  sap_status status = sap_mjcf_read_range(r, s, scope, &range);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def->lower = range.lower;
  def->upper = range.upper;
  if (def->type == SAP_JOINT_BALL) {
    if (isfinite(range.lower) && range.lower != 0.0) {
      return sap_xml_fail(sap_mjcf_source(s, "range"), "range", SAP_STATUS_SYNTAX, r->error,
                          "of a ball joint must begin with 0");
    }
    def->lower = -(double)INFINITY;
  }
  return sap_mjcf_read_limit_material(r, s, scope, &def->limit_stiffness,
                                      &def->limit_relaxation_time);
}

// Forces that hold the weight, as an actuator's: they then count to the range of these.
static sap_status check_weight(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_joint_def* def) {
  int32_t actuated = 0;
  const sap_status status = sap_mjcf_choice(r, s, "actuatorgravcomp", "false true", &actuated);
  const bool limited = isfinite(def->effort_lower) || isfinite(def->effort_upper);
  return status == SAP_STATUS_OK && actuated != 0 && limited
             ? sap_scene_unsupported(r->options, sap_mjcf_source(s, "actuatorgravcomp"),
                                     "actuatorgravcomp",
                                     "not supported together with actuatorfrcrange", r->error)
             : status;
}

static const sap_joint_type types[] = {SAP_JOINT_FREE, SAP_JOINT_BALL, SAP_JOINT_SLIDE,
                                       SAP_JOINT_HINGE};

static sap_status read_type(sap_mjcf_reader* r, const sap_mjcf_sources* s, sap_joint_type* type) {
  int32_t index = 3;
  const sap_status status = sap_mjcf_choice(r, s, "type", "free ball slide hinge", &index);
  *type = types[index];
  return status;
}

sap_status sap_mjcf_joint_type(sap_mjcf_reader* r, const sap_xml_node* node,
                               const sap_mjcf_scope* scope, sap_joint_type* type) {
  if (sap_xml_is(node, "freejoint")) {
    *type = SAP_JOINT_FREE;
    return SAP_STATUS_OK;
  }
  sap_mjcf_sources s;
  const sap_status status = sap_mjcf_find_sources(r, node, "joint", scope, &s);
  return status == SAP_STATUS_OK ? read_type(r, &s, type) : status;
}

// range_given: as the file gives it, without the margin.
static sap_status read_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, sap_joint_def* def,
                             double range_given[2]) {
  sap_mjcf_sources s;
  sap_status status = sap_mjcf_find_sources(r, item->node, "joint", &item->scope, &s);
  if (status == SAP_STATUS_OK) {
    status = read_type(r, &s, &def->type);
  }
  const bool angular = def->type == SAP_JOINT_HINGE || def->type == SAP_JOINT_BALL;
  const double unit = angular ? item->scope.model->compiler.angle_unit : 1.0;
  if (status == SAP_STATUS_OK) {
    status = read_axis(r, &s, &item->scope.frame, def);
  }
  if (status == SAP_STATUS_OK) {
    status = read_forces(r, &s, unit, def);
  }
  if (status == SAP_STATUS_OK) {
    status = read_limits(r, &s, &item->scope, unit, def);
  }
  range_given[0] = def->lower;
  range_given[1] = def->upper;
  if (status == SAP_STATUS_OK && def->type != SAP_JOINT_FREE) {
    status = sap_mjcf_apply_margin(r, &s, &def->lower, &def->upper);
  }
  sap_mjcf_range range = {"actuatorfrcrange", "actuatorfrclimited", 1.0, -(double)INFINITY,
                          (double)INFINITY};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &item->scope, &range);
  }
  if (def->type == SAP_JOINT_HINGE || def->type == SAP_JOINT_SLIDE) {
    def->effort_lower = range.lower;
    def->effort_upper = range.upper;
  }
  if (status == SAP_STATUS_OK) {
    status = check_weight(r, &s, def);
  }
  if (status == SAP_STATUS_OK && def->type == SAP_JOINT_FREE && def->stiffness != 0.0) {
    status = sap_scene_unsupported(r->options, sap_mjcf_source(&s, "stiffness"), "stiffness",
                                   "not supported for a free joint", r->error);
    def->stiffness = 0.0;
  }
  return status;
}

// The coordinates of an attached model are consecutive: those of all models around a joint grow.
static void count_in_models(sap_mjcf_reader* r, int32_t space, int32_t nq, int32_t nv) {
  for (; space >= 0; space = r->spaces[space].parent) {
    sap_mjcf_space* s = &r->spaces[space];
    if (s->is_model) {
      s->q_first = s->nq == 0 ? r->nq : s->q_first;
      s->v_first = s->nv == 0 ? r->nv : s->v_first;
      s->nq += nq;
      s->nv += nv;
    }
  }
}

// Keeps what tendons, actuators and keyframes need to know.
static sap_status remember(sap_mjcf_reader* r, int32_t id, const sap_joint_def* def,
                           const sap_mjcf_joint* joint, const sap_body_def* body) {
  static const int32_t position_counts[] = {7, 4, 1, 1}, velocity_counts[] = {6, 3, 1, 1};
  const int32_t nq = position_counts[def->type];
  sap_status status = SAP_GROW(&r->joints, &r->joint_capacity, id + 1, r->error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&r->q_default, &r->q_capacity, r->nq + nq, r->error);
  }
  if (status == SAP_STATUS_OK && def->name != NULL) {
    status = sap_name_map_add(&r->joint_names, def->name, id, NULL, r->error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
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
  r->joints[id].v_start = r->nv;
  r->joint_count = id + 1;
  count_in_models(r, joint->space, nq, velocity_counts[def->type]);
  r->nq += nq;
  r->nv += velocity_counts[def->type];
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_add_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body,
                              const sap_body_def* body_def) {
  sap_joint_def def = sap_joint_def_default();
  double range[2] = {def.lower, def.upper};
  sap_status status;
  if (sap_xml_is(item->node, "freejoint")) {  // takes no defaults
    def.type = SAP_JOINT_FREE;
    status = SAP_STATUS_OK;
  } else {
    status = read_joint(r, item, &def, range);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &def.name);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (def.type == SAP_JOINT_FREE && body_def->parent != 0) {
    return sap_xml_fail(item->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "only a body of the world can move freely");
  }
  def.body = body;
  int32_t id = -1;
  sap_joint_def added = def;
  if (r->disabled.limit) {
    added.lower = -(double)INFINITY;
    added.upper = (double)INFINITY;
  }
  added.friction_loss = r->disabled.frictionloss ? 0.0 : def.friction_loss;
  if (r->disabled.spring != r->disabled.damper && added.spring_time > 0.0) {
    return sap_xml_fail(item->node, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                        "springdamper where only springs or only dampers are disabled");
  }
  added.spring_time = r->disabled.spring ? 0.0 : def.spring_time;
  added.stiffness = r->disabled.spring ? 0.0 : def.stiffness;
  added.damping = r->disabled.damper ? 0.0 : def.damping;
  status = sap_xml_locate(item->node, sap_builder_add_joint(r->builder, &added, &id, r->error),
                          r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_mjcf_joint joint = {.node = item->node,
                                .space = item->scope.space,
                                .type = def.type,
                                .range = {range[0], range[1]}};
  return remember(r, id, &def, &joint, body_def);
}
