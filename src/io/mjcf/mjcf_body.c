// SPDX-License-Identifier: BSD-3-Clause
// <worldbody> and <body>: depth first, a body's joints and geoms before its children.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf_instance.h"
#include "io/mjcf/mjcf_mesh.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

// A body on the way down.
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

static bool is_joint(const sap_xml_node* node) {
  return sap_xml_is(node, "joint") || sap_xml_is(node, "freejoint");
}

static sap_status gather(sap_mjcf_reader* r, contents* c) {
  int32_t geoms = 0;
  for (int32_t i = c->first; i < c->end; ++i) {
    geoms += sap_xml_is(r->items[i].node, "geom") ? 1 : 0;
  }
  c->geoms = sap_allocate((size_t)geoms, sizeof *c->geoms);
  if (c->geoms == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = c->first; i < c->end && status == SAP_STATUS_OK; ++i) {
    const sap_mjcf_item* item = &r->items[i];
    if (sap_xml_is(item->node, "geom")) {
      status = sap_mjcf_read_geom(r, item, &c->geoms[c->geom_count++]);
    } else if (is_joint(item->node)) {
      ++c->joints;
    } else if (sap_xml_is(item->node, "inertial")) {
      if (c->inertial != NULL) {
        return sap_xml_fail(item->node, NULL, SAP_STATUS_SYNTAX, r->error, "given twice");
      }
      c->inertial = item;
    }
  }
  return status;
}

// Keeps what tendons need to know.
static sap_status remember_obstacle(sap_mjcf_reader* r, const sap_mjcf_geom* geom, int32_t space,
                                    int32_t body) {
  if (geom->def.name == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status =
      SAP_GROW(&r->obstacles, &r->obstacle_capacity, r->obstacle_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  // Whatever is no sphere or cylinder is refused where a tendon names it.
  sap_mjcf_obstacle* obstacle = &r->obstacles[r->obstacle_count];
  *obstacle = (sap_mjcf_obstacle){.node = geom->node,
                                  .body = body,
                                  .space = space,
                                  .type = geom->supported ? geom->def.type : SAP_SHAPE_MESH,
                                  .radius = geom->def.size[0]};
  memcpy(obstacle->pose.p, geom->def.p_BS, sizeof obstacle->pose.p);
  memcpy(obstacle->pose.q, geom->def.q_BS, sizeof obstacle->pose.q);
  return sap_name_map_add(&r->obstacle_names, geom->def.name, r->obstacle_count++, NULL, r->error);
}

// Keeps what pairs need to know; id SAP_MJCF_LEFT_OUT: the geom is no shape.
static sap_status remember_geom(sap_mjcf_reader* r, const sap_mjcf_geom* geom, int32_t id) {
  return geom->def.name != NULL ? sap_name_map_add(&r->geom_names, geom->def.name, id, NULL, r->error)
                                : SAP_STATUS_OK;
}

static sap_status leave_out(sap_mjcf_reader* r, const sap_mjcf_geom* geom, const char* why) {
  const sap_status status = why != NULL
                                ? sap_scene_unsupported(r->options, geom->node, NULL, why, r->error)
                                : SAP_STATUS_OK;
  return status == SAP_STATUS_OK ? remember_geom(r, geom, SAP_MJCF_LEFT_OUT) : status;
}

static sap_status add_geom(sap_mjcf_reader* r, sap_mjcf_geom* geom, const place* at) {
  if (!geom->supported) {
    return leave_out(r, geom,
                     geom->collides
                         ? "collision with a height field or a signed distance field is not "
                           "supported"
                         : NULL);
  }
  sap_shape_def* def = &geom->def;
  def->body = at->id;
  if (geom->mesh >= 0) {
    if (!geom->collides) {  // only to be looked at
      return leave_out(r, geom, NULL);
    }
    const sap_status status = sap_mjcf_mesh_id(r, geom->mesh, &def->mesh);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  if (def->type == SAP_SHAPE_PLANE && !at->is_static) {
    return leave_out(r, geom, "a plane on a moving body is not supported");
  }
  int32_t id = -1;
  const sap_status status =
      sap_xml_locate(geom->node, sap_builder_add_shape(r->builder, def, &id, r->error), r->error);
  return status == SAP_STATUS_OK ? remember_geom(r, geom, id) : status;
}

static sap_status add_parts(sap_mjcf_reader* r, const contents* c, const place* at,
                            const sap_body_def* def) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = c->first; i < c->end && status == SAP_STATUS_OK; ++i) {
    const sap_mjcf_item item = r->items[i];
    if (is_joint(item.node)) {
      status = at->id != 0 ? sap_mjcf_add_joint(r, &item, at->id, def)
                           : sap_xml_fail(item.node, NULL, SAP_STATUS_SYNTAX, r->error,
                                          "the world cannot have a joint");
    } else if (sap_xml_is(item.node, "site")) {
      status = sap_mjcf_add_site(r, &item, at->id);
    }
  }
  int32_t geom = 0;
  for (int32_t i = c->first; i < c->end && status == SAP_STATUS_OK; ++i) {
    if (sap_xml_is(r->items[i].node, "geom")) {
      status = remember_obstacle(r, &c->geoms[geom++], r->items[i].scope.space, at->id);
    }
  }
  for (int32_t i = 0; i < c->geom_count && status == SAP_STATUS_OK; ++i) {
    status = add_geom(r, &c->geoms[i], at);
  }
  return status;
}

static sap_status place_body(sap_mjcf_reader* r, const sap_body_def* def, int32_t space,
                             int32_t id) {
  const sap_status status = SAP_GROW(&r->places, &r->place_capacity, id + 1, r->error);
  if (status == SAP_STATUS_OK) {
    sap_mjcf_place* at = &r->places[id];
    at->parent = def->parent;
    at->space = space;
    memcpy(at->pose.p, def->p_PB, sizeof at->pose.p);
    memcpy(at->pose.q, def->q_PB, sizeof at->pose.q);
  }
  return status;
}

static sap_status name_body(sap_mjcf_reader* r, const sap_xml_node* node, const char* name,
                            int32_t id) {
  if (name == NULL) {
    return SAP_STATUS_OK;
  }
  bool added;
  const sap_status status = sap_name_map_add(&r->body_names, name, id, &added, r->error);
  return status == SAP_STATUS_OK && !added ? sap_xml_fail(node, "name", SAP_STATUS_SYNTAX, r->error,
                                                          "there is already a body '%s'", name)
                                           : status;
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
  sap_status status = sap_mjcf_pose(r, item->node, &item->scope, &pose);
  sap_pose_compose(&pose, &item->scope.frame, &pose);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &def->name);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(item->node, "gravcomp", 1, 1, &def->gravity_compensation, r->error);
    if (r->disabled.spring && r->disabled.damper) {
      def->gravity_compensation = 0.0;
    }
  }
  memcpy(def->p_PB, pose.p, sizeof pose.p);
  memcpy(def->q_PB, pose.q, sizeof pose.q);
  def->parent = parent->id;
  at->is_static = parent->is_static && c->joints == 0;
  // The mass of a static body means nothing to the motion: no matter if it would need a mesh.
  if (status == SAP_STATUS_OK && !(at->is_static && needs_mesh(c))) {
    status = sap_mjcf_body_inertia(r, item, c->inertial, c->geoms, c->geom_count, def);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_locate(item->node, sap_builder_add_body(r->builder, def, &at->id, r->error),
                            r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = place_body(r, def, item->scope.space, at->id);
  }
  return status == SAP_STATUS_OK ? name_body(r, item->node, def->name, at->id) : status;
}

static sap_status read_body(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent);

static sap_status read_children(sap_mjcf_reader* r, const contents* c, const place* at) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = c->first; i < c->end && status == SAP_STATUS_OK; ++i) {
    const sap_mjcf_item item = r->items[i];  // the array grows below
    if (sap_xml_is(item.node, "body")) {
      status = read_body(r, &item, at);
    }
  }
  return status;
}

static sap_status read_body(sap_mjcf_reader* r, const sap_mjcf_item* item, const place* parent) {
  sap_mjcf_scope scope = item->scope;
  scope.frame = sap_pose_identity;
  const char* class_name = sap_xml_get(item->node, "childclass");
  if (class_name != NULL) {
    scope.child_class = sap_mjcf_find_class(scope.model, class_name);
    if (scope.child_class < 0) {
      return sap_xml_fail(item->node, "childclass", SAP_STATUS_SYNTAX, r->error,
                          "unknown default class");
    }
  }
  contents c = {.first = r->item_count};
  sap_body_def def = sap_body_def_default();
  place at = {0};
  sap_status status = sap_mjcf_collect(r, item->node, &scope);
  c.end = r->item_count;
  if (status == SAP_STATUS_OK) {
    status = gather(r, &c);
  }
  if (status == SAP_STATUS_OK) {
    status = add_body(r, item, parent, &c, &def, &at);
  }
  if (status == SAP_STATUS_OK) {
    status = add_parts(r, &c, &at, &def);
  }
  sap_free(c.geoms);
  if (status == SAP_STATUS_OK) {
    status = read_children(r, &c, &at);
  }
  r->item_count = c.first;
  return status;
}

sap_status sap_mjcf_read_bodies(sap_mjcf_reader* r) {
  sap_status status = sap_name_map_add(&r->body_names, "world", 0, NULL, r->error);
  const place world = {.id = 0, .is_static = true};
  contents c = {.first = 0};
  for (const sap_xml_node* s = r->main->root->first_child; s && status == SAP_STATUS_OK;
       s = s->next) {
    if (!sap_xml_is(s, "worldbody")) {
      continue;
    }
    sap_mjcf_scope scope = {.model = r->main, .child_class = -1, .frame = sap_pose_identity};
    const char* class_name = sap_xml_get(s, "childclass");
    if (class_name != NULL) {
      scope.child_class = sap_mjcf_find_class(r->main, class_name);
      if (scope.child_class < 0) {
        return sap_xml_fail(s, "childclass", SAP_STATUS_SYNTAX, r->error, "unknown default class");
      }
    }
    status = sap_mjcf_collect(r, s, &scope);
  }
  c.end = r->item_count;
  if (status == SAP_STATUS_OK) {
    status = gather(r, &c);
  }
  const sap_body_def def = sap_body_def_default();
  if (status == SAP_STATUS_OK) {
    status = add_parts(r, &c, &world, &def);
  }
  sap_free(c.geoms);
  return status == SAP_STATUS_OK ? read_children(r, &c, &world) : status;
}
