// SPDX-License-Identifier: BSD-3-Clause
// Convex hulls of meshes: against brute force over the points and Euler's formula.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/builder.h"

enum { MANY = 2000 };

static uint64_t seed = 7;

static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 11) / 9007199254740992.0 * 2.0 - 1.0;
}

static double top(const double* points, int32_t count, const double n[3]) {
  double best = -(double)INFINITY;
  for (int32_t i = 0; i < count; ++i) {
    best = fmax(best, sap_v3_dot(n, points + 3 * (size_t)i));
  }
  return best;
}

// Climbs along the edges to the top vertex in direction n.
static double climb(const sap_hull* hull, const double n[3]) {
  int32_t at = 0;
  for (bool better = true; better;) {
    better = false;
    const double here = sap_v3_dot(n, hull->vertices + 3 * (size_t)at);
    for (int32_t i = hull->neighbor_start[at]; i < hull->neighbor_start[at + 1] && !better; ++i) {
      if (sap_v3_dot(n, hull->vertices + 3 * (size_t)hull->neighbors[i]) > here) {
        at = hull->neighbors[i];
        better = true;
      }
    }
  }
  return sap_v3_dot(n, hull->vertices + 3 * (size_t)at);
}

// Everything that a hull promises, for points of about the given size.
static void check_hull(const double* points, int32_t count, const sap_hull* hull, double size) {
  const double slack = 3.0 * SAP_HULL_FLATNESS * size;
  assert_int_equal(hull->neighbor_start[hull->nvertices] / 2,
                   hull->nvertices + hull->nfaces - 2);  // Euler
  for (int32_t f = 0; f < hull->nfaces; ++f) {
    const double* plane = hull->planes + 4 * (size_t)f;
    assert_true(fabs(sap_v3_norm(plane) - 1.0) < 1e-12);
    const double beyond = top(points, count, plane) - plane[3];
    assert_true(beyond >= -1e-12 * size && beyond <= SAP_HULL_FLATNESS * size);
    assert_true(fabs(top(hull->vertices, hull->nvertices, plane) - plane[3]) <= 1e-12 * size);
    const int32_t first = hull->face_start[f], end = hull->face_start[f + 1];
    assert_true(end - first >= 3);
    for (int32_t i = first; i < end; ++i) {
      const double* a = hull->vertices + 3 * (size_t)hull->face_vertices[i];
      const int32_t next = hull->face_vertices[i + 1 < end ? i + 1 : first];
      const double* b = hull->vertices + 3 * (size_t)next;
      double edge[3], inward[3];
      assert_true(fabs(sap_v3_dot(plane, a) - plane[3]) <= slack);
      sap_v3_sub(edge, b, a);
      sap_v3_cross(inward, plane, edge);
      for (int32_t k = first; k < end; ++k) {  // counter-clockwise: all lie left of the edge
        double arm[3];
        sap_v3_sub(arm, hull->vertices + 3 * (size_t)hull->face_vertices[k], a);
        assert_true(sap_v3_dot(inward, arm) >= -slack * sap_v3_norm(edge));
      }
    }
  }
  for (int k = 0; k < 200; ++k) {
    const double n[3] = {uniform(), uniform(), uniform()};
    assert_true(fabs(climb(hull, n) - top(points, count, n)) <= slack);
  }
}

static void random_points_make_a_simplicial_hull(void** state) {
  (void)state;
  static const double sizes[] = {1.0, 1e-6, 1e7};
  double points[3 * MANY];
  for (size_t s = 0; s < 3; ++s) {
    for (int32_t i = 0; i < 3 * MANY; ++i) {
      points[i] = sizes[s] * (uniform() + 0.7);
    }
    sap_hull hull;
    assert_int_equal(sap_hull_create(points, MANY, &hull, NULL), SAP_STATUS_OK);
    check_hull(points, MANY, &hull, sizes[s]);
    assert_int_equal(hull.nfaces, 2 * hull.nvertices - 4);
    sap_hull_clear(&hull);
  }
}

// A box with points on faces and edges, in single precision's noise, turned: 8 corners, 6 faces.
static void noisy_box_has_six_faces(void** state) {
  (void)state;
  double points[3 * MANY];
  const double c = cos(0.4), s = sin(0.4);
  for (int32_t i = 0; i < MANY; ++i) {
    double p[3] = {uniform(), uniform(), uniform()};
    const int kind = i < 8 ? 8 : i % 3;
    for (int k = 0; k < 3; ++k) {
      if (kind == 8) {
        p[k] = (i >> k) & 1 ? 1.0 : -1.0;
      } else if (k <= kind) {
        p[k] = p[k] > 0.0 ? 1.0 : -1.0;
      }
    }
    if (i >= 8 && kind == 2) {
      p[2] = 0.3 * uniform();
    }
    const double noise = i < 8 ? 0.0 : 5e-8 * uniform();
    double* out = points + 3 * (size_t)i;
    out[0] = c * p[0] - s * p[1] + noise;
    out[1] = 0.5 * (s * p[0] + c * p[1]) - noise;
    out[2] = 0.1 * p[2] + 0.1 * noise;
  }
  sap_hull hull;
  assert_int_equal(sap_hull_create(points, MANY, &hull, NULL), SAP_STATUS_OK);
  check_hull(points, MANY, &hull, 1.0);
  assert_int_equal(hull.nvertices, 8);
  assert_int_equal(hull.nfaces, 6);
  assert_int_equal(hull.neighbor_start[8], 24);
  for (int32_t f = 0; f < 6; ++f) {
    assert_int_equal(hull.face_start[f + 1] - hull.face_start[f], 4);
  }
  sap_hull_clear(&hull);
}

// Caps of 100 corners: two faces hold them all.
static void prism_keeps_its_caps(void** state) {
  (void)state;
  enum { SIDES = 100 };
  double points[6 * SIDES];
  for (int32_t i = 0; i < SIDES; ++i) {
    const double angle = 6.283185307179586 * (double)i / SIDES;
    for (int k = 0; k < 2; ++k) {
      sap_v3_set(points + 6 * (size_t)i + 3 * (size_t)k, cos(angle), sin(angle), k == 0 ? 0 : 0.3);
    }
  }
  sap_hull hull;
  assert_int_equal(sap_hull_create(points, 2 * SIDES, &hull, NULL), SAP_STATUS_OK);
  check_hull(points, 2 * SIDES, &hull, 1.0);
  assert_int_equal(hull.nvertices, 2 * SIDES);
  assert_int_equal(hull.nfaces, SIDES + 2);
  int32_t caps = 0;
  for (int32_t f = 0; f < hull.nfaces; ++f) {
    caps += hull.face_start[f + 1] - hull.face_start[f] == SIDES ? 1 : 0;
  }
  assert_int_equal(caps, 2);
  sap_hull_clear(&hull);
}

// A hull is that of its vertices, bit for bit: saved models have no other points.
static void hull_of_its_vertices(void** state) {
  (void)state;
  double points[3 * MANY];
  for (int32_t i = 0; i < MANY; ++i) {
    const double angle = 0.7 * i, z = uniform(), r = i % 2 == 0 ? 1.0 : 0.5 + 0.5 * z * z;
    sap_v3_set(points + 3 * (size_t)i, r * cos(angle), r * sin(angle) + 1e-7 * z,
               z > 0.5 ? 1.0 : z);
  }
  sap_hull hull, again;
  assert_int_equal(sap_hull_create(points, MANY, &hull, NULL), SAP_STATUS_OK);
  assert_true(hull.nvertices < MANY);
  assert_int_equal(sap_hull_create(hull.vertices, hull.nvertices, &again, NULL), SAP_STATUS_OK);
  assert_int_equal(again.nvertices, hull.nvertices);
  assert_int_equal(again.nfaces, hull.nfaces);
  assert_memory_equal(again.planes, hull.planes, 4 * (size_t)hull.nfaces * sizeof(double));
  assert_memory_equal(again.face_vertices, hull.face_vertices,
                      (size_t)hull.face_start[hull.nfaces] * sizeof(int32_t));
  sap_hull_clear(&hull);
  sap_hull_clear(&again);
}

static void refuse(const sap_mesh_def* def, sap_status expected, const char* text) {
  sap_builder* builder = NULL;
  sap_error error = {0};
  int32_t id = -7;
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  const sap_status status = sap_builder_add_mesh(builder, def, &id, &error);
  if (status != expected || strstr(error.message, text) == NULL) {
    fail_msg("%s: '%s' does not say '%s'", sap_status_text(status), error.message, text);
  }
  assert_int_equal(id, -7);
  assert_int_equal(builder->nmeshes, 0);
  sap_builder_destroy(builder);
}

static void bad_meshes_are_refused(void** state) {
  (void)state;
  double flat[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
  const int32_t faces[3] = {0, 1, 4};
  sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie, .name = "plate", .vertices = flat};
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': has no vertices");
  def.vertex_count = 3;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': has 3 vertices, but a hull needs at least 4");
  def.vertex_count = 4;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': the vertices lie in a plane");
  flat[11] = 1e-14;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': the vertices lie in a plane");
  flat[11] = (double)NAN;
  refuse(&def, SAP_STATUS_NOT_FINITE, "mesh 'plate': vertices[11] = ");
  flat[11] = 1.0;
  def.face_count = -1;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': face_count = -1 must be >= 0");
  def.face_count = 1;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': face_count = 1 must be >= 0, with faces");
  def.faces = faces;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': faces = 4 must be in [0, 3]");
  memset(flat, 0, sizeof flat);
  def.face_count = 0;
  refuse(&def, SAP_STATUS_ARGUMENT, "mesh 'plate': all its 4 vertices are one point");
}

// Two meshes one after the other: the model's tables are those of each hull.
static void model_holds_all_hulls(void** state) {
  (void)state;
  double points[2][3 * 50];
  sap_builder* builder = NULL;
  sap_model* model = NULL;
  sap_hull hulls[2];
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  for (int m = 0; m < 2; ++m) {
    const int32_t count = m == 0 ? 50 : 30;
    for (int32_t i = 0; i < 3 * count; ++i) {
      points[m][i] = uniform() + (double)m;
    }
    const sap_mesh_def def = {.cookie = sap_mesh_def_default().cookie,
                              .name = m == 0 ? "first" : "second",
                              .vertices = points[m],
                              .vertex_count = count};
    assert_int_equal(sap_builder_add_mesh(builder, &def, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_hull_create(points[m], count, &hulls[m], NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_builder_compile(builder, &model, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_MESH, "second"), 1);
  assert_int_equal(sap_model_get_sizes(model).meshes, 2);
  for (int m = 0; m < 2; ++m) {
    const sap_hull *mesh = &model->meshes[m], *hull = &hulls[m];
    assert_int_equal(mesh->nvertices, hull->nvertices);
    assert_int_equal(mesh->nfaces, hull->nfaces);
    const size_t nvertices = (size_t)hull->nvertices, nfaces = (size_t)hull->nfaces;
    const size_t neighbors = (size_t)hull->neighbor_start[nvertices];
    const size_t corners = (size_t)hull->face_start[nfaces];
    assert_memory_equal(mesh->vertices, hull->vertices, 3 * nvertices * sizeof(double));
    assert_memory_equal(mesh->neighbor_start, hull->neighbor_start,
                        (nvertices + 1) * sizeof(int32_t));
    assert_memory_equal(mesh->neighbors, hull->neighbors, neighbors * sizeof(int32_t));
    assert_memory_equal(mesh->planes, hull->planes, 4 * nfaces * sizeof(double));
    assert_memory_equal(mesh->face_start, hull->face_start, (nfaces + 1) * sizeof(int32_t));
    assert_memory_equal(mesh->face_vertices, hull->face_vertices, corners * sizeof(int32_t));
    sap_hull_clear(&hulls[m]);
  }
  sap_builder_destroy(builder);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_points_make_a_simplicial_hull),
      cmocka_unit_test(noisy_box_has_six_faces),
      cmocka_unit_test(prism_keeps_its_caps),
      cmocka_unit_test(hull_of_its_vertices),
      cmocka_unit_test(bad_meshes_are_refused),
      cmocka_unit_test(model_holds_all_hulls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
