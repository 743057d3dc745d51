// SPDX-License-Identifier: BSD-3-Clause
// Meshes in a model: a box whose mesh frame lies far off its middle is where the primitive would
// be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "support/collision_scene.h"
#include "support/near.h"

static const double half[3] = {0.2, 0.3, 0.1}, offset[3] = {1.5, -0.7, 0.4};

static int32_t add_box_mesh(collision_scene* s) {
  double vertices[24];
  for (int i = 0; i < 8; ++i) {
    sap_v3_set(vertices + 3 * i, offset[0] + (i & 1 ? half[0] : -half[0]),
               offset[1] + (i & 2 ? half[1] : -half[1]), offset[2] + (i & 4 ? half[2] : -half[2]));
  }
  const sap_mesh_def mesh = {.cookie = sap_mesh_def_default().cookie,
                             .name = "box",
                             .vertex_count = 8,
                             .vertices = vertices};
  sap_error error;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_mesh(s->builder, &mesh, &id, &error), SAP_STATUS_OK);
  return id;
}

// Two bodies at the same poses over one ground, one with the mesh (through a shape that undoes the
// offset and turns), one with the box; they do not see each other.
static void is_where_it_belongs(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  sap_shape_def shape = sap_shape_def_default();
  shape.type = SAP_SHAPE_MESH;
  shape.mesh = add_box_mesh(&s);
  shape.body = scene_add_body(&s, 0);
  shape.contact_affinity = 0;
  const double turn[3] = {0.4, -0.2, 0.9};
  double R[9], back[3];
  sap_quaternion_exp(shape.q_BS, turn);
  sap_quaternion_to_matrix(R, shape.q_BS);
  sap_m3_mul_v3(back, R, offset);
  sap_v3_scale(shape.p_BS, back, -1.0);
  const int32_t mesh = scene_add_shape_def(&s, &shape);
  sap_shape_def box = sap_shape_def_default();
  box.type = SAP_SHAPE_BOX;
  sap_v3_copy(box.size, half);
  box.body = scene_add_body(&s, 0);
  box.contact_affinity = 0;
  for (int i = 0; i < 4; ++i) {
    box.q_BS[i] = shape.q_BS[i];
  }
  const int32_t primitive = scene_add_shape_def(&s, &box);
  const int32_t ground = scene_add_shape(&s, 0, SAP_SHAPE_PLANE, 0.0, 0.0, 0.0);
  const int32_t post = scene_add_shape(&s, 0, SAP_SHAPE_CYLINDER, 0.1, 0.2, 0.0);
  scene_compile(&s);
  for (int k = 0; k < 10; ++k) {
    for (int body = 1; body <= 2; ++body) {
      scene_place(&s, body, 0.02 * k, 0.1, 0.1);
      scene_turn(&s, body, 0.3 * k, 0.1, -0.2 * k);
    }
    scene_detect(&s);
    double deepest[2][2] = {{0.0, 0.0}, {0.0, 0.0}};
    for (int32_t i = 0; i < s.count; ++i) {
      const int of_box = s.contacts[i].shape_A == primitive || s.contacts[i].shape_B == primitive;
      const int on_post = s.contacts[i].shape_A == post || s.contacts[i].shape_B == post;
      assert_true(of_box || s.contacts[i].shape_A == mesh || s.contacts[i].shape_B == mesh);
      assert_true(on_post || s.contacts[i].shape_A == ground || s.contacts[i].shape_B == ground);
      deepest[of_box][on_post] = fmin(deepest[of_box][on_post], s.contacts[i].phi);
    }
    assert_true(deepest[1][0] < 0.0 && deepest[1][1] < 0.0);
    // Round-off of the offset.
    ASSERT_NEAR(deepest[0][0], deepest[1][0], 1e-12);
    ASSERT_NEAR(deepest[0][1], deepest[1][1], 1e-9);
  }
  scene_end(&s);
}

// A box mesh at rest on a box: four contacts, all of the same depth, whose features stay.
static void stands_on_four(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_BOX, 1.0, 1.0, 0.5);
  sap_shape_def shape = sap_shape_def_default();
  shape.type = SAP_SHAPE_MESH;
  shape.mesh = add_box_mesh(&s);
  shape.body = scene_add_body(&s, 0);
  scene_add_shape_def(&s, &shape);
  scene_compile(&s);
  for (int k = 0; k < 20; ++k) {
    scene_place(&s, 1, -offset[0] + 1e-3 * k, -offset[1], 0.5 + half[2] - offset[2] - 1e-3);
    scene_turn(&s, 1, 0.0, 0.0, 1e-3 * k);
    scene_detect(&s);
    assert_int_equal(s.count, 4);
    for (int32_t i = 0; i < 4; ++i) {
      assert_int_equal(s.contacts[i].feature, i);
      ASSERT_NEAR(s.contacts[i].phi, -1e-3, 1e-12);
    }
  }
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_where_it_belongs),
                                     cmocka_unit_test(stands_on_four)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
