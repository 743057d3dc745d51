// SPDX-License-Identifier: BSD-3-Clause
// <joint>. Limits are read as they stand: lower = upper = 0, which exporters write for a joint
// whose limits nobody set, locks the joint. A continuous joint has none, whatever <limit> says.
// The effort limit bounds what actuators do on the joint; 0, which exporters write when nobody set
// it, is none. The velocity limit, 0 being none, is the fastest that a motor drives the joint.

#include "io/urdf/urdf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/vector3.h"

// "spherical" is Bullet's; ball, planar, universal and screw also stand in Drake's <drake:joint>.
static const char types[] =
    "revolute continuous prismatic fixed floating planar ball spherical universal screw";
enum {
  REVOLUTE,
  CONTINUOUS,
  PRISMATIC,
  FIXED,
  FLOATING,
  PLANAR,
  BALL,
  SPHERICAL,
  UNIVERSAL,
  SCREW,
};

static sap_status read_type(sap_urdf_reader* r, const sap_urdf_joint* joint, int32_t* type) {
  if (sap_xml_get(joint->node, "type") == NULL) {
    return sap_xml_fail(joint->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "attribute 'type' is missing");
  }
  return sap_xml_choice(joint->node, "type", types, type, r->error);
}

sap_status sap_urdf_is_fixed(sap_urdf_reader* r, const sap_urdf_joint* joint, bool* fixed) {
  int32_t type = FIXED;
  const sap_status status = read_type(r, joint, &type);
  *fixed = type == FIXED;
  return status;
}

static sap_status read_axis(sap_urdf_reader* r, const sap_xml_node* node, sap_joint_def* def) {
  const sap_xml_node* axis = NULL;
  sap_v3_set(def->axis, 1.0, 0.0, 0.0);
  sap_status status = sap_urdf_child(r, node, "axis", &axis);
  if (status != SAP_STATUS_OK || axis == NULL) {
    return status;
  }
  status = sap_xml_numbers(axis, "xyz", 3, 3, def->axis, NULL, r->error);
  if (status == SAP_STATUS_OK && !(sap_v3_norm(def->axis) > 1e-15)) {
    return sap_xml_fail(axis, "xyz", SAP_STATUS_SYNTAX, r->error, "the axis is zero");
  }
  return status;
}

static sap_status read_limit(sap_urdf_reader* r, const sap_xml_node* node, bool bounded,
                             sap_joint_def* def) {
  const sap_xml_node* limit = NULL;
  sap_status status = sap_urdf_child(r, node, "limit", &limit);
  if (status == SAP_STATUS_OK && limit == NULL && bounded) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "a %s joint must have a <limit>",
                        sap_xml_get(node, "type"));
  }
  if (status != SAP_STATUS_OK || limit == NULL) {
    return status;
  }
  double lower = 0.0, upper = 0.0, effort = 0.0, velocity = 0.0;
  static const char* const names[4] = {"lower", "upper", "effort", "velocity"};
  double* const values[4] = {&lower, &upper, &effort, &velocity};
  for (int i = 0; i < 4 && status == SAP_STATUS_OK; ++i) {
    status = sap_urdf_number(r, limit, names[i], false, values[i]);
  }
  if (status == SAP_STATUS_OK && !(lower <= upper)) {
    return sap_xml_fail(limit, "lower", SAP_STATUS_SYNTAX, r->error, "is above upper = %g", upper);
  }
  if (status == SAP_STATUS_OK && !(effort >= 0.0)) {
    return sap_xml_fail(limit, "effort", SAP_STATUS_SYNTAX, r->error, "must be >= 0");
  }
  if (status == SAP_STATUS_OK && !(velocity >= 0.0)) {
    return sap_xml_fail(limit, "velocity", SAP_STATUS_SYNTAX, r->error, "must be >= 0");
  }
  if (effort > 0.0) {
    def->effort_lower = -effort;
    def->effort_upper = effort;
  }
  if (velocity > 0.0) {
    def->motor_speed = velocity;
  }
  if (bounded) {
    def->lower = lower;
    def->upper = upper;
  }
  return status;
}

static sap_status read_dynamics(sap_urdf_reader* r, const sap_xml_node* node, sap_joint_def* def) {
  const sap_xml_node* dynamics = NULL;
  sap_status status = sap_urdf_child(r, node, "dynamics", &dynamics);
  static const char* const names[2] = {"damping", "friction"};
  double* const values[2] = {&def->damping, &def->friction_loss};
  for (int i = 0; i < 2 && status == SAP_STATUS_OK && dynamics != NULL; ++i) {
    status = sap_urdf_number(r, dynamics, names[i], false, values[i]);
    if (status == SAP_STATUS_OK && !(*values[i] >= 0.0)) {
      return sap_xml_fail(dynamics, names[i], SAP_STATUS_SYNTAX, r->error, "must be >= 0");
    }
  }
  return status;
}

// Drake's reflected inertia gear_ratio^2 rotor_inertia, of the joint or its transmission.
static sap_status read_rotor(sap_urdf_reader* r, const sap_urdf_joint* joint, sap_joint_def* def) {
  const sap_xml_node* const places[2] = {joint->node, joint->actuator};
  double rotor = 0.0, gear = 1.0;
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < 2 && places[i] != NULL && status == SAP_STATUS_OK; ++i) {
    status = sap_urdf_values(r, places[i], "drake:rotor_inertia", false, 1, &rotor);
    if (status == SAP_STATUS_OK) {
      status = sap_urdf_values(r, places[i], "drake:gear_ratio", false, 1, &gear);
    }
    if (status == SAP_STATUS_OK && !(rotor >= 0.0)) {
      return sap_xml_fail(sap_xml_child(places[i], "drake:rotor_inertia"), "value",
                          SAP_STATUS_SYNTAX, r->error, "must be >= 0");
    }
  }
  def->armature = gear * gear * rotor;
  return status;
}

static sap_status add(sap_urdf_reader* r, const sap_urdf_joint* joint, const sap_joint_def* def,
                      int32_t* id) {
  return sap_xml_locate(joint->node, sap_builder_add_joint(r->builder, def, id, r->error),
                        r->error);
}

// A further joint of the same body, called NAME/suffix, before `joint`'s own.
static sap_status add_part(sap_urdf_reader* r, const sap_urdf_joint* joint, const char* suffix,
                           sap_joint_def* def, int32_t* id) {
  def->name = sap_xml_join(r->store, joint->name, "/", suffix);
  return def->name != NULL ? add(r, joint, def, id)
                           : sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
}

// In the plane across the axis: two slides, NAME/x and NAME/y, then a hinge of the joint's name.
// `def`: the hinge.
static sap_status add_planar(sap_urdf_reader* r, sap_urdf_joint* joint, const sap_joint_def* def) {
  double frame[9], n[3];
  sap_v3_scale(n, def->axis, 1.0 / sap_v3_norm(def->axis));
  sap_m3_from_normal(frame, n);
  for (int i = 0; i < 2; ++i) {
    sap_joint_def slide = *def;
    slide.type = SAP_JOINT_SLIDE;
    sap_v3_copy(slide.axis, frame + 3 * i);
    const sap_status status = add_part(r, joint, i == 0 ? "x" : "y", &slide, NULL);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return add(r, joint, def, &joint->id);
}

// About x of the joint's frame, NAME/x, then about the y that this has moved, of the joint's name.
static sap_status add_universal(sap_urdf_reader* r, sap_urdf_joint* joint,
                                const sap_joint_def* def) {
  sap_joint_def first = *def, second = *def;
  sap_v3_set(first.axis, 1.0, 0.0, 0.0);
  sap_v3_set(second.axis, 0.0, 1.0, 0.0);
  const sap_status status = add_part(r, joint, "x", &first, NULL);
  return status == SAP_STATUS_OK ? add(r, joint, &second, &joint->id) : status;
}

// A slide along the axis, NAME/z, that follows the hinge of the joint's name by its pitch.
static sap_status add_screw(sap_urdf_reader* r, sap_urdf_joint* joint, const sap_joint_def* def) {
  static const double turn = 2.0 * 3.14159265358979323846;
  sap_joint_def slide = *def;
  sap_equality_def thread = sap_equality_def_default();
  double pitch = 0.0;
  sap_status status = sap_urdf_values(r, joint->node, "drake:screw_thread_pitch", true, 1, &pitch);
  slide.type = SAP_JOINT_SLIDE;
  slide.damping = slide.armature = slide.friction_loss = 0.0;
  if (status == SAP_STATUS_OK) {
    status = add_part(r, joint, "z", &slide, &thread.a);
  }
  if (status == SAP_STATUS_OK) {
    status = add(r, joint, def, &joint->id);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  thread.type = SAP_EQUALITY_JOINT;
  thread.b = joint->id;
  thread.polynomial[1] = pitch / turn;
  return sap_xml_locate(joint->node, sap_builder_add_equality(r->builder, &thread, NULL, r->error),
                        r->error);
}

static sap_status read_laws(sap_urdf_reader* r, const sap_urdf_joint* joint, int32_t type,
                            sap_joint_def* def) {
  const bool has_axis = def->type != SAP_JOINT_BALL && type != UNIVERSAL;
  sap_status status = has_axis ? read_axis(r, joint->node, def) : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK && def->type != SAP_JOINT_BALL) {
    status = read_limit(r, joint->node, type == REVOLUTE || type == PRISMATIC, def);
  }
  if (status == SAP_STATUS_OK) {
    status = read_dynamics(r, joint->node, def);
  }
  return status == SAP_STATUS_OK ? read_rotor(r, joint, def) : status;
}

sap_status sap_urdf_add_joint(sap_urdf_reader* r, sap_urdf_joint* joint, int32_t body) {
  int32_t type = FIXED;
  sap_status status = read_type(r, joint, &type);
  if (status != SAP_STATUS_OK || type == FIXED) {
    return status;
  }
  sap_joint_def def = sap_joint_def_default();
  def.name = joint->name;
  def.body = body;
  def.type = type == FLOATING                    ? SAP_JOINT_FREE
             : type == BALL || type == SPHERICAL ? SAP_JOINT_BALL
             : type == PRISMATIC                 ? SAP_JOINT_SLIDE
                                                 : SAP_JOINT_HINGE;
  joint->is_scalar = def.type == SAP_JOINT_HINGE || def.type == SAP_JOINT_SLIDE;
  if (type != FLOATING) {
    status = read_laws(r, joint, type, &def);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  switch (type) {
    case PLANAR:
      return add_planar(r, joint, &def);
    case UNIVERSAL:
      return add_universal(r, joint, &def);
    case SCREW:
      return add_screw(r, joint, &def);
    default:
      return add(r, joint, &def, &joint->id);
  }
}
