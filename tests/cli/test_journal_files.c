// SPDX-License-Identifier: BSD-3-Clause
// A study that was killed goes on only while all files of its scene are as they were.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

static const char* const program = SAPSTEP_PROGRAM;

static const char scene[] = "<mujoco><include file='part.xml'/></mujoco>";
static const char part[] =
    "<mujoco><asset><mesh name='m' file='m.obj'/></asset><worldbody>\n"
    "<geom type='plane' size='1 1 1'/>\n"
    "<body pos='0 0 1'><freejoint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>";
static const char mesh[] =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
static const char study[] =
    "scene scene.xml\nduration 0.2\nrandom friction uniform 0.2 0.5\nsamples 200\n"
    "measure energy\n";

static int begin(void** state) {
  const struct {
    const char *name, *text;
  } files[] = {{"scene.xml", scene}, {"part.xml", part}, {"m.obj", mesh}, {"fall.study", study}};
  scratch_setup(state);
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[SCRATCH_PATH_SIZE];
    (void)scratch_write(*state, files[i].name, files[i].text, strlen(files[i].text), path);
  }
  return 0;
}

// Shell text: the study killed once it has kept something.
static void kill_early(const char* arguments, const char* journal, int kept, char* out,
                       size_t size) {
  (void)snprintf(out, size,
                 "'%s' %s > log 2>&1 & victim=$!; while kill -0 $victim && "
                 "[ \"$(stat -c %%s %s 2>/dev/null || echo 0)\" -lt %d ]; do sleep 0.01; done; "
                 "kill -9 $victim; wait $victim;",
                 program, arguments, journal, kept);
}

static void check(scratch* s, const char* arguments, const char* journal, int kept,
                  const char* refusal) {
  char line[2048];
  kill_early(arguments, journal, kept, line, sizeof line);
  command_expect_after(s, program, strcat(line, "cp part.xml kept; echo '<!-- -->' >> part.xml;"),
                       arguments, 3, refusal);
  command_expect_after(s, program, "mv kept part.xml; cp m.obj kept; echo '# new' >> m.obj;",
                       arguments, 3, refusal);
  command_result r = command_run(s, program, "mv kept m.obj;", arguments);
  assert_int_equal(r.exit_code, 0);  // as it was
  command_clear(&r);
}

static void sweeps(void** state) {
  check(*state, "sweep fall.study --csv a.csv --jobs 1", "fall.h5.journal", 1000,
        "this journal belongs to another study, or the study, its scene or the program changed");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sweeps, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
