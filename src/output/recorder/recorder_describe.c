// SPDX-License-Identifier: BSD-3-Clause
// What recordings say of our own models.
#include <string.h>

#include "core/memory.h"
#include "output/recorder/recorder_data.h"

#ifdef SAPSTEP_HDF5

#include "multibody/model/model_data.h"

// Arrays that a description points to.
typedef struct description {
  sap_recorded_body* bodies;
  sap_recorded_joint* joints;
  sap_recorded_shape* shapes;
  int32_t (*meshes)[4];
  float (*vertices)[3];
  int32_t (*triangles)[3];
} description;

static const char* element_name(const void* model, sap_element kind, int32_t id) {
  return sap_model_get_name(model, kind, id);
}

static void fill_elements(const sap_model* model, description* d) {
  for (int32_t i = 0; i < model->sizes.bodies; ++i) {
    sap_body_def body = {0};
    (void)sap_model_get_body(model, i, &body, NULL);
    d->bodies[i].parent = i > 0 ? body.parent : -1;
    d->bodies[i].mass = body.mass;
    memcpy(d->bodies[i].center, body.p_BCo, sizeof body.p_BCo);
  }
  for (int32_t i = 0; i < model->sizes.joints; ++i) {
    sap_recorded_joint* joint = &d->joints[i];
    (void)sap_model_joint_address(model, i, &joint->type, &joint->body, &joint->first_q,
                                  &joint->first_v, NULL);
  }
  for (int32_t i = 0; i < model->sizes.shapes; ++i) {
    sap_shape_def shape;
    sap_recorded_shape* to = &d->shapes[i];
    if (sap_model_get_shape(model, i, &shape, NULL) == SAP_STATUS_OK) {
      *to = (sap_recorded_shape){
          .type = shape.type, .body = shape.body, .mesh = shape.mesh, .collides = true};
      memcpy(to->size, shape.size, sizeof to->size);
      memcpy(to->p_BS, shape.p_BS, sizeof to->p_BS);
      memcpy(to->q_BS, shape.q_BS, sizeof to->q_BS);
      memcpy(to->color, shape.color, sizeof to->color);
    }
  }
}

// Hulls as triangles, fans of their polygons.
static void fill_surfaces(const sap_model* model, description* d) {
  int32_t triangle = 0, vertex = 0;
  for (int32_t i = 0; i < model->sizes.meshes; ++i) {
    const sap_hull* mesh = &model->meshes[i];
    d->meshes[i][0] = vertex;
    d->meshes[i][1] = mesh->nvertices;
    d->meshes[i][2] = triangle;
    for (int32_t f = 0; f < mesh->nfaces; ++f) {
      const int32_t start = mesh->face_start[f], end = mesh->face_start[f + 1];
      const int32_t* corner = mesh->face_vertices;
      for (int32_t k = start + 1; k + 1 < end; ++k, ++triangle) {
        const int32_t corners[3] = {corner[start], corner[k], corner[k + 1]};
        memcpy(d->triangles[triangle], corners, sizeof corners);
      }
    }
    d->meshes[i][3] = triangle - d->meshes[i][2];
    for (int32_t k = 0; k < 3 * mesh->nvertices; ++k) {
      d->vertices[vertex + k / 3][k % 3] = (float)mesh->vertices[k];
    }
    vertex += mesh->nvertices;
  }
}

static void clear(description* d) {
  sap_free(d->bodies);
  sap_free(d->joints);
  sap_free(d->shapes);
  sap_free(d->meshes);
  sap_free(d->vertices);
  sap_free(d->triangles);
}

static sap_status describe(const sap_model* model, description* d, sap_recorded_model* out,
                           sap_error* error) {
  const sap_model_sizes* n = &model->sizes;
  int32_t nvertices = 0, ntriangles = 0;
  for (int32_t i = 0; i < n->meshes; ++i) {
    const sap_hull* mesh = &model->meshes[i];
    nvertices += mesh->nvertices;
    ntriangles += mesh->face_start[mesh->nfaces] - 2 * mesh->nfaces;
  }
  d->bodies = sap_allocate((size_t)n->bodies, sizeof *d->bodies);
  d->joints = sap_allocate((size_t)n->joints, sizeof *d->joints);
  d->shapes = sap_allocate((size_t)n->shapes, sizeof *d->shapes);
  d->meshes = sap_allocate((size_t)n->meshes, sizeof *d->meshes);
  d->vertices = sap_allocate((size_t)nvertices, sizeof *d->vertices);
  d->triangles = sap_allocate((size_t)ntriangles, sizeof *d->triangles);
  if (d->bodies == NULL || d->joints == NULL || d->shapes == NULL || d->meshes == NULL ||
      d->vertices == NULL || d->triangles == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  }
  fill_elements(model, d);
  fill_surfaces(model, d);
  *out = (sap_recorded_model){
      .name = model->options.name,
      .sizes = *n,
      .element_name = element_name,
      .context = model,
      .bodies = d->bodies,
      .joints = d->joints,
      .shapes = d->shapes,
      .meshes = (const int32_t(*)[4])d->meshes,
      .vertices = (const float(*)[3])d->vertices,
      .triangles = (const int32_t(*)[3])d->triangles,
      .nvertices = nvertices,
      .ntriangles = ntriangles,
  };
  return SAP_STATUS_OK;
}

sap_status sap_recorder_create(const char* path, const sap_model* model,
                               const sap_recorder_options* options, sap_recorder** out,
                               sap_error* error) {
  if (out == NULL || model == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL", out == NULL ? "out" : "model");
  }
  *out = NULL;
  description d = {0};
  sap_recorded_model recorded;
  sap_dynamics* dynamics = NULL;
  sap_kinematics kinematics = {0};
  double* actuator_force = sap_allocate((size_t)model->sizes.nu, sizeof *actuator_force);
  sap_status status = describe(model, &d, &recorded, error);
  if (status == SAP_STATUS_OK && actuator_force == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_dynamics_create(model, &dynamics, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_kinematics_create(&kinematics, dynamics, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_recorder_create_foreign(path, &recorded, options, out, error);
  }
  clear(&d);
  if (status != SAP_STATUS_OK) {
    sap_kinematics_clear(&kinematics);
    sap_dynamics_destroy(dynamics);
    sap_free(actuator_force);
    return status;
  }
  (*out)->model = sap_model_hold(model);
  (*out)->dynamics = dynamics;
  (*out)->kinematics = kinematics;
  (*out)->actuator_force = actuator_force;
  return SAP_STATUS_OK;
}

void sap_recorder_forget_model(sap_recorder* recorder) {
  sap_kinematics_clear(&recorder->kinematics);
  sap_dynamics_destroy(recorder->dynamics);
  sap_model_release(recorder->model);
  sap_free(recorder->actuator_force);
  sap_free(recorder->forces);
}

#endif
