// SPDX-License-Identifier: BSD-3-Clause
// Drake's force elements and tendons: <drake:linear_bushing_rpy>, <drake:linear_spring_damper>,
// <drake:tendon_constraint>. A bushing's moments are taken along frame A of the rotation vector
// where Drake has roll, pitch and yaw: the same to first order in the angles.
#include <math.h>
#include <string.h>

#include "io/urdf/urdf.h"
#include "io/xml/number.h"

static sap_status add_bushing(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_bushing_def def = sap_bushing_def_default();
  sap_urdf_frame a, c;
  const struct {
    const char* name;
    double* values;
  } fields[] = {{"drake:bushing_torque_stiffness", def.stiffness},
                {"drake:bushing_torque_damping", def.damping},
                {"drake:bushing_force_stiffness", def.stiffness + 3},
                {"drake:bushing_force_damping", def.damping + 3}};
  sap_status status = sap_urdf_frame_of(r, node, "drake:bushing_frameA", &a);
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_frame_of(r, node, "drake:bushing_frameC", &c);
  }
  for (int i = 0; i < 4 && status == SAP_STATUS_OK; ++i) {
    status = sap_urdf_values(r, node, fields[i].name, true, 3, fields[i].values);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.body_a = a.body;
  def.body_b = c.body;
  memcpy(def.p_AF, a.pose.p, sizeof def.p_AF);
  memcpy(def.q_AF, a.pose.q, sizeof def.q_AF);
  memcpy(def.p_BG, c.pose.p, sizeof def.p_BG);
  memcpy(def.q_BG, c.pose.q, sizeof def.q_BG);
  return sap_xml_locate(node, sap_builder_add_bushing(r->builder, &def, NULL, r->error), r->error);
}

static sap_status add_spring(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_spring_def def = sap_spring_def_default();
  sap_urdf_frame a, b;
  const struct {
    const char* name;
    int32_t count;
    double* values;
  } fields[] = {{"drake:linear_spring_damper_p_AP", 3, def.point_A},
                {"drake:linear_spring_damper_p_BQ", 3, def.point_B},
                {"drake:linear_spring_damper_free_length", 1, &def.rest_length},
                {"drake:linear_spring_damper_stiffness", 1, &def.stiffness},
                {"drake:linear_spring_damper_damping", 1, &def.damping}};
  sap_status status = sap_urdf_link_of(r, node, "drake:linear_spring_damper_body_A", "name", &a);
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_link_of(r, node, "drake:linear_spring_damper_body_B", "name", &b);
  }
  for (int i = 0; i < 5 && status == SAP_STATUS_OK; ++i) {
    status = sap_urdf_values(r, node, fields[i].name, true, fields[i].count, fields[i].values);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.body_a = a.body;
  def.body_b = b.body;
  return sap_xml_locate(node, sap_builder_add_spring(r->builder, &def, NULL, r->error), r->error);
}

enum { MAX_JOINTS = 256 };  // of one tendon

// *joint: -1 for a fixed one.
static sap_status read_tendon_joint(sap_urdf_reader* r, const sap_xml_node* node, int32_t* joint,
                                    double* coefficient) {
  int32_t index = -1;
  const sap_status status = sap_urdf_find(r, &r->joint_names, node, "name", "joint", &index);
  *joint = status == SAP_STATUS_OK ? r->joints[index].id : -1;
  return status == SAP_STATUS_OK ? sap_xml_numbers(node, "a", 1, 1, coefficient, NULL, r->error)
                                 : status;
}

// lower <= sum a q + offset <= upper; beyond, a spring of `stiffness` with `damping`, rigid without
// a stiffness.
static sap_status add_tendon(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_tendon_def def = sap_tendon_def_default();
  int32_t joints[MAX_JOINTS];
  double coefficients[MAX_JOINTS], offset = 0.0, damping = (double)NAN;
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = node->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    if (!sap_xml_is(n, "drake:tendon_constraint_joint")) {
      continue;
    }
    if (def.njoints == MAX_JOINTS) {
      return sap_xml_fail(n, NULL, SAP_STATUS_SYNTAX, r->error, "more than %d joints", MAX_JOINTS);
    }
    status = read_tendon_joint(r, n, &joints[def.njoints], &coefficients[def.njoints]);
    def.njoints += joints[def.njoints] >= 0 ? 1 : 0;  // q of a fixed one is 0
  }
  if (status == SAP_STATUS_OK && def.njoints == 0) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "has no <drake:tendon_constraint_joint> of a joint that moves");
  }
  const struct {
    const char* name;
    double* value;
  } fields[] = {{"drake:tendon_constraint_offset", &offset},
                {"drake:tendon_constraint_lower_limit", &def.lower},
                {"drake:tendon_constraint_upper_limit", &def.upper},
                {"drake:tendon_constraint_stiffness", &def.limit_stiffness},
                {"drake:tendon_constraint_damping", &damping}};
  for (int i = 0; i < 5 && status == SAP_STATUS_OK; ++i) {
    status = sap_urdf_values(r, node, fields[i].name, false, 1, fields[i].value);
  }
  if (status == SAP_STATUS_OK && !isnan(damping) && !(damping >= 0.0)) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "drake:tendon_constraint_damping = %g must be >= 0", damping);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.joints = joints;
  def.coefficients = coefficients;
  def.lower -= offset;
  def.upper -= offset;
  if (!isnan(damping) && isfinite(def.limit_stiffness)) {
    def.limit_relaxation_time = damping / def.limit_stiffness;
  }
  return sap_xml_locate(node, sap_builder_add_tendon(r->builder, &def, NULL, r->error), r->error);
}

sap_status sap_urdf_add_forces(sap_urdf_reader* r, const sap_xml_node* robot) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = robot->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    if (sap_xml_is(n, "drake:linear_bushing_rpy")) {
      status = add_bushing(r, n);
    } else if (sap_xml_is(n, "drake:linear_spring_damper")) {
      status = add_spring(r, n);
    } else if (sap_xml_is(n, "drake:tendon_constraint")) {
      status = add_tendon(r, n);
    }
  }
  return status;
}
