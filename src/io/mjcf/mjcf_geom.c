// SPDX-License-Identifier: BSD-3-Clause
// <geom>: shape, pose, contact properties, mass.
#include <math.h>
#include <string.h>

#include "io/inertia.h"
#include "io/mjcf/mjcf_instance.h"
#include "io/mjcf/mjcf_mesh.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

static const char geom_types[] = "plane sphere capsule cylinder box ellipsoid mesh hfield sdf";
enum { TYPE_MESH = 6 };  // what follows is not supported
// How many sizes a type needs; with fromto the length is known.
static const int32_t sizes_needed[] = {0, 1, 2, 2, 3, 3};
static const int32_t sizes_with_fromto[] = {0, 0, 1, 1, 1, 1};
static const sap_shape_type primitives[] = {SAP_SHAPE_PLANE,   SAP_SHAPE_SPHERE,
                                            SAP_SHAPE_CAPSULE, SAP_SHAPE_CYLINDER,
                                            SAP_SHAPE_BOX,     SAP_SHAPE_ELLIPSOID};

static sap_status read_fromto(sap_mjcf_reader* r, const sap_mjcf_sources* s, int32_t type,
                              sap_mjcf_geom* out) {
  const sap_xml_node* node = sap_mjcf_source(s, "fromto");
  if (sizes_with_fromto[type] == 0) {
    return sap_xml_fail(node, "fromto", SAP_STATUS_SYNTAX, r->error,
                        "only for capsule, cylinder, box and ellipsoid");
  }
  double x[6], z[3];
  const sap_status status = sap_mjcf_numbers(r, s, "fromto", (const int32_t[]){6, 6}, x, NULL);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_v3_sub(z, x, x + 3);  // MuJoCo's z axis points from the second end to the first
  const double length = sap_v3_norm(z);
  if (!(length > 1e-15) || !isfinite(length)) {
    return sap_xml_fail(node, "fromto", SAP_STATUS_SYNTAX, r->error, "the two points are equal");
  }
  for (int i = 0; i < 3; ++i) {
    out->def.p_BS[i] = 0.5 * (x[i] + x[3 + i]);
  }
  sap_quaternion_from_z(out->def.q_BS, z);
  const bool three = type >= 4;  // box, ellipsoid: the length is the third size
  out->def.size[three ? 2 : 1] = 0.5 * length;
  if (three) {
    out->def.size[1] = out->def.size[0];
  }
  return SAP_STATUS_OK;
}

static sap_status read_shape(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                             const sap_mjcf_item* item, int32_t type, sap_mjcf_geom* out) {
  out->def.type = primitives[type];
  double size[3] = {0.0, 0.0, 0.0};
  int32_t given = 0;
  sap_status status = sap_mjcf_numbers(r, s, "size", (const int32_t[]){1, 3}, size, &given);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const bool fromto = sap_mjcf_source(s, "fromto") != NULL;
  const int32_t needed = fromto ? sizes_with_fromto[type] : sizes_needed[type];
  const sap_xml_node* node = sap_mjcf_source(s, "size");
  for (int32_t i = 0; i < needed; ++i) {
    if (!(size[i] > 0.0)) {
      return sap_xml_fail(node != NULL ? node : item->node, node != NULL ? "size" : NULL,
                          SAP_STATUS_SYNTAX, r->error, "size %d is %g, must be > 0", (int)i + 1,
                          size[i]);
    }
    out->def.size[i] = size[i];
  }
  return fromto ? read_fromto(r, s, type, out) : SAP_STATUS_OK;
}

static sap_status read_fluid(sap_mjcf_reader* r, const sap_mjcf_sources* s, sap_mjcf_geom* out) {
  int32_t shape = 0;
  sap_status status = sap_mjcf_choice(r, s, "fluidshape", "none ellipsoid", &shape);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "fluidcoef", (const int32_t[]){1, 5},
                              out->def.fluid_coefficients, NULL);
  }
  if (status != SAP_STATUS_OK || shape == 0) {
    return status;
  }
  if (out->def.type == SAP_SHAPE_MESH || out->def.type == SAP_SHAPE_PLANE || !out->supported) {
    return sap_scene_unsupported(r->options, sap_mjcf_source(s, "fluidshape"), "fluidshape",
                                 "is supported for primitives only", r->error);
  }
  out->def.fluid_ellipsoid = true;
  return SAP_STATUS_OK;
}

static sap_status read_surface(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_mjcf_item* item, sap_mjcf_geom* out) {
  sap_shape_def* def = &out->def;
  double friction[3] = {1.0, 0.005, 0.0001};  // sliding, torsional, rolling
  double surface[6] = {0.0};                  // velocity, turning of the surface
  sap_status status = sap_mjcf_numbers(r, s, "friction", (const int32_t[]){1, 3}, friction, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_integer(r, s, "condim", &def->condim);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_integer(r, s, "contype", &def->contact_type);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_integer(r, s, "conaffinity", &def->contact_affinity);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_integer(r, s, "priority", &def->priority);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_geom_material(r, item, s, def->name, &def->material);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_number(r, s, "margin", &def->rest_distance);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "surfacevel", (const int32_t[]){1, 6}, surface, NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_geom_belt(r, item, def->name, surface);
  }
  sap_v3_copy(def->surface_velocity, surface);
  sap_v3_copy(def->surface_rotation, surface + 3);
  def->material.friction = friction[0];
  def->friction_torsional = friction[1];
  def->friction_rolling = friction[2];
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_override_geom(r, item->node, def);
  }
  sap_scene_override(r->options, &def->material);
  if (r->disabled.contact) {
    def->contact_type = def->contact_affinity = 0;
  }
  out->collides = !r->disabled.contact &&
                  (def->contact_type != 0 || def->contact_affinity != 0 ||
                   sap_mjcf_is_paired(item->scope.model, sap_xml_get(item->node, "name")));
  return status;
}

sap_status sap_mjcf_geom_mesh_mass(sap_mjcf_reader* r, sap_mjcf_geom* geom) {
  sap_mesh_mass unit;
  if (geom->mesh < 0 || geom->mass == 0.0) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_mjcf_mesh_mass(r, geom->mesh, &unit);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  geom->mass = isnan(geom->mass) ? geom->density * unit.volume : geom->mass;
  sap_v3_copy(geom->p_SCo, unit.center);
  for (int k = 0; k < 6; ++k) {
    geom->I_SCo_S[k] = geom->mass / unit.volume * unit.inertia[k];
  }
  return SAP_STATUS_OK;
}

static sap_status read_mass(sap_mjcf_reader* r, const sap_mjcf_sources* s, sap_mjcf_geom* out) {
  double density = 1000.0, mass = (double)NAN;
  sap_status status = sap_mjcf_number(r, s, "density", &density);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_number(r, s, "mass", &mass);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_xml_node* node = sap_mjcf_source(s, "mass");
  const char* attribute = node != NULL ? "mass" : "density";
  if (node == NULL) {
    node = sap_mjcf_source(s, "density");
  }
  if (mass < 0.0 || (isnan(mass) && density < 0.0)) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, r->error, "must be >= 0");
  }
  if (!out->supported) {
    out->mass = mass == 0.0 || (isnan(mass) && density == 0.0) ? 0.0 : (double)NAN;
    return SAP_STATUS_OK;
  }
  if (out->mesh >= 0) {  // see sap_mjcf_geom_mesh_mass
    out->mass = density == 0.0 && isnan(mass) ? 0.0 : mass;
    out->density = density;
    return SAP_STATUS_OK;
  }
  const double volume = sap_shape_volume(out->def.type, out->def.size);
  out->mass = isnan(mass) ? density * volume : mass;
  sap_shape_inertia(out->def.type, out->def.size, out->mass, out->I_SCo_S);
  if (!isfinite(out->mass)) {
    return sap_xml_fail(out->node, NULL, SAP_STATUS_NOT_FINITE, r->error, "its mass is %g",
                        out->mass);
  }
  return SAP_STATUS_OK;
}

static sap_status read_pose(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                            const sap_mjcf_scope* scope, sap_mjcf_geom* out) {
  sap_pose pose = sap_pose_identity;
  sap_status status = sap_mjcf_numbers(r, s, "pos", (const int32_t[]){3, 3}, pose.p, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_orientation(r, s, scope, pose.q);
  }
  memcpy(out->def.p_BS, pose.p, sizeof pose.p);
  memcpy(out->def.q_BS, pose.q, sizeof pose.q);
  return status;
}

static void apply_frame(const sap_pose* frame, sap_shape_def* def) {
  sap_pose pose;
  memcpy(pose.p, def->p_BS, sizeof pose.p);
  memcpy(pose.q, def->q_BS, sizeof pose.q);
  sap_pose_compose(&pose, frame, &pose);
  memcpy(def->p_BS, pose.p, sizeof pose.p);
  memcpy(def->q_BS, pose.q, sizeof pose.q);
}

// The mesh itself is read when its mass or its hull is needed.
static sap_status read_mesh(sap_mjcf_reader* r, const sap_mjcf_item* item,
                            const sap_xml_node* named, sap_mjcf_geom* out) {
  if (named == NULL) {
    return sap_xml_fail(item->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "attribute 'mesh' is missing");
  }
  out->def.type = SAP_SHAPE_MESH;
  return sap_mjcf_mesh_find(r, &item->scope, named, sap_xml_get(named, "mesh"), &out->mesh);
}

// A primitive with a mesh; `collides` is known.
static sap_status fit(sap_mjcf_reader* r, const sap_mjcf_item* item, const sap_mjcf_sources* s,
                      int32_t type, sap_mjcf_geom* out) {
  const sap_xml_node* named = sap_mjcf_source(s, "mesh");
  int32_t mesh = -1;
  out->def.type = primitives[type];
  if (type == SAP_SHAPE_PLANE) {
    return sap_xml_fail(named, "mesh", SAP_STATUS_SYNTAX, r->error, "no plane fits a mesh");
  }
  sap_status status = sap_mjcf_mesh_find(r, &item->scope, named, sap_xml_get(named, "mesh"), &mesh);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_fit(r, s, item, mesh, &out->def);
  }
  if (status == SAP_STATUS_IO && r->options->lenient && !out->collides) {
    out->supported = false;  // only to be looked at; where its mass counts, that is told
    status = SAP_STATUS_OK;
  }
  return status;
}

sap_status sap_mjcf_read_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, sap_mjcf_geom* out) {
  sap_mjcf_sources s;
  sap_status status = sap_mjcf_find_sources(r, item->node, "geom", &item->scope, &s);
  *out = (sap_mjcf_geom){.node = item->node, .def = sap_shape_def_default(), .mesh = -1};
  int32_t type = SAP_SHAPE_SPHERE;
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_choice(r, &s, "type", geom_types, &type);
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &out->def.name);
  }
  const sap_xml_node* named = sap_mjcf_source(&s, "mesh");
  const bool fitted = type < TYPE_MESH && named != NULL;
  out->supported = type <= TYPE_MESH;
  if (status == SAP_STATUS_OK && type == TYPE_MESH) {
    status = read_mesh(r, item, named, out);
  }
  if (status == SAP_STATUS_OK) {
    status = read_pose(r, &s, &item->scope, out);
  }
  if (status == SAP_STATUS_OK && type < TYPE_MESH && !fitted) {
    status = read_shape(r, &s, item, type, out);
  }
  if (status == SAP_STATUS_OK) {
    status = read_surface(r, &s, item, out);
  }
  if (status == SAP_STATUS_OK && fitted) {
    status = fit(r, item, &s, type, out);
  }
  if (status == SAP_STATUS_OK) {
    status = read_fluid(r, &s, out);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_integer(r, &s, "group", &out->group);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_color(r, &s, item->scope.model, out->def.color);
  }
  if (status == SAP_STATUS_OK) {
    status = read_mass(r, &s, out);
  }
  apply_frame(&item->scope.frame, &out->def);
  return status;
}
