// SPDX-License-Identifier: BSD-3-Clause
// <tendon>: fixed, and spatial through sites, round geoms, over pulleys.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf_instance.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

static sap_status read_spring(sap_mjcf_reader* r, const sap_mjcf_sources* s, sap_tendon_def* def) {
  double length[2] = {-1.0, -1.0};
  int32_t given = 0;
  const sap_status status =
      sap_mjcf_numbers(r, s, "springlength", (const int32_t[]){1, 2}, length, &given);
  if (given == 1) {
    length[1] = length[0];
  }
  if (status == SAP_STATUS_OK && length[0] >= 0.0) {  // negative: as in the default pose
    def->spring_lower = length[0];
    def->spring_upper = length[1];
  }
  return status;
}

// range_given: as the file gives it, without the margin.
static sap_status read_properties(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                  sap_tendon_def* def, double range_given[2]) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  sap_mjcf_range range = {"range", "limited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_status status = sap_mjcf_find_sources(r, i->node, "tendon", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &range);
  }
  def->lower = range_given[0] = range.lower;
  def->upper = range_given[1] = range.upper;
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_apply_margin(r, &s, &def->lower, &def->upper);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_limit_material(r, &s, &scope, &def->limit_stiffness,
                                          &def->limit_relaxation_time);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_number(r, &s, "stiffness", &def->stiffness);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_number(r, &s, "damping", &def->damping);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_number(r, &s, "frictionloss", &def->friction_loss);
  }
  sap_mjcf_range efforts = {"actuatorfrcrange", "actuatorfrclimited", 1.0, -(double)INFINITY,
                            (double)INFINITY};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &efforts);
  }
  def->effort_lower = efforts.lower;
  def->effort_upper = efforts.upper;
  return status == SAP_STATUS_OK ? read_spring(r, &s, def) : status;
}

static sap_status remember(sap_mjcf_reader* r, const sap_tendon_def* def, int32_t space,
                           const double range[2], int32_t id) {
  sap_status status = SAP_STATUS_OK;
  if (id >= 0) {
    status = SAP_GROW(&r->tendons, &r->tendon_capacity, id + 1, r->error);
  }
  if (status == SAP_STATUS_OK && id >= 0) {
    r->tendons[id] = (sap_mjcf_tendon){.space = space, .range = {range[0], range[1]}};
  }
  return status == SAP_STATUS_OK && def->name != NULL
             ? sap_name_map_add(&r->tendon_names, def->name, id, NULL, r->error)
             : status;
}

static sap_status add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_tendon_def* def) {
  double range[2] = {0.0, 0.0};
  sap_status status = read_properties(r, i, def, range);
  int32_t id = -1;
  sap_tendon_def added = *def;
  if (r->disabled.limit) {
    added.lower = -(double)INFINITY;
    added.upper = (double)INFINITY;
  }
  added.friction_loss = r->disabled.frictionloss ? 0.0 : def->friction_loss;
  added.stiffness = r->disabled.spring ? 0.0 : def->stiffness;
  added.damping = r->disabled.damper ? 0.0 : def->damping;
  if (status == SAP_STATUS_OK) {
    status = sap_xml_locate(i->node, sap_builder_add_tendon(r->builder, &added, &id, r->error),
                            r->error);
  }
  return status == SAP_STATUS_OK ? remember(r, def, i->space, range, id) : status;
}

static sap_status add_fixed(sap_mjcf_reader* r, const sap_mjcf_instance* i, const char* name) {
  sap_tendon_def def = sap_tendon_def_default();
  double coefficients[SAP_MJCF_MAX_NAMES];
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* c = i->node->first_child; c && status == SAP_STATUS_OK; c = c->next) {
    if (sap_xml_get(c, "joint") == NULL) {
      return sap_xml_fail(c, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'joint' is missing");
    }
    status = sap_xml_numbers(c, "coef", 1, 1, &coefficients[def.njoints++], NULL, r->error);
  }
  def.name = name;
  def.joints = i->ids;
  def.coefficients = coefficients;
  return status == SAP_STATUS_OK ? add_tendon(r, i, &def) : status;
}

typedef struct path {
  double points[3 * SAP_MJCF_MAX_NAMES];
  int32_t bodies[SAP_MJCF_MAX_NAMES];
  sap_tendon_wrap wraps[SAP_MJCF_MAX_NAMES];
  int32_t count, names;  // elements; ids of the instance used so far
} path;

static sap_status add_obstacle(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               const sap_xml_node* node, path* way) {
  static const double z[3] = {0.0, 0.0, 1.0};
  const sap_mjcf_obstacle* obstacle = &r->obstacles[i->ids[way->names++]];
  sap_tendon_wrap* wrap = &way->wraps[way->count];
  if (obstacle->type != SAP_SHAPE_SPHERE && obstacle->type != SAP_SHAPE_CYLINDER) {
    return sap_xml_fail(node, "geom", SAP_STATUS_SYNTAX, r->error,
                        "tendons go round spheres and cylinders only");
  }
  *wrap = (sap_tendon_wrap){
      .way = obstacle->type == SAP_SHAPE_SPHERE ? SAP_TENDON_SPHERE : SAP_TENDON_CYLINDER,
      .radius = obstacle->radius,
      .side_body = -1};
  sap_quaternion_rotate(wrap->axis, obstacle->pose.q, z);
  way->bodies[way->count] = obstacle->body;
  memcpy(way->points + 3 * way->count, obstacle->pose.p, sizeof obstacle->pose.p);
  if (sap_xml_get(node, "sidesite") != NULL) {
    const sap_mjcf_site* side = &r->sites[i->ids[way->names++]];
    wrap->side_body = side->body;
    memcpy(wrap->side_point, side->pose.p, sizeof wrap->side_point);
  }
  return SAP_STATUS_OK;
}

static sap_status add_element(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                              const sap_xml_node* node, path* way) {
  sap_status status = SAP_STATUS_OK;
  sap_tendon_wrap* wrap = &way->wraps[way->count];
  if (way->count == SAP_MJCF_MAX_NAMES) {
    return sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error, "more than %d elements",
                        SAP_MJCF_MAX_NAMES);
  }
  if (sap_xml_is(node, "pulley")) {
    *wrap = (sap_tendon_wrap){.way = SAP_TENDON_PULLEY, .side_body = -1};
    way->bodies[way->count] = 0;
    status = sap_xml_numbers(node, "divisor", 1, 1, &wrap->divisor, NULL, r->error);
    if (status == SAP_STATUS_OK && !(wrap->divisor > 0.0)) {
      return sap_xml_fail(node, "divisor", SAP_STATUS_SYNTAX, r->error, "must be > 0");
    }
  } else if (sap_xml_get(node, node->name) == NULL) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute '%s' is missing",
                        node->name);
  } else if (sap_xml_is(node, "geom")) {
    status = add_obstacle(r, i, node, way);
  } else {
    const sap_mjcf_site* site = &r->sites[i->ids[way->names++]];
    *wrap = (sap_tendon_wrap){.way = SAP_TENDON_POINT, .side_body = -1};
    way->bodies[way->count] = site->body;
    memcpy(way->points + 3 * way->count, site->pose.p, sizeof site->pose.p);
  }
  ++way->count;
  return status;
}

static sap_status add_spatial(sap_mjcf_reader* r, const sap_mjcf_instance* i, const char* name) {
  sap_tendon_def def = sap_tendon_def_default();
  path way = {.count = 0};
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* c = i->node->first_child; c && status == SAP_STATUS_OK; c = c->next) {
    status = add_element(r, i, c, &way);
  }
  if (status == SAP_STATUS_OK && way.count < 2) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error, "must have at least 2 sites");
  }
  def.name = name;
  def.npoints = way.count;
  def.point_bodies = way.bodies;
  def.points = way.points;
  def.wraps = way.wraps;
  return status == SAP_STATUS_OK ? add_tendon(r, i, &def) : status;
}

sap_status sap_mjcf_add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  const char* name = NULL;
  const sap_status status = sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &name);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  return sap_xml_is(i->node, "spatial") ? add_spatial(r, i, name) : add_fixed(r, i, name);
}
