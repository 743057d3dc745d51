// SPDX-License-Identifier: BSD-3-Clause
// DAE: a tetrahedron written with every kind of face, placed by every kind of node; and files that
// are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "io/mesh/mesh_file.h"
#include "support/near.h"
#include "support/scratch.h"

#define VERTEX "<input semantic='VERTEX' source='#v' offset='0'/>"
#define SOURCE(array, accessor)                                                           \
  "<source id='p'><float_array id='a'>" array "</float_array><technique_common>" accessor \
  "</technique_common></source>"
#define PLAIN SOURCE("0 0 0 1 0 0 0 2 0 0 0 3", "<accessor source='#a' count='4' stride='3'/>")
#define MESH(source, faces)                                                    \
  "<library_geometries><geometry id='g'><mesh>" source                         \
  "<vertices id='v'><input semantic='POSITION' source='#p'/></vertices>" faces \
  "</mesh></geometry></library_geometries>"
#define FILE_OF(before, nodes)                                                              \
  "<COLLADA>" before "<library_visual_scenes><visual_scene id='s'>" nodes                   \
  "</visual_scene></library_visual_scenes><scene><instance_visual_scene url='#s'/></scene>" \
  "</COLLADA>"
#define HERE "<node><instance_geometry url='#g'/></node>"
#define TRIANGLES "<triangles count='4'>" VERTEX "<p>0 2 1 0 1 3 1 2 3 2 0 3</p></triangles>"
#define LIBRARY                                              \
  "<library_nodes><node id='n'><translate>0 0 1</translate>" \
  "<instance_geometry url='#g'/></node></library_nodes>"

// Text of the file, the number of triangles, their volume [m^3] and corner of least coordinates
// [m].
static const struct {
  const char* text;
  int triangles;
  double volume, low[3];
} good[] = {
    {FILE_OF(MESH(PLAIN, TRIANGLES), HERE), 4, 1.0, {0, 0, 0}},
    {FILE_OF(MESH(PLAIN, "<lines count='1'>" VERTEX "<p>0 1</p></lines>" TRIANGLES), HERE),
     4,
     1.0,
     {0, 0, 0}},
    {FILE_OF(MESH(PLAIN, "<polygons count='4'>" VERTEX "<p>0 2 1</p><p>0 1 3</p><ph><p>1 2 3</p>"
                         "<h>1 1 1</h></ph><p>2 0 3</p></polygons>"),
             HERE),
     4,
     1.0,
     {0, 0, 0}},
    {FILE_OF(MESH(PLAIN, "<triangles count='3'>" VERTEX "<p>0 2 1 0 1 3 1 2 3</p></triangles>"
                         "<polygons count='1'>" VERTEX "<ph><p>2 0 3</p><h>1 1 1</h></ph>"
                         "</polygons>"),
             HERE),
     4,
     1.0,
     {0, 0, 0}},
    {FILE_OF(MESH(PLAIN, "<trifans>" VERTEX "<p>3 0 1 2 0</p><p>0 2 1</p></trifans>"), HERE),
     4,
     1.0,
     {0, 0, 0}},
    {FILE_OF(MESH(PLAIN, "<tristrips>" VERTEX "<p>0 2 1 3 0 2</p></tristrips>"), HERE),
     4,
     1.0,
     {0, 0, 0}},
    // a pyramid on the square of 0 and 2: one of its faces has four corners; normals are passed
    // over
    {FILE_OF(MESH(SOURCE("0 0 0 2 0 0 2 2 0 0 2 0 1 1 3", ""),
                  "<polylist count='5'>" VERTEX "<input semantic='NORMAL' source='#n' offset='1'/>"
                  "<vcount>4 3 3 3 3</vcount><p>0 9 3 9 2 9 1 9  0 9 1 9 4 9 1 9 2 9 4 9 2 9 3 9 4 "
                  "9 3 9 0 9 4 9</p></polylist>"),
             HERE),
     6,
     4.0,
     {0, 0, 0}},
    // z, something, x, y, after two numbers of something else
    {FILE_OF(MESH(SOURCE("7 7  0 5 0 0  0 5 1 0  0 5 0 2  3 5 0 0",
                         "<accessor offset='2' stride='4'><param name='Z'/><param name='W'/>"
                         "<param name='X'/><param name='Y'/></accessor>"),
                  TRIANGLES),
             HERE),
     4,
     1.0,
     {0, 0, 0}},
    // centimetres, moved, turned by 90 degrees about z, then scaled
    {FILE_OF("<asset><unit meter='0.01'/></asset>" MESH(PLAIN, TRIANGLES),
             "<node><translate>100 0 0</translate><rotate>0 0 2 90</rotate><scale>100 100 200"
             "</scale><instance_geometry url='#g'/></node>"),
     4,
     2.0,
     {-1, 0, 0}},
    // a matrix within a translation within a matrix
    {FILE_OF(MESH(PLAIN, TRIANGLES),
             "<node><matrix>0 0 1 5 1 0 0 0 0 1 0 0 0 0 0 1</matrix><node><translate>1 2 3"
             "</translate><node><matrix>2 0 0 0 0 2 0 0 0 0 2 0 0 0 0 1</matrix>"
             "<instance_geometry url='#g'/></node></node></node>"),
     4,
     8.0,
     {8, 1, 2}},
    // twice by way of the library of nodes, and once in the scene
    {FILE_OF(MESH(PLAIN, TRIANGLES) LIBRARY,
             "<node><instance_node url='#n'/></node><node><scale>-1 -1 1</scale>"
             "<instance_node url='#n'/></node>" HERE),
     12,
     3.0,
     {-1, -2, 0}},
    // a skin of a morph
    {FILE_OF(
         MESH(PLAIN, TRIANGLES) "<library_controllers><controller id='c'><skin source='#m'/>"
                                "</controller><controller id='m'><morph source='#g'/></controller>"
                                "</library_controllers>",
         "<node><instance_controller url='#c'/></node>"),
     4,
     1.0,
     {0, 0, 0}},
};

static void measure(const sap_mesh_data* m, double* volume, double low[3]) {
  *volume = 0.0;
  for (int i = 0; i < 3; ++i) {
    low[i] = 1e9;
  }
  for (int32_t f = 0; f < m->face_count; ++f) {
    const double* p[3];
    for (int k = 0; k < 3; ++k) {
      p[k] = m->vertices + 3 * (size_t)m->faces[3 * f + k];
      for (int i = 0; i < 3; ++i) {
        low[i] = p[k][i] < low[i] ? p[k][i] : low[i];
      }
    }
    *volume += (p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) +
                p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
                p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0])) /
               6.0;
  }
}

static void test_good(void** state) {
  char path[SCRATCH_PATH_SIZE];
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    (void)scratch_write(*state, "a.dae", good[i].text, strlen(good[i].text), path);
    sap_mesh_files files = {0};
    const sap_mesh_data* mesh = NULL;
    sap_error error = {0};
    if (sap_mesh_files_read(&files, path, &mesh, &error) != SAP_STATUS_OK) {
      fail_msg("%zu: %s", i, error.message);
    }
    double volume, low[3];
    measure(mesh, &volume, low);
    assert_int_equal(mesh->face_count, good[i].triangles);
    ASSERT_NEAR(volume, good[i].volume, 1e-12);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(low[k], good[i].low[k], 1e-12);
    }
    sap_mesh_files_clear(&files);
  }
}

static const struct {
  const char *text, *what;
} bad[] = {
    {"<robot/>", "there is no <visual_scene>"},
    {"<x><library_visual_scenes><visual_scene/></library_visual_scenes></x>",
     "COLLADA is expected"},
    {"<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA>&a;</COLLADA>", "document type"},
    {FILE_OF("", ""), "no faces"},
    {FILE_OF("<asset><unit meter='0'/></asset>", HERE), "must be finite and > 0"},
    {FILE_OF("<asset><unit meter='x'/></asset>", HERE), "'x' is not a number"},
    {FILE_OF("", HERE), "<instance_geometry url=\"#g\">: names nothing"},
    {FILE_OF("", "<node id='a'><instance_node url='#a'/></node>"), "nested more than 64 deep"},
    {FILE_OF("", "<node id='a'><instance_geometry url='#c'/></node><x id='c'/>"), "no geometry"},
    {FILE_OF("", "<node><translate>1 2</translate></node>"), "needs 3 numbers"},
    {FILE_OF("", "<node><matrix>1 2 x</matrix></node>"), "'x' is not a number"},
    {FILE_OF(MESH(PLAIN, "<triangles>" VERTEX "<p>0 1 4</p></triangles>"), HERE), "vertex 4"},
    {FILE_OF(MESH(PLAIN, "<triangles>" VERTEX "<p>0 1 -1</p></triangles>"), HERE), "vertex -1"},
    {FILE_OF(MESH(PLAIN, "<triangles>" VERTEX "<p>0 1 9999999999</p></triangles>"), HERE),
     "is not a number"},
    {FILE_OF(MESH(PLAIN, "<triangles>" VERTEX "<p>0 1 2 3</p></triangles>"), HERE),
     "ends within a face"},
    {FILE_OF(MESH(PLAIN, "<triangles>" VERTEX "<input semantic='NORMAL' offset='3'/><p>0 1 2</p>"
                         "</triangles>"),
             HERE),
     "ends within a corner"},
    {FILE_OF(MESH(PLAIN,
                  "<triangles><input semantic='VERTEX' source='#v' offset='-1'/><p>0</p>"
                  "</triangles>"),
             HERE),
     "must be a count"},
    {FILE_OF(MESH(PLAIN,
                  "<triangles><input semantic='VERTEX' source='#v' offset='99999'/><p>0</p>"
                  "</triangles>"),
             HERE),
     "must be below"},
    {FILE_OF(MESH(PLAIN, "<triangles><input semantic='VERTEX' source='#w'/><p>0</p></triangles>"),
             HERE),
     "no positions"},
    {FILE_OF(MESH(PLAIN, "<polylist>" VERTEX "<vcount>4 3</vcount><p>0 1 2 3</p></polylist>"),
             HERE),
     "fewer corners"},
    {FILE_OF(MESH(PLAIN, "<polylist>" VERTEX "<vcount>-4</vcount><p>0 1 2 3</p></polylist>"), HERE),
     "-4 corners"},
    {FILE_OF(MESH(PLAIN, TRIANGLES "<polygons>" VERTEX "<ph><h>0 1 2</h></ph></polygons>"), HERE),
     "<ph>: there is no <p>"},
    {FILE_OF(MESH(SOURCE("0 0 0 nan 0 0 0 2 0 0 0 3", ""), TRIANGLES), HERE), "is not finite"},
    {FILE_OF(MESH(SOURCE("0 0 0 1,0 0 0", ""), TRIANGLES), HERE), "'1,0' is not a number"},
    {FILE_OF(MESH(SOURCE("0 0", "<accessor stride='2'/>"), TRIANGLES), HERE), "three coordinates"},
    {FILE_OF(MESH(SOURCE("0 0", "<accessor stride='0'/>"), TRIANGLES), HERE), "three coordinates"},
    {FILE_OF(MESH("<source id='p'/>", TRIANGLES), HERE), "need a <float_array>"},
};

static void refuse(scratch* s, const char* text, const char* what) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, "a.dae", text, strlen(text), path);
  sap_mesh_files files = {0};
  const sap_mesh_data* mesh = NULL;
  sap_error error = {0};
  assert_int_not_equal(sap_mesh_files_read(&files, path, &mesh, &error), SAP_STATUS_OK);
  if (strstr(error.message, "a.dae:") == NULL || strstr(error.message, what) == NULL) {
    fail_msg("'%s' lacks '%s'", error.message, what);
  }
  sap_mesh_files_clear(&files);
}

static void test_bad(void** state) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    refuse(*state, bad[i].text, bad[i].what);
  }
}

// Each of 30 nodes names the next one twice: 2^30 instances from a short file.
static void test_doubling(void** state) {
  char nodes[8192] = "", text[9000];
  for (int i = 0; i < 30; ++i) {
    const size_t n = strlen(nodes);
    (void)snprintf(nodes + n, sizeof nodes - n,
                   "<node id='n%d'><instance_node url='#n%d'/><instance_node url='#n%d'/></node>",
                   i, i + 1, i + 1);
  }
  (void)snprintf(text, sizeof text,
                 FILE_OF("<library_nodes>%s<node id='n30'/></library_nodes>",
                         "<node><instance_node url='#n0'/></node>"),
                 nodes);
  refuse(*state, text, "more than 20000 instances");
}

// As many meshes as nodes: what is named is found without a scan of all elements for each.
static void test_many(void** state) {
  enum { COUNT = 15000, ROOM = 400 };
  char* text = calloc(COUNT + 1, ROOM);
  assert_non_null(text);
  size_t n = (size_t)sprintf(text, "<COLLADA><library_geometries>");
  for (int i = 0; i < COUNT; ++i) {
    n += (size_t)snprintf(text + n, ROOM,
                          "<geometry id='g%d'><mesh><source id='p%d'><float_array>0 0 0 1 0 0 0 1 0"
                          "</float_array></source><vertices id='v%d'><input semantic='POSITION' "
                          "source='#p%d'/></vertices><triangles><input semantic='VERTEX' "
                          "source='#v%d' offset='0'/><p>0 1 2</p></triangles></mesh></geometry>",
                          i, i, i, i, i);
  }
  n += (size_t)sprintf(text + n, "</library_geometries><library_visual_scenes><visual_scene>");
  for (int i = 0; i < COUNT; ++i) {
    n += (size_t)sprintf(text + n, "<node><instance_geometry url='#g%d'/></node>", i);
  }
  n += (size_t)sprintf(text + n, "</visual_scene></library_visual_scenes></COLLADA>");
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "many.dae", text, n, path);
  sap_mesh_files files = {0};
  const sap_mesh_data* mesh = NULL;
  sap_error error = {0};
  const clock_t begin = clock();
  if (sap_mesh_files_read(&files, path, &mesh, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  // 0.2 s of the processor; scans took 3 s.
  assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 2.0);
  assert_int_equal(mesh->face_count, COUNT);
  sap_mesh_files_clear(&files);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
                                     cmocka_unit_test(test_doubling), cmocka_unit_test(test_many)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
