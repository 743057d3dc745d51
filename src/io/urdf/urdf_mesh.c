// SPDX-License-Identifier: BSD-3-Clause
// <mesh>: where the file is, and its hull with a scale, once for all links that use it.
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/urdf/urdf.h"
#include "io/xml/number.h"

enum { MOST_LEVELS = 64 };  // folders that are looked into, that of the URDF the first

void sap_urdf_meshes_clear(sap_urdf_reader* r) {
  sap_free(r->meshes);
  sap_mesh_files_clear(&r->mesh_files);
}

static bool is_readable(const char* path) {
  return sap_file_readable(path, NULL) == SAP_STATUS_OK;
}

static bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), n = strlen(end);
  return length >= n && strcmp(text + length - n, end) == 0;
}

// One folder up: a name less, or one more "../" where there is none; NULL for lack of memory.
static const char* above(sap_urdf_reader* r, const char* folder) {
  size_t end = strlen(folder);
  if (end == 0 || strcmp(folder, "./") == 0 || strcmp(folder, "../") == 0 ||
      ends_with(folder, "/./") || ends_with(folder, "/../")) {
    return sap_xml_join(r->store, folder, "../", NULL);
  }
  char* out = sap_xml_allocate(r->store, end + 1);
  for (--end; end > 0 && folder[end - 1] != '/'; --end) {
  }
  if (out != NULL) {
    memcpy(out, folder, end);
  }
  return out;
}

// package://NAME/REST: going up from the folder of the URDF, the first that holds NAME/REST, or
// REST (it is then the package itself, whatever it is called).
static sap_status find_in_package(sap_urdf_reader* r, const sap_xml_node* node, const char* rest,
                                  const char** path) {
  const char* folder = sap_xml_folder(r->store, node->file);
  const char* inner = strchr(rest, '/');
  for (int level = 0; level < MOST_LEVELS && folder != NULL; ++level) {
    const char* named = sap_xml_join(r->store, folder, rest, NULL);
    const char* own = sap_xml_join(r->store, folder, inner != NULL ? inner + 1 : rest, NULL);
    if (named == NULL || own == NULL) {
      break;
    }
    if (is_readable(named) || is_readable(own)) {
      *path = is_readable(named) ? named : own;
      return SAP_STATUS_OK;
    }
    if (strcmp(folder, "/") == 0 || level + 1 == MOST_LEVELS) {
      return sap_xml_fail(node, "filename", SAP_STATUS_IO, r->error,
                          "no folder from that of the URDF upwards holds this file");
    }
    folder = above(r, folder);
  }
  return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
}

static sap_status find_file(sap_urdf_reader* r, const sap_xml_node* node, const char** path) {
  static const char package[] = "package://", model[] = "model://", local[] = "file://";
  const char* name = sap_xml_get(node, "filename");
  if (name == NULL) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'filename' is missing");
  }
  if (strncmp(name, package, sizeof package - 1) == 0) {
    return find_in_package(r, node, name + sizeof package - 1, path);
  }
  if (strncmp(name, model, sizeof model - 1) == 0) {
    return find_in_package(r, node, name + sizeof model - 1, path);
  }
  const char* file = strncmp(name, local, sizeof local - 1) == 0 ? name + sizeof local - 1 : name;
  const char* folder = file[0] == '/' ? "" : sap_xml_folder(r->store, node->file);
  *path = folder != NULL ? sap_xml_join(r->store, folder, file, NULL) : NULL;
  return *path != NULL ? SAP_STATUS_OK : sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
}

static sap_status add_mesh(sap_urdf_reader* r, const sap_mesh_data* data, const double scale[3],
                           int32_t* id) {
  double* vertices = sap_allocate(3 * (size_t)data->vertex_count, sizeof *vertices);
  if (vertices == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  for (int32_t i = 0; i < 3 * data->vertex_count; ++i) {
    vertices[i] = scale[i % 3] * data->vertices[i];
  }
  sap_mesh_def def = sap_mesh_def_default();
  def.vertex_count = data->vertex_count;
  def.vertices = vertices;
  const sap_status status = sap_builder_add_mesh(r->builder, &def, id, r->error);
  sap_free(vertices);
  return status;
}

sap_status sap_urdf_mesh(sap_urdf_reader* r, const sap_xml_node* node, int32_t* id) {
  sap_urdf_mesh_use use = {.scale = {1.0, 1.0, 1.0}};
  sap_status status = find_file(r, node, &use.path);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "scale", 3, 3, use.scale, r->error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (use.scale[0] == 0.0 || use.scale[1] == 0.0 || use.scale[2] == 0.0) {
    return sap_xml_fail(node, "scale", SAP_STATUS_SYNTAX, r->error, "must not be zero");
  }
  for (int32_t i = 0; i < r->mesh_count; ++i) {
    const sap_urdf_mesh_use* other = &r->meshes[i];
    if (strcmp(other->path, use.path) == 0 && other->scale[0] == use.scale[0] &&
        other->scale[1] == use.scale[1] && other->scale[2] == use.scale[2]) {
      *id = other->id;
      return SAP_STATUS_OK;
    }
  }
  const sap_mesh_data* data;
  status = SAP_GROW(&r->meshes, &r->mesh_capacity, r->mesh_count + 1, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_mesh_files_read(&r->mesh_files, use.path, &data, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = add_mesh(r, data, use.scale, &use.id);
  }
  if (status != SAP_STATUS_OK) {
    return sap_xml_locate(node, status, r->error);
  }
  r->meshes[r->mesh_count++] = use;
  *id = use.id;
  return SAP_STATUS_OK;
}
