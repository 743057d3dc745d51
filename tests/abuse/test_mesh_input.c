// SPDX-License-Identifier: BSD-3-Clause
// Meshes of MJCF that are missing, flat, empty, not finite or cut off, and default classes that
// contain themselves: refused with file, line and name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/scratch.h"

typedef struct bad_mesh {
  const char* name;  // of the file
  const char* bytes;
  size_t size;
  const char* what;
} bad_mesh;

#define TEXT(text) text, sizeof(text) - 1
// Binary STL: 80 bytes of header, the number of triangles, 50 bytes each.
static const char cut_stl[84 + 50 + 10] = {[80] = 2};

static const char long_stl[84 + 50 + 1] = {[80] = 1};
static const char nan_stl[84 + 50] = {[80] = 1, [84 + 12 + 2] = '\xc0', [84 + 12 + 3] = '\x7f'};

static const bad_mesh meshes[] = {
    {"flat.obj", TEXT("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n"),
     "mesh 'shell': its volume is 0"},
    {"line.obj", TEXT("v 0 0 0\nv 1 0 0\nv 2 0 0\nv 3 0 0\nf 1 2 3\nf 2 3 4\n"),
     "mesh 'shell': its faces have no area"},
    {"point.obj", TEXT("v 1 1 1\nv 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\nf 2 3 4\n"),
     "mesh 'shell': its faces have no area"},
    {"few.obj", TEXT("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"), "mesh 'shell': its volume is 0"},
    {"nothing.obj", TEXT(""), "nothing.obj"},
    {"blank.obj", TEXT("# no vertices\n"), "blank.obj"},
    {"nan.obj", TEXT("v 0 0 0\nv nan 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"),
     "nan.obj:2: 'nan' is not finite"},
    {"huge.obj",
     TEXT("v 0 0 0\nv 1e999 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"),
     "huge.obj:2: '1e999' is not finite"},
    {"far.obj", TEXT("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 9\nf 1 2 4\n"),
     "far.obj:5: vertex 9 is not one of the 4 so far"},
    {"before.obj", TEXT("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -4\n"),
     "before.obj:4: vertex -4 is not one of the 3 so far"},
    {"zero.obj", TEXT("v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 0 1 2\n"), "zero.obj:5: vertex 0"},
    {"corner.obj", TEXT("v 0 0 0\n# c\nf 1 1/2 1x\n"), "corner.obj:3: '1x' is not a corner"},
    {"edge.obj", TEXT("v 0 0 0\nv 1 0 0\nf 1 2 # 3\n"), "edge.obj:3: a face has 2 corners"},
    {"short.obj", TEXT("v 0 0 0\r\nv 1 2\r\n"), "short.obj:2: '' is not a number"},
    {"hex.obj", TEXT("v 0 \\\n0x1 0\n"), "hex.obj:2: '0x1' is not a decimal number"},
    {"cut.stl", cut_stl, sizeof cut_stl, "cut.stl: the file ends in facet 2 of 2"},
    {"long.stl", long_stl, sizeof long_stl, "long.stl: bytes follow the last of its 1 facets"},
    {"nan.stl", nan_stl, sizeof nan_stl, "nan.stl: facet 1: a vertex is not finite"},
    {"tiny.stl", TEXT("no solid"), "tiny.stl: neither a text solid nor 84 bytes"},
    {"empty.stl", TEXT("solid x\nendsolid x\n"), "empty.stl: the file has no faces"},
    {"open.stl", TEXT("solid x\n facet normal 0 0 0\n  outer loop\n   vertex 0 0 zero\n"),
     "open.stl:4: 'zero' is not a number"},
    {"end.stl", TEXT("solid x\nfacet normal 0 0 0 outer loop vertex 0 0 0\n"),
     "end.stl:3: '' must be 'vertex'"},
    {"blank.stl", TEXT("\n\nsolid x\nvertex\n"),
     "blank.stl:4: 'vertex' must be 'facet' or 'endsolid'"},
    {"unended.stl",
     TEXT("solid x\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\n"
          "endloop endfacet\n"),
     "unended.stl:8: '' must be 'facet' or 'endsolid'"},
    {"quad.stl",
     TEXT("solid\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\n"
          "vertex 0 1 0\n"),
     "quad.stl:7: 'vertex' must be 'endloop'"},
    {"binary.obj", TEXT("\x7f\x45\x4c\x46\x00\x01\x02"), "binary.obj"},
};

// The message must begin with where, and hold what; the model is left alone.
static void expect(const char* path, const char* line, const char* what) {
  sap_model* model = NULL;
  sap_error error = {0};
  assert_int_not_equal(sap_scene_read(path, NULL, &model, &error), SAP_STATUS_OK);
  assert_null(model);
  char where[SCRATCH_PATH_SIZE + 16];
  (void)snprintf(where, sizeof where, "%s:%s", path, line);
  if (strncmp(error.message, where, strlen(where)) != 0 || strstr(error.message, what) == NULL) {
    fail_msg("'%s' does not begin with '%s' or lacks '%s'", error.message, where, what);
  }
}

static void test_meshes(void** unused) {
  (void)unused;
  scratch files;
  char scene[SCRATCH_PATH_SIZE], path[SCRATCH_PATH_SIZE], text[512];
  scratch_begin(&files);
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; ++i) {
    const bad_mesh* mesh = &meshes[i];
    (void)scratch_write(&files, mesh->name, mesh->bytes, mesh->size, path);
    (void)snprintf(text, sizeof text,
                   "<mujoco>\n<asset>\n<mesh name='shell' file='%s'/></asset><worldbody><body>"
                   "<freejoint/><geom type='mesh' mesh='shell'/></body></worldbody></mujoco>",
                   mesh->name);
    (void)scratch_write(&files, "scene.xml", text, strlen(text), scene);
    expect(scene, "3: <mesh", mesh->what);
  }
  (void)snprintf(text, sizeof text,
                 "<mujoco>\n<compiler meshdir='parts'/>\n<asset>\n<mesh file='gone.stl'/></asset>"
                 "<worldbody><body><freejoint/><geom type='mesh' mesh='gone'/></body></worldbody>"
                 "</mujoco>");
  (void)scratch_write(&files, "scene.xml", text, strlen(text), scene);
  expect(scene, "4: <mesh", "gone.stl");
  scratch_end(&files);
}

static void test_classes(void** unused) {
  (void)unused;
  static const struct {
    const char *text, *line, *what;
  } cases[] = {
      {"<mujoco>\n<default><default class='a'>\n<default class='a'/></default></default></mujoco>",
       "3: <default class=\"a\">", "twice"},
      {"<mujoco>\n<default class='main'><default class='main'/></default></mujoco>",
       "2: <default class=\"main\">", "twice"},
      {"<mujoco>\n<default><default class='a'><default class='b'>\n<default class='a'/></default>"
       "</default></default></mujoco>",
       "3: <default class=\"a\">", "twice"},
  };
  scratch files;
  char scene[SCRATCH_PATH_SIZE];
  scratch_begin(&files);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    (void)scratch_write(&files, "scene.xml", cases[i].text, strlen(cases[i].text), scene);
    expect(scene, cases[i].line, cases[i].what);
  }
  // Nested 20 000 deep: refused or read, but no crash.
  enum { DEEP = 20000 };
  static char deep[DEEP * 40];
  size_t at = (size_t)snprintf(deep, sizeof deep, "<mujoco><default>");
  for (int i = 0; i < DEEP; ++i) {
    at += (size_t)snprintf(deep + at, sizeof deep - at, "<default class='c%d'>", i);
  }
  (void)scratch_write(&files, "scene.xml", deep, at, scene);
  sap_model* model = NULL;
  sap_error error = {0};
  assert_int_not_equal(sap_scene_read(scene, NULL, &model, &error), SAP_STATUS_OK);
  assert_true(strlen(error.message) > 0);
  scratch_end(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_meshes),
      cmocka_unit_test(test_classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
