// SPDX-License-Identifier: BSD-3-Clause
// The distance of contacts in patches is that of the shapes, however small the stiffness of a point
// is, by closed forms and by search over all directions; and the patches of an edge are the same
// all along it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/geometry/collision_data.h"
#include "support/collision_scene.h"
#include "support/convex_oracle.h"
#include "support/near.h"
#include "support/ring_mesh.h"

static const double PI = 3.14159265358979323846, E = 1e7, H = 0.05;

static int32_t add(collision_scene* s, sap_shape_type type, double x, double y, double z,
                   int32_t mesh) {
  sap_shape_def def = sap_shape_def_default();
  def.type = type;
  def.body = type == SAP_SHAPE_PLANE ? 0 : scene_add_body(s, 0);
  def.mesh = mesh;
  def.material.modulus = E;
  sap_v3_set(def.size, x, y, z);
  (void)scene_add_shape_def(s, &def);
  return def.body;
}

// All points of all patches have the depth.
static void expect_depth(collision_scene* s, double depth, double tolerance) {
  scene_detect(s);
  assert_true(s->count > 0);
  for (int32_t i = 0; i < s->count; ++i) {
    assert_true(s->contacts[i].patch > 0);
    ASSERT_NEAR(s->contacts[i].phi, -depth, tolerance);
    assert_true(s->contacts[i].law_phi <= 0.0);
  }
}

// A ball in a plane, two edges and two corners of cubes in each other.
static void test_closed_forms(void** state) {
  (void)state;
  static const double depths[3] = {1e-6, 1e-3, 6e-3};
  const double corner = acos(1.0 / sqrt(3.0));
  collision_scene s;
  scene_begin(&s);
  (void)add(&s, SAP_SHAPE_PLANE, 0.0, 0.0, 0.0, -1);
  const int32_t ball = add(&s, SAP_SHAPE_SPHERE, H, 0.0, 0.0, -1);
  const int32_t low = add(&s, SAP_SHAPE_BOX, H, H, H, -1);
  const int32_t high = add(&s, SAP_SHAPE_BOX, H, H, H, -1);
  scene_compile(&s);
  for (int i = 0; i < 3; ++i) {
    const double d = depths[i], edge = sqrt(2.0) * H, away = 10.0;
    scene_place(&s, low, away, 0.0, 3.0);
    scene_place(&s, high, away, 0.0, 6.0);
    scene_place(&s, ball, 0.0, 0.0, H - d);
    expect_depth(&s, d, 1e-15);
    scene_place(&s, ball, 0.0, 0.0, away);
    scene_turn(&s, low, 0.25 * PI, 0.0, 0.0);
    scene_turn(&s, high, 0.0, 0.25 * PI, 0.0);
    scene_place(&s, high, away, 0.0, 3.0 + 2.0 * edge - d);
    expect_depth(&s, d, 1e-14);
    // On its corner: the diagonal, turned about (1, -1, 0), is vertical.
    scene_turn(&s, high, corner / sqrt(2.0), -corner / sqrt(2.0), 0.0);
    scene_place(&s, high, 0.0, 0.0, sqrt(3.0) * H - d);
    expect_depth(&s, d, 1e-14);
  }
  scene_end(&s);
}

// Over a floor of triangles a ball is as deep as over a plane.
static void test_mesh(void** state) {
  (void)state;
  double vertices[3 * RING_VERTICES];
  int32_t faces[3 * RING_FACES], cup;
  const double depths[2] = {1e-5, 1e-3}, floor = 0.02, high = 0.1;
  collision_scene s;
  scene_begin(&s);
  const sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie,
                            .vertex_count = RING_VERTICES,
                            .vertices = vertices,
                            .face_count = ring_mesh(0.3, 0.2, high, floor, vertices, faces),
                            .faces = faces};
  assert_int_equal(sap_builder_add_mesh(s.builder, &def, &cup, NULL), SAP_STATUS_OK);
  (void)add(&s, SAP_SHAPE_MESH, 0.0, 0.0, 0.0, cup);
  const int32_t ball = add(&s, SAP_SHAPE_SPHERE, H, 0.0, 0.0, -1);
  scene_compile(&s);
  for (int i = 0; i < 2; ++i) {
    const double d = depths[i];
    scene_place(&s, ball, 0.03, 0.05, floor - high + H - d);  // within a triangle
    expect_depth(&s, d, 1e-3 * d);
    scene_place(&s, ball, 0.0, 0.0, floor - high + H - d);  // over an edge between two
    expect_depth(&s, d, 1e-3 * d);
  }
  scene_end(&s);
}

// Deep random pairs.
static void test_random(void** state) {
  (void)state;
  enum { PAIRS = 200 };
  static const sap_shape_type types[4] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE,
                                          SAP_SHAPE_MESH};
  uint64_t seed = 7;
  int32_t found = 0, shallow = 0;
  for (int i = 0; i < PAIRS; ++i) {
    collision_scene s;
    double n[3];
    scene_begin(&s);
    const int32_t mesh = scene_add_random_mesh(&s, 12, 0.06);
    for (int k = 0; k < 2; ++k) {
      (void)add(&s, types[(i + k * (i / 4)) % 4], 0.05, 0.04, 0.03, mesh);
    }
    scene_compile(&s);
    scene_turn(&s, 1, 3.0 * oracle_random(&seed), oracle_random(&seed), oracle_random(&seed));
    scene_turn(&s, 2, oracle_random(&seed), 3.0 * oracle_random(&seed), oracle_random(&seed));
    scene_place(&s, 2, 0.06 * oracle_random(&seed), 0.06 * oracle_random(&seed),
                0.06 * oracle_random(&seed));
    scene_detect(&s);
    const double distance =
        oracle_distance(&s.collision->shapes[0].placed, &s.collision->shapes[1].placed, n);
    for (int32_t c = 0; c < s.count; ++c) {
      ASSERT_NEAR(s.contacts[c].phi, distance, 1e-5);
      shallow += s.contacts[c].law_phi < s.contacts[c].phi - 1e-3;
    }
    found += s.count > 0;
    scene_end(&s);
  }
  assert_true(found > PAIRS / 2);
  assert_true(shallow > 0);  // points whose law is deeper than the shapes
}

// A ball that touches an edge has the same force anywhere along it: where the middle of the ball is
// under a face, the depths of both grow alike along the normal of that face.
static void test_along_edge(void** state) {
  (void)state;
  enum { TURNS = 400, PLACES = 20 };
  uint64_t seed = 3;
  collision_scene s;
  scene_begin(&s);
  const int32_t ball = add(&s, SAP_SHAPE_SPHERE, H, 0.0, 0.0, -1);
  const int32_t post = add(&s, SAP_SHAPE_BOX, H, H, H, -1);
  scene_compile(&s);
  for (int k = 0; k < TURNS; ++k) {
    const double angle = 0.25 * PI + 0.6 * oracle_random(&seed), r = H - 1e-3;
    double first = 0.0;
    oracle_random_rotation(&seed, s.R_WB + 9 * post);
    for (int i = 0; i < PLACES; ++i) {
      const double z = 0.8 * H * (2.0 * i / (PLACES - 1.0) - 1.0);
      const double x[3] = {H + r * cos(angle), H + r * sin(angle), z};
      double force = 0.0;
      sap_m3_mul_v3(s.p_WB + 3 * ball, s.R_WB + 9 * post, x);
      scene_detect(&s);
      for (int32_t c = 0; c < s.count; ++c) {
        force -= s.contacts[c].material.stiffness * s.contacts[c].law_phi;
      }
      first = i == 0 ? force : first;
      assert_true(first > 0.0);
      ASSERT_NEAR(force, first, 1e-9 * first);
    }
  }
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed_forms),
                                     cmocka_unit_test(test_mesh), cmocka_unit_test(test_random),
                                     cmocka_unit_test(test_along_edge)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
