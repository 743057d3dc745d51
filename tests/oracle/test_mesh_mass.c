// SPDX-License-Identifier: BSD-3-Clause
// Mass properties of meshes against the closed forms of boxes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/model.h>

// Box with corner (x, y, z) of sizes (a, b, c); corner k has bit 0, 1, 2 in x, y, z.
static const int32_t box_faces[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                      2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
static const double corner[3] = {0.3, -2.0, 5.0}, sizes[3] = {0.4, 1.0, 2.5};

static void fill_box(double* vertices, const double from[3], const double size[3]) {
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < 3; ++i) {
      vertices[3 * k + i] = from[i] + ((k >> i) & 1 ? size[i] : 0.0);
    }
  }
}

static void expect_near(double value, double expected) {
  // Round-off of coordinates of size 5 in second moments of size 1.
  if (!(fabs(value - expected) <= 1e-12)) {
    fail_msg("%.17g, expected %.17g", value, expected);
  }
}

static void solid_box(void** state) {
  (void)state;
  double vertices[24];
  fill_box(vertices, corner, sizes);
  const sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie,
                            .name = "box",
                            .vertex_count = 8,
                            .vertices = vertices,
                            .face_count = 12,
                            .faces = box_faces};
  static const sap_mesh_solid kinds[] = {SAP_MESH_CONVEX, SAP_MESH_EXACT, SAP_MESH_LEGACY};
  for (int k = 0; k < 3; ++k) {
    sap_mesh_mass mass;
    assert_int_equal(sap_mesh_def_mass(&def, kinds[k], &mass, NULL), SAP_STATUS_OK);
    expect_near(mass.volume, 1.0);
    for (int i = 0; i < 3; ++i) {
      const double a = sizes[(i + 1) % 3], b = sizes[(i + 2) % 3];
      expect_near(mass.center[i], corner[i] + 0.5 * sizes[i]);
      expect_near(mass.inertia[i], (a * a + b * b) / 12.0);
      expect_near(mass.inertia[3 + i], 0.0);
    }
  }
}

// The six plates of the box's surface.
static void shell_of_a_box(void** state) {
  (void)state;
  double vertices[24], area = 0.0, inertia[3] = {0.0, 0.0, 0.0};
  fill_box(vertices, corner, sizes);
  for (int n = 0; n < 3; ++n) {  // the two plates across axis n
    const int u = (n + 1) % 3, w = (n + 2) % 3;
    const double plates = 2.0 * sizes[u] * sizes[w];
    const double nn = sizes[n] * sizes[n] / 4.0, uu = sizes[u] * sizes[u] / 12.0,
                 ww = sizes[w] * sizes[w] / 12.0;
    area += plates;
    inertia[n] += plates * (uu + ww);
    inertia[u] += plates * (nn + ww);
    inertia[w] += plates * (nn + uu);
  }
  const sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie,
                            .vertex_count = 8,
                            .vertices = vertices,
                            .face_count = 12,
                            .faces = box_faces};
  sap_mesh_mass mass;
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_SHELL, &mass, NULL), SAP_STATUS_OK);
  expect_near(mass.volume, area);
  for (int i = 0; i < 3; ++i) {
    expect_near(mass.center[i], corner[i] + 0.5 * sizes[i]);
    expect_near(mass.inertia[i], inertia[i]);
  }
}

// Two boxes in one mesh, apart along x and y: parallel axes; a product of inertia; the hull is
// more.
static void two_boxes(void** state) {
  (void)state;
  static const double from[2][3] = {{0, 0, 0}, {3, 1, 0}}, size[2][3] = {{1, 1, 1}, {1, 1, 1}};
  double vertices[48];
  int32_t faces[72];
  for (int k = 0; k < 2; ++k) {
    fill_box(vertices + 24 * k, from[k], size[k]);
    for (int i = 0; i < 36; ++i) {
      faces[36 * k + i] = box_faces[i] + 8 * k;
    }
  }
  const sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie,
                            .vertex_count = 16,
                            .vertices = vertices,
                            .face_count = 24,
                            .faces = faces};
  sap_mesh_mass exact, convex, legacy;
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_EXACT, &exact, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_CONVEX, &convex, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_LEGACY, &legacy, NULL), SAP_STATUS_OK);
  expect_near(exact.volume, 2.0);
  expect_near(exact.center[0], 2.0);
  expect_near(exact.inertia[0], 2.0 / 6.0 + 2.0 * 0.25);
  expect_near(exact.inertia[1], 2.0 / 6.0 + 2.0 * 2.25);
  expect_near(exact.inertia[2], 2.0 / 6.0 + 2.0 * 2.5);
  expect_near(exact.inertia[3], -2.0 * 0.75);
  expect_near(convex.volume, 5.0);  // a unit square swept along (3, 1): 1 + 3 + 1
  assert_true(legacy.volume > 2.1);
}

static void refused(void** state) {
  (void)state;
  double vertices[24];
  int32_t faces[36];
  sap_error error;
  sap_mesh_mass mass = {.volume = -7.0};
  fill_box(vertices, corner, sizes);
  memcpy(faces, box_faces, sizeof faces);
  sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie,
                      .name = "box",
                      .vertex_count = 8,
                      .vertices = vertices,
                      .face_count = 11,
                      .faces = faces};
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_EXACT, &mass, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "mesh 'box': its faces are not closed: the edge between"));
  def.face_count = 12;
  for (int i = 0; i < 36; i += 3) {  // inside out
    faces[i] = box_faces[i + 1];
    faces[i + 1] = box_faces[i];
  }
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_EXACT, &mass, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "mesh 'box': its volume is -1"));
  faces[0] = 9;
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_EXACT, &mass, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "mesh 'box': faces = 9"));
  assert_int_equal(sap_mesh_def_mass(&def, (sap_mesh_solid)4, &mass, &error), SAP_STATUS_ARGUMENT);
  for (int i = 0; i < 36; ++i) {
    faces[i] = 0;
  }
  assert_int_equal(sap_mesh_def_mass(&def, SAP_MESH_LEGACY, &mass, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "mesh 'box': its faces have no area"));
  assert_true(mass.volume == -7.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solid_box),
      cmocka_unit_test(shell_of_a_box),
      cmocka_unit_test(two_boxes),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
