// SPDX-License-Identifier: BSD-3-Clause
// <tendon>: fixed, and spatial through sites, around geoms, over pulleys. <equality>: connect,
// weld, joint, tendon; the quantities that MuJoCo derives from the default pose (the anchor on the
// second body, the relative pose of a weld) are computed here.
#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

// --- tendons ------------------------------------------------------------------------------------

// A new field of sap_tendon_def that is numbers needs one row here.
static const sap_xml_field tendon_fields[] = {
    SAP_XML_NUMBER(sap_tendon_def, stiffness, "stiffness", ANY),
    SAP_XML_NUMBER(sap_tendon_def, damping, "damping", ANY),
    SAP_XML_NUMBER(sap_tendon_def, friction_loss, "frictionloss", ANY),
    {0},
};

// range: without the margin.
static sap_status read_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_tendon_def* def,
                              double range[2]) {
  sap_mjcf_sources s;
  double efforts[2], length[2] = {-1.0, -1.0};
  int32_t given;
  SAP_TRY(sap_mjcf_instance_sources(r, i, "tendon", &s));
  SAP_TRY(sap_mjcf_read_range(&s, "range", 1.0, range));
  def->lower = range[0];
  def->upper = range[1];
  SAP_TRY(sap_mjcf_apply_margin(&s, &def->lower, &def->upper));
  SAP_TRY(sap_mjcf_read_limit_material(&s, &def->limit_stiffness, &def->limit_relaxation_time));
  SAP_TRY(sap_mjcf_read_fields(&s, tendon_fields, def));
  SAP_TRY(sap_mjcf_read_range(&s, "actuatorfrcrange", 1.0, efforts));
  def->effort_lower = efforts[0];
  def->effort_upper = efforts[1];
  SAP_TRY(sap_mjcf_numbers(&s, "springlength", 1, 2, length, &given));
  length[1] = given == 1 ? length[0] : length[1];
  if (length[0] != -1.0 || length[1] != -1.0) {  // -1 -1: as if not given
    def->spring_lower = length[0];
    def->spring_upper = length[1];
  }
  return SAP_STATUS_OK;
}

static sap_status add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_tendon_def* def) {
  double range[2];
  int32_t id = -1;
  SAP_TRY(read_tendon(r, i, def, range));
  if (r->disabled.limit) {
    def->lower = -(double)INFINITY;
    def->upper = (double)INFINITY;
  }
  def->friction_loss = r->disabled.frictionloss ? 0.0 : def->friction_loss;
  def->stiffness = r->disabled.spring ? 0.0 : def->stiffness;
  def->damping = r->disabled.damper ? 0.0 : def->damping;
  SAP_TRY(SAP_XML_ADD(r, i->node, sap_builder_add_tendon, def, &id));
  SAP_TRY(SAP_ROOM(&r->pool, &r->tendons, id + 1, r->error));
  r->tendons[id] = (sap_mjcf_tendon){.space = i->space, .range = {range[0], range[1]}};
  return sap_name_map_add(&r->tendon_names, def->name, id, NULL, r->error);
}

static sap_status add_fixed(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_tendon_def* def) {
  double coefficients[SAP_MJCF_MAX_NAMES];
  for (const sap_xml_node* c = i->node->first_child; c != NULL; c = c->next) {
    const char* joint;
    SAP_TRY(sap_xml_require(c, "joint", &joint, r->error));
    SAP_TRY(sap_xml_numbers(c, "coef", 1, 1, &coefficients[def->njoints++], NULL, r->error));
  }
  def->joints = i->ids;
  def->coefficients = coefficients;
  return add_tendon(r, i, def);
}

typedef struct tendon_path {
  double points[3 * SAP_MJCF_MAX_NAMES];
  int32_t bodies[SAP_MJCF_MAX_NAMES];
  sap_tendon_wrap wraps[SAP_MJCF_MAX_NAMES];
  int32_t count, names;  // elements; ids of the instance used so far
} tendon_path;

static sap_status add_obstacle(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               const sap_xml_node* node, tendon_path* path) {
  static const double z[3] = {0.0, 0.0, 1.0};
  const sap_mjcf_obstacle* obstacle = &r->obstacles[i->ids[path->names++]];
  sap_tendon_wrap* wrap = &path->wraps[path->count];
  if (obstacle->type != SAP_SHAPE_SPHERE && obstacle->type != SAP_SHAPE_CYLINDER) {
    return sap_xml_syntax(node, "geom", r->error, "tendons wrap around spheres and cylinders only");
  }
  *wrap = (sap_tendon_wrap){
      .way = obstacle->type == SAP_SHAPE_SPHERE ? SAP_TENDON_SPHERE : SAP_TENDON_CYLINDER,
      .radius = obstacle->radius,
      .side_body = -1};
  sap_quaternion_rotate(wrap->axis, obstacle->pose.q, z);
  path->bodies[path->count] = obstacle->body;
  memcpy(path->points + 3 * path->count, obstacle->pose.p, sizeof obstacle->pose.p);
  if (sap_xml_get(node, "sidesite") != NULL) {
    const sap_mjcf_site* side = &r->sites[i->ids[path->names++]];
    wrap->side_body = side->body;
    memcpy(wrap->side_point, side->pose.p, sizeof wrap->side_point);
  }
  return SAP_STATUS_OK;
}

static sap_status add_pulley(sap_mjcf_reader* r, const sap_xml_node* node, tendon_path* path) {
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(sap_tendon_wrap, divisor, "divisor", POSITIVE), {0}};
  sap_tendon_wrap* wrap = &path->wraps[path->count];
  *wrap = (sap_tendon_wrap){.way = SAP_TENDON_PULLEY, .side_body = -1};
  path->bodies[path->count] = 0;
  return sap_xml_require_fields(node, fields, wrap, r->error);
}

static sap_status add_path_element(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                   const sap_xml_node* node, tendon_path* path) {
  const char* name;
  SAP_RETURN_IF(path->count == SAP_MJCF_MAX_NAMES,
                sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error, "more than %d elements",
                             SAP_MJCF_MAX_NAMES));
  if (sap_xml_is(node, "pulley")) {
    return add_pulley(r, node, path);
  }
  SAP_TRY(sap_xml_require(node, node->name, &name, r->error));
  if (sap_xml_is(node, "geom")) {
    return add_obstacle(r, i, node, path);
  }
  const sap_mjcf_site* site = &r->sites[i->ids[path->names++]];
  path->wraps[path->count] = (sap_tendon_wrap){.way = SAP_TENDON_POINT, .side_body = -1};
  path->bodies[path->count] = site->body;
  memcpy(path->points + 3 * path->count, site->pose.p, sizeof site->pose.p);
  return SAP_STATUS_OK;
}

static sap_status add_spatial(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_tendon_def* def) {
  tendon_path path = {.count = 0};
  for (const sap_xml_node* c = i->node->first_child; c != NULL; c = c->next, ++path.count) {
    SAP_TRY(add_path_element(r, i, c, &path));
  }
  SAP_RETURN_IF(path.count < 2,
                sap_xml_syntax(i->node, NULL, r->error, "must have at least 2 sites"));
  def->npoints = path.count;
  def->point_bodies = path.bodies;
  def->points = path.points;
  def->wraps = path.wraps;
  return add_tendon(r, i, def);
}

sap_status sap_mjcf_add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  sap_tendon_def def = sap_tendon_def_default();
  SAP_TRY(sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def.name));
  return sap_xml_is(i->node, "spatial") ? add_spatial(r, i, &def) : add_fixed(r, i, &def);
}

// --- equalities ---------------------------------------------------------------------------------

static void world_pose(const sap_mjcf_reader* r, int32_t body, sap_pose* out) {
  *out = sap_pose_identity;
  for (int32_t b = body; b > 0; b = r->places[b].parent) {
    sap_pose_compose(out, &r->places[b].pose, out);
  }
}

// out: pose of body b in body a, in the default pose.
static void relative_pose(const sap_mjcf_reader* r, int32_t a, int32_t b, sap_pose* out) {
  sap_pose A, B;
  double back[4];
  world_pose(r, a, &A);
  world_pose(r, b, &B);
  sap_quaternion_conjugate(back, A.q);
  sap_v3_sub(out->p, B.p, A.p);
  sap_quaternion_rotate(out->p, back, out->p);
  sap_quaternion_multiply(out->q, back, B.q);
}

// Returns false if the element names no sites; else sets the frames, which are those of the sites.
static bool set_sites(const sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_equality_def* def) {
  if (sap_xml_get(i->node, "site1") == NULL) {
    return false;
  }
  const sap_mjcf_site* a = &r->sites[i->ids[0]];
  const sap_mjcf_site* b = &r->sites[i->ids[1]];
  double back[4];
  def->a = a->body;
  def->b = b->body;
  sap_v3_copy(def->anchor_A, a->pose.p);
  sap_v3_copy(def->anchor_B, b->pose.p);
  sap_quaternion_conjugate(back, b->pose.q);  // the sites' frames coincide: R_AS1 = R_AB R_BS2
  sap_quaternion_multiply(def->q_AB, a->pose.q, back);
  return true;
}

static sap_status set_bodies(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                             sap_equality_def* def) {
  SAP_RETURN_IF(sap_xml_get(i->node, "body1") == NULL,
                sap_xml_syntax(i->node, NULL, r->error, "must name body1, or site1 and site2"));
  def->a = i->ids[0];
  def->b = sap_xml_get(i->node, "body2") != NULL ? i->ids[1] : 0;
  return SAP_STATUS_OK;
}

static sap_status read_connect(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_equality_def* def) {
  sap_pose BA;
  def->type = SAP_EQUALITY_CONNECT;
  if (set_sites(r, i, def)) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(set_bodies(r, i, def));
  SAP_TRY(sap_xml_numbers(i->node, "anchor", 3, 3, def->anchor_A, NULL, r->error));
  relative_pose(r, def->b, def->a, &BA);
  sap_quaternion_place(def->anchor_B, BA.p, BA.q, def->anchor_A);
  return SAP_STATUS_OK;
}

static sap_status read_weld(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_equality_def* def) {
  double relpose[7] = {0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  sap_pose AB;
  def->type = SAP_EQUALITY_WELD;
  SAP_TRY(sap_xml_optional(i->node, "torquescale", 1, 1, &def->torque_scale, r->error));
  if (set_sites(r, i, def)) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(set_bodies(r, i, def));
  SAP_TRY(sap_xml_optional(i->node, "anchor", 3, 3, def->anchor_B, r->error));
  SAP_TRY(sap_xml_optional(i->node, "relpose", 7, 7, relpose, r->error));
  memcpy(AB.p, relpose, sizeof AB.p);
  memcpy(AB.q, relpose + 3, sizeof AB.q);
  if (sap_quaternion_normalize(AB.q)) {
    sap_v3_copy(def->anchor_A, AB.p);  // as in MuJoCo: the anchor in body1
  } else {                             // a zero quaternion: the default pose
    relative_pose(r, def->a, def->b, &AB);
    sap_quaternion_place(def->anchor_A, AB.p, AB.q, def->anchor_B);
  }
  memcpy(def->q_AB, AB.q, sizeof AB.q);
  return SAP_STATUS_OK;
}

static sap_status read_coupler(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_equality_def* def) {
  const bool joint = sap_xml_is(i->node, "joint");
  const char* name;
  def->type = joint ? SAP_EQUALITY_JOINT : SAP_EQUALITY_TENDON;
  SAP_TRY(sap_xml_require(i->node, joint ? "joint1" : "tendon1", &name, r->error));
  def->a = i->ids[0];
  def->b = sap_xml_get(i->node, joint ? "joint2" : "tendon2") != NULL ? i->ids[1] : -1;
  return sap_xml_optional(i->node, "polycoef", 1, 5, def->polynomial, r->error);
}

sap_status sap_mjcf_add_equality(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_equality_def, active, "active", BOOL, 1, 1), {0}};
  sap_equality_def def = sap_equality_def_default();
  sap_mjcf_sources s;
  def.active = true;
  SAP_TRY(sap_mjcf_instance_sources(r, i, "equality", &s));
  SAP_TRY(sap_mjcf_read_fields(&s, fields, &def));
  SAP_TRY(sap_mjcf_read_solref(&s, "solref", &def.stiffness, &def.relaxation_time));
  def.active = def.active && !r->disabled.equality;
  const int32_t kind = sap_word_index("connect weld joint tendon", i->node->name);
  if (kind < 0) {
    return def.active ? sap_scene_unsupported(r->options, i->node, NULL,
                                              "this equality is not supported", r->error)
                      : SAP_STATUS_OK;
  }
  SAP_TRY(kind == 0   ? read_connect(r, i, &def)
          : kind == 1 ? read_weld(r, i, &def)
                      : read_coupler(r, i, &def));
  SAP_TRY(sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def.name));
  return SAP_XML_ADD(r, i->node, sap_builder_add_equality, &def, NULL);
}
