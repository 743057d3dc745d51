// SPDX-License-Identifier: BSD-3-Clause
// URDF: links become bodies, depth first in the order of the joints in the file. The root link is
// welded to the world, or moves freely (options); a root link called "world" is the world.
#include "io/urdf/urdf.h"

#include "io/xml/edit.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/xml/schema.h"
#include "multibody/model/builder.h"

static sap_status add_body(sap_urdf_reader* r, sap_urdf_link* link, sap_body_def* def) {
  def->name = link->name;
  sap_status status = sap_urdf_inertial(r, link, def);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_locate(link->node,
                            sap_builder_add_body(r->builder, def, &link->body, r->error), r->error);
  }
  return status;
}

static sap_status add_root(sap_urdf_reader* r, sap_urdf_link* link) {
  if (strcmp(link->name, "world") == 0) {
    link->body = 0;
    link->is_static = true;
    return sap_urdf_shapes(r, link);
  }
  sap_body_def def = sap_body_def_default();
  link->is_static = !r->options->floating_base;
  sap_status status = add_body(r, link, &def);
  if (status == SAP_STATUS_OK && r->options->floating_base) {
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_FREE;
    joint.body = link->body;
    r->root = link->node;
    status = sap_xml_locate(
        link->node, sap_builder_add_joint(r->builder, &joint, &r->root_joint, r->error), r->error);
  }
  return status == SAP_STATUS_OK ? sap_urdf_shapes(r, link) : status;
}

// Hulls of links that a joint connects overlap: no contact between them. Collision detection knows
// that of moving parents; those welded to the world are told here.
static sap_status exclude_adjacent(sap_urdf_reader* r, const sap_urdf_joint* joint) {
  sap_status status = SAP_STATUS_OK;
  const int32_t child = r->links[joint->child].body;
  const sap_urdf_link* link = &r->links[joint->parent];
  while (link != NULL && link->is_static && link->body > 0 && status == SAP_STATUS_OK) {
    status = sap_builder_exclude(r->builder, link->body, child, r->error);
    link = link->joint >= 0 ? &r->links[r->joints[link->joint].parent] : NULL;
  }
  return status;
}

static sap_status add_child(sap_urdf_reader* r, sap_urdf_joint* joint) {
  const sap_urdf_link* parent = &r->links[joint->parent];
  sap_urdf_link* link = &r->links[joint->child];
  sap_pose pose;
  bool fixed = false;
  sap_body_def def = sap_body_def_default();
  sap_status status = sap_urdf_origin(r, joint->node, &pose);
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_is_fixed(r, joint, &fixed);
  }
  def.parent = parent->body;
  memcpy(def.p_PB, pose.p, sizeof pose.p);
  memcpy(def.q_PB, pose.q, sizeof pose.q);
  link->is_static = parent->is_static && fixed;
  if (status == SAP_STATUS_OK) {
    status = add_body(r, link, &def);
  }
  if (status == SAP_STATUS_OK && !fixed) {
    status = sap_urdf_add_joint(r, joint, link->body);
    if (status == SAP_STATUS_OK) {
      status = exclude_adjacent(r, joint);
    }
  }
  return status == SAP_STATUS_OK ? sap_urdf_shapes(r, link) : status;
}

// Depth first without recursion: a chain may have any number of links.
static sap_status add_links(sap_urdf_reader* r, int32_t root) {
  sap_status status = add_root(r, &r->links[root]);
  int32_t j = r->links[root].children;
  while (j >= 0 && status == SAP_STATUS_OK) {
    status = add_child(r, &r->joints[j]);
    int32_t next = r->links[r->joints[j].child].children;
    while (next < 0 && j >= 0) {
      next = r->joints[j].next;
      j = r->links[r->joints[j].parent].joint;
    }
    j = next;
  }
  return status;
}

// What URDF has no word for.
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

// What stands between links and joints that are there.
static sap_status add_rest(sap_urdf_reader* r, const sap_xml_node* robot) {
  sap_status status = sap_urdf_add_mimics(r);
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_add_actuators(r);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_read_frames(r, robot);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_add_loops(r, robot);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_add_forces(r, robot);
  }
  return status == SAP_STATUS_OK ? sap_urdf_add_filters(r, robot) : status;
}

static sap_status build(sap_urdf_reader* r, sap_xml_node* root) {
  sap_model_options options = sap_model_options_default();
  options.name = sap_xml_get(root, "name");
  int32_t root_link = -1;
  sap_status status = sap_scene_apply_edits(r->store, root, r->options, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_schema_check(&sap_urdf_schema, root, r->options, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_create(&options, &r->builder, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_read_tree(r, root, &root_link);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_urdf_find_transmissions(r, root);
  }
  if (status == SAP_STATUS_OK) {
    status = add_links(r, root_link);
  }
  if (status == SAP_STATUS_OK) {
    status = add_floor(r);
  }
  return status == SAP_STATUS_OK ? add_rest(r, root) : status;
}

// Tips of arms and fingers often come without inertia [kg m^2, kg].
static const double spare_armature = 1e-4;

static void tell_spared(const sap_urdf_reader* r, const sap_model* model, int32_t joint,
                        const sap_xml_node* node) {
  sap_joint_def now = {0};
  if (node != NULL && joint >= 0 &&
      sap_model_get_joint(model, joint, &now, NULL) == SAP_STATUS_OK &&
      now.armature > r->builder->joints[joint].armature) {
    sap_scene_warn(r->options, node, "name",
                   "moves nothing that has inertia in its direction: an armature of 1e-4 stands in "
                   "for it");
  }
}

static void tell_all_spared(const sap_urdf_reader* r, const sap_model* model) {
  tell_spared(r, model, r->root_joint, r->root);
  for (int32_t j = 0; j < r->joint_count; ++j) {
    tell_spared(r, model, r->joints[j].id, r->joints[j].node);
  }
}

sap_status sap_urdf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error) {
  sap_urdf_reader r = {
      .options = options, .error = error, .store = store, .mesh_files.options = options};
  sap_status status = build(&r, root);
  if (status == SAP_STATUS_OK) {
    sap_builder_spare_armature(r.builder, options->lenient ? spare_armature : 0.0);
    status = sap_builder_compile(r.builder, out, error);
    if (status == SAP_STATUS_OK) {
      tell_all_spared(&r, *out);
    }
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "%.200s", path);
    }
  }
  sap_builder_destroy(r.builder);
  sap_urdf_meshes_clear(&r);
  sap_free(r.links);
  sap_free(r.joints);
  sap_name_map_clear(&r.link_names);
  sap_free(r.frames);
  sap_name_map_clear(&r.joint_names);
  sap_name_map_clear(&r.frame_names);
  return status;
}
