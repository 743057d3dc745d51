// SPDX-License-Identifier: BSD-3-Clause
// <link>: mass properties and collision shapes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/inertia.h"
#include "io/urdf/urdf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "linalg/symmetric3.h"
#include "math/quaternion.h"

// Exporters round moments, and robots get along with inertias that no body has. Moments below zero
// would make the mass matrix indefinite: refused, or raised to zero if lenient.
static sap_status check_moments(sap_urdf_reader* r, const sap_xml_node* node, double mass,
                                double I[6]) {
  double e[3], V[9];
  sap_symmetric3_eigen(I, e, V);
  const double rounding = 1e-12 * e[2] + 1e-14 * mass;  // a radius of gyration of 0.1 um
  if (!(e[0] >= -rounding) || !(e[2] >= -rounding)) {
    char why[160];
    (void)snprintf(why, sizeof why, "principal moments of inertia %g %g %g must be >= 0%s", e[0],
                   e[1], e[2], r->options->lenient ? ": raised to 0" : "; raised to 0 if lenient");
    if (!r->options->lenient) {
      return sap_xml_fail(node, NULL, SAP_STATUS_NOT_SPD, r->error, "%s", why);
    }
    sap_scene_warn(r->options, node, NULL, why);
  }
  if (e[0] < 0.0) {
    const double raised[6] = {0.0, fmax(e[1], 0.0), fmax(e[2], 0.0), 0.0, 0.0, 0.0};
    sap_m3_rotate_packed(I, V, raised);
    memcpy(e, raised, sizeof e);
  }
  // Files give few digits: a relative slack of 1e-6.
  if (!(e[0] + e[1] >= e[2] * (1.0 - 1e-6))) {
    sap_scene_warn(r->options, node, NULL,
                   "no body has this inertia: the largest principal moment exceeds the sum of the "
                   "others; taken as it stands");
  }
  return SAP_STATUS_OK;
}

static sap_status read_tensor(sap_urdf_reader* r, const sap_xml_node* node, double mass,
                              const double q[4], double I[6]) {
  static const char* const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
  double raw[6] = {0.0}, rotation[9], full[9];
  for (int i = 0; i < 6; ++i) {
    const sap_status status = sap_urdf_number(r, node, names[i], i < 3, &raw[i]);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  const sap_status status = check_moments(r, node, mass, raw);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_quaternion_to_matrix(rotation, q);
  sap_m3_rotate_symmetric(full, rotation, raw);
  const double packed[6] = {full[0], full[4], full[8], full[3], full[6], full[7]};
  memcpy(I, packed, sizeof packed);
  return SAP_STATUS_OK;
}

sap_status sap_urdf_inertial(sap_urdf_reader* r, const sap_urdf_link* link, sap_body_def* def) {
  const sap_xml_node *inertial = NULL, *mass = NULL, *inertia = NULL;
  sap_pose pose;
  sap_status status = sap_urdf_child(r, link->node, "inertial", &inertial);
  if (status != SAP_STATUS_OK || inertial == NULL) {
    return status;
  }
  status = sap_urdf_origin(r, inertial, &pose);
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_child(r, inertial, "mass", &mass);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_child(r, inertial, "inertia", &inertia);
  }
  if (status == SAP_STATUS_OK && mass == NULL) {
    return sap_xml_fail(inertial, NULL, SAP_STATUS_SYNTAX, r->error, "has no <mass>");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_number(r, mass, "value", true, &def->mass);
  }
  if (status == SAP_STATUS_OK && !(def->mass >= 0.0)) {
    return sap_xml_fail(mass, "value", SAP_STATUS_SYNTAX, r->error, "must be >= 0 kg");
  }
  memcpy(def->p_BCo, pose.p, sizeof pose.p);
  def->any_inertia = true;
  return status == SAP_STATUS_OK && inertia != NULL
             ? read_tensor(r, inertia, def->mass, pose.q, def->I_BCo_B)
             : status;
}

// A named number that must be > 0, halved where URDF gives a diameter or a length.
static sap_status read_length(sap_urdf_reader* r, const sap_xml_node* node, const char* attribute,
                              double factor, double* value) {
  const sap_status status = sap_urdf_number(r, node, attribute, true, value);
  if (status == SAP_STATUS_OK && !(*value > 0.0)) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, r->error, "must be > 0 m");
  }
  *value *= factor;
  return status;
}

static sap_status read_box(sap_urdf_reader* r, const sap_xml_node* node, sap_shape_def* def) {
  const sap_status status = sap_xml_numbers(node, "size", 3, 3, def->size, NULL, r->error);
  for (int i = 0; i < 3 && status == SAP_STATUS_OK; ++i) {
    if (!(def->size[i] > 0.0)) {
      return sap_xml_fail(node, "size", SAP_STATUS_SYNTAX, r->error, "must be > 0 m");
    }
    def->size[i] *= 0.5;
  }
  return status;
}

static sap_status read_shape(sap_urdf_reader* r, const sap_xml_node* node, sap_shape_def* def) {
  if (sap_xml_is(node, "box")) {
    def->type = SAP_SHAPE_BOX;
    return read_box(r, node, def);
  }
  if (sap_xml_is(node, "sphere")) {
    def->type = SAP_SHAPE_SPHERE;
    return read_length(r, node, "radius", 1.0, &def->size[0]);
  }
  if (sap_xml_is(node, "mesh")) {
    def->type = SAP_SHAPE_MESH;
    return sap_urdf_mesh(r, node, &def->mesh);
  }
  sap_status status;
  if (sap_xml_is(node, "drake:ellipsoid")) {
    def->type = SAP_SHAPE_ELLIPSOID;
    status = read_length(r, node, "a", 1.0, &def->size[0]);
    if (status == SAP_STATUS_OK) {
      status = read_length(r, node, "b", 1.0, &def->size[1]);
    }
    return status == SAP_STATUS_OK ? read_length(r, node, "c", 1.0, &def->size[2]) : status;
  }
  def->type = sap_xml_is(node, "cylinder") ? SAP_SHAPE_CYLINDER : SAP_SHAPE_CAPSULE;
  status = read_length(r, node, "radius", 1.0, &def->size[0]);
  return status == SAP_STATUS_OK ? read_length(r, node, "length", 0.5, &def->size[1]) : status;
}

static sap_status read_value(sap_urdf_reader* r, const sap_xml_node* parent, const char* name,
                             bool positive, double* value) {
  const sap_xml_node* node = NULL;
  sap_status status = sap_urdf_child(r, parent, name, &node);
  if (status != SAP_STATUS_OK || node == NULL) {
    return status;
  }
  status = sap_urdf_number(r, node, "value", true, value);
  if (status == SAP_STATUS_OK && !(positive ? *value > 0.0 : *value >= 0.0)) {
    return sap_xml_fail(node, "value", SAP_STATUS_SYNTAX, r->error, "must be %s 0",
                        positive ? ">" : ">=");
  }
  return status;
}

// Bullet's <contact> of the link, then Drake's properties of the collision element.
static sap_status read_material(sap_urdf_reader* r, const sap_xml_node* link,
                                const sap_xml_node* collision, sap_material* material) {
  *material = r->options->default_material;
  const sap_xml_node *contact = NULL, *properties = NULL;
  sap_status status = sap_urdf_child(r, link, "contact", &contact);
  if (status == SAP_STATUS_OK && contact != NULL) {
    status = read_value(r, contact, "lateral_friction", false, &material->friction);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_child(r, collision, "drake:proximity_properties", &properties);
  }
  if (status == SAP_STATUS_OK && properties != NULL) {
    const struct {
      const char* name;
      bool positive;
      double* value;
    } fields[] = {{"drake:point_contact_stiffness", true, &material->stiffness},
                  {"drake:relaxation_time", false, &material->relaxation_time},
                  {"drake:hunt_crossley_dissipation", false, &material->dissipation},
                  {"drake:mu_static", false, &material->static_friction},
                  {"drake:mu_dynamic", false, &material->friction}};
    const double rest = material->friction;
    material->friction = (double)NAN;
    for (int i = 0; i < 5 && status == SAP_STATUS_OK; ++i) {
      status = read_value(r, properties, fields[i].name, fields[i].positive, fields[i].value);
    }
    if (isnan(material->friction)) {  // one of both says it all
      material->friction = material->static_friction > 0.0 ? material->static_friction : rest;
    }
  }
  sap_scene_override(r->options, material);
  return status;
}

static sap_status add_shape(sap_urdf_reader* r, const sap_urdf_link* link,
                            const sap_xml_node* node) {
  const sap_xml_node* geometry = NULL;
  sap_status status = sap_urdf_child(r, node, "geometry", &geometry);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (geometry == NULL) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "has no <geometry>");
  }
  if (geometry->first_child == NULL) {
    return sap_xml_fail(geometry, NULL, SAP_STATUS_SYNTAX, r->error, "has no shape");
  }
  if (geometry->first_child->next != NULL) {
    return sap_xml_fail(geometry->first_child->next, NULL, SAP_STATUS_SYNTAX, r->error,
                        "a second shape in <geometry>");
  }
  sap_pose pose;
  sap_shape_def def = sap_shape_def_default();
  def.body = link->body;
  status = sap_urdf_origin(r, node, &pose);
  memcpy(def.p_BS, pose.p, sizeof pose.p);
  memcpy(def.q_BS, pose.q, sizeof pose.q);
  if (status == SAP_STATUS_OK) {
    status = read_shape(r, geometry->first_child, &def);
  }
  if (status == SAP_STATUS_OK) {
    status = read_material(r, link->node, node, &def.material);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const char* name = sap_xml_get(node, "name");
  if (name != NULL && name[0] != '\0') {  // unique in its link only
    def.name = sap_xml_join(r->store, link->name, "/", name);
    if (def.name == NULL) {
      return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
    }
  }
  return sap_xml_locate(node, sap_builder_add_shape(r->builder, &def, NULL, r->error), r->error);
}

sap_status sap_urdf_shapes(sap_urdf_reader* r, const sap_urdf_link* link) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = link->node->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    status = sap_xml_is(n, "collision") ? add_shape(r, link, n) : SAP_STATUS_OK;
  }
  return status;
}
