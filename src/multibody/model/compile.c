// SPDX-License-Identifier: BSD-3-Clause
// From a builder to a model: copies, numbering, contact stiffness, keyframes and checks of the
// whole. Data of the default pose follow in multibody/dynamics/compile_pose.c. Numbering is
// depth first: bodies (children in the order of their ids), their joints in the order in which they
// were added, coordinates and trees in the order of that walk. cost: O(bodies + dofs)
#include "multibody/model/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"

// Stores a copy of `count` elements at the address `out` of a pointer.
static sap_status copy_array(sap_model* model, const void* from, int32_t count, size_t size,
                             void* out, sap_error* error) {
  void* copy;
  SAP_TRY(sap_pool_add(&model->pool, &copy, (size_t)count, size, error));
  if (count > 0) {
    memcpy(copy, from, (size_t)count * size);
  }
  memcpy(out, &copy, sizeof copy);
  return SAP_STATUS_OK;
}

#define COPY(from, count, to) \
  SAP_TRY(copy_array(model, (from), (count), sizeof *(from), &(to), error))
#define COPY_LIST(type, name) COPY(builder->name, builder->n##name, model->name);

// Copies all records that need no numbering.
static sap_status copy_records(const sap_builder* builder, sap_model* model, sap_error* error) {
  model->options = builder->options;
  model->options.name = sap_duplicate_string(builder->options.name);
  model->sizes = (sap_model_sizes){.bodies = builder->nbodies,
                                   .joints = builder->njoints,
                                   .shapes = builder->nshapes,
                                   .tendons = builder->ntendons,
                                   .actuators = builder->nactuators,
                                   .keyframes = builder->nkeys,
                                   .nq = builder->nq,
                                   .nv = builder->nv,
                                   .nu = builder->nactuators,
                                   .na = builder->na,
                                   .equalities = builder->nequalities,
                                   .springs = builder->nsprings,
                                   .bushings = builder->nbushings,
                                   .sites = builder->nsites,
                                   .sensors = builder->nsensors};
  SAP_FAIL_IF(builder->options.name != NULL && model->options.name == NULL, error,
              SAP_STATUS_MEMORY, "out of memory: model");
  SAP_MODEL_LISTS(COPY_LIST)
  for (int32_t i = 0; i < builder->nsensors; ++i) {
    model->sizes.nsensor += sap_sensor_find_traits((int)model->sensors[i].type).values;
  }
  const int32_t counts[SAP_VISUAL_LISTS] = {builder->nvisuals, builder->nvisual_meshes,
                                            builder->nvisual_vertices, builder->nvisual_triangles};
  memcpy(model->visual_counts, counts, sizeof counts);
  model->exclusion_count = sap_sort_id_pairs(model->exclusions, builder->nexclusions);
  qsort(model->pairs, (size_t)builder->npairs, sizeof *model->pairs, sap_compare_pair_defs);
  model->sizes.pairs = builder->npairs;
  for (int kind = 0; kind < SAP_ELEMENT_COUNT; ++kind) {
    SAP_TRY(sap_names_copy(&builder->names[kind], &model->names[kind], error));
  }
  return SAP_STATUS_OK;
}

static sap_status copy_meshes(const sap_builder* builder, sap_model* model, sap_error* error) {
  SAP_TRY(SAP_POOL_ADD(&model->pool, &model->meshes, builder->nmeshes, error));
  model->sizes.meshes = builder->nmeshes;
  int32_t vertices = 0;
  for (int32_t i = 0; i < builder->nmeshes; ++i) {
    const sap_hull* from = &builder->meshes[i];
    sap_hull* to = &model->meshes[i];
    SAP_FAIL_IF(from->nvertices > INT32_MAX / 12 - vertices, error, SAP_STATUS_MEMORY,
                "too many vertices in all meshes");
    vertices += from->nvertices;
    to->nvertices = from->nvertices;
    to->nfaces = from->nfaces;
    COPY(from->vertices, 3 * from->nvertices, to->vertices);
    COPY(from->neighbor_start, from->nvertices + 1, to->neighbor_start);
    COPY(from->neighbors, from->neighbor_start[from->nvertices], to->neighbors);
    COPY(from->planes, 4 * from->nfaces, to->planes);
    COPY(from->face_start, from->nfaces + 1, to->face_start);
    COPY(from->face_vertices, from->face_start[from->nfaces], to->face_vertices);
    to->ntriangles = from->ntriangles;
    COPY(from->triangles, 9 * from->ntriangles, to->triangles);
  }
  return SAP_STATUS_OK;
}

// Checks again that free joints and planes have static bodies: later joints may have moved these.
static sap_status check_static(const sap_builder* builder, const sap_model* model,
                               sap_error* error) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const int32_t parent = model->bodies[joint->body].parent;
    if (joint->type == SAP_JOINT_FREE && model->bodies[parent].tree >= 0) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, j, error);
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "body = %d hangs on a moving body, but a free joint must connect to "
                            "the world or to a static body",
                            (int)joint->body);
    }
  }
  for (int32_t s = 0; s < model->sizes.shapes; ++s) {
    const sap_shape_def* shape = &model->shapes[s];
    if (shape->type == SAP_SHAPE_PLANE && model->bodies[shape->body].tree >= 0) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_SHAPE, s, error);
      return sap_check_fail(&checker, SAP_STATUS_ARGUMENT,
                            "body = %d moves, but a plane must be on the world or a static body",
                            (int)shape->body);
    }
  }
  return SAP_STATUS_OK;
}

// Normalises the quaternions of a keyframe's q.
static sap_status normalize_key(const sap_checker* checker, const sap_model* model, double* q) {
  SAP_EACH(const sap_model_joint_data, joint, model->joints, model->sizes.joints) {
    if (joint->nq < 4) {
      continue;
    }
    const int32_t start = joint->q_start + joint->nq - 4;
    double unit[4];
    SAP_TRY(sap_check_unit(checker, "q: quaternion", q + start, 4, unit));
    memcpy(q + start, unit, sizeof unit);
  }
  return SAP_STATUS_OK;
}

static sap_status set_keyframes(const sap_builder* builder, sap_model* model, sap_error* error) {
  const int32_t sizes[SAP_KEY_ARRAYS] = {model->sizes.nq, model->sizes.nv, model->sizes.nu,
                                         model->sizes.na};
  double** const arrays[SAP_KEY_ARRAYS] = {&model->key_q, &model->key_v, &model->key_control,
                                           &model->key_act};
  SAP_TRY(SAP_POOL_ADD(&model->pool, &model->key_t, builder->nkeys, error));
  for (int i = 0; i < SAP_KEY_ARRAYS; ++i) {
    const size_t total = (size_t)builder->nkeys * (size_t)sizes[i];
    SAP_TRY(SAP_POOL_ADD(&model->pool, arrays[i], total, error));
  }
  for (int32_t k = 0; k < builder->nkeys; ++k) {
    const sap_builder_key* key = &builder->keys[k];
    const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_KEYFRAME, k, error);
    for (int i = 0; i < SAP_KEY_ARRAYS; ++i) {
      const double* from = key->values[i] == NULL && i == 0 ? model->q_default : key->values[i];
      SAP_REFUSE_IF(key->values[i] != NULL && key->sizes[i] != sizes[i], &checker,
                    "has nq = %d, nv = %d, nu = %d, na = %d, but the model has %d, %d, %d, %d: add "
                    "keyframes last",
                    (int)key->sizes[0], (int)key->sizes[1], (int)key->sizes[2], (int)key->sizes[3],
                    (int)sizes[0], (int)sizes[1], (int)sizes[2], (int)sizes[3]);
      if (from != NULL && sizes[i] > 0) {
        memcpy(*arrays[i] + (size_t)k * (size_t)sizes[i], from, (size_t)sizes[i] * sizeof *from);
      }
    }
    model->key_t[k] = key->t;
    SAP_TRY(normalize_key(&checker, model, model->key_q + (size_t)k * (size_t)sizes[0]));
  }
  return SAP_STATUS_OK;
}

static sap_status allocate_tables(sap_model* model, sap_error* error) {
  const size_t bodies = (size_t)model->sizes.bodies, nv = (size_t)model->sizes.nv;
  return SAP_POOL_ADD_ALL(
      &model->pool, error, SAP_ARRAY(&model->body_order, bodies),
      SAP_ARRAY(&model->body_joints, model->sizes.joints), SAP_ARRAY(&model->tree_sizes, bodies),
      SAP_ARRAY(&model->tree_dofs, bodies + 1), SAP_ARRAY(&model->dof_body, nv),
      SAP_ARRAY(&model->dof_joint, nv), SAP_ARRAY(&model->dof_parent, nv),
      SAP_ARRAY(&model->dof_inertia, nv), SAP_ARRAY(&model->dof_tree, nv),
      SAP_ARRAY(&model->dof_group, nv), SAP_ARRAY(&model->q_default, model->sizes.nq));
}

// Fills body_order. A body's descendants follow it, before the next child of its parent.
static sap_status order_bodies(sap_model* model, sap_error* error) {
  const int32_t bodies = model->sizes.bodies;
  int32_t* below;  // of each body; then where its next child is placed
  SAP_TRY(SAP_NEW(&below, bodies, "model", error));
  for (int32_t b = bodies - 1; b > 0; --b) {
    below[model->bodies[b].parent] += 1 + below[b];
  }
  below[0] = 1;
  for (int32_t b = 1; b < bodies; ++b) {
    int32_t* place = &below[model->bodies[b].parent];
    model->body_order[*place] = b;
    *place += 1 + below[b];
    below[b] = *place - below[b];
  }
  sap_free(below);
  return SAP_STATUS_OK;
}

// Groups joint ids by body, each group in the order of ids.
static void group_joints(sap_model* model) {
  int32_t start = 0;
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    model->bodies[b].first_joint = start;
    start += model->bodies[b].njoints;
    model->bodies[b].njoints = 0;
  }
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    sap_model_body* body = &model->bodies[model->joints[j].body];
    model->body_joints[body->first_joint + body->njoints++] = j;
  }
}

// Sets tree, weld group and dofs of a body whose parent is done.
static void number_body(sap_model* model, int32_t id, int32_t* nq, int32_t* nv) {
  sap_model_body* body = &model->bodies[id];
  const sap_model_body* parent = &model->bodies[body->parent];
  body->tree = parent->tree;
  if (body->njoints > 0 && parent->tree < 0) {
    body->tree = model->sizes.trees++;
    model->tree_dofs[body->tree] = *nv;
  }
  body->root = body->parent == 0 ? id : parent->root;
  body->weld = body->njoints > 0 ? id : parent->weld;
  body->first_dof = body->njoints > 0 ? *nv : -1;
  body->ndofs = 0;
  body->last_dof = parent->last_dof;
  for (int32_t k = 0; k < body->njoints; ++k) {
    const int32_t j = model->body_joints[body->first_joint + k];
    sap_model_joint_data* joint = &model->joints[j];
    joint->tree = body->tree;
    joint->q_start = *nq;
    joint->v_start = *nv;
    for (int32_t i = 0; i < joint->nv; ++i) {
      model->dof_body[*nv] = id;
      model->dof_joint[*nv] = j;
      model->dof_parent[*nv] = body->last_dof;
      model->dof_tree[*nv] = body->tree;
      model->dof_group[*nv] = joint->v_start + (joint->type == SAP_JOINT_FREE && i >= 3 ? 3 : 0);
      body->last_dof = (*nv)++;
    }
    *nq += joint->nq;
    body->ndofs += joint->nv;
  }
  if (body->tree >= 0) {
    model->tree_sizes[body->tree] += body->ndofs;
  }
}

// Computes the world pose of a body whose ancestors are static.
static void static_pose(const sap_model* model, int32_t id, double p[3], double q[4]) {
  sap_v3_copy(p, model->bodies[id].p_PB);
  memcpy(q, model->bodies[id].q_PB, 4 * sizeof *q);
  for (int32_t b = model->bodies[id].parent; b > 0; b = model->bodies[b].parent) {
    const sap_model_body* body = &model->bodies[b];
    sap_quaternion_place(p, body->p_PB, body->q_PB, p);
    sap_quaternion_multiply(q, body->q_PB, q);
  }
  (void)sap_quaternion_normalize(q);
}

static void set_default_pose(sap_model* model) {
  SAP_EACH(const sap_model_joint_data, joint, model->joints, model->sizes.joints) {
    double* q = model->q_default + joint->q_start;
    switch (joint->type) {
      case SAP_JOINT_FREE:
        static_pose(model, joint->body, q, q + 3);
        break;
      case SAP_JOINT_BALL:
        q[0] = 1.0;
        break;
      case SAP_JOINT_HINGE:
      case SAP_JOINT_SLIDE:
        q[0] = joint->reference;
        break;
    }
  }
}

static sap_status number_model(sap_model* model, sap_error* error) {
  SAP_TRY(allocate_tables(model, error));
  SAP_TRY(order_bodies(model, error));
  group_joints(model);
  sap_model_body* world = &model->bodies[0];
  world->tree = world->first_dof = world->last_dof = -1;
  int32_t nq = 0, nv = 0;
  for (int32_t i = 1; i < model->sizes.bodies; ++i) {
    number_body(model, model->body_order[i], &nq, &nv);
  }
  model->tree_dofs[model->sizes.trees] = nv;
  set_default_pose(model);
  return SAP_STATUS_OK;
}

// --- contact stiffness ---
// Shapes that define no stiffness get
//   k = max(1e6 N/m, 1e5 s^-2 m),  so that  m g/k <= 1e-4 m
// m is the mass of all bodies welded together. A fixed number would let a heavy body sink deep, and
// near-rigid contact would hide the compliance of light ones. Static shapes are rigid: the pair
// then has k of the moving one.

static const double LEAST_STIFFNESS = 1e6;     // [N/m]
static const double STIFFNESS_PER_MASS = 1e5;  // [s^-2]: g / 0.1 mm

// Gives pairs without a stiffness that of their shapes in series and its damping. Contact model,
// v_s and static mu of the shapes replace the pair's if they are later or larger.
static sap_status combine_pairs(sap_model* model, sap_error* error) {
  SAP_EACH(sap_pair_def, pair, model->pairs, model->sizes.pairs) {
    if (pair->material.stiffness == 0.0) {
      sap_material both;
      SAP_TRY(sap_material_combine(&model->shapes[pair->shape_a].material,
                                   &model->shapes[pair->shape_b].material,
                                   model->options.friction_rule, &both, error));
      pair->material.stiffness = both.stiffness;
      pair->material.relaxation_time = both.relaxation_time;
      pair->material.dissipation = both.dissipation;
      pair->material.stiction_tolerance =
          fmax(pair->material.stiction_tolerance, both.stiction_tolerance);
      pair->material.static_friction = fmax(pair->material.static_friction, both.static_friction);
      pair->material.model = pair->material.model > both.model ? pair->material.model : both.model;
    }
  }
  return SAP_STATUS_OK;
}

// Sets the stiffness of shapes and pairs that define none.
static sap_status set_stiffness(sap_model* model, sap_error* error) {
  const int32_t nbodies = model->sizes.bodies;
  double* mass;
  SAP_TRY(SAP_NEW(&mass, nbodies, "masses of bodies", error));
  for (int32_t b = 0; b < nbodies; ++b) {
    mass[model->bodies[b].weld] += model->bodies[b].mass;
  }
  SAP_EACH(sap_shape_def, shape, model->shapes, model->sizes.shapes) {
    const sap_model_body* body = &model->bodies[shape->body];
    if (shape->material.stiffness == 0.0) {
      shape->material.stiffness =
          body->tree < 0 ? HUGE_VAL : fmax(LEAST_STIFFNESS, STIFFNESS_PER_MASS * mass[body->weld]);
    }
  }
  sap_free(mass);
  return combine_pairs(model, error);
}

sap_status sap_compile_records(const sap_builder* builder, sap_model* model, sap_error* error) {
  SAP_TRY(copy_records(builder, model, error));
  SAP_TRY(number_model(model, error));
  SAP_TRY(check_static(builder, model, error));
  SAP_TRY(set_stiffness(model, error));
  SAP_TRY(copy_meshes(builder, model, error));
  return set_keyframes(builder, model, error);
}
