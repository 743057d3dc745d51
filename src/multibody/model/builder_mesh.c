// SPDX-License-Identifier: BSD-3-Clause
// Meshes of the builder and of the model: convex hulls.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/compile.h"
#include "multibody/model/mesh.h"

sap_status sap_mesh_check(const sap_checker* checker, const sap_mesh_def* def) {
  if (def->vertex_count < 1 || def->vertices == NULL) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "has no vertices");
  }
  if (def->vertex_count > INT32_MAX / 12 || def->face_count > INT32_MAX / 12) {
    return sap_check_fail(checker, SAP_STATUS_MEMORY, "too many vertices or faces");
  }
  if (def->face_count < 0 || (def->face_count > 0 && def->faces == NULL)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "face_count = %d must be >= 0, with faces",
                          (int)def->face_count);
  }
  sap_status status = sap_check_vector(checker, "vertices", def->vertices, 3 * def->vertex_count);
  for (int32_t i = 0; i < 3 * def->face_count && status == SAP_STATUS_OK; ++i) {
    status = sap_check_id(checker, "faces", def->faces[i], 0, def->vertex_count);
  }
  return status;
}

sap_status sap_builder_add_mesh(sap_builder* builder, const sap_mesh_def* def, int32_t* id,
                                sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "mesh: builder or definition is NULL");
  }
  const sap_checker checker = {"mesh", def->name, builder->nmeshes, error};
  sap_hull hull = {0};
  sap_status status = sap_mesh_check(&checker, def);
  if (status == SAP_STATUS_OK) {
    sap_error reason = {0};
    status = sap_hull_create(def->vertices, def->vertex_count, &hull, &reason);
    if (status != SAP_STATUS_OK) {
      return sap_check_fail(&checker, status, "%s", reason.message);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->hulls, &builder->hull_capacity, builder->nmeshes + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_MESH, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_hull_clear(&hull);
    return status;
  }
  builder->hulls[builder->nmeshes] = hull;
  if (id != NULL) {
    *id = builder->nmeshes;
  }
  ++builder->nmeshes;
  return SAP_STATUS_OK;
}

static sap_status allocate_hulls(const sap_builder* builder, sap_model* model, sap_error* error) {
  size_t vertices = 0, neighbors = 0, faces = 0, corners = 0;
  for (int32_t i = 0; i < builder->nmeshes; ++i) {
    const sap_hull* hull = &builder->hulls[i];
    vertices += (size_t)hull->nvertices;
    neighbors += (size_t)hull->neighbor_start[hull->nvertices];
    faces += (size_t)hull->nfaces;
    corners += (size_t)hull->face_start[hull->nfaces];
  }
  if (neighbors > INT32_MAX || corners > INT32_MAX || vertices > INT32_MAX / 3) {
    return sap_fail(error, SAP_STATUS_MEMORY, "too many vertices in all meshes");
  }
  model->meshes = sap_allocate((size_t)builder->nmeshes, sizeof *model->meshes);
  model->mesh_vertices = sap_allocate(3 * vertices, sizeof *model->mesh_vertices);
  model->mesh_neighbor_start = sap_allocate(vertices + 1, sizeof *model->mesh_neighbor_start);
  model->mesh_neighbors = sap_allocate(neighbors, sizeof *model->mesh_neighbors);
  model->mesh_planes = sap_allocate(4 * faces, sizeof *model->mesh_planes);
  model->mesh_face_start = sap_allocate(faces + 1, sizeof *model->mesh_face_start);
  model->mesh_face_vertices = sap_allocate(corners, sizeof *model->mesh_face_vertices);
  if (model->meshes == NULL || model->mesh_vertices == NULL || model->mesh_neighbor_start == NULL ||
      model->mesh_neighbors == NULL || model->mesh_planes == NULL ||
      model->mesh_face_start == NULL || model->mesh_face_vertices == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: meshes");
  }
  return SAP_STATUS_OK;
}

static void set_bounds(const sap_hull* hull, sap_model_mesh* mesh) {
  double lower[3], upper[3], arm[3];
  sap_v3_copy(lower, hull->vertices);
  sap_v3_copy(upper, hull->vertices);
  for (int32_t i = 0; i < 3 * hull->nvertices; ++i) {
    lower[i % 3] = fmin(lower[i % 3], hull->vertices[i]);
    upper[i % 3] = fmax(upper[i % 3], hull->vertices[i]);
  }
  for (int k = 0; k < 3; ++k) {
    mesh->center[k] = 0.5 * lower[k] + 0.5 * upper[k];
    mesh->half[k] = 0.5 * upper[k] - 0.5 * lower[k];
  }
  for (int32_t i = 0; i < hull->nvertices; ++i) {
    sap_v3_sub(arm, hull->vertices + 3 * (size_t)i, mesh->center);
    mesh->radius = fmax(mesh->radius, sap_v3_norm(arm));
  }
}

// The start of row i + 1 of a table that follows others.
static void append_starts(int32_t* out, const int32_t* in, int32_t count, int32_t offset) {
  for (int32_t i = 0; i <= count; ++i) {
    out[i] = in[i] + offset;
  }
}

sap_status sap_compile_meshes(const sap_builder* builder, sap_model* model, sap_error* error) {
  const sap_status status = allocate_hulls(builder, model, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  model->sizes.meshes = builder->nmeshes;
  int32_t vertex = 0, face = 0;
  for (int32_t i = 0; i < builder->nmeshes; ++i) {
    const sap_hull* hull = &builder->hulls[i];
    sap_model_mesh* mesh = &model->meshes[i];
    const int32_t neighbor = model->mesh_neighbor_start[vertex];
    const int32_t corner = model->mesh_face_start[face];
    mesh->first_vertex = vertex;
    mesh->nvertices = hull->nvertices;
    mesh->first_face = face;
    mesh->nfaces = hull->nfaces;
    set_bounds(hull, mesh);
    memcpy(model->mesh_vertices + 3 * (size_t)vertex, hull->vertices,
           3 * (size_t)hull->nvertices * sizeof *hull->vertices);
    memcpy(model->mesh_planes + 4 * (size_t)face, hull->planes,
           4 * (size_t)hull->nfaces * sizeof *hull->planes);
    memcpy(model->mesh_neighbors + neighbor, hull->neighbors,
           (size_t)hull->neighbor_start[hull->nvertices] * sizeof *hull->neighbors);
    memcpy(model->mesh_face_vertices + corner, hull->face_vertices,
           (size_t)hull->face_start[hull->nfaces] * sizeof *hull->face_vertices);
    append_starts(model->mesh_neighbor_start + vertex, hull->neighbor_start, hull->nvertices,
                  neighbor);
    append_starts(model->mesh_face_start + face, hull->face_start, hull->nfaces, corner);
    vertex += hull->nvertices;
    face += hull->nfaces;
  }
  return SAP_STATUS_OK;
}
