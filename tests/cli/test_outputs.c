// SPDX-License-Identifier: BSD-3-Clause
// No output is written over an input or over another output, whatever it is called by; messages
// about files say why, and hold nothing that a terminal would obey.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sapstep/output.h>
#include <sapstep/recorder.h>

#include "support/command.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
#define BOX SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml"

// A copy of the scene, which must be there in the end.
static char* copy_scene(scratch* s, char path[SCRATCH_PATH_SIZE]) {
  size_t size;
  char* text = scratch_read(BOX, &size);
  assert_non_null(text);
  scratch_write(s, "a.xml", text, size, path);
  return text;
}

static void test_inputs_stay(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE], link_path[SCRATCH_PATH_SIZE];
  char* text = copy_scene(s, path);
  assert_int_equal(symlink("a.xml", scratch_path(s, "link.xml", link_path)), 0);
  static const char over[] = "would overwrite an input";
  static const char* const lines[] = {
      "run a.xml --duration 0.1 --output a.xml",
      "run a.xml --duration 0.1 -o ./a.xml",
      "run a.xml --duration 0.1 --record link.xml",
      "run link.xml --duration 0.1 --checkpoint a.xml",
      "converge a.xml --duration 0.1 --svg a.xml",
      "compare a.xml --rows a.xml",
      "bench a.xml --svg a.xml",
      "sweep a.xml --csv a.xml",
      "solve a.xml --output a.xml",
      "plot a.xml energy --output a.xml",
      "view a.xml -o a.xml",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    command_expect(s, program, lines[i], 2, over);
  }
  command_expect(s, program, "run " BOX " --controls a.xml --output a.xml", 2,
                 "--controls and --output are the same file, 'a.xml'");
  char* now = scratch_read(path, NULL);
  assert_non_null(now);
  assert_string_equal(now, text);
  free(now);
  free(text);
}

static void test_outputs_differ(void** state) {
  scratch* s = *state;
  command_expect(s, program, "run " BOX " --duration 0.1 --output a --record a", 2,
                 "--output and --record are the same file, 'a'");
  command_expect(s, program, "run " BOX " --duration 0.1 --record a --checkpoint a", 2,
                 "--record and --checkpoint are the same file");
  command_expect(s, program, "run " BOX " --duration 0.1 --output /dev/null --checkpoint /dev/null",
                 0, NULL);
  // a checkpoint may take the place of the one that the run started from; the last of an option
  // counts
  command_expect(s, program, "run " BOX " --duration 0.1 --checkpoint c", 0, NULL);
  command_expect(s, program, "run " BOX " --duration 0.2 --resume c --checkpoint c", 0, NULL);
  command_expect(s, program, "run " BOX " --duration 0.1 --output c --output d --checkpoint c", 0,
                 NULL);
}

// A recording called as its own chart.
static void test_sibling(void** state) {
  scratch* s = *state;
  command_expect(s, program, "run " BOX " --duration 0.1 --record a.svg", 0, NULL);
  command_expect(s, program, "plot a.svg energy", 3, "'a.svg' would be overwritten");
  command_expect(s, program, "plot missing.svg energy", 3, "cannot read 'missing.svg': No such");
  command_expect(s, program, "plot a.svg energy -o b.svg >/dev/null", 0, NULL);
  if (!sap_page_available()) {
    print_message("no three.js: pages skipped\n");
    return;
  }
  command_expect(s, program, "run " BOX " --duration 0.1 --record a.html", 0, NULL);
  command_expect(s, program, "view a.html", 3, "'a.html' would be overwritten");
  command_expect(s, program, "view a.html -o b.html >/dev/null", 0, NULL);
}

static void test_reasons(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  static const char* const readers[] = {"sweep", "view", "plot --log", "export"};
  for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i) {
    char line[128];
    (void)snprintf(line, sizeof line, "%s nothing %s", readers[i], i > 1 ? "energy" : "");
    command_expect(s, program, line, 3, "cannot read 'nothing': No such file");
    (void)snprintf(line, sizeof line, "%s . %s", readers[i], i > 1 ? "energy" : "");
    command_expect(s, program, line, 3, "cannot read '.': Is a directory");
  }
  scratch_write(s, "a.csv", "t_s,\033[31mred\n0,1\n", 16, path);
  command_result r = command_run(s, program, "", "run " BOX " --controls a.csv");
  assert_int_equal(r.exit_code, 3);
  assert_non_null(strstr(r.err, "'?[31mred'"));
  assert_null(strchr(r.err, '\033'));
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_inputs_stay, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_outputs_differ, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_sibling, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_reasons, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
