// SPDX-License-Identifier: BSD-3-Clause
// Files that a scene was read from: each is reported once, with its bytes.
#define _POSIX_C_SOURCE 200809L
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/scratch.h"

static const char part[] =
    "<mujoco><worldbody><body name='ball'><freejoint/><geom "
    "size='.1'/></body></worldbody></mujoco>";
static const char tool[] =
    "<mujoco model='tool'><worldbody><body name='b'><geom size='.1'/></body></worldbody></mujoco>";
static const char mesh[] =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
static const char whole[] =
    "<mujoco><include file='part.xml'/>\n"
    "<asset><mesh name='m' file='m.obj'/><mesh name='n' file='m.obj' scale='2 2 2'/>\n"
    "<model name='tool' file='tool.xml'/></asset>\n"
    "<worldbody><body><joint/><geom type='mesh' mesh='m'/><geom type='mesh' mesh='n'/>\n"
    "<attach model='tool' body='b' prefix='t'/></body></worldbody></mujoco>";
static const char robot[] =
    "<robot name='r'><link name='l'><inertial><mass value='1'/>\n"
    "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>\n"
    "<collision><geometry><mesh filename='m.obj'/></geometry></collision></link></robot>";

typedef struct file {
  const char *name, *text;
} file;

static const file files[] = {{"whole.xml", whole},
                             {"part.xml", part},
                             {"tool.xml", tool},
                             {"m.obj", mesh},
                             {"r.urdf", robot}};
enum { FILES = sizeof files / sizeof *files };

// How often each was told.
static void count(void* context, const char* path, const void* bytes, size_t size) {
  int* told = context;
  const char* slash = strrchr(path, '/');
  int i = 0;
  while (i < FILES && strcmp(files[i].name, slash != NULL ? slash + 1 : path) != 0) {
    ++i;
  }
  assert_true(i < FILES);
  assert_int_equal(size, strlen(files[i].text));
  assert_memory_equal(bytes, files[i].text, size);
  ++told[i];
}

static void check(scratch* s, const char* name, const int expected[FILES]) {
  char path[SCRATCH_PATH_SIZE];
  int told[FILES] = {0};
  sap_error error = {0};
  sap_model* model;
  sap_scene_options options = sap_scene_options_default();
  assert_null(options.file);
  options.file = count;
  options.file_context = told;
  options.floating_base = true;
  if (sap_scene_read(scratch_path(s, name, path), &options, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  for (int i = 0; i < FILES; ++i) {
    assert_int_equal(told[i], expected[i]);
  }
  sap_model_destroy(model);
}

static void test_files(void** state) {
  for (int i = 0; i < FILES; ++i) {
    char path[SCRATCH_PATH_SIZE];
    (void)scratch_write(*state, files[i].name, files[i].text, strlen(files[i].text), path);
  }
  check(*state, "whole.xml", (const int[FILES]){1, 1, 1, 1, 0});
  check(*state, "r.urdf", (const int[FILES]){0, 0, 0, 1, 1});
}

// <attach> names its model, and one element of that at most.
static void test_attach_refusals(void** state) {
  static const struct {
    const char *attach, *told;
  } cases[] = {{"model='other' body='b'", "model"},
               {"body='b'", "model"},
               {"model='tool' body='c'", "no such element"},
               {"model='tool' frame='b'", "no such element"},
               {"model='tool' body='b' frame='f'", "not together with 'body'"}};
  char path[SCRATCH_PATH_SIZE], text[512];
  (void)scratch_write(*state, "tool.xml", tool, sizeof tool - 1, path);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_model* model = NULL;
    sap_error error = {0};
    const int size = snprintf(text, sizeof text,
                              "<mujoco><asset><model name='tool' file='tool.xml'/></asset>"
                              "<worldbody><attach prefix='t' %s/></worldbody></mujoco>",
                              cases[i].attach);
    (void)scratch_write(*state, "a.xml", text, (size_t)size, path);
    assert_int_equal(sap_scene_read(path, NULL, &model, &error), SAP_STATUS_SYNTAX);
    assert_non_null(strstr(error.message, cases[i].told));
    assert_null(model);
  }
}

// Numbers are read in the C locale; the thread's own is put back.
static void test_locale(void** state) {
  char path[SCRATCH_PATH_SIZE];
  sap_model* model = NULL;
  const locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(mine);
  (void)scratch_write(*state, "a.xml", part, sizeof part - 1, path);
  assert_int_equal(sap_scene_read(path, NULL, &model, NULL), SAP_STATUS_OK);
  assert_true(uselocale(before) == mine);
  sap_model_destroy(model);
  freelocale(mine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_files, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_attach_refusals, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_locale, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
