// SPDX-License-Identifier: BSD-3-Clause
// Loops of links, which URDF's tree cannot hold: Drake's <drake:ball_constraint> and <loop_joint>
// as Isaac Sim has it, with poses in two links and the types of joints.
//   spherical, ball          the two origins coincide
//   fixed                    so do the axes
//   revolute, continuous     so does a second point on the axis (of the first link's frame): two
//                            connects, of whose six rows one is redundant, which R > 0 allows

#include "io/urdf/urdf.h"
#include "io/xml/number.h"
#include "math/quaternion.h"
#include "math/vector3.h"

static const double axis_length = 0.1;  // between the two points of a hinge [m]

static sap_status add(sap_urdf_reader* r, const sap_xml_node* node, const sap_equality_def* def) {
  return sap_xml_locate(node, sap_builder_add_equality(r->builder, def, NULL, r->error), r->error);
}

static sap_status add_ball(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_equality_def def = sap_equality_def_default();
  sap_urdf_frame a, b;
  sap_status status = sap_urdf_link_of(r, node, "drake:ball_constraint_body_A", "name", &a);
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_link_of(r, node, "drake:ball_constraint_body_B", "name", &b);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_values(r, node, "drake:ball_constraint_p_AP", true, 3, def.anchor_A);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_values(r, node, "drake:ball_constraint_p_BQ", true, 3, def.anchor_B);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.a = a.body;
  def.b = b.body;
  return add(r, node, &def);
}

// The axis in the loop's frame: x by default, as in URDF's joints.
static sap_status read_axis(sap_urdf_reader* r, const sap_xml_node* node, double axis[3]) {
  const sap_xml_node* child = NULL;
  sap_v3_set(axis, 1.0, 0.0, 0.0);
  sap_status status = sap_urdf_child(r, node, "axis", &child);
  if (status != SAP_STATUS_OK || child == NULL) {
    return status;
  }
  status = sap_xml_numbers(child, "xyz", 3, 3, axis, NULL, r->error);
  const double length = sap_v3_norm(axis);
  if (status == SAP_STATUS_OK && !(length > 1e-15)) {
    return sap_xml_fail(child, "xyz", SAP_STATUS_SYNTAX, r->error, "the axis is zero");
  }
  sap_v3_scale(axis, axis, 1.0 / length);
  return status;
}

// The point of `frame` that is `distance` along its `axis`, in its body.
static void point_on(const sap_urdf_frame* frame, const double axis[3], double distance,
                     double p[3]) {
  double along[3];
  sap_quaternion_rotate(along, frame->pose.q, axis);
  for (int i = 0; i < 3; ++i) {
    p[i] = frame->pose.p[i] + distance * along[i];
  }
}

static sap_status add_hinge(sap_urdf_reader* r, const sap_xml_node* node, const sap_urdf_frame* a,
                            const sap_urdf_frame* b) {
  double axis[3];
  sap_status status = read_axis(r, node, axis);
  for (int side = -1; side <= 1 && status == SAP_STATUS_OK; side += 2) {
    sap_equality_def def = sap_equality_def_default();
    def.a = a->body;
    def.b = b->body;
    point_on(a, axis, 0.5 * side * axis_length, def.anchor_A);
    point_on(b, axis, 0.5 * side * axis_length, def.anchor_B);
    status = add(r, node, &def);
  }
  return status;
}

static sap_status add_weld(sap_urdf_reader* r, const sap_xml_node* node, const sap_urdf_frame* a,
                           const sap_urdf_frame* b) {
  sap_equality_def def = sap_equality_def_default();
  double inverse[4];
  def.type = SAP_EQUALITY_WELD;
  def.a = a->body;
  def.b = b->body;
  sap_v3_copy(def.anchor_A, a->pose.p);
  sap_v3_copy(def.anchor_B, b->pose.p);
  sap_quaternion_conjugate(inverse, b->pose.q);
  sap_quaternion_multiply(def.q_AB, a->pose.q, inverse);
  return add(r, node, &def);
}

static sap_status read_end(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                           sap_urdf_frame* out) {
  const sap_status status = sap_urdf_link_of(r, node, child, "link", out);
  return status == SAP_STATUS_OK ? sap_urdf_pose(r, sap_xml_child(node, child), &out->pose)
                                 : status;
}

static sap_status add_loop(sap_urdf_reader* r, const sap_xml_node* node) {
  enum { SPHERICAL, BALL, FIXED, REVOLUTE, CONTINUOUS };
  sap_urdf_frame a, b;
  int32_t type = SPHERICAL;
  if (sap_xml_get(node, "type") == NULL) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'type' is missing");
  }
  sap_status status =
      sap_xml_choice(node, "type", "spherical ball fixed revolute continuous", &type, r->error);
  if (status == SAP_STATUS_OK) {
    status = read_end(r, node, "link1", &a);
  }
  if (status == SAP_STATUS_OK) {
    status = read_end(r, node, "link2", &b);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (type == REVOLUTE || type == CONTINUOUS) {
    return add_hinge(r, node, &a, &b);
  }
  if (type == FIXED) {
    return add_weld(r, node, &a, &b);
  }
  sap_equality_def def = sap_equality_def_default();
  def.a = a.body;
  def.b = b.body;
  sap_v3_copy(def.anchor_A, a.pose.p);
  sap_v3_copy(def.anchor_B, b.pose.p);
  return add(r, node, &def);
}

sap_status sap_urdf_add_loops(sap_urdf_reader* r, const sap_xml_node* robot) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = robot->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    if (sap_xml_is(n, "drake:ball_constraint")) {
      status = add_ball(r, n);
    } else if (sap_xml_is(n, "loop_joint")) {
      status = add_loop(r, n);
    }
  }
  return status;
}
