// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/collision.h"

#include "geometry/collision_data.h"
#include "geometry/sort.h"
#include "math/quaternion.h"

static sap_status make_hulls(sap_collision* c, sap_error* error) {
  const sap_model* model = c->model;
  c->hulls = sap_allocate((size_t)model->sizes.meshes, sizeof *c->hulls);
  if (c->hulls == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d hulls", (int)model->sizes.meshes);
  }
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < model->sizes.meshes; ++i) {
    const sap_model_mesh* mesh = &model->meshes[i];
    const sap_polytope_source source = {
        .nvertices = mesh->nvertices,
        .nfaces = mesh->nfaces,
        .vertices = model->mesh_vertices + 3 * (size_t)mesh->first_vertex,
        .neighbor_start = model->mesh_neighbor_start + mesh->first_vertex,
        .neighbors = model->mesh_neighbors,
        .planes = model->mesh_planes + 4 * (size_t)mesh->first_face,
        .face_start = model->mesh_face_start + mesh->first_face,
        .face_vertices = model->mesh_face_vertices,
    };
    status = sap_polytope_create(&source, &c->hulls[c->mesh_count++], error);
  }
  return status;
}

static void init_shape(sap_collision* c, int32_t id) {
  const sap_shape_def* def = &c->model->shapes[id];
  sap_collision_shape* shape = &c->shapes[id];
  const sap_polytope* hull = def->type == SAP_SHAPE_MESH ? &c->hulls[def->mesh] : NULL;
  sap_shape_init(&shape->placed, def, hull);
  sap_filter_init(c->model, id, &shape->filter);
  sap_quaternion_to_matrix(shape->R_BS, def->q_BS);
  sap_v3_copy(shape->p_BS, def->p_BS);
  if (hull != NULL) {
    double center[3];
    sap_m3_mul_v3(center, shape->R_BS, hull->center);
    sap_v3_add(shape->p_BS, shape->p_BS, center);
  }
}

static sap_status init(sap_collision* c, const sap_model* model, sap_error* error) {
  c->model = model;
  c->shape_count = model->sizes.shapes;
  const size_t n = (size_t)c->shape_count;
  c->shapes = sap_allocate(n, sizeof *c->shapes);
  c->planes = sap_allocate(n, sizeof *c->planes);
  c->boxed = sap_allocate(n, sizeof *c->boxed);
  if (c->shapes == NULL || c->planes == NULL || c->boxed == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d shapes", (int)c->shape_count);
  }
  const sap_status status = make_hulls(c, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < c->shape_count; ++i) {
    init_shape(c, i);
    if (model->shapes[i].type == SAP_SHAPE_PLANE) {
      c->planes[c->plane_count++] = i;
    } else {
      c->boxed[c->box_count++] = i;
    }
  }
  return sap_broadphase_create(&c->broadphase, c->box_count, error);
}

sap_status sap_collision_create(const sap_model* model, sap_collision** out, sap_error* error) {
  *out = NULL;
  sap_collision* c = sap_allocate(1, sizeof *c);
  if (c == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: collision detection");
  }
  const sap_status status = init(c, model, error);
  if (status != SAP_STATUS_OK) {
    sap_collision_destroy(c);
    return status;
  }
  *out = c;
  return SAP_STATUS_OK;
}

void sap_collision_destroy(sap_collision* collision) {
  if (collision == NULL) {
    return;
  }
  sap_broadphase_destroy(&collision->broadphase);
  for (int32_t i = 0; i < collision->mesh_count; ++i) {
    sap_polytope_clear(&collision->hulls[i]);
  }
  sap_free(collision->hulls);
  sap_free(collision->shapes);
  sap_free(collision->planes);
  sap_free(collision->boxed);
  sap_free(collision->pairs);
  sap_free(collision->pair_scratch);
  sap_free(collision->contacts);
  sap_free(collision->identities[0]);
  sap_free(collision->identities[1]);
  sap_free(collision);
}

static sap_status check_poses(const sap_model* model, const double* p_WB, const double* R_WB,
                              sap_error* error) {
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    double zero = 0.0;
    for (int k = 0; k < 3; ++k) {
      zero += 0.0 * p_WB[3 * b + k];
    }
    for (int k = 0; k < 9; ++k) {
      zero += 0.0 * R_WB[9 * b + k];
    }
    if (!(zero == 0.0)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE,
                      "body %d ('%s'): the pose must be finite; position (%g, %g, %g)", (int)b,
                      sap_model_name(model, SAP_ELEMENT_BODY, b), p_WB[3 * b], p_WB[3 * b + 1],
                      p_WB[3 * b + 2]);
    }
  }
  return SAP_STATUS_OK;
}

static void place_shapes(sap_collision* c, const double* p_WB, const double* R_WB) {
  for (int32_t i = 0; i < c->shape_count; ++i) {
    sap_collision_shape* shape = &c->shapes[i];
    const double* R = R_WB + 9 * shape->filter.body;
    sap_m3_mul_v3(shape->placed.p, R, shape->p_BS);
    sap_v3_add(shape->placed.p, shape->placed.p, p_WB + 3 * shape->filter.body);
    if (shape->placed.type != SAP_SHAPE_SPHERE) {
      sap_m3_mul(shape->placed.R, R, shape->R_BS);
    }
  }
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_placed_shape* placed = &c->shapes[c->boxed[i]].placed;
    sap_aabb* box = &c->broadphase.boxes[i];
    sap_shape_bounds(placed, box->lower, box->upper);
  }
}

static bool accept_boxes(const void* context, int32_t a, int32_t b) {
  const sap_collision* c = context;
  return sap_filter_collides(c->model, &c->shapes[c->boxed[a]].filter,
                             &c->shapes[c->boxed[b]].filter);
}

static sap_status add_pair(sap_collision* c, int32_t a, int32_t b, sap_error* error) {
  if (c->pair_count >= c->pair_capacity) {
    const int32_t needed = c->pair_count < INT32_MAX ? c->pair_count + 1 : -1;
    const sap_status status = SAP_GROW(&c->pairs, &c->pair_capacity, needed, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
  c->pairs[c->pair_count++] = low << 32 | high;
  return SAP_STATUS_OK;
}

static sap_status add_plane_pairs(sap_collision* c, int32_t plane, sap_error* error) {
  const sap_collision_shape* ground = &c->shapes[plane];
  const double* n = ground->placed.R + 6;
  const double offset = sap_v3_dot(n, ground->placed.p);
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    // Slack for the cancellation far from the origin; the pair itself is tested without it.
    const double height = sap_v3_dot(n, shape->placed.p) - offset;
    if (height * (1.0 - 1e-9) - 1e-9 * fabs(offset) >= shape->placed.bound ||
        !sap_filter_collides(c->model, &ground->filter, &shape->filter)) {
      continue;
    }
    const sap_status status = add_pair(c, plane, c->boxed[i], error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status find_pairs(sap_collision* c, sap_error* error) {
  c->pair_count = 0;
  sap_status status = sap_broadphase_find(&c->broadphase, accept_boxes, c, error);
  for (int32_t i = 0; status == SAP_STATUS_OK && i < c->plane_count; ++i) {
    status = add_plane_pairs(c, c->planes[i], error);
  }
  for (int32_t i = 0; status == SAP_STATUS_OK && i < c->broadphase.pair_count; ++i) {
    const uint64_t key = c->broadphase.pairs[i];
    status = add_pair(c, c->boxed[key >> 32], c->boxed[key & UINT32_MAX], error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&c->pair_scratch, &c->scratch_capacity, c->pair_count, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_sort_keys(c->pairs, c->pair_count, c->pair_scratch);
  }
  return status;
}

sap_status sap_collision_detect(sap_collision* collision, const double* p_WB, const double* R_WB,
                                const sap_contact** contacts, int32_t* count, sap_error* error) {
  sap_collision* c = collision;
  sap_status status = check_poses(c->model, p_WB, R_WB, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  place_shapes(c, p_WB, R_WB);
  status = find_pairs(c, error);
  const sap_body_poses at = {p_WB, R_WB};
  int32_t cursor = 0;
  c->contact_count = 0;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < c->pair_count; ++i) {
    const uint64_t pair = c->pairs[i];
    sap_manifold manifold;
    sap_collide(&c->shapes[pair >> 32].placed, &c->shapes[pair & UINT32_MAX].placed, 0.0,
                &manifold);
    if (manifold.count > 0) {
      status = sap_collision_add_manifold(c, &at, pair, &manifold, &cursor, error);
    }
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  c->last = 1 - c->last;
  c->last_count = c->contact_count;
  *contacts = c->contacts;
  *count = c->contact_count;
  return SAP_STATUS_OK;
}
