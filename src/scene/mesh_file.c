// SPDX-License-Identifier: BSD-3-Clause
// Mesh files by assimp, which only this file knows, but for MSH. Its scene is flattened (DAE nests
// nodes with poses, units and axes) and copied; points and lines are left out.
#include "scene/mesh_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include "core/file.h"
#include "core/memory.h"
#include "scene/number.h"

static const char formats[] = "stl obj dae ply msh";
enum { MSH = 4 };

static void clear_data(sap_mesh_data* data) {
  sap_free(data->vertices);
  sap_free(data->faces);
  *data = (sap_mesh_data){0};
}

void sap_mesh_files_clear(sap_mesh_files* files) {
  for (int32_t i = 0; i < files->count; ++i) {
    sap_free(files->list[i].path);
    clear_data(&files->list[i].data);
  }
  sap_free(files->list);
  *files = (sap_mesh_files){0};
}

typedef struct numbered_point {
  double p[3];
  int32_t id;
} numbered_point;

static int compare_points(const void* a, const void* b) {
  const numbered_point* p = a;
  const numbered_point* q = b;
  for (int i = 0; i < 3; ++i) {
    if (p->p[i] != q->p[i]) {
      return p->p[i] < q->p[i] ? -1 : 1;
    }
  }
  return (p->id > q->id) - (p->id < q->id);
}

static bool same_point(const numbered_point* a, const numbered_point* b) {
  return a->p[0] == b->p[0] && a->p[1] == b->p[1] && a->p[2] == b->p[2];
}

// Each position is represented by its first vertex, and the first ones keep their order.
sap_status sap_mesh_join_vertices(sap_mesh_data* data, sap_error* error) {
  const size_t count = (size_t)data->vertex_count;
  numbered_point* points = sap_allocate(count, sizeof *points);
  int32_t* number = sap_allocate(count, sizeof *number);
  if (points == NULL || number == NULL) {
    sap_free(points);
    sap_free(number);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  for (size_t i = 0; i < count; ++i) {
    memcpy(points[i].p, data->vertices + 3 * i, sizeof points[i].p);
    points[i].id = (int32_t)i;
  }
  qsort(points, count, sizeof *points, compare_points);
  for (size_t i = 0, first = 0; i < count; ++i) {
    first = i > 0 && same_point(&points[first], &points[i]) ? first : i;
    number[points[i].id] = points[first].id;
  }
  int32_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (number[i] == (int32_t)i) {
      memmove(data->vertices + 3 * (size_t)kept, data->vertices + 3 * i, sizeof points->p);
      number[i] = kept++;
    } else {
      number[i] = number[number[i]];  // an earlier one, renumbered already
    }
  }
  for (int32_t i = 0; i < 3 * data->face_count; ++i) {
    data->faces[i] = number[data->faces[i]];
  }
  data->vertex_count = kept;
  sap_free(points);
  sap_free(number);
  return SAP_STATUS_OK;
}

// Sizes over all parts; false when there are too many.
static bool count_scene(const struct aiScene* scene, size_t* vertices, size_t* faces) {
  *vertices = *faces = 0;
  for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
    *vertices += scene->mMeshes[m]->mNumVertices;
    *faces += scene->mMeshes[m]->mNumFaces;
  }
  return *vertices <= INT32_MAX / 12 && *faces <= INT32_MAX / 12;
}

static void copy_scene(const struct aiScene* scene, sap_mesh_data* out) {
  for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
    const struct aiMesh* mesh = scene->mMeshes[m];
    const int32_t first = out->vertex_count;
    for (unsigned i = 0; i < mesh->mNumVertices; ++i) {
      double* p = out->vertices + 3 * (size_t)out->vertex_count++;
      p[0] = (double)mesh->mVertices[i].x;
      p[1] = (double)mesh->mVertices[i].y;
      p[2] = (double)mesh->mVertices[i].z;
    }
    for (unsigned i = 0; i < mesh->mNumFaces; ++i) {
      const struct aiFace* face = &mesh->mFaces[i];
      if (face->mNumIndices == 3) {
        int32_t* corners = out->faces + 3 * (size_t)out->face_count++;
        for (int k = 0; k < 3; ++k) {
          corners[k] = first + (int32_t)face->mIndices[k];
        }
      }
    }
  }
}

static sap_status take_scene(const struct aiScene* scene, const char* path, sap_mesh_data* out,
                             sap_error* error) {
  size_t vertices, faces;
  if (!count_scene(scene, &vertices, &faces)) {
    return sap_fail(error, SAP_STATUS_MEMORY, "%.300s: too many vertices or faces", path);
  }
  if (vertices == 0) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: the file has no vertices", path);
  }
  out->vertices = sap_allocate(3 * vertices, sizeof *out->vertices);
  out->faces = sap_allocate(3 * faces, sizeof *out->faces);
  if (out->vertices == NULL || out->faces == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  copy_scene(scene, out);
  return sap_mesh_join_vertices(out, error);
}

// *format: place in `formats`.
static sap_status check_file(const char* path, int32_t* format, sap_error* error) {
  const char* dot = strrchr(path, '.');
  char extension[8] = "";
  for (size_t i = 0; dot != NULL && i + 1 < sizeof extension && dot[1 + i] != '\0'; ++i) {
    const char c = dot[1 + i];
    extension[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  *format = sap_word_index(formats, extension);
  if (*format < 0) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED, "%.300s: mesh files must be one of: %s", path,
                    formats);
  }
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    return sap_fail_io(error, errno, "read", path);
  }
  char byte;
  const bool readable = fread(&byte, 1, 1, file) == 1;
  (void)fclose(file);
  return readable ? SAP_STATUS_OK
                  : sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: the file is empty", path);
}

// DAE: coordinates as they stand, which is how robots use them; assimp would turn z to y where a
// file says that z is up.
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

static sap_status read_file(const char* path, sap_mesh_data* out, sap_error* error) {
  int32_t format = -1;
  sap_status status = check_file(path, &format, error);
  if (status != SAP_STATUS_OK || format == MSH) {
    return status == SAP_STATUS_OK ? sap_mesh_read_msh(path, out, error) : status;
  }
  const struct aiScene* scene = import_scene(path);
  if (scene == NULL) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: the file is no mesh that can be read", path);
  }
  status = take_scene(scene, path, out, error);
  aiReleaseImport(scene);
  return status;
}

sap_status sap_mesh_files_read(sap_mesh_files* files, const char* path, const sap_mesh_data** out,
                               sap_error* error) {
  for (int32_t i = 0; i < files->count; ++i) {
    if (strcmp(files->list[i].path, path) == 0) {
      *out = &files->list[i].data;
      return SAP_STATUS_OK;
    }
  }
  sap_mesh_file file = {.path = sap_duplicate_string(path)};
  sap_status status = file.path != NULL ? read_file(path, &file.data, error)
                                        : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: mesh");
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&files->list, &files->capacity, files->count + 1, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_free(file.path);
    clear_data(&file.data);
    return status;
  }
  files->list[files->count++] = file;
  *out = &files->list[files->count - 1].data;
  return SAP_STATUS_OK;
}
