// SPDX-License-Identifier: BSD-3-Clause
// The part of a recording that does not change: names, joints, shapes and meshes.
#include <string.h>

#include "core/memory.h"
#include "output/recorder/hdf5_file.h"
#include "output/recorder/recorder_data.h"

#ifdef SAPSTEP_HDF5

enum { SHAPE_WIDTH = 18 };

static const char* name_of(const sap_recorded_model* model, sap_element kind, int32_t id) {
  const char* text =
      model->element_name != NULL ? model->element_name(model->context, kind, id) : NULL;
  return text != NULL ? text : "";
}

// All of one length, the longest's and a zero: lists of texts of many lengths (H5T_VARIABLE) lie in
// a heap of the file, on which HDF5 1.10 crashes when it is damaged.
static bool write_names(hid_t group, const char* name, const sap_recorded_model* model,
                        sap_element kind, int32_t count, int* failure) {
  size_t width = 1;
  for (int32_t i = 0; i < count; ++i) {
    const size_t length = strlen(name_of(model, kind, i)) + 1;
    width = length > width ? length : width;
  }
  const hsize_t size = (hsize_t)count;
  char* names = sap_hdf5_allocate((size_t)count, width, failure);
  for (int32_t i = 0; names != NULL && i < count; ++i) {
    (void)strcpy(names + (size_t)i * width, name_of(model, kind, i));
  }
  const hid_t type = H5Tcopy(H5T_C_S1), list = sap_hdf5_timeless();
  const hid_t space = H5Screate_simple(1, &size, NULL);
  bool good = names != NULL && type >= 0 && H5Tset_size(type, width) >= 0 &&
              H5Tset_cset(type, H5T_CSET_UTF8) >= 0 && space >= 0 && list >= 0;
  if (good) {
    const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    good =
        set >= 0 && (count == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names) >= 0);
    (void)H5Dclose(set);
  }
  (void)H5Sclose(space);
  (void)H5Pclose(list);
  (void)H5Tclose(type);
  sap_free(names);
  return good;
}

static bool write_joints(hid_t group, const sap_recorded_model* model, int* failure) {
  const int32_t count = model->sizes.joints;
  const sap_hdf5_column_def def = {.name = "joint",
                                   .number = SAP_HDF5_IDENTITY,
                                   .width = 4,
                                   .units = "1",
                                   .columns = "type,body,first_q,first_v"};
  int32_t(*rows)[4] = sap_hdf5_allocate((size_t)count, sizeof *rows, failure);
  for (int32_t i = 0; i < count && rows != NULL; ++i) {
    const sap_recorded_joint* joint = &model->joints[i];
    rows[i][0] = (int32_t)joint->type;
    rows[i][1] = joint->body;
    rows[i][2] = joint->first_q;
    rows[i][3] = joint->first_v;
  }
  const bool good = rows != NULL && sap_hdf5_write_table(group, &def, count, rows);
  sap_free(rows);
  return good;
}

static bool write_bodies(hid_t group, const sap_recorded_model* model, int* failure) {
  const int32_t count = model->sizes.bodies;
  const sap_hdf5_column_def def = {.name = "body",
                                   .width = 5,
                                   .units = "1, kg, m",
                                   .columns = "parent,mass,center_x,center_y,center_z"};
  double(*rows)[5] = sap_hdf5_allocate((size_t)count, sizeof *rows, failure);
  for (int32_t i = 0; i < count && rows != NULL; ++i) {
    const sap_recorded_body* body = &model->bodies[i];
    rows[i][0] = body->parent;
    rows[i][1] = body->mass;
    memcpy(&rows[i][2], body->center, sizeof body->center);
  }
  const bool good = rows != NULL && sap_hdf5_write_table(group, &def, count, rows);
  sap_free(rows);
  return good;
}

static bool write_shapes(hid_t group, const sap_recorded_model* model, int* failure) {
  const int32_t count = model->sizes.shapes;
  const sap_hdf5_column_def def = {
      .name = "shape",
      .width = SHAPE_WIDTH,
      .units = "1, m",
      .columns =
          "type,body,mesh,collides,size_x,size_y,size_z,x,y,z,qw,qx,qy,qz,"
          "red,green,blue,opacity"};
  double(*rows)[SHAPE_WIDTH] = sap_hdf5_allocate((size_t)count, sizeof *rows, failure);
  for (int32_t i = 0; i < count && rows != NULL; ++i) {
    const sap_recorded_shape* shape = &model->shapes[i];
    double* row = rows[i];
    row[0] = shape->type;
    row[1] = shape->body;
    row[2] = shape->mesh;
    row[3] = shape->collides ? 1.0 : 0.0;
    memcpy(row + 4, shape->size, sizeof shape->size);
    memcpy(row + 7, shape->p_BS, sizeof shape->p_BS);
    memcpy(row + 10, shape->q_BS, sizeof shape->q_BS);
    memcpy(row + 14, shape->color, sizeof shape->color);
  }
  const bool good = rows != NULL && sap_hdf5_write_table(group, &def, count, rows);
  sap_free(rows);
  return good;
}

static bool write_meshes(hid_t group, const sap_recorded_model* model) {
  const sap_hdf5_column_def mesh = {.name = "mesh",
                                    .number = SAP_HDF5_IDENTITY,
                                    .width = 4,
                                    .units = "1",
                                    .columns = "first_vertex,vertices,first_triangle,triangles"};
  const sap_hdf5_column_def vertex = {
      .name = "vertex", .number = SAP_HDF5_SHORT, .width = 3, .units = "m", .columns = "x,y,z"};
  const sap_hdf5_column_def triangle = {.name = "triangle",
                                        .number = SAP_HDF5_IDENTITY,
                                        .width = 3,
                                        .units = "1",
                                        .columns = "vertices, numbered from the mesh's first"};
  return sap_hdf5_write_table(group, &mesh, model->sizes.meshes, model->meshes) &&
         sap_hdf5_write_table(group, &vertex, model->nvertices, model->vertices) &&
         sap_hdf5_write_table(group, &triangle, model->ntriangles, model->triangles);
}

bool sap_recorder_write_model(hid_t file, const sap_recorded_model* model, int* failure) {
  static const struct {
    const char* name;
    sap_element kind;
  } lists[] = {{"bodies", SAP_ELEMENT_BODY},         {"joints", SAP_ELEMENT_JOINT},
               {"shapes", SAP_ELEMENT_SHAPE},        {"actuators", SAP_ELEMENT_ACTUATOR},
               {"equalities", SAP_ELEMENT_EQUALITY}, {"tendons", SAP_ELEMENT_TENDON}};
  const sap_model_sizes* n = &model->sizes;
  const int32_t counts[] = {n->bodies,    n->joints,     n->shapes,
                            n->actuators, n->equalities, n->tendons};
  const hid_t group = H5Gcreate2(file, "model", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool good = group >= 0 && sap_hdf5_attribute(group, "name", model->name);
  for (size_t i = 0; i < sizeof lists / sizeof *lists && good; ++i) {
    good = write_names(group, lists[i].name, model, lists[i].kind, counts[i], failure);
  }
  good = good && write_joints(group, model, failure) && write_bodies(group, model, failure) &&
         write_shapes(group, model, failure) && write_meshes(group, model);
  (void)H5Gclose(group);
  return good;
}

#endif
