// SPDX-License-Identifier: BSD-3-Clause
// Describes bodies, joints, geoms and meshes of MuJoCo; a height field becomes a mesh.
#include <string.h>

#include "cli/commands/mujoco/mujoco.h"
#include "mujoco/compat.h"

static const char* element_name(const void* context, sap_element kind, int32_t id) {
  static const int kinds[] = {
      [SAP_ELEMENT_BODY] = mjOBJ_BODY,         [SAP_ELEMENT_JOINT] = mjOBJ_JOINT,
      [SAP_ELEMENT_SHAPE] = mjOBJ_GEOM,        [SAP_ELEMENT_TENDON] = mjOBJ_TENDON,
      [SAP_ELEMENT_ACTUATOR] = mjOBJ_ACTUATOR, [SAP_ELEMENT_EQUALITY] = mjOBJ_EQUALITY,
      [SAP_ELEMENT_SENSOR] = mjOBJ_SENSOR,
  };
  return (size_t)kind < sizeof kinds / sizeof *kinds ? mj_id2name(context, kinds[kind], id) : NULL;
}

const sap_joint_type mujoco_joint_types[] = {[mjJNT_FREE] = SAP_JOINT_FREE,
                                             [mjJNT_BALL] = SAP_JOINT_BALL,
                                             [mjJNT_SLIDE] = SAP_JOINT_SLIDE,
                                             [mjJNT_HINGE] = SAP_JOINT_HINGE};

static bool collides(const mjModel* m, int32_t geom) {
  bool does = m->geom_contype[geom] != 0 || m->geom_conaffinity[geom] != 0;
  for (int32_t i = 0; !does && i < (int32_t)m->npair; ++i) {
    does = m->pair_geom1[i] == geom || m->pair_geom2[i] == geom;
  }
  return does;
}

static void describe_geom(const mjModel* m, int32_t g, sap_recorded_shape* out) {
  const int type = m->geom_type[g], mesh = m->geom_dataid[g];
  *out = (sap_recorded_shape){.type = sap_mj_shape_type(type),
                              .body = m->geom_bodyid[g],
                              .mesh = -1,
                              .collides = collides(m, g)};
  memcpy(out->p_BS, m->geom_pos + 3 * g, sizeof out->p_BS);
  memcpy(out->q_BS, m->geom_quat + 4 * g, sizeof out->q_BS);
  if (out->type == SAP_SHAPE_MESH) {
    out->mesh = type == mjGEOM_HFIELD ? (int32_t)m->nmesh + mesh : mesh;
  } else {
    memcpy(out->size, m->geom_size + 3 * g, sizeof out->size);
  }
  const int material = m->geom_matid[g];
  const float* color = material >= 0 ? m->mat_rgba + 4 * material : m->geom_rgba + 4 * g;
  for (int k = 0; k < 4; ++k) {
    out->color[k] = (double)color[k];
  }
}

static void describe_elements(const mjModel* m, mujoco_description* d) {
  for (int32_t b = 0; b < (int32_t)m->nbody; ++b) {
    d->bodies[b].parent = b > 0 ? m->body_parentid[b] : -1;
    d->bodies[b].mass = m->body_mass[b];
    memcpy(d->bodies[b].center, m->body_ipos + 3 * b, sizeof d->bodies[b].center);
  }
  for (int32_t j = 0; j < (int32_t)m->njnt; ++j) {
    d->joints[j] = (sap_recorded_joint){.type = mujoco_joint_types[m->jnt_type[j]],
                                        .body = m->jnt_bodyid[j],
                                        .first_q = m->jnt_qposadr[j],
                                        .first_v = m->jnt_dofadr[j]};
  }
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    describe_geom(m, g, &d->shapes[g]);
  }
}

// Makes points and triangles of a height field's upper side; rows along y, columns along x.
static void describe_field(const mjModel* m, int32_t field, int32_t* vertex, int32_t* triangle,
                           mujoco_description* d) {
  const int32_t rows = m->hfield_nrow[field], columns = m->hfield_ncol[field];
  const mjtNum* size = m->hfield_size + 4 * field;
  const float* data = m->hfield_data + m->hfield_adr[field];
  int32_t* mesh = d->meshes[(int32_t)m->nmesh + field];
  mesh[0] = *vertex;
  mesh[1] = rows * columns;
  mesh[2] = *triangle;
  mesh[3] = 2 * (rows - 1) * (columns - 1);
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; ++c) {
      float* p = d->vertices[(*vertex)++];
      p[0] = (float)(size[0] * (2.0 * c / (columns - 1) - 1.0));
      p[1] = (float)(size[1] * (2.0 * r / (rows - 1) - 1.0));
      p[2] = (float)(size[2] * (double)data[r * columns + c]);
    }
  }
  for (int32_t r = 0; r + 1 < rows; ++r) {
    for (int32_t c = 0; c + 1 < columns; ++c) {
      const int32_t corner = r * columns + c;
      const int32_t two[2][3] = {{corner, corner + 1, corner + columns},
                                 {corner + 1, corner + columns + 1, corner + columns}};
      memcpy(d->triangles[*triangle], two, sizeof two);
      *triangle += 2;
    }
  }
}

static void describe_meshes(const mjModel* m, mujoco_description* d) {
  int32_t vertex = (int32_t)m->nmeshvert, triangle = (int32_t)m->nmeshface;
  if (vertex > 0) {
    memcpy(d->vertices, m->mesh_vert, 3 * (size_t)vertex * sizeof(float));
  }
  if (triangle > 0) {
    memcpy(d->triangles, m->mesh_face, 3 * (size_t)triangle * sizeof(int32_t));
  }
  for (int32_t i = 0; i < (int32_t)m->nmesh; ++i) {
    const int32_t mesh[4] = {m->mesh_vertadr[i], m->mesh_vertnum[i], m->mesh_faceadr[i],
                             m->mesh_facenum[i]};
    memcpy(d->meshes[i], mesh, sizeof mesh);
  }
  for (int32_t i = 0; i < (int32_t)m->nhfield; ++i) {
    describe_field(m, i, &vertex, &triangle, d);
  }
}

static void count_surfaces(const mjModel* m, int32_t* vertices, int32_t* triangles) {
  *vertices = (int32_t)m->nmeshvert;
  *triangles = (int32_t)m->nmeshface;
  for (int32_t i = 0; i < (int32_t)m->nhfield; ++i) {
    *vertices += m->hfield_nrow[i] * m->hfield_ncol[i];
    *triangles += 2 * (m->hfield_nrow[i] - 1) * (m->hfield_ncol[i] - 1);
  }
}

void mujoco_describe(const mjModel* m, mujoco_description* d) {
  *d = (mujoco_description){0};
  sap_recorded_model* model = &d->model;
  model->sizes = (sap_model_sizes){.bodies = (int32_t)m->nbody,
                                   .joints = (int32_t)m->njnt,
                                   .shapes = (int32_t)m->ngeom,
                                   .tendons = (int32_t)m->ntendon,
                                   .actuators = SAP_MJ_OUTPUTS(m),
                                   .nq = (int32_t)m->nq,
                                   .nv = (int32_t)m->nv,
                                   .nu = SAP_MJ_OUTPUTS(m),
                                   .meshes = (int32_t)(m->nmesh + m->nhfield),
                                   .equalities = (int32_t)m->neq,
                                   .na = (int32_t)m->na,
                                   .sensors = (int32_t)m->nsensor,
                                   .nsensor = (int32_t)m->nsensordata};
  count_surfaces(m, &model->nvertices, &model->ntriangles);
  d->bodies = cli_new((size_t)model->sizes.bodies, sizeof *d->bodies);
  d->joints = cli_new((size_t)model->sizes.joints, sizeof *d->joints);
  d->shapes = cli_new((size_t)model->sizes.shapes, sizeof *d->shapes);
  d->meshes = cli_new((size_t)model->sizes.meshes, sizeof *d->meshes);
  d->vertices = cli_new((size_t)model->nvertices, sizeof *d->vertices);
  d->triangles = cli_new((size_t)model->ntriangles, sizeof *d->triangles);
  describe_elements(m, d);
  describe_meshes(m, d);
  model->name = m->names;  // the first of all names is the model's
  model->element_name = element_name;
  model->context = m;
  model->bodies = d->bodies;
  model->joints = d->joints;
  model->shapes = d->shapes;
  model->meshes = (const int32_t(*)[4])d->meshes;
  model->vertices = (const float(*)[3])d->vertices;
  model->triangles = (const int32_t(*)[3])d->triangles;
  model->sensor_values = m->sensor_dim;
}
