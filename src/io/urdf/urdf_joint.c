// SPDX-License-Identifier: BSD-3-Clause
// <joint>, <mimic> and <transmission>.
//
// lower = upper = 0, which exporters write when nobody has set the limits, locks the joint. A
// continuous joint has no limits, even with <limit>. The effort limit bounds the forces of
// actuators on the joint; 0, which exporters write when nobody has set it, is no limit. The
// velocity limit, 0: none, is the fastest that a motor drives the joint.
//
// A transmission is an actuator on its joint. The control is the joint's effort, or, with Drake's
// controller gains p and d, the position of a servo
//   force = p (control - q) - d dq/dt.
// Mechanical reductions are ignored: the control acts at the joint, as in ros_control and Drake.
// Transmissions of several joints (wrists, grippers), or of a joint that already has one, are
// ignored.
#include "io/urdf/urdf.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"
#include "math/scalar.h"

// "spherical" is Bullet's; ball, planar, universal and screw are also types of <drake:joint>.
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

sap_status sap_urdf_read_type(sap_urdf_reader* r, sap_urdf_joint* joint) {
  const char* text;
  SAP_TRY(sap_xml_require(joint->node, "type", &text, r->error));
  SAP_TRY(sap_xml_choice(joint->node, "type", types, &joint->type, r->error));
  joint->is_fixed = joint->type == FIXED;
  return SAP_STATUS_OK;
}

static sap_status read_limit(sap_urdf_reader* r, const sap_xml_node* node, bool bounded,
                             sap_joint_def* def) {
  typedef struct limits {
    double lower, upper, effort, velocity;
  } limits;
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(limits, lower, "lower", ANY),
      SAP_XML_NUMBER(limits, upper, "upper", ANY),
      SAP_XML_NUMBER(limits, effort, "effort", NONNEGATIVE),
      SAP_XML_NUMBER(limits, velocity, "velocity", NONNEGATIVE),
      {0},
  };
  const sap_xml_node* limit;
  limits l = {0.0, 0.0, 0.0, 0.0};
  SAP_TRY(sap_xml_only_child(node, "limit", &limit, r->error));
  if (limit == NULL) {
    return bounded ? sap_xml_syntax(node, NULL, r->error, "a %s joint must have a <limit>",
                                    sap_xml_get(node, "type"))
                   : SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_read_fields(limit, fields, &l, r->error));
  SAP_RETURN_IF(!(l.lower <= l.upper),
                sap_xml_syntax(limit, "lower", r->error, "is above upper = %g", l.upper));
  if (l.effort > 0.0) {
    def->effort_lower = -l.effort;
    def->effort_upper = l.effort;
  }
  if (l.velocity > 0.0) {
    def->motor_speed = l.velocity;
  }
  if (bounded) {
    def->lower = l.lower;
    def->upper = l.upper;
  }
  return SAP_STATUS_OK;
}

static sap_status read_dynamics(sap_urdf_reader* r, const sap_xml_node* node, sap_joint_def* def) {
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(sap_joint_def, damping, "damping", NONNEGATIVE),
      SAP_XML_NUMBER(sap_joint_def, friction_loss, "friction", NONNEGATIVE),
      {0},
  };
  const sap_xml_node* dynamics;
  SAP_TRY(sap_xml_only_child(node, "dynamics", &dynamics, r->error));
  return dynamics != NULL ? sap_xml_read_fields(dynamics, fields, def, r->error) : SAP_STATUS_OK;
}

// Drake's reflected inertia gear_ratio^2 rotor_inertia, of the joint or its transmission.
static sap_status read_rotor(sap_urdf_reader* r, const sap_urdf_joint* joint, sap_joint_def* def) {
  typedef struct rotor {
    double inertia, gear;
  } rotor;
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(rotor, inertia, "drake:rotor_inertia", NONNEGATIVE),
      SAP_XML_NUMBER(rotor, gear, "drake:gear_ratio", ANY),
      {0},
  };
  rotor m = {.inertia = 0.0, .gear = 1.0};
  SAP_TRY(sap_xml_read_children(joint->node, fields, false, &m, r->error));
  if (joint->actuator != NULL) {
    SAP_TRY(sap_xml_read_children(joint->actuator, fields, false, &m, r->error));
  }
  def->armature = m.gear * m.gear * m.inertia;
  return SAP_STATUS_OK;
}

static sap_status add_main(sap_urdf_reader* r, const sap_urdf_joint* joint,
                           const sap_joint_def* def, int32_t* id) {
  return SAP_XML_ADD(r, joint->node, sap_builder_add_joint, def, id);
}

// Adds a further joint NAME/suffix of the same body, before the main one.
static sap_status add_part(sap_urdf_reader* r, const sap_urdf_joint* joint, const char* suffix,
                           sap_joint_def* def, int32_t* id) {
  SAP_TRY(sap_xml_join(r->store, joint->name, "/", suffix, &def->name, r->error));
  return add_main(r, joint, def, id);
}

// In the plane across the axis: two slides, NAME/x and NAME/y, then the hinge `def`.
static sap_status add_planar(sap_urdf_reader* r, sap_urdf_joint* joint, const sap_joint_def* def) {
  double frame[9], n[3];
  sap_v3_scale(n, def->axis, 1.0 / sap_v3_norm(def->axis));
  sap_m3_from_normal(frame, n);
  for (int i = 0; i < 2; ++i) {
    sap_joint_def slide = *def;
    slide.type = SAP_JOINT_SLIDE;
    sap_v3_copy(slide.axis, frame + 3 * i);
    SAP_TRY(add_part(r, joint, i == 0 ? "x" : "y", &slide, NULL));
  }
  return add_main(r, joint, def, &joint->id);
}

// A hinge about x of the joint's frame, NAME/x, then the main one about the y that it moves.
static sap_status add_universal(sap_urdf_reader* r, sap_urdf_joint* joint,
                                const sap_joint_def* def) {
  sap_joint_def first = *def, second = *def;
  sap_v3_set(first.axis, 1.0, 0.0, 0.0);
  sap_v3_set(second.axis, 0.0, 1.0, 0.0);
  SAP_TRY(add_part(r, joint, "x", &first, NULL));
  return add_main(r, joint, &second, &joint->id);
}

// A slide along the axis, NAME/z, coupled to the hinge `def` by the pitch.
static sap_status add_screw(sap_urdf_reader* r, sap_urdf_joint* joint, const sap_joint_def* def) {
  static const double turn = 2.0 * SAP_PI;
  static const sap_xml_field pitch_field[] = {{"drake:screw_thread_pitch", SAP_XML_ANY, 1, 1, 0},
                                              {0}};
  sap_joint_def slide = *def;
  sap_equality_def thread = sap_equality_def_default();
  double pitch = 0.0;
  SAP_TRY(sap_xml_read_children(joint->node, pitch_field, true, &pitch, r->error));
  slide.type = SAP_JOINT_SLIDE;
  slide.damping = slide.armature = slide.friction_loss = 0.0;
  SAP_TRY(add_part(r, joint, "z", &slide, &thread.a));
  SAP_TRY(add_main(r, joint, def, &joint->id));
  thread.type = SAP_EQUALITY_JOINT;
  thread.b = joint->id;
  thread.polynomial[1] = pitch / turn;
  return SAP_XML_ADD(r, joint->node, sap_builder_add_equality, &thread, NULL);
}

static sap_status read_properties(sap_urdf_reader* r, const sap_urdf_joint* joint,
                                  sap_joint_def* def) {
  if (def->type != SAP_JOINT_BALL && joint->type != UNIVERSAL) {
    SAP_TRY(sap_urdf_axis(r, joint->node, def->axis));
  }
  if (def->type != SAP_JOINT_BALL) {
    const bool bounded = joint->type == REVOLUTE || joint->type == PRISMATIC;
    SAP_TRY(read_limit(r, joint->node, bounded, def));
  }
  SAP_TRY(read_dynamics(r, joint->node, def));
  return read_rotor(r, joint, def);
}

sap_status sap_urdf_add_joint(sap_urdf_reader* r, sap_urdf_joint* joint, int32_t body) {
  const int32_t type = joint->type;
  sap_joint_def def = sap_joint_def_default();
  def.name = joint->name;
  def.body = body;
  def.type = type == FLOATING                    ? SAP_JOINT_FREE
             : type == BALL || type == SPHERICAL ? SAP_JOINT_BALL
             : type == PRISMATIC                 ? SAP_JOINT_SLIDE
                                                 : SAP_JOINT_HINGE;
  def.reference = joint->start;
  joint->is_scalar = def.type == SAP_JOINT_HINGE || def.type == SAP_JOINT_SLIDE;
  if (type != FLOATING) {
    SAP_TRY(read_properties(r, joint, &def));
  }
  switch (type) {
    case FIXED:
      return SAP_STATUS_OK;
    case PLANAR:
      return add_planar(r, joint, &def);
    case UNIVERSAL:
      return add_universal(r, joint, &def);
    case SCREW:
      return add_screw(r, joint, &def);
    default:
      return add_main(r, joint, &def, &joint->id);
  }
}

// --- mimic --------------------------------------------------------------------------------------

// <mimic> is q = multiplier q_other + offset. A model starts in a pose that satisfies it: the
// reference of such a joint is its q there (`start`), and its body's pose is moved along.

// Reads <mimic> of a joint; *other: the joint that it follows, -1 without <mimic>.
static sap_status read_mimic(sap_urdf_reader* r, const sap_urdf_joint* joint, int32_t* other,
                             sap_equality_def* def) {
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(sap_equality_def, polynomial[0], "offset", ANY),
      SAP_XML_NUMBER(sap_equality_def, polynomial[1], "multiplier", ANY),
      {0},
  };
  const sap_xml_node* node;
  *other = -1;
  *def = sap_equality_def_default();
  SAP_TRY(sap_xml_only_child(joint->node, "mimic", &node, r->error));
  if (node == NULL) {
    return SAP_STATUS_OK;
  }
  const char* name = sap_xml_get(node, "joint");
  *other = name != NULL ? sap_name_map_find(&r->joint_names, name) : -1;
  SAP_RETURN_IF(*other < 0, sap_xml_syntax(node, "joint", r->error, "must name another joint"));
  return sap_xml_read_fields(node, fields, def, r->error);
}

// Follows the chain of joints from j; joints that follow each other in a circle start at 0.
static sap_status find_start(sap_urdf_reader* r, int32_t j) {
  double start = 0.0, factor = 1.0;
  for (int32_t at = j, links = 0; at >= 0 && links <= r->joint_count; ++links) {
    sap_equality_def def;
    const int32_t type = r->joints[at].type;
    int32_t other;
    SAP_TRY(read_mimic(r, &r->joints[at], &other, &def));
    if (other < 0 || (type != REVOLUTE && type != CONTINUOUS && type != PRISMATIC)) {
      r->joints[j].start = start;
      return SAP_STATUS_OK;
    }
    start += factor * def.polynomial[0];
    factor *= def.polynomial[1];
    at = other;
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_find_starts(sap_urdf_reader* r) {
  for (int32_t j = 0; j < r->joint_count; ++j) {
    SAP_TRY(find_start(r, j));
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_move_to_start(sap_urdf_reader* r, const sap_urdf_joint* joint, sap_pose* pose) {
  double axis[3];
  sap_pose motion = sap_pose_identity;
  if (joint->start == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_urdf_axis(r, joint->node, axis));
  sap_v3_scale(axis, axis, 1.0 / sap_v3_norm(axis));
  if (joint->type == PRISMATIC) {
    sap_v3_scale(motion.p, axis, joint->start);
  } else {
    sap_quaternion_from_axis_angle(motion.q, axis, joint->start);
  }
  sap_pose_compose(pose, pose, &motion);
  return SAP_STATUS_OK;
}

// Adds <mimic>. Reduced models fix joints and leave their <mimic>: a fixed joint cannot follow; a
// joint that follows a fixed one (q = 0) stays at the offset.
static sap_status add_mimic(sap_urdf_reader* r, const sap_urdf_joint* joint) {
  sap_equality_def def;
  int32_t index;
  SAP_TRY(read_mimic(r, joint, &index, &def));
  if (index < 0) {
    return SAP_STATUS_OK;
  }
  if (joint->id < 0) {
    sap_scene_warn(r->options, sap_xml_child(joint->node, "mimic"), "joint",
                   "a fixed joint cannot follow: ignored");
    return SAP_STATUS_OK;
  }
  const sap_urdf_joint* other = &r->joints[index];
  def.type = SAP_EQUALITY_JOINT;
  def.a = joint->id;
  def.b = other->id;
  def.polynomial[0] += def.polynomial[1] * other->start - joint->start;
  return SAP_XML_ADD(r, sap_xml_child(joint->node, "mimic"), sap_builder_add_equality, &def, NULL);
}

sap_status sap_urdf_add_mimics(sap_urdf_reader* r) {
  for (int32_t j = 0; j < r->joint_count; ++j) {
    SAP_TRY(add_mimic(r, &r->joints[j]));
  }
  return SAP_STATUS_OK;
}

// --- transmissions ------------------------------------------------------------------------------

// Returns the only joint of a transmission; -1 and *why without one.
static int32_t find_driven_joint(const sap_urdf_reader* r, const sap_xml_node* node,
                                 const char** why) {
  int32_t joint = -1;
  *why = "names no joint: ignored";
  SAP_XML_EACH(n, node, "joint") {
    const char* name = sap_xml_get(n, "name");
    if (joint >= 0) {
      *why = "drives several joints: ignored";
      return -1;
    }
    joint = name != NULL ? sap_name_map_find(&r->joint_names, name) : -1;
    if (joint < 0) {
      *why = "names an unknown joint: ignored";
      return -1;
    }
  }
  return joint;
}

void sap_urdf_find_transmissions(sap_urdf_reader* r, const sap_xml_node* robot) {
  SAP_XML_EACH(n, robot, "transmission") {
    const char* why = NULL;
    const int32_t joint = find_driven_joint(r, n, &why);
    const sap_xml_node* actuator = sap_xml_child(n, "actuator");
    if (joint >= 0) {
      why = actuator == NULL                    ? "has no actuator: ignored"
            : r->joints[joint].actuator != NULL ? "another one drives this joint: ignored"
                                                : NULL;
    }
    if (why == NULL) {
      r->joints[joint].actuator = actuator;
    } else {
      sap_scene_warn(r->options, n, NULL, why);
    }
  }
}

static sap_status read_gains(sap_urdf_reader* r, const sap_xml_node* node, sap_actuator_def* def) {
  typedef struct gains {
    double p, d;
  } gains;
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(gains, p, "p", POSITIVE),
      SAP_XML_NUMBER(gains, d, "d", NONNEGATIVE),
      {0},
  };
  gains g = {0.0, 0.0};
  const sap_xml_node* child;
  SAP_TRY(sap_xml_only_child(node, "drake:controller_gains", &child, r->error));
  if (child == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_require_fields(child, fields, &g, r->error));
  def->gain = g.p;
  def->bias[1] = -g.p;
  def->bias[2] = -g.d;
  return SAP_STATUS_OK;
}

// Uses the actuator's name, or the joint's where the first is absent or taken.
static sap_status choose_name(const sap_urdf_joint* joint, sap_name_map* names, int32_t id,
                              sap_actuator_def* def, sap_error* error) {
  bool added = false;
  const char* name = sap_xml_get(joint->actuator, "name");
  if (name != NULL && name[0] != '\0') {
    SAP_TRY(sap_name_map_add(names, name, id, &added, error));
  }
  if (!added) {
    name = joint->name;
    SAP_TRY(sap_name_map_add(names, name, id, &added, error));
  }
  def->name = added ? name : NULL;
  return SAP_STATUS_OK;
}

static sap_status add_named_actuators(sap_urdf_reader* r, sap_name_map* names) {
  int32_t count = 0;
  SAP_EACH(const sap_urdf_joint, joint, r->joints, r->joint_count) {
    if (joint->actuator == NULL) {
      continue;
    }
    if (joint->id < 0 || !joint->is_scalar) {
      sap_scene_warn(r->options, joint->actuator, NULL,
                     "drives no hinge or slide: its transmission is ignored");
      continue;
    }
    sap_actuator_def def = sap_actuator_def_default();
    def.target = joint->id;
    SAP_TRY(read_gains(r, joint->actuator, &def));
    SAP_TRY(choose_name(joint, names, count++, &def, r->error));
    SAP_TRY(SAP_XML_ADD(r, joint->actuator, sap_builder_add_actuator, &def, NULL));
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_add_actuators(sap_urdf_reader* r) {
  sap_name_map names = {0};
  const sap_status status = add_named_actuators(r, &names);
  sap_name_map_clear(&names);
  return status;
}
