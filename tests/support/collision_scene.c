// SPDX-License-Identifier: BSD-3-Clause
#include "support/collision_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "support/convex_oracle.h"

static void require(sap_status status, const sap_error* error) {
  if (status != SAP_STATUS_OK) {
    fail_msg("%s", error->message);
  }
}

void scene_begin(collision_scene* scene) {
  sap_error error;
  *scene = (collision_scene){0};
  require(sap_builder_create(NULL, &scene->builder, &error), &error);
}

int32_t scene_add_body(collision_scene* scene, int32_t parent) {
  sap_error error;
  sap_body_def body = sap_body_def_default();
  int32_t id;
  body.parent = parent < 0 ? -parent - 1 : parent;
  body.mass = 1.0;
  body.I_BCo_B[0] = body.I_BCo_B[1] = body.I_BCo_B[2] = 0.1;
  require(sap_builder_add_body(scene->builder, &body, &id, &error), &error);
  if (parent >= 0) {
    sap_joint_def joint = sap_joint_def_default();
    joint.body = id;
    joint.type = parent == 0 ? SAP_JOINT_FREE : SAP_JOINT_HINGE;
    require(sap_builder_add_joint(scene->builder, &joint, NULL, &error), &error);
  }
  return id;
}

int32_t scene_add_shape_def(collision_scene* scene, const sap_shape_def* def) {
  sap_error error;
  int32_t id;
  require(sap_builder_add_shape(scene->builder, def, &id, &error), &error);
  return id;
}

int32_t scene_add_shape(collision_scene* scene, int32_t body, sap_shape_type type, double x,
                        double y, double z) {
  sap_shape_def def = sap_shape_def_default();
  def.body = body;
  def.type = type;
  def.size[0] = x;
  def.size[1] = y;
  def.size[2] = z;
  def.material.stiffness = 1e6;  // also on the world: points lie midway
  return scene_add_shape_def(scene, &def);
}

int32_t scene_add_random_mesh(collision_scene* scene, int32_t count, double radius) {
  sap_error error;
  double points[3 * 128];
  uint64_t seed = 4;
  int32_t id = -1;
  assert_in_range(count, 4, 128);
  for (int32_t i = 0; i < count; ++i) {
    double* x = points + 3 * i;
    sap_v3_set(x, oracle_random(&seed) - 0.5, oracle_random(&seed) - 0.5,
               oracle_random(&seed) - 0.5);
    sap_v3_scale(x, x, radius / sap_v3_norm(x));
  }
  const sap_mesh_def mesh = {
      .cookie = sap_mesh_def_default().cookie, .vertex_count = count, .vertices = points};
  require(sap_builder_add_mesh(scene->builder, &mesh, &id, &error), &error);
  return id;
}

void scene_compile(collision_scene* scene) {
  sap_error error;
  require(sap_builder_compile(scene->builder, &scene->model, &error), &error);
  require(sap_collision_create(scene->model, &scene->collision, &error), &error);
  const int32_t bodies = sap_model_get_sizes(scene->model).bodies;
  scene->p_WB = calloc((size_t)bodies, 3 * sizeof(double));
  scene->R_WB = calloc((size_t)bodies, 9 * sizeof(double));
  assert_non_null(scene->p_WB);
  assert_non_null(scene->R_WB);
  for (int32_t b = 0; b < bodies; ++b) {
    scene->R_WB[9 * b] = scene->R_WB[9 * b + 4] = scene->R_WB[9 * b + 8] = 1.0;
  }
}

void scene_place(collision_scene* scene, int32_t body, double x, double y, double z) {
  sap_v3_set(scene->p_WB + 3 * body, x, y, z);
}

void scene_turn(collision_scene* scene, int32_t body, double x, double y, double z) {
  const double r[3] = {x, y, z};
  double q[4];
  sap_quaternion_exp(q, r);
  sap_quaternion_to_matrix(scene->R_WB + 9 * body, q);
}

void scene_detect(collision_scene* scene) {
  sap_error error;
  const sap_collision_query query = {
      .p_WB = scene->p_WB, .R_WB = scene->R_WB, .remember = true, .dt = scene->dt};
  require(sap_collision_detect(scene->collision, &query, &scene->contacts, &scene->count, &error),
          &error);
}

void scene_expect_same_contacts(const sap_contact* a, int32_t na, const sap_contact* b,
                                int32_t nb) {
  assert_int_equal(na, nb);
  for (int32_t i = 0; i < na; ++i, ++a, ++b) {
    assert_int_equal(a->body_A, b->body_A);
    assert_int_equal(a->body_B, b->body_B);
    assert_int_equal(a->shape_A, b->shape_A);
    assert_int_equal(a->shape_B, b->shape_B);
    assert_int_equal(a->feature, b->feature);
    assert_memory_equal(&a->phi, &b->phi, sizeof a->phi);
    assert_memory_equal(a->point, b->point, sizeof a->point);
    assert_memory_equal(a->R_WC, b->R_WC, sizeof a->R_WC);
    assert_memory_equal(a->friction, b->friction, sizeof a->friction);
    assert_memory_equal(&a->material.stiffness, &b->material.stiffness, sizeof(double));
  }
}

void scene_end(collision_scene* scene) {
  sap_collision_destroy(scene->collision);
  sap_model_destroy(scene->model);
  sap_builder_destroy(scene->builder);
  free(scene->p_WB);
  free(scene->R_WB);
}
