// SPDX-License-Identifier: BSD-3-Clause
// MJCF: from the tree of a file to a model.
#include "io/mjcf/mjcf.h"

#include "core/memory.h"
#include "io/mjcf/mjcf_mesh.h"
#include "multibody/model/builder.h"

static void clear_reader(sap_mjcf_reader* r) {
  sap_builder_destroy(r->builder);
  sap_mjcf_free_model(r->main);
  sap_free(r->items);
  sap_free(r->spaces);
  sap_free(r->joints);
  sap_free(r->controls);
  sap_free(r->q_default);
  sap_mjcf_meshes_clear(r);
  sap_free(r->places);
  sap_free(r->sites);
  sap_free(r->tendons);
  sap_free(r->obstacles);
  sap_name_map_clear(&r->obstacle_names);
  sap_name_map_clear(&r->site_names);
  sap_name_map_clear(&r->geom_names);
  sap_name_map_clear(&r->tendon_names);
  sap_name_map_clear(&r->body_names);
  sap_name_map_clear(&r->joint_names);
  sap_name_map_clear(&r->used_settings);
}

static sap_status build(sap_mjcf_reader* r) {
  sap_model_options options;
  sap_status status = sap_mjcf_model_options(r, &options);
  if (status == SAP_STATUS_OK) {
    status = sap_builder_create(&options, &r->builder, r->error);
  }
  const sap_mjcf_space world = {
      .model = r->main, .parent = -1, .prefix = "", .suffix = "", .is_model = true};
  int32_t index;
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_space(r, &world, &index);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_bodies(r);
  }
  if (status == SAP_STATUS_OK && r->main->compiler.total_mass > 0.0) {
    status = sap_builder_scale_masses(r->builder, r->main->compiler.total_mass, r->error);
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(r->error, "%.200s", r->path);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_check_settings(r);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_references(r);
  }
  return status == SAP_STATUS_OK ? sap_mjcf_read_keyframes(r) : status;
}

sap_status sap_mjcf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error) {
  sap_mjcf_reader r = {.options = options,
                       .error = error,
                       .path = path,
                       .store = store,
                       .mesh_files.options = options};
  sap_status status = sap_mjcf_load_model(&r, path, root, NULL, &r.main);
  if (status == SAP_STATUS_OK) {
    status = build(&r);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_compile(r.builder, out, error);
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "%.200s", path);
    }
  }
  clear_reader(&r);
  return status;
}
