// SPDX-License-Identifier: BSD-3-Clause
// URDF: links become bodies, depth first in the order of the joints in the file. The root link is
// welded to the world, or moves freely (options); a root link called "world" is the world.
#include "io/urdf/urdf.h"

#include <math.h>
#include <string.h>

#include "io/xml/schema.h"
#include "math/vector3.h"
#include "multibody/model/builder.h"

// Armature of joints that move no inertia, if lenient: tips of arms and fingers often come without
// inertia [kg m^2, kg].
static const double spare_armature = 1e-4;

// --- values of elements -------------------------------------------------------------------------

sap_status sap_urdf_pose(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  double rpy[3] = {0.0, 0.0, 0.0};
  SAP_TRY(sap_xml_optional(node, "xyz", 3, 3, pose->p, r->error));
  SAP_TRY(sap_xml_optional(node, "rpy", 3, 3, rpy, r->error));
  sap_quaternion_from_euler(pose->q, "XYZ", rpy);  // roll, pitch, yaw about the fixed axes
  return SAP_STATUS_OK;
}

sap_status sap_urdf_origin(sap_urdf_reader* r, const sap_xml_node* node, sap_pose* pose) {
  *pose = sap_pose_identity;
  const sap_xml_node* origin;
  SAP_TRY(sap_xml_only_child(node, "origin", &origin, r->error));
  return origin != NULL ? sap_urdf_pose(r, origin, pose) : SAP_STATUS_OK;
}

sap_status sap_urdf_axis(sap_urdf_reader* r, const sap_xml_node* node, double axis[3]) {
  const sap_xml_node* child;
  sap_v3_set(axis, 1.0, 0.0, 0.0);
  SAP_TRY(sap_xml_only_child(node, "axis", &child, r->error));
  if (child == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_numbers(child, "xyz", 3, 3, axis, NULL, r->error));
  return sap_v3_norm(axis) > 1e-15 ? SAP_STATUS_OK
                                   : sap_xml_syntax(child, "xyz", r->error, "the axis is zero");
}

sap_status sap_urdf_find(sap_urdf_reader* r, const sap_name_map* names, const sap_xml_node* node,
                         const char* attribute, const char* kind, int32_t* id) {
  const char* name = sap_xml_get(node, attribute);
  *id = name != NULL ? sap_name_map_find(names, name) : -1;
  if (*id >= 0) {
    return SAP_STATUS_OK;
  }
  return name != NULL ? sap_xml_syntax(node, attribute, r->error, "unknown %s", kind)
                      : sap_xml_syntax(node, NULL, r->error, "names no %s", kind);
}

sap_status sap_urdf_add_name(sap_urdf_reader* r, sap_name_map* names, const sap_xml_node* node,
                             int32_t id, const char** name) {
  bool added = false;
  *name = sap_xml_get(node, "name");
  SAP_RETURN_IF(*name == NULL || (*name)[0] == '\0',
                sap_xml_syntax(node, NULL, r->error, "has no name"));
  SAP_TRY(sap_name_map_add(names, *name, id, &added, r->error));
  return added ? SAP_STATUS_OK
               : sap_xml_syntax(node, "name", r->error, "a second <%s> of that name", node->name);
}

// --- the tree of links and joints ---------------------------------------------------------------

static sap_status add_link(sap_urdf_reader* r, const sap_xml_node* node, const char* name) {
  SAP_TRY(SAP_ROOM(&r->pool, &r->links, r->link_count + 1, r->error));
  r->links[r->link_count++] =
      (sap_urdf_link){.node = node, .name = name, .joint = -1, .children = -1, .body = -1};
  return SAP_STATUS_OK;
}

// Adds a link "world" unless a <link> has that name: a joint may name the world as its parent
// without one. node: an element without children, which takes the place of the <link>.
static sap_status need_world(sap_urdf_reader* r, const sap_xml_node* node) {
  if (sap_name_map_find(&r->link_names, "world") >= 0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_name_map_add(&r->link_names, "world", r->link_count, NULL, r->error));
  return add_link(r, node, "world");
}

static sap_status read_end(sap_urdf_reader* r, const sap_xml_node* joint, const char* which,
                           int32_t* link) {
  const sap_xml_node* node;
  SAP_TRY(sap_xml_only_child(joint, which, &node, r->error));
  SAP_RETURN_IF(node == NULL || sap_xml_get(node, "link") == NULL,
                sap_xml_syntax(joint, NULL, r->error, "has no <%s link=...>", which));
  if (strcmp(which, "parent") == 0 && strcmp(sap_xml_get(node, "link"), "world") == 0) {
    SAP_TRY(need_world(r, node));
  }
  return sap_urdf_find(r, &r->link_names, node, "link", "link", link);
}

static sap_status read_joint(sap_urdf_reader* r, const sap_xml_node* node) {
  sap_urdf_joint joint = {.node = node, .next = -1, .id = -1};
  SAP_TRY(sap_urdf_add_name(r, &r->joint_names, node, r->joint_count, &joint.name));
  SAP_TRY(read_end(r, node, "parent", &joint.parent));
  SAP_TRY(read_end(r, node, "child", &joint.child));
  SAP_TRY(sap_urdf_read_type(r, &joint));
  sap_urdf_link* child = &r->links[joint.child];
  SAP_RETURN_IF(child->joint >= 0,
                sap_xml_syntax(node, "name", r->error,
                               "link '%.60s' is already the child of joint '%.60s': close loops by "
                               "<loop_joint> or <drake:ball_constraint>",
                               child->name, r->joints[child->joint].name));
  SAP_TRY(SAP_ROOM(&r->pool, &r->joints, r->joint_count + 1, r->error));
  child->joint = r->joint_count;
  r->joints[r->joint_count++] = joint;
  return SAP_STATUS_OK;
}

// Finds the only link that no joint moves.
static sap_status find_root(sap_urdf_reader* r, const sap_xml_node* robot, int32_t* root) {
  *root = -1;
  for (int32_t i = 0; i < r->link_count; ++i) {
    if (r->links[i].joint >= 0) {
      continue;
    }
    SAP_RETURN_IF(*root >= 0, sap_xml_syntax(r->links[i].node, "name", r->error,
                                             "a second root: no joint moves it, nor link '%.60s'",
                                             r->links[*root].name));
    *root = i;
  }
  if (*root >= 0) {
    return SAP_STATUS_OK;
  }
  return sap_xml_syntax(
      robot, NULL, r->error,
      r->link_count == 0 ? "has no links" : "has no root link: the joints form a cycle");
}

// With one root, a link that does not lead to the root lies on or behind a cycle.
static sap_status check_cycles(sap_urdf_reader* r, int32_t root) {
  for (int32_t i = 0; i < r->link_count; ++i) {
    int32_t link = i;
    for (int32_t steps = 0; link != root; ++steps) {
      SAP_RETURN_IF(steps > r->link_count,
                    sap_xml_syntax(r->links[i].node, "name", r->error,
                                   "the joints above this link form a cycle"));
      link = r->joints[r->links[link].joint].parent;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_tree(sap_urdf_reader* r, const sap_xml_node* robot, int32_t* root) {
  SAP_XML_EACH(n, robot, "link") {
    const char* name;
    SAP_TRY(sap_urdf_add_name(r, &r->link_names, n, r->link_count, &name));
    SAP_TRY(add_link(r, n, name));
  }
  for (const sap_xml_node* n = robot->first_child; n != NULL; n = n->next) {
    const bool is_joint = sap_xml_is(n, "joint") || sap_xml_is(n, "drake:joint");
    SAP_TRY(is_joint ? read_joint(r, n) : SAP_STATUS_OK);
  }
  SAP_TRY(find_root(r, robot, root));
  SAP_TRY(check_cycles(r, *root));
  for (int32_t i = r->joint_count - 1; i >= 0; --i) {
    sap_urdf_joint* joint = &r->joints[i];
    joint->next = r->links[joint->parent].children;
    r->links[joint->parent].children = i;
  }
  return SAP_STATUS_OK;
}

// --- bodies -------------------------------------------------------------------------------------

static sap_status add_body(sap_urdf_reader* r, sap_urdf_link* link, sap_body_def* def) {
  def->name = link->name;
  SAP_TRY(sap_urdf_inertial(r, link, def));
  return SAP_XML_ADD(r, link->node, sap_builder_add_body, def, &link->body);
}

static sap_status add_root(sap_urdf_reader* r, sap_urdf_link* link) {
  link->is_static = true;
  if (strcmp(link->name, "world") == 0) {
    link->body = 0;
    return sap_urdf_shapes(r, link);
  }
  sap_body_def def = sap_body_def_default();
  SAP_TRY(add_body(r, link, &def));
  if (r->options->floating_base) {
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_FREE;
    joint.body = link->body;
    link->is_static = false;
    r->root = link->node;
    SAP_TRY(SAP_XML_ADD(r, link->node, sap_builder_add_joint, &joint, &r->root_joint));
  }
  return sap_urdf_shapes(r, link);
}

// Excludes contact between links that a joint connects, because their hulls overlap. Collision
// detection does this for moving parents, not for parents welded to the world.
static sap_status exclude_adjacent(sap_urdf_reader* r, const sap_urdf_joint* joint) {
  const int32_t child = r->links[joint->child].body;
  const sap_urdf_link* link = &r->links[joint->parent];
  while (link != NULL && link->is_static && link->body > 0) {
    SAP_TRY(sap_builder_exclude(r->builder, link->body, child, r->error));
    link = link->joint >= 0 ? &r->links[r->joints[link->joint].parent] : NULL;
  }
  return SAP_STATUS_OK;
}

static sap_status add_child(sap_urdf_reader* r, sap_urdf_joint* joint) {
  const sap_urdf_link* parent = &r->links[joint->parent];
  sap_urdf_link* link = &r->links[joint->child];
  sap_pose pose;
  sap_body_def def = sap_body_def_default();
  SAP_TRY(sap_urdf_origin(r, joint->node, &pose));
  SAP_TRY(sap_urdf_move_to_start(r, joint, &pose));
  def.parent = parent->body;
  sap_pose_get(&pose, def.p_PB, def.q_PB);
  link->is_static = parent->is_static && joint->is_fixed;
  SAP_TRY(add_body(r, link, &def));
  if (!joint->is_fixed) {
    SAP_TRY(sap_urdf_add_joint(r, joint, link->body));
    SAP_TRY(exclude_adjacent(r, joint));
  }
  return sap_urdf_shapes(r, link);
}

// Depth first without recursion: a chain may have any number of links.
static sap_status add_links(sap_urdf_reader* r, int32_t root) {
  SAP_TRY(add_root(r, &r->links[root]));
  int32_t j = r->links[root].children;
  while (j >= 0) {
    SAP_TRY(add_child(r, &r->joints[j]));
    int32_t next = r->links[r->joints[j].child].children;
    while (next < 0 && j >= 0) {
      next = r->joints[j].next;
      j = r->links[r->joints[j].parent].joint;
    }
    j = next;
  }
  return SAP_STATUS_OK;
}

// Adds the floor of the options.
static sap_status add_floor(sap_urdf_reader* r) {
  if (isnan(r->options->floor)) {
    return SAP_STATUS_OK;
  }
  sap_shape_def def = sap_shape_def_default();
  def.name = "floor";
  def.type = SAP_SHAPE_PLANE;
  def.p_BS[2] = r->options->floor;
  def.material = r->options->default_material;
  sap_scene_override(r->options, &def.material);
  return sap_builder_add_shape(r->builder, &def, NULL, r->error);
}

// --- model --------------------------------------------------------------------------------------

static sap_status build_model(sap_urdf_reader* r, sap_xml_node* root) {
  sap_model_options options = sap_model_options_default();
  options.name = sap_xml_get(root, "name");
  int32_t root_link = -1;
  SAP_TRY(sap_scene_apply_edits(r->store, root, r->options, r->error));
  SAP_TRY(sap_schema_check(sap_schema_urdf_robot, root, r->options, r->error));
  SAP_TRY(sap_builder_create(&options, &r->builder, r->error));
  SAP_TRY(read_tree(r, root, &root_link));
  sap_urdf_find_transmissions(r, root);
  SAP_TRY(sap_urdf_find_starts(r));
  SAP_TRY(add_links(r, root_link));
  SAP_TRY(add_floor(r));
  SAP_TRY(sap_urdf_add_mimics(r));
  SAP_TRY(sap_urdf_add_actuators(r));
  return sap_urdf_add_constraints(r, root);
}

static void warn_of_spare_armature(const sap_urdf_reader* r, const sap_model* model, int32_t joint,
                                   const sap_xml_node* node) {
  sap_joint_def now = {0};
  if (node != NULL && joint >= 0 &&
      sap_model_get_joint(model, joint, &now, NULL) == SAP_STATUS_OK &&
      now.armature > r->builder->joints[joint].armature) {
    sap_scene_warn(r->options, node, "name",
                   "moves no inertia in its direction: an armature of 1e-4 is used");
  }
}

static sap_status compile_model(sap_urdf_reader* r, const char* path, sap_model** out) {
  r->builder->spare_armature = r->options->lenient ? spare_armature : 0.0;
  SAP_TRY_OR(sap_builder_compile(r->builder, out, r->error),
             sap_error_prefix(r->error, "%.200s", path));
  warn_of_spare_armature(r, *out, r->root_joint, r->root);
  for (int32_t j = 0; j < r->joint_count; ++j) {
    warn_of_spare_armature(r, *out, r->joints[j].id, r->joints[j].node);
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error) {
  sap_urdf_reader r = {.options = options, .error = error, .store = store};
  sap_status status = build_model(&r, root);
  SAP_THEN(status, compile_model(&r, path, out));
  sap_builder_destroy(r.builder);
  sap_pool_free(&r.pool);
  sap_name_map_clear(&r.link_names);
  sap_name_map_clear(&r.joint_names);
  sap_name_map_clear(&r.frame_names);
  sap_name_map_clear(&r.group_names);
  return status;
}
