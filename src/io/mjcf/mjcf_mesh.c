// SPDX-License-Identifier: BSD-3-Clause
// <mesh>: a file, or vertices in the XML. refpos, refquat (rotation R) and scale are MuJoCo's:
//   x' = scale R' (x - refpos)
//
// Primitives with a mesh are fitted to it, as MuJoCo does. Their frame is that of the mesh's
// principal axes, the largest moment about x, at its centre of mass. b are the half sides of the
// box that has the mesh's mass and moments:
//   b_x^2 = 3/2 (I_y + I_z - I_x)/m
// With fitaabb, b is half of the mesh's extent along these axes, and the centre is its middle.
//                                                    with fitaabb
//   box, ellipsoid   b                               b
//   sphere           mean of b                       max b
//   cylinder         r = (b_x + b_y)/2, h = b_z      r = max(b_x, b_y), h = b_z
//   capsule          the same r,  h = b_z - r/2      the same r,  h = b_z - r
#include <math.h>
#include <string.h>

#include "io/mesh/mesh_file.h"
#include "io/mjcf/mjcf_body.h"
#include "io/xml/schema.h"
#include "linalg/dense.h"
#include "math/quaternion.h"
#include "multibody/model/builder.h"

typedef struct sap_mjcf_mesh {
  const sap_xml_node* asset;
  const sap_mjcf_model* model;
  sap_mesh_def def;  // empty until it is read; the name is full
  sap_mesh_solid solid;
  bool unsupported;  // the file's format; a warning was given
  int32_t id;        // the builder's, -1: none yet
  int32_t visual;    // the builder's visual mesh, -1: none yet
} sap_mjcf_mesh;

// --- names and paths ----------------------------------------------------------------------------

// Returns the length of the file's name without folder and extension.
static size_t find_stem(const char* file, const char** start) {
  const char* slash = strrchr(file, '/');
  *start = slash != NULL ? slash + 1 : file;
  const char* dot = strrchr(*start, '.');
  return dot != NULL ? (size_t)(dot - *start) : strlen(*start);
}

// A mesh without a name is called by its file.
static bool has_name(const sap_xml_node* asset, const char* name) {
  const char* own = sap_xml_get(asset, "name");
  const char* file = sap_xml_get(asset, "file");
  if (own != NULL || file == NULL) {
    return own != NULL && strcmp(own, name) == 0;
  }
  const char* start;
  const size_t length = find_stem(file, &start);
  return strlen(name) == length && strncmp(start, name, length) == 0;
}

static const sap_xml_node* find_asset(const sap_mjcf_model* model, const char* name) {
  const sap_xml_node* n = sap_xml_next(model->root, "asset", NULL);
  while (n != NULL && !(sap_xml_is(n, "mesh") && has_name(n, name))) {
    n = sap_xml_next(model->root, "asset", n);
  }
  return n;
}

// The model's folder, meshdir (or assetdir), the file; an absolute path is used alone.
static sap_status find_path(sap_mjcf_reader* r, const sap_mjcf_model* model, const char* file,
                            const char** path) {
  const char *folder = NULL, *start = file;
  bool strip = false;
  SAP_XML_EACH(s, model->root, "compiler") {
    const char* assets = sap_xml_get(s, "assetdir");
    const char* meshes = sap_xml_get(s, "meshdir");
    const char* word = sap_xml_get(s, "strippath");
    folder = meshes != NULL ? meshes : assets != NULL ? assets : folder;
    strip = word != NULL ? strcmp(word, "true") == 0 : strip;
  }
  if (strip) {
    (void)find_stem(file, &start);
  }
  if (folder != NULL && folder[0] != '\0' && start[0] != '/') {
    const bool slash = folder[strlen(folder) - 1] == '/';
    SAP_TRY(sap_xml_join(r->store, folder, slash ? "" : "/", start, &start, r->error));
  }
  return sap_xml_sibling(r->store, model->root->file, start, path, r->error);
}

// --- reading ------------------------------------------------------------------------------------

static sap_status read_file(sap_mjcf_reader* r, sap_mjcf_mesh* mesh) {
  const char *file = sap_xml_get(mesh->asset, "file"), *path;
  const char* why = sap_mesh_unsupported(file);
  sap_mesh_data data;
  if (why != NULL) {
    if (!mesh->unsupported) {
      SAP_TRY(sap_scene_unsupported(r->options, mesh->asset, "file", why, r->error));
    }
    mesh->unsupported = true;
    return SAP_STATUS_UNSUPPORTED;
  }
  SAP_TRY(find_path(r, mesh->model, file, &path));
  SAP_TRY(sap_xml_locate(mesh->asset, sap_mesh_read(r->store, path, &data, r->error), r->error));
  mesh->def.vertex_count = data.vertex_count;
  mesh->def.face_count = data.face_count;
  mesh->def.vertices = data.vertices;
  mesh->def.faces = data.faces;
  return SAP_STATUS_OK;
}

// Reads all numbers of an attribute; their count must be a multiple of three.
static sap_status read_triples(sap_mjcf_reader* r, const sap_xml_node* node, const char* attribute,
                               double** values, int32_t* count) {
  const int32_t words = sap_xml_word_count(node, attribute);
  *count = words / 3;
  SAP_TRY(SAP_POOL_ADD(&r->pool, values, words, r->error));
  SAP_RETURN_IF(words % 3 != 0,
                sap_xml_syntax(node, attribute, r->error, "has %d numbers, must be a multiple of 3",
                               (int)words));
  return sap_xml_numbers(node, attribute, words, words, *values, NULL, r->error);
}

static sap_status convert_faces(sap_mjcf_reader* r, const sap_xml_node* asset, const double* values,
                                sap_mesh_def* def) {
  int32_t* faces;
  SAP_TRY(SAP_POOL_ADD(&r->pool, &faces, 3 * (size_t)def->face_count, r->error));
  def->faces = faces;
  for (int32_t i = 0; i < 3 * def->face_count; ++i) {
    if (!(values[i] >= 0.0 && values[i] < (double)def->vertex_count) ||
        values[i] != floor(values[i])) {
      return sap_xml_syntax(asset, "face", r->error, "%g is not the number of a vertex", values[i]);
    }
    faces[i] = (int32_t)values[i];
  }
  return SAP_STATUS_OK;
}

static sap_status read_attributes(sap_mjcf_reader* r, const sap_xml_node* asset,
                                  sap_mesh_def* def) {
  double *vertices, *values;
  SAP_TRY(read_triples(r, asset, "vertex", &vertices, &def->vertex_count));
  def->vertices = vertices;
  if (sap_xml_get(asset, "face") == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(read_triples(r, asset, "face", &values, &def->face_count));
  return convert_faces(r, asset, values, def);
}

static sap_status transform_mesh(const sap_mjcf_sources* s, sap_mesh_def* def) {
  double p[3] = {0.0, 0.0, 0.0}, q[4] = {1.0, 0.0, 0.0, 0.0}, scale[3] = {1.0, 1.0, 1.0};
  SAP_TRY(sap_mjcf_numbers(s, "refpos", 3, 3, p, NULL));
  SAP_TRY(sap_mjcf_numbers(s, "refquat", 4, 4, q, NULL));
  SAP_TRY(sap_mjcf_numbers(s, "scale", 3, 3, scale, NULL));
  SAP_RETURN_IF(!sap_quaternion_normalize(q),
                sap_mjcf_refuse(s, "refquat", "the quaternion is zero"));
  const double handed = scale[0] * scale[1] * scale[2];
  SAP_RETURN_IF(!(fabs(handed) > 0.0) || !isfinite(handed),
                sap_mjcf_refuse(s, "scale", "must not be zero"));
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

// Reads the mesh; once.
static sap_status read_mesh(sap_mjcf_reader* r, sap_mjcf_mesh* mesh) {
  static const sap_mesh_solid solids[] = {SAP_MESH_LEGACY, SAP_MESH_EXACT, SAP_MESH_CONVEX,
                                          SAP_MESH_SHELL};
  const sap_mjcf_scope scope = {.model = mesh->model, .child_class = -1};
  const sap_xml_node* asset = mesh->asset;
  sap_mjcf_sources s;
  int32_t solid = 0;
  if (mesh->def.vertices != NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_mjcf_find_sources(r, asset, "mesh", &scope, &s));
  SAP_TRY(sap_mjcf_choice(&s, "inertia", "legacy exact convex shell", &solid));
  mesh->solid = solids[solid];
  if (sap_xml_get(asset, "file") != NULL) {
    SAP_TRY(read_file(r, mesh));
  } else if (sap_xml_get(asset, "vertex") != NULL) {
    SAP_TRY(read_attributes(r, asset, &mesh->def));
  } else {
    return sap_xml_syntax(asset, NULL, r->error, "must have a file or vertices");
  }
  return transform_mesh(&s, &mesh->def);
}

sap_status sap_mjcf_mesh_find(sap_mjcf_reader* r, const sap_mjcf_scope* scope,
                              const sap_xml_node* node, int32_t* index) {
  const char* name = sap_xml_get(node, "mesh");
  const sap_xml_node* asset = find_asset(scope->model, name);
  SAP_RETURN_IF(asset == NULL,
                sap_xml_syntax(node, "mesh", r->error, "no <asset><mesh> of that name"));
  for (*index = 0; *index < r->mesh_count; ++*index) {
    if (r->meshes[*index].asset == asset) {
      return SAP_STATUS_OK;
    }
  }
  SAP_TRY(SAP_ROOM(&r->pool, &r->meshes, r->mesh_count + 1, r->error));
  sap_mjcf_mesh* mesh = &r->meshes[r->mesh_count++];
  *mesh = (sap_mjcf_mesh){
      .asset = asset, .model = scope->model, .def = sap_mesh_def_default(), .id = -1, .visual = -1};
  return sap_mjcf_full_name(r, sap_mjcf_model_space(r, scope->space), name, &mesh->def.name);
}

sap_status sap_mjcf_mesh_mass(sap_mjcf_reader* r, int32_t index, sap_mesh_mass* out) {
  sap_mjcf_mesh* mesh = &r->meshes[index];
  SAP_TRY(read_mesh(r, mesh));
  return sap_xml_locate(mesh->asset, sap_mesh_def_mass(&mesh->def, mesh->solid, out, r->error),
                        r->error);
}

sap_status sap_mjcf_mesh_id(sap_mjcf_reader* r, int32_t index, int32_t* id) {
  sap_mjcf_mesh* mesh = &r->meshes[index];
  SAP_TRY(read_mesh(r, mesh));
  if (mesh->id < 0) {
    SAP_TRY(SAP_XML_ADD(r, mesh->asset, sap_builder_add_mesh, &mesh->def, &mesh->id));
  }
  *id = mesh->id;
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_keep_visual(sap_mjcf_reader* r, int32_t index, const sap_shape_def* geom) {
  sap_mjcf_mesh* mesh = &r->meshes[index];
  const char* file = sap_xml_get(mesh->asset, "file");
  if (!r->options->visuals || (file != NULL && sap_mesh_unsupported(file) != NULL)) {
    return SAP_STATUS_OK;
  }
  sap_error *error = r->error, unused = {0};
  r->error = &unused;  // a missing or damaged mesh is only not drawn
  const sap_status status = read_mesh(r, mesh);
  r->error = error;
  sap_shape_def visual = *geom;
  visual.mesh = mesh->visual;
  if (status == SAP_STATUS_OK) {
    SAP_TRY(sap_builder_add_visual(r->builder, &mesh->def, &visual, error));
    mesh->visual = visual.mesh;
  }
  return SAP_STATUS_OK;
}

// --- fitted primitives --------------------------------------------------------------------------

// axes: principal axes of the mesh as columns, right-handed; b: half sides of the box.
static void fit_to_inertia(const sap_mesh_mass* mass, double axes[9], double b[3]) {
  double e[3], V[9];
  sap_symmetric3_eigen(mass->inertia, e, V);
  for (int k = 0; k < 3; ++k) {  // from the largest
    memcpy(axes + 3 * k, V + 3 * (2 - k), 3 * sizeof *axes);
    b[k] = sqrt(1.5 * fmax(e[0] + e[1] + e[2] - 2.0 * e[2 - k], 0.0) / mass->volume);
  }
  double handed[3];
  sap_v3_cross(handed, axes, axes + 3);
  if (sap_v3_dot(handed, axes + 6) < 0.0) {
    sap_v3_scale(axes + 6, axes + 6, -1.0);
  }
}

// b: half of the mesh's extent along the axes; center: its middle.
static void fit_to_extent(const sap_mesh_def* mesh, const double axes[9], double center[3],
                          double b[3]) {
  double middle[3];
  for (int k = 0; k < 3; ++k) {
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int32_t i = 0; i < mesh->vertex_count; ++i) {
      const double x = sap_v3_dot(axes + 3 * k, mesh->vertices + 3 * (size_t)i);
      low = fmin(low, x);
      high = fmax(high, x);
    }
    b[k] = 0.5 * (high - low);
    middle[k] = 0.5 * (high + low);
  }
  sap_m3_mul_v3(center, axes, middle);
}

static void set_size(sap_shape_type type, bool extent, const double b[3], double size[3]) {
  const double radius = extent ? fmax(b[0], b[1]) : 0.5 * (b[0] + b[1]);
  switch (type) {
    case SAP_SHAPE_SPHERE:
      size[0] = extent ? fmax(radius, b[2]) : (b[0] + b[1] + b[2]) / 3.0;
      break;
    case SAP_SHAPE_CAPSULE:
      size[0] = radius;
      size[1] = fmax(b[2] - (extent ? radius : 0.5 * radius), 0.0);
      break;
    case SAP_SHAPE_CYLINDER:
      size[0] = radius;
      size[1] = b[2];
      break;
    default:
      memcpy(size, b, 3 * sizeof *size);
      break;
  }
}

sap_status sap_mjcf_fit(const sap_mjcf_sources* s, const sap_mjcf_item* item, int32_t mesh,
                        sap_shape_def* def) {
  sap_mesh_mass mass;
  double axes[9], b[3], center[3], scale = 1.0;
  SAP_TRY(sap_mjcf_numbers(s, "fitscale", 1, 1, &scale, NULL));
  SAP_TRY(sap_mjcf_mesh_mass(s->r, mesh, &mass));
  const bool extent = s->model->compiler.fit_span;
  fit_to_inertia(&mass, axes, b);
  sap_v3_copy(center, mass.center);
  if (extent) {
    fit_to_extent(&s->r->meshes[mesh].def, axes, center, b);
  }
  sap_v3_scale(b, b, scale);
  set_size(def->type, extent, b, def->size);
  const int count = def->type == SAP_SHAPE_SPHERE ? 1 : def->type < SAP_SHAPE_BOX ? 2 : 3;
  for (int k = 0; k < count; ++k) {
    if (!(def->size[k] > 0.0)) {
      return sap_xml_syntax(item->node, "mesh", s->r->error,
                            "fitted to the mesh, size %d is %g, must be > 0", k + 1, def->size[k]);
    }
  }
  double turn[4], p[3], q[4];
  sap_quaternion_place(p, def->p_BS, def->q_BS, center);
  sap_v3_copy(def->p_BS, p);
  sap_quaternion_from_rotation(turn, axes);
  sap_quaternion_multiply(q, def->q_BS, turn);
  memcpy(def->q_BS, q, sizeof q);
  return SAP_STATUS_OK;
}
