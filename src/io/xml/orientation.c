// SPDX-License-Identifier: BSD-3-Clause
// The five ways in which MJCF says an orientation; the innermost source that has one decides.
#include <string.h>

#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "math/quaternion.h"

// Smallest vectors and axes that are taken for a direction; MuJoCo's mjMINVAL [-].
static const double least_norm = 1e-15;

void sap_mjcf_euler(const sap_mjcf_compiler* compiler, const double angles[3], double q[4]) {
  double radians[3];
  sap_v3_scale(radians, angles, compiler->angle_unit);
  sap_quaternion_from_euler(q, compiler->euler_sequence, radians);
}

static sap_status from_quaternion(sap_mjcf_reader* r, const sap_xml_node* node, const double* x,
                                  double q[4]) {
  memcpy(q, x, 4 * sizeof *q);
  return sap_quaternion_normalize(q)
             ? SAP_STATUS_OK
             : sap_xml_fail(node, "quat", SAP_STATUS_SYNTAX, r->error, "the quaternion is zero");
}

static sap_status from_axis_angle(sap_mjcf_reader* r, const sap_xml_node* node, const double* x,
                                  double unit, double q[4]) {
  const double norm = sap_v3_norm(x);
  if (!(norm > least_norm)) {
    return sap_xml_fail(node, "axisangle", SAP_STATUS_SYNTAX, r->error, "the axis is zero");
  }
  const double axis[3] = {x[0] / norm, x[1] / norm, x[2] / norm};
  sap_quaternion_from_axis_angle(q, axis, x[3] * unit);
  return SAP_STATUS_OK;
}

static sap_status from_xy_axes(sap_mjcf_reader* r, const sap_xml_node* node, const double* v,
                               double q[4]) {
  double m[9];
  const double nx = sap_v3_norm(v);
  if (!(nx > least_norm)) {
    return sap_xml_fail(node, "xyaxes", SAP_STATUS_SYNTAX, r->error, "the x axis is zero");
  }
  sap_v3_scale(m, v, 1.0 / nx);
  sap_v3_copy(m + 3, v + 3);
  sap_v3_add_scaled(m + 3, m, -sap_v3_dot(m, v + 3));
  const double ny = sap_v3_norm(m + 3);
  if (!(ny > least_norm)) {
    return sap_xml_fail(node, "xyaxes", SAP_STATUS_SYNTAX, r->error,
                        "the y axis is zero or along x");
  }
  sap_v3_scale(m + 3, m + 3, 1.0 / ny);
  sap_v3_cross(m + 6, m, m + 3);
  sap_quaternion_from_rotation(q, m);
  return SAP_STATUS_OK;
}

static sap_status from_z_axis(sap_mjcf_reader* r, const sap_xml_node* node, const double* z,
                              double q[4]) {
  if (!(sap_v3_norm(z) > least_norm)) {
    return sap_xml_fail(node, "zaxis", SAP_STATUS_SYNTAX, r->error, "the z axis is zero");
  }
  sap_quaternion_from_z(q, z);
  return SAP_STATUS_OK;
}

static const struct {
  const char* name;
  int32_t size;
} forms[] = {{"quat", 4}, {"axisangle", 4}, {"xyaxes", 6}, {"zaxis", 3}, {"euler", 3}};
enum { FORMS = 5 };

// Which form the element has: its index, -1: none; SYNTAX for two.
static sap_status find_form(sap_mjcf_reader* r, const sap_xml_node* node, int32_t* form) {
  *form = -1;
  for (int32_t i = 0; i < FORMS; ++i) {
    if (sap_xml_get(node, forms[i].name) != NULL) {
      if (*form >= 0) {
        return sap_xml_fail(node, forms[i].name, SAP_STATUS_SYNTAX, r->error,
                            "a second orientation beside '%s'", forms[*form].name);
      }
      *form = i;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status convert(sap_mjcf_reader* r, const sap_xml_node* node, int32_t form,
                          const sap_mjcf_compiler* compiler, double q[4]) {
  double x[6];
  const sap_status status = sap_xml_numbers(node, forms[form].name, forms[form].size,
                                            forms[form].size, x, NULL, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  switch (form) {
    case 0:
      return from_quaternion(r, node, x, q);
    case 1:
      return from_axis_angle(r, node, x, compiler->angle_unit, q);
    case 2:
      return from_xy_axes(r, node, x, q);
    case 3:
      return from_z_axis(r, node, x, q);
    default:
      sap_mjcf_euler(compiler, x, q);
      return SAP_STATUS_OK;
  }
}

sap_status sap_mjcf_orientation(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                                const sap_mjcf_scope* scope, double q[4]) {
  memcpy(q, sap_pose_identity.q, sizeof sap_pose_identity.q);
  for (int32_t i = s->count - 1; i >= 0; --i) {
    int32_t form;
    const sap_status status = find_form(r, s->nodes[i], &form);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (form >= 0) {
      return convert(r, s->nodes[i], form, &scope->model->compiler, q);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_pose(sap_mjcf_reader* r, const sap_xml_node* node, const sap_mjcf_scope* scope,
                         sap_pose* pose) {
  *pose = sap_pose_identity;
  const sap_mjcf_sources s = {.nodes = {node}, .count = 1};
  sap_status status = sap_mjcf_numbers(r, &s, "pos", (const int32_t[]){3, 3}, pose->p, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_orientation(r, &s, scope, pose->q);
  }
  return status;
}
