// SPDX-License-Identifier: BSD-3-Clause
// <worldbody> and <body>: depth first, a body's joints and geoms before its children. Mass
// properties come from <inertial> or the sum over the geoms, then the compiler's bounds apply.
#include "io/mjcf/mjcf_body.h"

#include <math.h>
#include <string.h>

#include "io/geometry.h"
#include "io/xml/schema.h"
#include "linalg/dense.h"
#include "math/quaternion.h"

// Files give few digits: relative slack of the triangle inequality of inertias.
static const double triangle_slack = 1e-6;

// A body on the path from the world.
typedef struct place {
  int32_t id;
  bool is_static;  // no joint between it and the world
} place;

typedef struct contents {
  int32_t first, end;  // items
  int32_t joints;
  const sap_mjcf_item* inertial;
  sap_mjcf_geom* geoms;
  int32_t geom_count;
} contents;

// --- mass properties ----------------------------------------------------------------------------

static sap_status read_tensor(sap_mjcf_reader* r, const sap_mjcf_item* inertial,
                              sap_body_def* def) {
  const sap_xml_node* node = inertial->node;
  sap_pose pose;
  SAP_TRY(sap_mjcf_pose(r, node, &inertial->scope, &pose));
  if (sap_xml_get(node, "fullinertia") != NULL) {
    static const char orientation[] = "diaginertia quat axisangle xyaxes zaxis euler";
    for (int32_t i = 0; i < node->nattributes; ++i) {
      SAP_RETURN_IF(sap_word_index(orientation, node->attributes[i].name) >= 0,
                    sap_xml_syntax(node, node->attributes[i].name, r->error,
                                   "not together with fullinertia"));
    }
    return sap_xml_numbers(node, "fullinertia", 6, 6, def->I_BCo_B, NULL, r->error);
  }
  double diagonal[6] = {0.0};
  SAP_TRY(sap_xml_optional(node, "diaginertia", 3, 3, diagonal, r->error));
  sap_inertia_rotate(def->I_BCo_B, diagonal, pose.q);
  memcpy(def->q_BI, pose.q, sizeof pose.q);
  return SAP_STATUS_OK;
}

static sap_status read_inertial(sap_mjcf_reader* r, const sap_mjcf_item* inertial,
                                sap_body_def* def) {
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(sap_body_def, mass, "mass", NONNEGATIVE),
      SAP_XML_FIELD(sap_body_def, p_BCo, "pos", ANY, 3, 3),
      {0},
  };
  SAP_TRY(sap_xml_require_fields(inertial->node, fields, def, r->error));
  return read_tensor(r, inertial, def);
}

static bool in_group_range(const sap_mjcf_compiler* compiler, const sap_mjcf_geom* geom) {
  return geom->group >= compiler->group_range[0] && geom->group <= compiler->group_range[1];
}

// Finds whether a geom counts for mass; reads its mesh.
static sap_status find_mass(sap_mjcf_reader* r, const sap_mjcf_compiler* compiler,
                            sap_mjcf_geom* geom, bool* counts) {
  *counts = in_group_range(compiler, geom);
  if (!*counts) {
    return SAP_STATUS_OK;
  }
  if (isnan(geom->mass) && !geom->supported) {
    *counts = false;
    return sap_scene_unsupported(r->options, geom->node, NULL,
                                 "its body's inertia comes from this geom, whose type is not "
                                 "supported: give the body an <inertial>",
                                 r->error);
  }
  const sap_status status = sap_mjcf_geom_mesh_mass(r, geom);
  const bool missing = status == SAP_STATUS_IO && !geom->collides;
  if (r->options->lenient && (missing || status == SAP_STATUS_UNSUPPORTED)) {
    *counts = false;
    geom->mass = 0.0;
    sap_scene_warn(r->options, geom->node, "mesh",
                   missing ? "the file is missing: its mass is ignored"
                           : "the file is not supported: its mass is ignored");
    return SAP_STATUS_OK;
  }
  return status;
}

// p: centre of mass of a geom in the body.
static void find_center(const sap_mjcf_geom* geom, double p[3]) {
  sap_quaternion_place(p, geom->def.p_BS, geom->def.q_BS, geom->p_SCo);
}

// I += the geom's inertia about a point of the body, in the body's axes.
static void add_inertia(const sap_mjcf_geom* geom, const double about[3], double I[6]) {
  double d[3], part[6];
  find_center(geom, d);
  sap_v3_sub(d, d, about);
  sap_inertia_rotate(part, geom->I_SCo_S, geom->def.q_BS);
  sap_inertia_shift(part, geom->mass, d);
  for (int k = 0; k < 6; ++k) {
    I[k] += part[k];
  }
}

static sap_status sum_geoms(sap_mjcf_reader* r, const sap_mjcf_compiler* compiler,
                            const contents* c, sap_body_def* def) {
  double moment[3] = {0.0, 0.0, 0.0}, I[6] = {0.0};
  int32_t parts = 0;
  for (int32_t i = 0; i < c->geom_count; ++i) {
    bool counts;
    SAP_TRY(find_mass(r, compiler, &c->geoms[i], &counts));
    if (counts) {
      double center[3];
      find_center(&c->geoms[i], center);
      def->mass += c->geoms[i].mass;
      sap_v3_add_scaled(moment, center, c->geoms[i].mass);
    }
  }
  if (def->mass > 0.0) {
    sap_v3_scale(def->p_BCo, moment, 1.0 / def->mass);
  }
  for (int32_t i = 0; i < c->geom_count; ++i) {
    if (in_group_range(compiler, &c->geoms[i]) && c->geoms[i].mass > 0.0) {
      add_inertia(&c->geoms[i], def->p_BCo, I);
      memcpy(def->q_BI, c->geoms[i].def.q_BS, sizeof def->q_BI);
      ++parts;
    }
  }
  if (parts != 1) {  // MuJoCo takes the frame of the only geom, and else the body's
    memset(def->q_BI, 0, sizeof def->q_BI);
  }
  memcpy(def->I_BCo_B, I, sizeof I);
  return SAP_STATUS_OK;
}

// Checks the inertia and applies boundmass, boundinertia and balanceinertia.
static sap_status bound_inertia(sap_mjcf_reader* r, const sap_mjcf_compiler* compiler,
                                const sap_xml_node* node, sap_body_def* def) {
  double e[6] = {0.0}, V[9];  // I = V diag(e) V'
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
    sap_m3_rotate_packed(def->I_BCo_B, V, e);
  }
  if (e[0] + e[1] >= e[2] * (1.0 - triangle_slack)) {
    return SAP_STATUS_OK;
  }
  SAP_RETURN_IF(!compiler->balance_inertia,
                sap_xml_fail(node, NULL, SAP_STATUS_NOT_SPD, r->error,
                             "no body has the principal moments of inertia %g %g %g: the largest "
                             "exceeds the sum of the others",
                             e[0], e[1], e[2]));
  const double mean = (e[0] + e[1] + e[2]) / 3.0;
  const double balanced[6] = {mean, mean, mean, 0.0, 0.0, 0.0};
  memcpy(def->I_BCo_B, balanced, sizeof balanced);
  return SAP_STATUS_OK;
}

static sap_status read_mass(sap_mjcf_reader* r, const sap_mjcf_item* body, const contents* c,
                            sap_body_def* def) {
  const sap_mjcf_compiler* compiler = &body->scope.model->compiler;
  const bool use_geoms = compiler->inertia_from_geom == SAP_MJCF_TRUE ||
                         (compiler->inertia_from_geom == SAP_MJCF_AUTO && c->inertial == NULL);
  if (use_geoms) {
    SAP_TRY(sum_geoms(r, compiler, c, def));
  } else if (c->inertial != NULL) {
    SAP_TRY(read_inertial(r, c->inertial, def));
  }
  const bool from_body = use_geoms || c->inertial == NULL;
  return bound_inertia(r, compiler, from_body ? body->node : c->inertial->node, def);
}

// --- geoms and sites ----------------------------------------------------------------------------

// Reads the geoms of a body, counts its joints and finds <inertial>.
static sap_status gather_contents(sap_mjcf_reader* r, contents* c) {
  for (int32_t i = c->first; i < c->end; ++i) {
    const sap_mjcf_item* item = &r->items[i];
    if (sap_xml_is(item->node, "geom")) {
      SAP_TRY(SAP_ROOM(&r->pool, &c->geoms, c->geom_count + 1, r->error));
      SAP_TRY(sap_mjcf_read_geom(r, item, &c->geoms[c->geom_count++]));
    } else if (sap_mjcf_is_joint(item->node)) {
      ++c->joints;
    } else if (sap_xml_is(item->node, "inertial")) {
      SAP_RETURN_IF(c->inertial != NULL, sap_xml_syntax(item->node, NULL, r->error, "given twice"));
      c->inertial = item;
    }
  }
  return SAP_STATUS_OK;
}

// Stores what tendons need. A tendon refuses geoms other than spheres and cylinders.
static sap_status remember_obstacle(sap_mjcf_reader* r, const sap_mjcf_geom* geom, int32_t body) {
  if (geom->def.name == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_ROOM(&r->pool, &r->obstacles, r->obstacle_count + 1, r->error));
  r->obstacles[r->obstacle_count] =
      (sap_mjcf_obstacle){.body = body,
                          .space = geom->space,
                          .type = geom->supported ? geom->def.type : SAP_SHAPE_MESH,
                          .pose = sap_pose_of(geom->def.p_BS, geom->def.q_BS),
                          .radius = geom->def.size[0]};
  return sap_name_map_add(&r->obstacle_names, geom->def.name, r->obstacle_count++, NULL, r->error);
}

static sap_status leave_out(sap_mjcf_reader* r, const sap_mjcf_geom* geom, const char* why) {
  if (why != NULL) {
    SAP_TRY(sap_scene_unsupported(r->options, geom->node, NULL, why, r->error));
  }
  return sap_name_map_add(&r->geom_names, geom->def.name, SAP_MJCF_LEFT_OUT, NULL, r->error);
}

static sap_status add_geom(sap_mjcf_reader* r, sap_mjcf_geom* geom, const place* at) {
  sap_shape_def* def = &geom->def;
  def->body = at->id;
  if (!geom->supported) {
    return leave_out(r, geom,
                     geom->collides
                         ? "collision with a height field or a signed distance field is not "
                           "supported"
                         : NULL);
  }
  if (geom->mesh >= 0) {
    if (!geom->collides) {  // visual only
      SAP_TRY(sap_mjcf_keep_visual(r, geom->mesh, def));
      return leave_out(r, geom, NULL);
    }
    const sap_status status = sap_mjcf_mesh_id(r, geom->mesh, &def->mesh);
    if (status == SAP_STATUS_UNSUPPORTED && r->options->lenient) {
      return leave_out(r, geom, NULL);
    }
    SAP_TRY(status);
  }
  if (def->type == SAP_SHAPE_PLANE && !at->is_static) {
    return leave_out(r, geom, "a plane on a moving body is not supported");
  }
  int32_t id = -1;
  SAP_TRY(SAP_XML_ADD(r, geom->node, sap_builder_add_shape, def, &id));
  return sap_name_map_add(&r->geom_names, geom->def.name, id, NULL, r->error);
}

// Adds the name of the element (NULL: none), which must be the first of it.
static sap_status add_name(sap_mjcf_reader* r, sap_name_map* names, const sap_xml_node* node,
                           const char* name, int32_t id) {
  bool added;
  SAP_TRY(sap_name_map_add(names, name, id, &added, r->error));
  return added || name == NULL ? SAP_STATUS_OK
                               : sap_xml_syntax(node, "name", r->error,
                                                "there is already a %s '%s'", node->name, name);
}

static sap_status add_site(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body) {
  sap_mjcf_sources s;
  sap_mjcf_site site = {.body = body,
                        .space = item->scope.space,
                        .pose = sap_pose_identity,
                        .type = SAP_SHAPE_SPHERE,
                        .size = {0.005, 0.005, 0.005}};
  sap_site_def def = sap_site_def_default();
  const char* name;
  double length;
  SAP_TRY(sap_mjcf_find_sources(r, item->node, "site", &item->scope, &s));
  SAP_TRY(sap_mjcf_numbers(&s, "pos", 3, 3, site.pose.p, NULL));
  SAP_TRY(sap_mjcf_choice(&s, "type", "plane sphere capsule cylinder box ellipsoid", &site.type));
  SAP_TRY(sap_mjcf_numbers(&s, "size", 1, 3, site.size, NULL));
  if (sap_mjcf_source(&s, "fromto") != NULL) {
    SAP_TRY(sap_mjcf_fromto(&s, &site.pose, &length));
    site.size[site.type == SAP_SHAPE_CAPSULE || site.type == SAP_SHAPE_CYLINDER ? 1 : 2] =
        0.5 * length;
  } else {
    SAP_TRY(sap_mjcf_orientation(&s, site.pose.q));
  }
  SAP_TRY(sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &name));
  SAP_TRY(SAP_ROOM(&r->pool, &r->sites, r->site_count + 1, r->error));
  sap_pose_compose(&site.pose, &item->scope.frame, &site.pose);
  r->sites[r->site_count] = site;
  def.body = body;
  sap_pose_get(&site.pose, def.p_BX, def.q_BX);
  def.name = name;
  if (name == NULL || sap_name_map_find(&r->site_names, name) < 0) {  // else refused below
    SAP_TRY(SAP_XML_ADD(r, item->node, sap_builder_add_site, &def, NULL));
  }
  return add_name(r, &r->site_names, item->node, name, r->site_count++);
}

// Adds joints and sites, then geoms.
static sap_status add_parts(sap_mjcf_reader* r, const contents* c, const place* at,
                            const sap_body_def* def) {
  for (int32_t i = c->first; i < c->end; ++i) {
    const sap_mjcf_item item = r->items[i];
    if (sap_mjcf_is_joint(item.node)) {
      SAP_TRY(at->id != 0
                  ? sap_mjcf_add_joint(r, &item, at->id, def)
                  : sap_xml_syntax(item.node, NULL, r->error, "the world cannot have a joint"));
    } else if (sap_xml_is(item.node, "site")) {
      SAP_TRY(add_site(r, &item, at->id));
    }
  }
  SAP_EACH(sap_mjcf_geom, geom, c->geoms, c->geom_count) {
    SAP_TRY(remember_obstacle(r, geom, at->id));
    SAP_TRY(add_geom(r, geom, at));
  }
  return SAP_STATUS_OK;
}

// --- bodies -------------------------------------------------------------------------------------

// Stores place and name of an added body.
static sap_status remember_body(sap_mjcf_reader* r, const sap_mjcf_item* item,
                                const sap_body_def* def, int32_t id) {
  SAP_TRY(SAP_ROOM(&r->pool, &r->places, id + 1, r->error));
  r->places[id] = (sap_mjcf_place){
      .parent = def->parent, .space = item->scope.space, .pose = sap_pose_of(def->p_PB, def->q_PB)};
  return add_name(r, &r->body_names, item->node, def->name, id);
}

static bool needs_mesh(const contents* c) {
  bool needs = false;
  for (int32_t i = 0; i < c->geom_count && c->inertial == NULL; ++i) {
    needs = needs || c->geoms[i].mesh >= 0 || isnan(c->geoms[i].mass);
  }
  return needs;
}

// Adds the body itself: mass, pose, name.
static sap_status add_body(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent,
                           const contents* c, sap_body_def* def, place* at) {
  sap_pose pose;
  SAP_TRY(sap_mjcf_pose(r, item->node, &item->scope, &pose));
  sap_pose_compose(&pose, &item->scope.frame, &pose);
  SAP_TRY(sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &def->name));
  SAP_TRY(sap_xml_optional(item->node, "gravcomp", 1, 1, &def->gravity_compensation, r->error));
  if (r->disabled.spring && r->disabled.damper) {
    def->gravity_compensation = 0.0;
  }
  sap_pose_get(&pose, def->p_PB, def->q_PB);
  def->parent = parent->id;
  at->is_static = parent->is_static && c->joints == 0;
  // The mass of a static body has no influence: it is not worth reading a mesh.
  if (!(at->is_static && needs_mesh(c))) {
    SAP_TRY(read_mass(r, item, c, def));
  }
  SAP_TRY(SAP_XML_ADD(r, item->node, sap_builder_add_body, def, &at->id));
  return remember_body(r, item, def, at->id);
}

static sap_status read_body(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent);

// Adds the body itself (item NULL: the world) and its parts.
static sap_status add_contents(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent,
                               contents* c, place* at) {
  sap_body_def def = sap_body_def_default();
  SAP_TRY(gather_contents(r, c));
  if (item != NULL) {
    SAP_TRY(add_body(r, item, parent, c, &def, at));
  }
  return add_parts(r, c, at, &def);
}

// Adds what the stack holds from `first` on: a body with its parts, then its children.
// at: of the world.
static sap_status read_contents(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent,
                                int32_t first, place at) {
  contents c = {.first = first, .end = r->item_count};
  SAP_TRY(add_contents(r, item, parent, &c, &at));
  for (int32_t i = c.first; i < c.end; ++i) {
    const sap_mjcf_item child = r->items[i];  // the array grows below
    SAP_TRY(sap_xml_is(child.node, "body") ? read_body(r, &child, &at) : SAP_STATUS_OK);
  }
  r->item_count = c.first;
  return SAP_STATUS_OK;
}

static sap_status read_body(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent) {
  sap_mjcf_scope scope = item->scope;
  const int32_t first = r->item_count;
  scope.frame = sap_pose_identity;
  SAP_TRY(sap_mjcf_child_class(r, item->node, &scope));
  SAP_TRY(sap_mjcf_collect(r, item->node, &scope));
  return read_contents(r, item, parent, first, (place){0});
}

sap_status sap_mjcf_read_bodies(sap_mjcf_reader* r) {
  const sap_mjcf_scope scope = {.model = r->main, .child_class = -1, .frame = sap_pose_identity};
  SAP_TRY(sap_name_map_add(&r->body_names, "world", 0, NULL, r->error));
  SAP_TRY(sap_mjcf_collect_worldbody(r, &scope));
  return read_contents(r, NULL, NULL, 0, (place){.is_static = true});
}
