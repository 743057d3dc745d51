// SPDX-License-Identifier: BSD-3-Clause
// <mesh>: file or vertices in the XML; refpos, refquat and scale as MuJoCo applies them:
// x' = scale R' (x - refpos), R of refquat.
#include "io/mjcf/mjcf_mesh.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf_instance.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

void sap_mjcf_meshes_clear(sap_mjcf_reader* r) {
  for (int32_t i = 0; i < r->mesh_count; ++i) {
    sap_free((double*)r->meshes[i].def.vertices);
    sap_free((int32_t*)r->meshes[i].def.faces);
  }
  sap_free(r->meshes);
  sap_mesh_files_clear(&r->mesh_files);
}

// Length of the file's name without folder and extension.
static size_t stem(const char* file, const char** start) {
  const char* slash = strrchr(file, '/');
  *start = slash != NULL ? slash + 1 : file;
  const char* dot = strrchr(*start, '.');
  return dot != NULL ? (size_t)(dot - *start) : strlen(*start);
}

static bool has_name(const sap_xml_node* asset, const char* name) {
  const char* own = sap_xml_get(asset, "name");
  const char* file = sap_xml_get(asset, "file");
  if (own != NULL) {
    return strcmp(own, name) == 0;
  }
  const char* start;
  const size_t length = file != NULL ? stem(file, &start) : 0;
  return file != NULL && strlen(name) == length && strncmp(start, name, length) == 0;
}

static const sap_xml_node* find_asset(const sap_mjcf_model* model, const char* name) {
  for (const sap_xml_node* s = model->root->first_child; s != NULL; s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "asset") ? s->first_child : NULL;
    for (; n != NULL; n = n->next) {
      if (sap_xml_is(n, "mesh") && has_name(n, name)) {
        return n;
      }
    }
  }
  return NULL;
}

// The model's folder, meshdir (or assetdir), the file; a file with a root stands alone.
static const char* file_path(sap_mjcf_reader* r, const sap_mjcf_model* model, const char* file) {
  const char *folder = NULL, *start = file;
  bool strip = false;
  for (const sap_xml_node* s = model->root->first_child; s != NULL; s = s->next) {
    if (sap_xml_is(s, "compiler")) {
      const char* assets = sap_xml_get(s, "assetdir");
      const char* meshes = sap_xml_get(s, "meshdir");
      const char* word = sap_xml_get(s, "strippath");
      folder = meshes != NULL ? meshes : assets != NULL ? assets : folder;
      strip = word != NULL ? strcmp(word, "true") == 0 : strip;
    }
  }
  if (strip) {
    (void)stem(file, &start);
  }
  if (folder == NULL || folder[0] == '\0' || start[0] == '/') {
    return sap_mjcf_sibling(r->store, model->root->file, start);
  }
  const bool slash = folder[strlen(folder) - 1] == '/';
  const char* inner = sap_xml_join(r->store, folder, slash ? "" : "/", start);
  return inner != NULL ? sap_mjcf_sibling(r->store, model->root->file, inner) : NULL;
}

static sap_status copy_data(sap_mjcf_reader* r, const sap_mesh_data* data, sap_mesh_def* def) {
  double* vertices = sap_allocate(3 * (size_t)data->vertex_count, sizeof *vertices);
  int32_t* faces = sap_allocate(3 * (size_t)data->face_count, sizeof *faces);
  def->vertices = vertices;
  def->faces = faces;
  if (vertices == NULL || faces == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  memcpy(vertices, data->vertices, 3 * (size_t)data->vertex_count * sizeof *vertices);
  if (data->face_count > 0) {
    memcpy(faces, data->faces, 3 * (size_t)data->face_count * sizeof *faces);
  }
  def->vertex_count = data->vertex_count;
  def->face_count = data->face_count;
  return SAP_STATUS_OK;
}

static sap_status from_file(sap_mjcf_reader* r, const sap_mjcf_model* model,
                            const sap_xml_node* asset, sap_mesh_def* def) {
  const char* path = file_path(r, model, sap_xml_get(asset, "file"));
  const sap_mesh_data* data;
  if (path == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  const sap_status status = sap_mesh_files_read(&r->mesh_files, path, &data, r->error);
  return status == SAP_STATUS_OK ? copy_data(r, data, def)
                                 : sap_xml_locate(asset, status, r->error);
}

// As many numbers as there are, a multiple of three.
static sap_status read_list(sap_mjcf_reader* r, const sap_xml_node* node, const char* attribute,
                            double** values, int32_t* count) {
  const int32_t words = sap_xml_word_count(node, attribute);
  *values = sap_allocate((size_t)words, sizeof **values);
  *count = words / 3;
  if (*values == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  if (words % 3 != 0) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, r->error,
                        "has %d numbers, must be a multiple of 3", (int)words);
  }
  return sap_xml_numbers(node, attribute, words, words, *values, NULL, r->error);
}

static sap_status read_faces(sap_mjcf_reader* r, const sap_xml_node* asset, sap_mesh_def* def) {
  double* values = NULL;
  sap_status status = read_list(r, asset, "face", &values, &def->face_count);
  int32_t* faces = sap_allocate(3 * (size_t)def->face_count, sizeof *faces);
  def->faces = faces;
  if (status == SAP_STATUS_OK && faces == NULL) {
    status = sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  for (int32_t i = 0; i < 3 * def->face_count && status == SAP_STATUS_OK; ++i) {
    if (!(values[i] >= 0.0 && values[i] < (double)def->vertex_count) ||
        values[i] != floor(values[i])) {
      status = sap_xml_fail(asset, "face", SAP_STATUS_SYNTAX, r->error,
                            "%g is not the number of a vertex", values[i]);
    } else {
      faces[i] = (int32_t)values[i];
    }
  }
  sap_free(values);
  return status;
}

static sap_status from_attributes(sap_mjcf_reader* r, const sap_xml_node* asset,
                                  sap_mesh_def* def) {
  double* vertices = NULL;
  const sap_status status = read_list(r, asset, "vertex", &vertices, &def->vertex_count);
  def->vertices = vertices;
  return status == SAP_STATUS_OK && sap_xml_get(asset, "face") != NULL ? read_faces(r, asset, def)
                                                                       : status;
}

static sap_status transform(sap_mjcf_reader* r, const sap_mjcf_sources* s, sap_mesh_def* def) {
  double p[3] = {0.0, 0.0, 0.0}, q[4] = {1.0, 0.0, 0.0, 0.0}, scale[3] = {1.0, 1.0, 1.0};
  sap_status status = sap_mjcf_numbers(r, s, "refpos", (const int32_t[]){3, 3}, p, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "refquat", (const int32_t[]){4, 4}, q, NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, s, "scale", (const int32_t[]){3, 3}, scale, NULL);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (!sap_quaternion_normalize(q)) {
    return sap_xml_fail(sap_mjcf_source(s, "refquat"), "refquat", SAP_STATUS_SYNTAX, r->error,
                        "the quaternion is zero");
  }
  const double handed = scale[0] * scale[1] * scale[2];
  if (!(fabs(handed) > 0.0) || !isfinite(handed)) {
    return sap_xml_fail(sap_mjcf_source(s, "scale"), "scale", SAP_STATUS_SYNTAX, r->error,
                        "must not be zero");
  }
  double* vertices = (double*)def->vertices;
  int32_t* faces = (int32_t*)def->faces;
  sap_quaternion_conjugate(q, q);
  for (int32_t i = 0; i < def->vertex_count; ++i) {
    double* x = vertices + 3 * (size_t)i;
    sap_v3_sub(x, x, p);
    sap_quaternion_rotate(x, q, x);
    for (int k = 0; k < 3; ++k) {
      x[k] *= scale[k];
    }
  }
  for (int32_t i = 0; i < def->face_count && handed < 0.0; ++i) {  // a mirror turns faces over
    const int32_t first = faces[3 * (size_t)i];
    faces[3 * (size_t)i] = faces[3 * (size_t)i + 1];
    faces[3 * (size_t)i + 1] = first;
  }
  return SAP_STATUS_OK;
}

static sap_status read_mesh(sap_mjcf_reader* r, sap_mjcf_mesh* mesh) {
  static const sap_mesh_solid solids[] = {SAP_MESH_LEGACY, SAP_MESH_EXACT, SAP_MESH_CONVEX,
                                          SAP_MESH_SHELL};
  const sap_mjcf_scope own = {.model = mesh->model, .child_class = -1};
  const sap_xml_node* asset = mesh->asset;
  sap_mjcf_sources s;
  int32_t solid = 0;
  sap_status status = sap_mjcf_find_sources(r, asset, "mesh", &own, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_choice(r, &s, "inertia", "legacy exact convex shell", &solid);
  }
  mesh->solid = solids[solid];
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (sap_xml_get(asset, "file") != NULL) {
    status = from_file(r, mesh->model, asset, &mesh->def);
  } else if (sap_xml_get(asset, "vertex") != NULL) {
    status = from_attributes(r, asset, &mesh->def);
  } else {
    status = sap_xml_fail(asset, NULL, SAP_STATUS_SYNTAX, r->error, "must have a file or vertices");
  }
  return status == SAP_STATUS_OK ? transform(r, &s, &mesh->def) : status;
}

sap_status sap_mjcf_mesh_find(sap_mjcf_reader* r, const sap_mjcf_scope* scope,
                              const sap_xml_node* node, const char* name, int32_t* index) {
  const sap_xml_node* asset = find_asset(scope->model, name);
  if (asset == NULL) {
    return sap_xml_fail(node, "mesh", SAP_STATUS_SYNTAX, r->error, "no <asset><mesh> of that name");
  }
  for (*index = 0; *index < r->mesh_count; ++*index) {
    if (r->meshes[*index].asset == asset) {
      return SAP_STATUS_OK;
    }
  }
  sap_status status = SAP_GROW(&r->meshes, &r->mesh_capacity, r->mesh_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_mjcf_mesh* mesh = &r->meshes[r->mesh_count++];  // cleared with the reader, whatever comes
  *mesh = (sap_mjcf_mesh){.asset = asset, .id = -1, .def = sap_mesh_def_default()};
  int32_t space = scope->space;
  while (!r->spaces[space].is_model) {
    space = r->spaces[space].parent;
  }
  status = sap_mjcf_full_name(r, space, name, &mesh->def.name);
  mesh->model = scope->model;
  return status;
}

sap_status sap_mjcf_mesh_mass(sap_mjcf_reader* r, int32_t index, sap_mesh_mass* out) {
  sap_mjcf_mesh* mesh = &r->meshes[index];
  const sap_status status = mesh->def.vertices == NULL ? read_mesh(r, mesh) : SAP_STATUS_OK;
  return status == SAP_STATUS_OK
             ? sap_xml_locate(mesh->asset,
                              sap_mesh_def_mass(&mesh->def, mesh->solid, out, r->error), r->error)
             : status;
}

sap_status sap_mjcf_mesh_id(sap_mjcf_reader* r, int32_t index, int32_t* id) {
  sap_mjcf_mesh* mesh = &r->meshes[index];
  sap_status status = mesh->def.vertices == NULL ? read_mesh(r, mesh) : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK && mesh->id < 0) {
    status = sap_xml_locate(
        mesh->asset, sap_builder_add_mesh(r->builder, &mesh->def, &mesh->id, r->error), r->error);
  }
  *id = mesh->id;
  return status;
}
