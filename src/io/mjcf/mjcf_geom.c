// SPDX-License-Identifier: BSD-3-Clause
// <geom>: shape, pose, contact properties, mass. <contact>: exclusions and pairs of geoms.
#include "io/mjcf/mjcf_body.h"

#include <math.h>
#include <string.h>

#include "io/geometry.h"
#include "io/mjcf/mjcf_attribute.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"
#include "multibody/model/builder.h"

// In the order of sap_shape_type; those after mesh are not supported.
static const char geom_types[] = "plane sphere capsule cylinder box ellipsoid mesh hfield sdf";
// Number of sizes of a type; with fromto the length is known.
static const int32_t sizes_needed[] = {0, 1, 2, 2, 3, 3};
static const int32_t sizes_with_fromto[] = {0, 0, 1, 1, 1, 1};

// A new field of sap_shape_def that is numbers needs one row here.
static const sap_xml_field shape_fields[] = {
    SAP_XML_FIELD(sap_shape_def, condim, "condim", INTEGER, 1, 1),
    SAP_XML_FIELD(sap_shape_def, contact_type, "contype", INTEGER, 1, 1),
    SAP_XML_FIELD(sap_shape_def, contact_affinity, "conaffinity", INTEGER, 1, 1),
    SAP_XML_FIELD(sap_shape_def, priority, "priority", INTEGER, 1, 1),
    SAP_XML_NUMBER(sap_shape_def, rest_distance, "margin", ANY),
    SAP_XML_FIELD(sap_shape_def, fluid_coefficients, "fluidcoef", ANY, 1, 5),
    {0},
};

// --- shape --------------------------------------------------------------------------------------

static sap_status read_fromto(const sap_mjcf_sources* s, int32_t type, sap_mjcf_geom* out) {
  SAP_RETURN_IF(sizes_with_fromto[type] == 0,
                sap_mjcf_refuse(s, "fromto", "only for capsule, cylinder, box and ellipsoid"));
  sap_pose pose;
  double length;
  SAP_TRY(sap_mjcf_fromto(s, &pose, &length));
  sap_pose_get(&pose, out->def.p_BS, out->def.q_BS);
  const bool three = type >= SAP_SHAPE_BOX;  // box, ellipsoid: the length is the third size
  out->def.size[three ? 2 : 1] = 0.5 * length;
  if (three) {
    out->def.size[1] = out->def.size[0];
  }
  return SAP_STATUS_OK;
}

static sap_status read_primitive(const sap_mjcf_sources* s, int32_t type, sap_mjcf_geom* out) {
  double size[3] = {0.0, 0.0, 0.0};
  out->def.type = (sap_shape_type)type;
  SAP_TRY(sap_mjcf_numbers(s, "size", 1, 3, size, NULL));
  const bool fromto = sap_mjcf_source(s, "fromto") != NULL;
  const int32_t needed = fromto ? sizes_with_fromto[type] : sizes_needed[type];
  for (int32_t i = 0; i < needed; ++i) {
    if (!(size[i] > 0.0)) {
      const sap_xml_node* node = sap_mjcf_source(s, "size");
      return sap_xml_syntax(node != NULL ? node : out->node, "size", s->r->error,
                            "size %d is %g, must be > 0", (int)i + 1, size[i]);
    }
    out->def.size[i] = size[i];
  }
  return fromto ? read_fromto(s, type, out) : SAP_STATUS_OK;
}

// Fits a primitive to a mesh; `collides` is known.
static sap_status fit_primitive(const sap_mjcf_sources* s, const sap_mjcf_item* item, int32_t type,
                                sap_mjcf_geom* out) {
  int32_t mesh = -1;
  out->def.type = (sap_shape_type)type;
  SAP_RETURN_IF(type == SAP_SHAPE_PLANE,
                sap_mjcf_refuse(s, "mesh", "a plane cannot be fitted to a mesh"));
  SAP_TRY(sap_mjcf_mesh_find(s->r, &item->scope, sap_mjcf_source(s, "mesh"), &mesh));
  const sap_status status = sap_mjcf_fit(s, item, mesh, &out->def);
  const bool missing = status == SAP_STATUS_IO && !out->collides;
  if (s->r->options->lenient && (missing || status == SAP_STATUS_UNSUPPORTED)) {
    out->supported = out->collides = false;  // a warning follows where the mass counts
    return SAP_STATUS_OK;
  }
  return status;
}

static sap_status read_fluid(const sap_mjcf_sources* s, sap_mjcf_geom* out) {
  int32_t shape = 0;
  SAP_TRY(sap_mjcf_choice(s, "fluidshape", "none ellipsoid", &shape));
  if (shape == 0) {
    return SAP_STATUS_OK;
  }
  if (out->def.type == SAP_SHAPE_MESH || out->def.type == SAP_SHAPE_PLANE || !out->supported) {
    return sap_scene_unsupported(s->r->options, sap_mjcf_source(s, "fluidshape"), "fluidshape",
                                 "supported for primitives only", s->r->error);
  }
  out->def.fluid_ellipsoid = true;
  return SAP_STATUS_OK;
}

// Reads the geom's own rgba, else that of its material.
static sap_status read_color(const sap_mjcf_sources* s, double color[4]) {
  const sap_xml_node* root = s->model->root;
  const sap_xml_node* named = sap_mjcf_source(s, "material");
  if (sap_mjcf_source(s, "rgba") != NULL) {
    SAP_TRY(sap_mjcf_numbers(s, "rgba", 4, 4, color, NULL));
  } else if (named != NULL) {
    const char* name = sap_xml_get(named, "material");
    for (const sap_xml_node* n = sap_xml_next(root, "asset", NULL); n != NULL;
         n = sap_xml_next(root, "asset", n)) {
      const char* own = sap_xml_is(n, "material") ? sap_xml_get(n, "name") : NULL;
      if (own != NULL && strcmp(own, name) == 0) {
        color[0] = color[1] = color[2] = color[3] = 1.0;
        SAP_TRY(sap_xml_optional(n, "rgba", 4, 4, color, s->r->error));
        break;
      }
    }
  }
  for (int k = 0; k < 4; ++k) {
    color[k] = isnan(color[k]) ? color[k] : fmin(fmax(color[k], 0.0), 1.0);
  }
  return SAP_STATUS_OK;
}

// --- contact properties -------------------------------------------------------------------------

// True if a pair of its own file names the geom, which may collide in pairs only.
static bool is_paired(const sap_mjcf_model* model, const char* geom) {
  const sap_xml_node* n = geom != NULL ? sap_xml_next(model->root, "contact", NULL) : NULL;
  for (; n != NULL; n = sap_xml_next(model->root, "contact", n)) {
    const char* a = sap_xml_get(n, "geom1");
    const char* b = sap_xml_get(n, "geom2");
    if ((a != NULL && strcmp(a, geom) == 0) || (b != NULL && strcmp(b, geom) == 0)) {
      return true;
    }
  }
  return false;
}

static sap_status override_geom(sap_mjcf_reader* r, const sap_xml_node* geom, sap_shape_def* def) {
  const sap_mjcf_override* o = &r->override;
  const double* mu = o->friction;
  if (!o->on) {
    return SAP_STATUS_OK;
  }
  def->rest_distance = 0.5 * o->margin;  // a pair has the sum
  def->material.friction = mu[0];
  def->friction_torsional = mu[2];
  def->friction_rolling = mu[3];
  sap_material* material = &def->material;
  if (sap_mjcf_apply_solref(o->solref, &material->stiffness, &material->relaxation_time)) {
    material->stiffness *= 2.0;  // two in series
  }
  return mu[0] == mu[1] && mu[3] == mu[4]
             ? SAP_STATUS_OK
             : sap_scene_unsupported(r->options, geom, NULL,
                                     "o_friction that differs between directions is supported for "
                                     "pairs only",
                                     r->error);
}

static sap_status read_surface(const sap_mjcf_sources* s, const sap_mjcf_item* item,
                               sap_mjcf_geom* out) {
  sap_mjcf_reader* r = s->r;
  sap_shape_def* def = &out->def;
  double friction[3] = {1.0, 0.005, 0.0001};  // sliding, torsional, rolling
  double surface[6] = {0.0};                  // velocity, angular velocity
  SAP_TRY(sap_mjcf_read_fields(s, shape_fields, def));
  SAP_TRY(sap_mjcf_numbers(s, "friction", 1, 3, friction, NULL));
  def->material.friction = friction[0];
  SAP_TRY(sap_mjcf_geom_material(s, item, def->name, &def->material));
  SAP_TRY(sap_mjcf_numbers(s, "surfacevel", 1, 6, surface, NULL));
  SAP_TRY(sap_mjcf_surface_setting(r, item, def->name, surface));
  sap_v3_copy(def->surface_velocity, surface);
  sap_v3_copy(def->surface_rotation, surface + 3);
  def->friction_torsional = friction[1];
  def->friction_rolling = friction[2];
  SAP_TRY(override_geom(r, item->node, def));
  sap_scene_override(r->options, &def->material);
  if (r->disabled.contact) {
    def->contact_type = def->contact_affinity = 0;
  }
  out->collides = !r->disabled.contact && (def->contact_type != 0 || def->contact_affinity != 0 ||
                                           is_paired(s->model, sap_xml_get(item->node, "name")));
  return SAP_STATUS_OK;
}

// --- mass ---------------------------------------------------------------------------------------

sap_status sap_mjcf_geom_mesh_mass(sap_mjcf_reader* r, sap_mjcf_geom* geom) {
  sap_mesh_mass unit;
  if (geom->mesh < 0 || geom->mass == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_mjcf_mesh_mass(r, geom->mesh, &unit));
  geom->mass = isnan(geom->mass) ? geom->density * unit.volume : geom->mass;
  sap_v3_copy(geom->p_SCo, unit.center);
  for (int k = 0; k < 6; ++k) {
    geom->I_SCo_S[k] = geom->mass / unit.volume * unit.inertia[k];
  }
  return SAP_STATUS_OK;
}

static sap_status read_mass(const sap_mjcf_sources* s, sap_mjcf_geom* out) {
  double density = 1000.0, mass = (double)NAN;
  SAP_TRY(sap_mjcf_numbers(s, "density", 1, 1, &density, NULL));
  SAP_TRY(sap_mjcf_numbers(s, "mass", 1, 1, &mass, NULL));
  SAP_RETURN_IF(mass < 0.0 || (isnan(mass) && density < 0.0),
                sap_mjcf_refuse(s, isnan(mass) ? "density" : "mass", "must be >= 0"));
  const bool massless = isnan(mass) && density == 0.0;
  if (!out->supported) {
    out->mass = mass == 0.0 || massless ? 0.0 : (double)NAN;
    return SAP_STATUS_OK;
  }
  if (out->mesh >= 0) {  // see sap_mjcf_geom_mesh_mass
    out->mass = massless ? 0.0 : mass;
    out->density = density;
    return SAP_STATUS_OK;
  }
  const double volume = sap_shape_volume(out->def.type, out->def.size);
  out->mass = isnan(mass) ? density * volume : mass;
  sap_shape_inertia(out->def.type, out->def.size, out->mass, out->I_SCo_S);
  return isfinite(out->mass) ? SAP_STATUS_OK
                             : sap_xml_fail(out->node, NULL, SAP_STATUS_NOT_FINITE, s->r->error,
                                            "its mass is %g", out->mass);
}

// --- geom ---------------------------------------------------------------------------------------

sap_status sap_mjcf_read_geom(sap_mjcf_reader* r, const sap_mjcf_item* item, sap_mjcf_geom* out) {
  static const sap_xml_field group[] = {SAP_XML_FIELD(sap_mjcf_geom, group, "group", INTEGER, 1, 1),
                                        {0}};
  sap_mjcf_sources s;
  sap_shape_def* def = &out->def;
  int32_t type = SAP_SHAPE_SPHERE;
  *out = (sap_mjcf_geom){
      .node = item->node, .space = item->scope.space, .def = sap_shape_def_default(), .mesh = -1};
  SAP_TRY(sap_mjcf_find_sources(r, item->node, "geom", &item->scope, &s));
  SAP_TRY(sap_mjcf_choice(&s, "type", geom_types, &type));
  SAP_TRY(sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &def->name));
  const sap_xml_node* named = sap_mjcf_source(&s, "mesh");
  const bool fitted = type < SAP_SHAPE_MESH && named != NULL;
  out->supported = type <= SAP_SHAPE_MESH;
  if (type == SAP_SHAPE_MESH) {  // the mesh is read when its mass or its hull is needed
    const char* name;
    def->type = SAP_SHAPE_MESH;
    SAP_TRY(named == NULL ? sap_xml_require(item->node, "mesh", &name, r->error)
                          : sap_mjcf_mesh_find(r, &item->scope, named, &out->mesh));
  }
  SAP_TRY(sap_mjcf_numbers(&s, "pos", 3, 3, def->p_BS, NULL));
  SAP_TRY(sap_mjcf_orientation(&s, def->q_BS));
  if (type < SAP_SHAPE_MESH && !fitted) {
    SAP_TRY(read_primitive(&s, type, out));
  }
  SAP_TRY(read_surface(&s, item, out));
  if (fitted) {
    SAP_TRY(fit_primitive(&s, item, type, out));
  }
  SAP_TRY(read_fluid(&s, out));
  SAP_TRY(sap_mjcf_read_fields(&s, group, out));
  SAP_TRY(read_color(&s, def->color));
  SAP_TRY(read_mass(&s, out));
  sap_pose pose = sap_pose_of(def->p_BS, def->q_BS);
  sap_pose_compose(&pose, &item->scope.frame, &pose);
  sap_pose_get(&pose, def->p_BS, def->q_BS);
  return SAP_STATUS_OK;
}

// --- contact pairs ------------------------------------------------------------------------------

static sap_status add_exclude(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  SAP_RETURN_IF(sap_xml_get(i->node, "body1") == NULL || sap_xml_get(i->node, "body2") == NULL,
                sap_xml_syntax(i->node, NULL, r->error, "must name body1 and body2"));
  return SAP_XML_ADD(r, i->node, sap_builder_exclude, i->ids[0], i->ids[1]);
}

// mu: along t1 and t2, torsional, rolling about t1 and t2.
static void set_friction(const double mu[5], sap_pair_def* def) {
  def->material.friction = mu[0];
  def->friction_t2 = mu[1];
  def->friction_torsional = mu[2];
  def->friction_rolling = mu[3];
  def->friction_rolling_2 = mu[4];
}

// Absent attributes have MuJoCo's defaults, not the values of the geoms, but for the stiffness.
static sap_status read_pair(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_pair_def* def) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_pair_def, condim, "condim", INTEGER, 1, 1),
      SAP_XML_NUMBER(sap_pair_def, rest_distance, "margin", ANY),
      {0},
  };
  sap_mjcf_sources s;
  sap_material* material = &def->material;
  double mu[5] = {1.0, 1.0, 0.005, 0.0001, 0.0001};
  SAP_TRY(sap_mjcf_instance_sources(r, i, "pair", &s));
  SAP_TRY(sap_mjcf_read_fields(&s, fields, def));
  SAP_TRY(sap_mjcf_read_solref(&s, "solref", &material->stiffness, &material->relaxation_time));
  SAP_TRY(sap_mjcf_numbers(&s, "friction", 1, 5, mu, NULL));
  set_friction(mu, def);
  const sap_mjcf_override* o = &r->override;
  if (o->on) {
    def->rest_distance = o->margin;
    set_friction(o->friction, def);
    (void)sap_mjcf_apply_solref(o->solref, &material->stiffness, &material->relaxation_time);
  }
  sap_scene_override(r->options, material);
  return SAP_STATUS_OK;
}

// Hands list some pairs twice.
static bool is_repeated(const sap_builder* builder, int32_t a, int32_t b) {
  SAP_EACH(const sap_pair_def, pair, builder->pairs, builder->npairs) {
    if ((pair->shape_a == a && pair->shape_b == b) || (pair->shape_a == b && pair->shape_b == a)) {
      return true;
    }
  }
  return false;
}

static sap_status add_pair(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  SAP_RETURN_IF(sap_xml_get(i->node, "geom1") == NULL || sap_xml_get(i->node, "geom2") == NULL,
                sap_xml_syntax(i->node, NULL, r->error, "must name geom1 and geom2"));
  SAP_RETURN_IF(
      i->ids[0] == SAP_MJCF_LEFT_OUT || i->ids[1] == SAP_MJCF_LEFT_OUT,
      sap_scene_unsupported(r->options, i->node, NULL, "one of its geoms was left out", r->error));
  sap_pair_def def = sap_pair_def_default();
  def.shape_a = i->ids[0];
  def.shape_b = i->ids[1];
  if (is_repeated(r->builder, def.shape_a, def.shape_b)) {
    sap_scene_warn(r->options, i->node, NULL, "repeated pair: the first is used");
    return SAP_STATUS_OK;
  }
  def.material.stiffness = 0.0;  // of the two shapes, once their stiffness is chosen
  SAP_TRY(read_pair(r, i, &def));
  return SAP_XML_ADD(r, i->node, sap_builder_add_pair, &def, NULL);
}

sap_status sap_mjcf_read_contacts(sap_mjcf_reader* r) {
  SAP_TRY(sap_mjcf_add_section(r, "contact", "exclude", add_exclude));
  return r->disabled.contact ? SAP_STATUS_OK : sap_mjcf_add_section(r, "contact", "pair", add_pair);
}
