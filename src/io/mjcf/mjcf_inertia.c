// SPDX-License-Identifier: BSD-3-Clause
// Mass properties of a body: <inertial>, or the sum over its geoms; then the compiler's bounds.
#include <math.h>
#include <string.h>

#include "io/inertia.h"
#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "linalg/symmetric3.h"
#include "math/quaternion.h"

static sap_status read_tensor(sap_mjcf_reader* r, const sap_mjcf_item* inertial, double I[6]) {
  const sap_xml_node* node = inertial->node;
  sap_pose pose;
  sap_status status = sap_mjcf_pose(r, node, &inertial->scope, &pose);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (sap_xml_get(node, "fullinertia") != NULL) {
    static const char orientation[] = "diaginertia quat axisangle xyaxes zaxis euler";
    for (int32_t i = 0; i < node->nattributes; ++i) {
      if (sap_word_index(orientation, node->attributes[i].name) >= 0) {
        return sap_xml_fail(node, node->attributes[i].name, SAP_STATUS_SYNTAX, r->error,
                            "not together with fullinertia");
      }
    }
    return sap_xml_numbers(node, "fullinertia", 6, 6, I, NULL, r->error);
  }
  double diagonal[3] = {0.0, 0.0, 0.0};
  status = sap_xml_optional(node, "diaginertia", 3, 3, diagonal, r->error);
  sap_inertia_rotate(I, diagonal, pose.q);
  return status;
}

static sap_status from_inertial(sap_mjcf_reader* r, const sap_mjcf_item* inertial,
                                sap_body_def* def) {
  const sap_xml_node* node = inertial->node;
  double I[6] = {0.0};
  sap_status status = sap_xml_numbers(node, "mass", 1, 1, &def->mass, NULL, r->error);
  if (status == SAP_STATUS_OK && !(def->mass >= 0.0)) {
    return sap_xml_fail(node, "mass", SAP_STATUS_SYNTAX, r->error, "must be >= 0 kg");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_numbers(node, "pos", 3, 3, def->p_BCo, NULL, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = read_tensor(r, inertial, I);
  }
  memcpy(def->I_BCo_B, I, sizeof I);
  return status;
}

// The geoms that count for mass; of meshes it is found here.
static sap_status counts(sap_mjcf_reader* r, const sap_mjcf_compiler* compiler, sap_mjcf_geom* geom,
                         bool* yes) {
  *yes = geom->group >= compiler->group_range[0] && geom->group <= compiler->group_range[1];
  if (*yes && isnan(geom->mass) && !geom->supported) {
    *yes = false;
    return sap_scene_unsupported(r->options, geom->node, NULL,
                                 "its body's inertia comes from this geom, whose type is not "
                                 "supported: give the body an <inertial>",
                                 r->error);
  }
  const sap_status status = *yes ? sap_mjcf_geom_mesh_mass(r, geom) : SAP_STATUS_OK;
  if (status == SAP_STATUS_IO && r->options->lenient && !geom->collides) {
    *yes = false;
    geom->mass = 0.0;
    sap_scene_warn(r->options, geom->node, "mesh", "the file is missing: its mass is left out");
    return SAP_STATUS_OK;
  }
  return status;
}

// Centre of mass of a geom in the body.
static void center_of(const sap_mjcf_geom* geom, double p[3]) {
  sap_quaternion_place(p, geom->def.p_BS, geom->def.q_BS, geom->p_SCo);
}

// I += the geom's inertia about a point of the body, in the body's axes.
static void add_inertia(const sap_mjcf_geom* geom, const double about[3], double I[6]) {
  double d[3], part[6], R[9], turned[9];
  center_of(geom, d);
  sap_v3_sub(d, d, about);
  sap_quaternion_to_matrix(R, geom->def.q_BS);
  sap_m3_rotate_symmetric(turned, R, geom->I_SCo_S);
  for (int k = 0; k < 3; ++k) {
    part[k] = turned[4 * k];
  }
  part[3] = turned[3];
  part[4] = turned[6];
  part[5] = turned[7];
  sap_inertia_shift(part, geom->mass, d);
  for (int k = 0; k < 6; ++k) {
    I[k] += part[k];
  }
}

static sap_status from_geoms(sap_mjcf_reader* r, const sap_mjcf_compiler* compiler,
                             sap_mjcf_geom* geoms, int32_t count, sap_body_def* def) {
  double moment[3] = {0.0, 0.0, 0.0}, I[6] = {0.0};
  for (int32_t i = 0; i < count; ++i) {
    bool yes;
    const sap_status status = counts(r, compiler, &geoms[i], &yes);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (yes) {
      double center[3];
      center_of(&geoms[i], center);
      def->mass += geoms[i].mass;
      sap_v3_add_scaled(moment, center, geoms[i].mass);
    }
  }
  if (def->mass > 0.0) {
    sap_v3_scale(def->p_BCo, moment, 1.0 / def->mass);
  }
  for (int32_t i = 0; i < count; ++i) {
    const sap_mjcf_geom* g = &geoms[i];
    const bool in = g->group >= compiler->group_range[0] && g->group <= compiler->group_range[1];
    if (in && g->mass > 0.0) {
      add_inertia(g, def->p_BCo, I);
    }
  }
  memcpy(def->I_BCo_B, I, sizeof I);
  return SAP_STATUS_OK;
}

// I = V diag(e) V'.
static void from_principal(double I[6], const double e[3], const double V[9]) {
  static const int rows[6] = {0, 1, 2, 0, 0, 1}, columns[6] = {0, 1, 2, 1, 2, 2};
  for (int k = 0; k < 6; ++k) {
    I[k] = 0.0;
    for (int j = 0; j < 3; ++j) {
      I[k] += V[3 * j + rows[k]] * e[j] * V[3 * j + columns[k]];
    }
  }
}

// Rounding of inertias that files give with few digits: relative slack of the triangle inequality.
static const double triangle_slack = 1e-6;

static sap_status check_and_bound(sap_mjcf_reader* r, const sap_mjcf_compiler* compiler,
                                  const sap_xml_node* node, sap_body_def* def) {
  double e[3], V[9];
  sap_symmetric3_eigen(def->I_BCo_B, e, V);
  if (!(e[0] >= -triangle_slack * e[2]) || !(e[2] >= 0.0)) {
    return sap_xml_fail(node, NULL, SAP_STATUS_NOT_SPD, r->error,
                        "principal moments of inertia %g %g %g must be >= 0", e[0], e[1], e[2]);
  }
  def->mass = fmax(def->mass, compiler->bound_mass);
  if (e[0] < compiler->bound_inertia) {
    for (int i = 0; i < 3; ++i) {
      e[i] = fmax(e[i], compiler->bound_inertia);
    }
    from_principal(def->I_BCo_B, e, V);
  }
  if (!(e[0] + e[1] >= e[2] * (1.0 - triangle_slack))) {
    if (!compiler->balance_inertia) {
      return sap_xml_fail(node, NULL, SAP_STATUS_NOT_SPD, r->error,
                          "no body has the principal moments of inertia %g %g %g: the largest "
                          "exceeds the sum of the others",
                          e[0], e[1], e[2]);
    }
    const double mean = (e[0] + e[1] + e[2]) / 3.0;
    const double balanced[6] = {mean, mean, mean, 0.0, 0.0, 0.0};
    memcpy(def->I_BCo_B, balanced, sizeof balanced);
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_body_inertia(sap_mjcf_reader* r, const sap_mjcf_item* body,
                                 const sap_mjcf_item* inertial, sap_mjcf_geom* geoms,
                                 int32_t geom_count, sap_body_def* def) {
  const sap_mjcf_compiler* compiler = &body->scope.model->compiler;
  const bool use_geoms = compiler->inertia_from_geom == SAP_MJCF_TRUE ||
                         (compiler->inertia_from_geom == SAP_MJCF_AUTO && inertial == NULL);
  sap_status status = SAP_STATUS_OK;
  if (use_geoms) {
    status = from_geoms(r, compiler, geoms, geom_count, def);
  } else if (inertial != NULL) {
    status = from_inertial(r, inertial, def);
  }
  const sap_xml_node* node = use_geoms || inertial == NULL ? body->node : inertial->node;
  return status == SAP_STATUS_OK ? check_and_bound(r, compiler, node, def) : status;
}
