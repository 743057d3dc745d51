// SPDX-License-Identifier: BSD-3-Clause
// DAE (COLLADA) by assimp, which only this file knows. Its scene is flattened (nodes nest, with
// poses and units) and copied; points and lines are left out.
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include "scene/mesh_source.h"

// Coordinates as they stand, which is how robots use them; assimp would turn z to y where a file
// says that z is up.
static const struct aiScene* import_scene(const char* path) {
  struct aiPropertyStore* properties = aiCreatePropertyStore();
  if (properties == NULL) {
    return NULL;
  }
  aiSetImportPropertyInteger(properties, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
  const struct aiScene* scene = aiImportFileExWithProperties(
      path, aiProcess_Triangulate | aiProcess_PreTransformVertices, NULL, properties);
  aiReleasePropertyStore(properties);
  return scene;
}

static sap_status copy_mesh(sap_mesh_source* s, const struct aiMesh* mesh) {
  const int32_t first = s->out->vertex_count;
  sap_status status = SAP_STATUS_OK;
  for (unsigned i = 0; i < mesh->mNumVertices && status == SAP_STATUS_OK; ++i) {
    const struct aiVector3D* v = &mesh->mVertices[i];
    status = sap_mesh_add_vertex(s, (const double[]){(double)v->x, (double)v->y, (double)v->z});
  }
  for (unsigned i = 0; i < mesh->mNumFaces && status == SAP_STATUS_OK; ++i) {
    const struct aiFace* face = &mesh->mFaces[i];
    if (face->mNumIndices == 3) {
      const unsigned* corners = face->mIndices;
      status = sap_mesh_add_triangle(s, first + (int32_t)corners[0], first + (int32_t)corners[1],
                                     first + (int32_t)corners[2]);
    }
  }
  return status;
}

sap_status sap_mesh_read_dae(sap_mesh_source* s) {
  const struct aiScene* scene = import_scene(s->path);
  if (scene == NULL) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "%.200s", aiGetErrorString());
  }
  sap_status status = SAP_STATUS_OK;
  for (unsigned m = 0; m < scene->mNumMeshes && status == SAP_STATUS_OK; ++m) {
    status = copy_mesh(s, scene->mMeshes[m]);
  }
  aiReleaseImport(scene);
  return status;
}
