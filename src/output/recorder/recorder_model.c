// SPDX-License-Identifier: BSD-3-Clause
// The group /model of a recording: names, bodies, joints, shapes and meshes.
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "output/recorder/recorder.h"

enum { SHAPE_WIDTH = 18, LABEL_SIZE = 128 };  // of the widest table

typedef struct name_list {
  const sap_recorded_model* model;
  sap_element kind;
  char* label;  // LABEL_SIZE characters for names of values of sensors
} name_list;

static const char* name_at(const void* context, int64_t index) {
  const name_list* list = context;
  const sap_recorded_model* m = list->model;
  const char* text =
      m->element_name != NULL ? m->element_name(m->context, list->kind, (int32_t)index) : NULL;
  return text != NULL ? text : "";
}

// Returns SENSOR for a sensor of one value, else SENSOR:0, ...; SENSOR is its name or sensor_ID.
static const char* value_at(const void* context, int64_t index) {
  const name_list* list = context;
  const int32_t* values = list->model->sensor_values;
  int32_t sensor = 0;
  for (; index >= values[sensor]; ++sensor) {
    index -= values[sensor];
  }
  const char* name = name_at(context, sensor);
  int used = name[0] != '\0' ? snprintf(list->label, LABEL_SIZE, "%.100s", name)
                             : snprintf(list->label, LABEL_SIZE, "sensor_%d", (int)sensor);
  if (values[sensor] > 1) {
    (void)snprintf(list->label + used, (size_t)(LABEL_SIZE - used), ":%d", (int)index);
  }
  return list->label;
}

static bool write_names(hid_t group, const sap_recorded_model* model, int* failure) {
  const sap_model_sizes* n = &model->sizes;
  const struct {
    const char* name;
    sap_element kind;
    int32_t count;
  } lists[] = {{"bodies", SAP_ELEMENT_BODY, n->bodies},
               {"joints", SAP_ELEMENT_JOINT, n->joints},
               {"shapes", SAP_ELEMENT_SHAPE, n->shapes},
               {"actuators", SAP_ELEMENT_ACTUATOR, n->actuators},
               {"equalities", SAP_ELEMENT_EQUALITY, n->equalities},
               {"tendons", SAP_ELEMENT_TENDON, n->tendons},
               {"sensors", SAP_ELEMENT_SENSOR, n->nsensor}};
  char label[LABEL_SIZE];
  bool good = true;
  for (size_t i = 0; i < sizeof lists / sizeof *lists && good; ++i) {
    const name_list list = {model, lists[i].kind, label};
    good = sap_hdf5_write_texts(group, lists[i].name, NULL, lists[i].count,
                                lists[i].kind == SAP_ELEMENT_SENSOR ? value_at : name_at, &list,
                                failure);
  }
  return good;
}

// `rows` has room for each of the tables.
static bool write_bodies(hid_t group, const sap_recorded_model* model, double* rows) {
  const sap_hdf5_table table = {"body", SAP_HDF5_REAL, 5, "1, kg, m",
                                "parent,mass,center_x,center_y,center_z"};
  for (int32_t i = 0; i < model->sizes.bodies; ++i) {
    const sap_recorded_body* body = &model->bodies[i];
    double* row = rows + 5 * i;
    row[0] = body->parent;
    row[1] = body->mass;
    memcpy(row + 2, body->center, sizeof body->center);
  }
  return sap_hdf5_write_table(group, &table, model->sizes.bodies, rows);
}

// A joint is a row as it is.
_Static_assert(sizeof(sap_recorded_joint) == 4 * sizeof(int32_t), "four numbers");

static bool write_joints(hid_t group, const sap_recorded_model* model) {
  const sap_hdf5_table table = {"joint", SAP_HDF5_IDENTITY, 4, "1", "type,body,first_q,first_v"};
  return sap_hdf5_write_table(group, &table, model->sizes.joints, model->joints);
}

static bool write_shapes(hid_t group, const sap_recorded_model* model, double* rows) {
  const sap_hdf5_table table = {"shape", SAP_HDF5_REAL, SHAPE_WIDTH, "1, m",
                                "type,body,mesh,collides,size_x,size_y,size_z,x,y,z,qw,qx,qy,qz,"
                                "red,green,blue,opacity"};
  for (int32_t i = 0; i < model->sizes.shapes; ++i) {
    const sap_recorded_shape* shape = &model->shapes[i];
    double* row = rows + SHAPE_WIDTH * i;
    row[0] = shape->type;
    row[1] = shape->body;
    row[2] = shape->mesh;
    row[3] = shape->collides ? 1.0 : 0.0;
    memcpy(row + 4, shape->size, sizeof shape->size);
    memcpy(row + 7, shape->p_BS, sizeof shape->p_BS);
    memcpy(row + 10, shape->q_BS, sizeof shape->q_BS);
    memcpy(row + 14, shape->color, sizeof shape->color);
  }
  return sap_hdf5_write_table(group, &table, model->sizes.shapes, rows);
}

static bool write_meshes(hid_t group, const sap_recorded_model* model) {
  const sap_hdf5_table mesh = {"mesh", SAP_HDF5_IDENTITY, 4, "1",
                               "first_vertex,vertices,first_triangle,triangles"};
  const sap_hdf5_table vertex = {"vertex", SAP_HDF5_SHORT, 3, "m", "x,y,z"};
  const sap_hdf5_table triangle = {"triangle", SAP_HDF5_IDENTITY, 3, "1",
                                   "vertices, numbered from the mesh's first"};
  return sap_hdf5_write_table(group, &mesh, model->sizes.meshes, model->meshes) &&
         sap_hdf5_write_table(group, &vertex, model->nvertices, model->vertices) &&
         sap_hdf5_write_table(group, &triangle, model->ntriangles, model->triangles);
}

bool sap_recorder_write_model(hid_t file, const sap_recorded_model* model, int* failure) {
  const sap_model_sizes* n = &model->sizes;
  const size_t count = (size_t)(n->shapes > n->bodies ? n->shapes : n->bodies);
  double* rows = sap_hdf5_allocate(count, SHAPE_WIDTH * sizeof *rows, failure);
  const hid_t group = H5Gcreate2(file, "model", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = rows != NULL && group >= 0 && sap_hdf5_attribute(group, "name", model->name) &&
                    write_names(group, model, failure) && write_joints(group, model) &&
                    write_bodies(group, model, rows) && write_shapes(group, model, rows) &&
                    write_meshes(group, model);
  (void)H5Gclose(group);
  sap_free(rows);
  return good;
}
