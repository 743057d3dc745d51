// SPDX-License-Identifier: BSD-3-Clause
// Inputs as shells and editors make them: pipes, other ends of lines, marks of UTF-8 and UTF-16;
// what is not text, or no file; and outputs whose names are made from others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/command.h"
#include "support/problem_files.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;

static const char scene[] =
    "<mujoco>\n<worldbody><geom type='plane' size='9 9 1'/><body name='a' pos='0 0 1'>\n"
    "<freejoint name='a'/><geom name='g' size='.1'/></body></worldbody>\n"
    "<keyframe><key name='home'/></keyframe></mujoco>\n";
static const char study[] = "scene a.xml\nduration 0.02\ngrid geom/g/size 0.1 0.2\nmeasure mass\n";
static const char problem[] =
    "sapstep_problem 1\n0.01 1\n3 2 0 0 0 2 0 0 0 2\n0 0 -1\n0 0 -1\n1\n"
    "0 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n";

static void put(scratch* s, const char* name, const char* text) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, name, text, strlen(text), path);
}

static int begin(void** state) {
  if (scratch_setup(state) != 0) {
    return 1;
  }
  put(*state, "a.xml", scene);
  put(*state, "a.study", study);
  problem_text_put(*state, "a.problem", problem);
  return 0;
}

// Inputs that are read once may be pipes; others refuse pipes with a message.
static void pipes(void** state) {
  static const char pipe[] = "cat a.xml |";
  SKIP_WITHOUT("/dev/stdin");
  command_expect_after(*state, program, pipe, "run /dev/stdin --duration 0.02", 0, NULL);
  command_expect_after(*state, program, pipe, "info /dev/stdin", 0, NULL);
  command_expect(*state, program, "run /dev/stdin --duration 0.02 < a.xml", 0, NULL);
  command_expect_after(*state, program, "cat a.problem |", "solve /dev/stdin", 3,
                       "not a pipe or device");
  command_expect_after(*state, program, "printf 't_s\\n0\\n' |",
                       "run a.xml --duration 0.02 --controls /dev/stdin", 0, NULL);
  command_expect_after(*state, program, pipe, "converge /dev/stdin", 3, "not a pipe or device");
  command_expect_after(*state, program, pipe, "compare /dev/stdin", 3, "not a pipe");
  put(*state, "p.study", "scene /dev/stdin\nmeasure mass\n");
  command_expect_after(*state, program, pipe, "sweep p.study", 3, "p.study:1: cannot read");
  command_expect_after(*state, program, "cat a.study |", "sweep /dev/stdin", 3,
                       "--output is needed");
  command_expect_after(*state, program, pipe, "view /dev/stdin", 3, "not a pipe or device");
  command_expect_after(*state, program, "cat a.study |", "sweep /dev/stdin -o t.h5", 0, NULL);
}

// Files named by a scene are found from the working folder: above a robot's own folder, and beside
// a scene that comes out of a pipe.
static void places(void** state) {
  static const char robot[] =
      "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' "
      "ixy='0' ixz='0' iyz='0'/></inertial><collision><geometry>"
      "<mesh filename='package://pkg/meshes/t.obj'/></geometry></collision></link></robot>";
  static const char mesh[] =
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
  static const char run[] = "run --duration 0.002 --floating-base r.urdf";
  put(*state, "t.obj", mesh);
  put(*state, "r.urdf", robot);
  put(*state, "i.xml", "<mujoco><include file='a.xml'/></mujoco>");
  command_expect_after(*state, program,
                       "mkdir -p pkg/urdf pkg/meshes && mv r.urdf pkg/urdf && mv t.obj pkg/meshes "
                       "&& cd pkg/urdf &&",
                       run, 0, NULL);
  command_expect_after(*state, program, "cd pkg &&",
                       "run --duration 0.002 --floating-base ./urdf/r.urdf", 0, NULL);
  command_expect_after(*state, program, "cd pkg/meshes &&",
                       "run --duration 0.002 --floating-base ../urdf/r.urdf", 0, NULL);
  command_expect_after(*state, program, "cat pkg/urdf/r.urdf |",
                       "run --duration 0.002 --floating-base /dev/stdin", 0, NULL);
  command_expect_after(*state, program, "cat i.xml |", "info /dev/stdin", 0, NULL);
  command_expect_after(*state, program, "mv pkg/meshes/t.obj . && cd pkg/urdf &&", run, 3,
                       "no folder from that of the URDF upwards holds this file");
  command_expect_after(*state, program, "rm -r pkg;", "info a.xml", 0, NULL);
}

// Ends of lines and marks of other editors.
static void texts(void** state) {
  static const char* const commands[] = {"run x --duration 0.02", "info x"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
    command_expect_after(*state, program, "sed 's/$/\\r/' a.xml > x;", commands[i], 0, NULL);
    command_expect_after(*state, program, "{ printf '\\357\\273\\277'; cat a.xml; } > x;",
                         commands[i], 0, NULL);
    command_expect_after(*state, program, "iconv -t UTF-16 a.xml > x;", commands[i], 0, NULL);
  }
  static const char mark[] = "{ printf '\\357\\273\\277'; sed 's/$/\\r/' ";
  const struct {
    const char *from, *to, *arguments;
  } files[] = {
      {"a.study", "b.study", "sweep b.study --csv b.csv"},
      {"a.csv", "b.csv", "run a.xml --duration 0.02 --controls b.csv"},
  };
  put(*state, "a.csv", "t_s\n0\n");
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char before[200];
    (void)snprintf(before, sizeof before, "%s%s; } > %s;", mark, files[i].from, files[i].to);
    command_expect_after(*state, program, before, files[i].arguments, 0, NULL);
  }
}

static void no_texts(void** state) {
  static const struct {
    const char *before, *arguments, *message;
  } cases[] = {
      {"head -c 99 /dev/zero > x;", "solve x", "x: not an HDF5 file"},
      {"head -c 99 /dev/zero > x;", "sweep x", "x: not a text file"},
      {"head -c 99 /dev/zero > x;", "run a.xml --controls x", "x: not a text file"},
      {"head -c 99 /dev/zero > x;", "run x", "x:1: XML"},
      {"", "solve /dev/zero", "not a pipe or device"},
      {"", "sweep .", "cannot read '.': Is a directory"},
      {"", "compare .", "cannot read '.': Is a directory"},
      {"", "compare none.xml", "cannot read 'none.xml': No such file"},
      {"", "run a.xml --controls .", "cannot read '.': Is a directory"},
      {"printf '\\211HDF\\r\\n\\032\\n' > h;", "run h", "h: an HDF5 file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    command_expect_after(*state, program, cases[i].before, cases[i].arguments, 3, cases[i].message);
  }
  command_expect_after(*state, program, "sed 's/0 0 1/0,0,1/' a.xml > x;", "info x", 3,
                       "<body pos=\"0,0,1\">: '0,0,1' is not a number");
  command_expect_after(*state, program, "sed 's/0 0 1/1/' a.xml > x;", "info x", 3,
                       "<body pos=\"1\">: has 1 number, must be 3");
}

// Nothing that is read is written over, whatever the outputs are called.
static void outputs(void** state) {
  put(*state, "a.csv", scene);
  command_expect(*state, program, "compare --convergence a.csv a.csv", 2,
                 "--convergence 'a.csv' would overwrite an input");
  command_expect(*state, program, "compare --convergence b.csv --lines ./b.csv a.csv", 2,
                 "--convergence and --lines are the same file");
  command_expect(*state, program, "run a.xml --output new --record ./new", 2, "are the same file");
  command_expect(*state, program, "converge a.xml --svg a.xml", 2,
                 "--svg 'a.xml' would overwrite an input");
  put(*state, "b.study", "scene b.h5\nmeasure mass\n");
  put(*state, "b.h5", scene);
  command_expect(*state, program, "sweep b.study", 3, "the scene and the table would be the same");
  put(*state, "c.h5", study);
  command_expect(*state, program, "sweep c.h5", 3, "the study and the table would be the same");
  command_expect(*state, program, "sweep a.study --csv a.xml", 3, "the scene and --csv would be");
  command_expect(*state, program, "sweep a.study -o b.h5 --svg b.h5.journal", 3,
                 "the journal and --svg would be");
  command_expect(*state, program, "solve a.problem -o ./a.problem", 2, "would overwrite an input");
  const char* const inputs[] = {"a.xml", "b.h5", "a.csv"};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i) {
    char* content = scratch_text(*state, inputs[i]);
    assert_string_equal(content, scene);
    free(content);
  }
}

// Outputs that cannot be written are refused before the work; and a table that is printed is
// not lost with a file.
static void unwritable(void** state) {
  static const struct {
    const char *before, *arguments, *message;
  } cases[] = {
      {"", "run a.xml --output no/x", "cannot write 'no/x': No such file or directory"},
      {"", "converge a.xml --svg no/x", "cannot write 'no/x': No such file or directory"},
      {"", "bench a.xml --svg .", "cannot write '.': Is a directory"},
      {"", "sweep a.study -o a.xml/x", "cannot write 'a.xml/x': Not a directory"},
      {"", "sweep a.study -o .", "cannot write '.': Is a directory"},
      {"", "sweep a.study -o /dev/null", "cannot write the table '/dev/null': not a regular file"},
      {"", "compare a.problem --rows no/x", "cannot write 'no/x': No such file or directory"},
      {"mkdir b.csv;", "compare a.problem --convergence b.svg --lines b.csv",
       "cannot write 'b.csv': Is a directory"},
      {"", "plot r.h5 energy -o ''", "cannot write '': No such file or directory"},
  };
  char path[SCRATCH_PATH_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    command_expect_after(*state, program, cases[i].before, cases[i].arguments, 3, cases[i].message);
  }
  assert_int_not_equal(access(scratch_path(*state, "b.svg", path), F_OK), 0);
  if (access("/dev/full", W_OK) == 0) {
    command_result r = command_run(*state, program, "", "compare a.problem --rows /dev/full");
    assert_int_equal(r.exit_code, 3);
    command_says(r.err, "cannot write '/dev/full': No space left on device");
    command_says(r.out, "converged");
    command_clear(&r);
  }
}

// A stream that the shell has closed is no place for a file.
static void closed_streams(void** state) {
  command_expect(*state, program, "run a.xml --duration 0.02 --output t.csv >&-", 3,
                 "cannot write to standard output");
  char* content = scratch_text(*state, "t.csv");
  assert_int_equal(strncmp(content, "t_s,", 4), 0);
  assert_null(strstr(content, "time step"));
  free(content);
  command_result r =
      command_run(*state, program, "", "run a.xml --dt 0 --duration 0.02 --output u.csv 2>&-");
  assert_int_equal(r.exit_code, 2);
  command_clear(&r);
  command_expect(*state, program, "run a.xml --duration 0.02 <&-", 0, NULL);
}

// Names that are nearly right; what a terminal would obey is not printed.
static void words(void** state) {
  static const char near[] = "did you mean 'sap'?";
  command_expect(*state, program, "run --solver sapp a.xml", 2, near);
  command_expect(*state, program, "solve --solver sapp a.problem", 2, near);
  command_expect(*state, program, "converge --solver sap,spa a.xml", 2, near);
  command_expect(*state, program, "compare --solvers nbgs,sapp:sigma=1 a.problem", 2, near);
  put(*state, "s.study", "scene a.xml\nmeasure mass\nset solver sapp\n");
  command_expect(*state, program, "sweep s.study", 3, near);
  command_expect(*state, program, "run --solver x a.xml", 2, "'sapstep solvers'\n");
  put(*state, "k.study", "scene a.xml\nmeasure mass\nkeyframe hom\n");
  command_expect(*state, program, "sweep k.study", 3, "did you mean 'home'?");
  command_expect(*state, program, "run --keyframe hom a.xml", 3, "did you mean 'home'?");
  command_expect(*state, program, "run --dt \"$(printf '\\033[2J\\001')\" a.xml", 2,
                 "--dt '?[2J?' must be");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(pipes, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(places, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(texts, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(no_texts, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(outputs, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(unwritable, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(closed_streams, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(words, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
