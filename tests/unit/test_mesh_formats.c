// SPDX-License-Identifier: BSD-3-Clause
// One tetrahedron in every mesh format: mass and inertia of each are those of the closed form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scratch.h"

static const float vertices[12] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3};
static const int32_t faces[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};

static const char obj[] =
    "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

// Corners counted backwards, with texture and normal, a line that is continued, one without an end.
static const char wild_obj[] =
    "# a comment\r\nmtllib m.mtl\r\no t\r\nv 0 0 0 0.5 0.5 0.5\r\nv 1.0e+0 0 0\r\nv 0 \\\r\n2 0\r\n"
    "vt 0 0\r\nvn 0 0 1\r\nf -3/1/1 -1/1/1 -2/1/1 # the bottom\r\nv 9 9 9\r\nv 0 0 3\r\n"
    "usemtl m\r\ns off\r\nf 1//1 2//1 5//1\r\nf 2/1 3/1 5/1\r\nl 1 2\r\nf 3 1 5";

#define FACET(a, b, c)                                                                 \
  "facet normal nan nan nan\n outer loop\n  vertex " a "\n  vertex " b "\n  vertex " c \
  "\n endloop\nendfacet\n"
// Two solids, one of a name with blanks.
static const char text_stl[] = "solid the first\n" FACET("0 0 0", "0 2 0", "1 0 0")
    FACET("0 0 0", "1 0 0", "0 0 3") "endsolid the first\nSOLID\n" FACET("1 0 0", "0 2 0", "0 0 3")
        FACET("0 2 0", "0 0 0", "0 0 3") "ENDSOLID\n";

static size_t put_integer(char* to, int32_t value) {
  const uint32_t bits = (uint32_t)value;
  for (int i = 0; i < 4; ++i) {
    to[i] = (char)(bits >> 8 * i & 0xff);
  }
  return 4;
}

static size_t put_real(char* to, float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return put_integer(to, bits);
}

static size_t make_stl(char* to) {
  memset(to, 0, 80);
  size_t n = 80;
  n += put_integer(to + n, 4);
  for (int f = 0; f < 4; ++f) {
    for (int i = 0; i < 3; ++i) {
      n += put_real(to + n, 0.0F);
    }
    for (int i = 0; i < 9; ++i) {
      n += put_real(to + n, vertices[3 * faces[3 * f + i / 3] + i % 3]);
    }
    to[n++] = 0;
    to[n++] = 0;
  }
  return n;
}

// With a normal and two texture coordinates, which are passed over.
static size_t make_msh(char* to) {
  const int32_t header[4] = {4, 1, 2, 4};
  size_t n = 0;
  for (int i = 0; i < 4; ++i) {
    n += put_integer(to + n, header[i]);
  }
  for (int i = 0; i < 12; ++i) {
    n += put_real(to + n, vertices[i]);
  }
  for (int i = 0; i < 3 + 4; ++i) {
    n += put_real(to + n, 7.0F);
  }
  for (int i = 0; i < 12; ++i) {
    n += put_integer(to + n, faces[i]);
  }
  return n;
}

static sap_status read_mesh(const char* name, const char* bytes, size_t size, sap_model** model,
                            sap_error* error) {
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE], text[512];
  scratch_write(&s, name, bytes, size, path);
  (void)snprintf(text, sizeof text,
                 "<mujoco><asset><mesh name='m' file='%s'/></asset><worldbody><body><freejoint/>"
                 "<geom type='mesh' mesh='m' density='1000'/></body></worldbody></mujoco>",
                 name);
  scratch_write(&s, "a.xml", text, strlen(text), path);
  const sap_status status = sap_scene_read(path, NULL, model, error);
  scratch_end(&s);
  return status;
}

static void expect_tetrahedron(const char* name, const char* bytes, size_t size) {
  sap_model* m = NULL;
  sap_error error = {0};
  if (read_mesh(name, bytes, size, &m, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  const sap_model_body* b = &m->bodies[1];
  ASSERT_NEAR(b->mass, 1000.0, 1e-3);  // volume a b c/6 = 1 m^3; files hold single precision
  ASSERT_NEAR(b->p_BCo[0], 0.25, 1e-6);
  ASSERT_NEAR(b->p_BCo[1], 0.5, 1e-6);
  ASSERT_NEAR(b->p_BCo[2], 0.75, 1e-6);
  // int x^2 - m xc^2 = m a^2 (1/10 - 1/16), int xy - m xc yc = m a b (1/20 - 1/16)
  ASSERT_NEAR(b->I_BCo_B[0], 1000.0 * 0.0375 * (4.0 + 9.0), 1e-2);
  ASSERT_NEAR(b->I_BCo_B[1], 1000.0 * 0.0375 * (1.0 + 9.0), 1e-2);
  ASSERT_NEAR(b->I_BCo_B[2], 1000.0 * 0.0375 * (1.0 + 4.0), 1e-2);
  ASSERT_NEAR(b->I_BCo_B[3], 1000.0 * 0.0125 * 2.0, 1e-2);
  sap_model_destroy(m);
}

static void test_formats(void** state) {
  (void)state;
  char bytes[1024];
  expect_tetrahedron("t.obj", obj, sizeof obj - 1);
  expect_tetrahedron("wild.OBJ", wild_obj, sizeof wild_obj - 1);
  expect_tetrahedron("text.stl", text_stl, sizeof text_stl - 1);
  expect_tetrahedron("t.stl", bytes, make_stl(bytes));
  expect_tetrahedron("t.msh", bytes, make_msh(bytes));
}

static void refuse_msh(const char* bytes, size_t size, const char* what) {
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_mesh("t.msh", bytes, size, &m, &error), SAP_STATUS_SYNTAX);
  assert_null(m);
  if (strstr(error.message, "a.xml:1: <mesh") == NULL || strstr(error.message, what) == NULL) {
    fail_msg("%s: not '%s'", error.message, what);
  }
}

// Cut off anywhere, with bytes left over, with counts below zero or beyond all files, and triangles
// of vertices that are not there.
static void test_bad_msh(void** state) {
  (void)state;
  char bytes[1024];
  const size_t size = make_msh(bytes);
  for (size_t n = 1; n < size; ++n) {
    refuse_msh(bytes, n, n < 16 ? "fewer than its header of 16" : "must have 140 by its header");
  }
  bytes[size] = 0;
  refuse_msh(bytes, size + 1, "has 141 bytes, must have 140 by its header");
  const int32_t counts[] = {-1, INT32_MAX, 0};
  for (int i = 0; i < 3; ++i) {
    (void)put_integer(bytes, counts[i]);
    refuse_msh(bytes, size, "vertices are out of range");
  }
  (void)make_msh(bytes);
  (void)put_integer(bytes + size - 4, 4);
  refuse_msh(bytes, size, "triangle 3: no vertex 4 of 4");
  (void)make_msh(bytes);
  (void)put_integer(bytes + size - 48, -1);
  refuse_msh(bytes, size, "triangle 0: no vertex -1 of 4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_bad_msh),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
