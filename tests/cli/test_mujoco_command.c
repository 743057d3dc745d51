// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco: the table, the trajectory, exit codes, and what wrong input gets.
#include <stdlib.h>
#include <unistd.h>

#include "support/command.h"
#include "support/mujoco_run.h"

static const char* const program = SAPSTEP_PROGRAM;

static const char BOX[] =
    "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .1'><joint name='root' type='free'/><geom type='box' size='.1 .1 .1'/></body>"
    "</worldbody><keyframe><key name='up' qpos='0 0 .5 1 0 0 0'/></keyframe></mujoco>";

static int begin(void** state) {
  static scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_write(&s, "box.xml", BOX, strlen(BOX), path);
  (void)scratch_write(&s, "bad.xml", "<mujoco><bogus/></mujoco>", 25, path);
  *state = &s;
  return 0;
}

static void test_table(void** state) {
  command_result r = command_run(*state, program, "", "mujoco box.xml --duration 1 --format json");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");
  assert_true(json_valid(r.out));
  assert_int_equal((int)json_member(r.out, "steps"), 200);
  assert_int_equal((int)json_member(r.out, "contacts_max"), 4);
  // 8 kg on max(1e6, 8e5) N/m at four corners: m g/(4 k)
  ASSERT_NEAR(json_member(r.out, "penetration_end_m"), 8.0 * 9.81 / 4e6, 1e-7);
  ASSERT_NEAR(json_member(r.out, "unconverged"), 0.0, 0.0);
  // at the start m g z, at rest
  ASSERT_NEAR(json_member(r.out, "potential_start_J"), 8.0 * 9.81 * 0.1, 1e-9);
  command_clear(&r);
}

static void test_stiffness(void** state) {
  command_result r = command_run(
      *state, program, "",
      "mujoco box.xml --duration 2 --stiffness 1e5 --relaxation-time 0.02 --format json --stats");
  assert_int_equal(r.exit_code, 0);
  // both geoms have k: in series k/2
  ASSERT_NEAR(json_member(r.out, "penetration_end_m"), 8.0 * 9.81 / (4.0 * 0.5e5), 1e-6);
  command_clear(&r);
}

static void test_trajectory(void** state) {
  command_expect(*state, program,
                 "mujoco box.xml --keyframe up --dt 0.01 --duration 0.1 --every 5 --output t.csv"
                 " > table",
                 0, NULL);
  char* text = scratch_text(*state, "t.csv");
  assert_int_equal(strncmp(text, "t_s,q_root_x_m,q_root_y_m,q_root_z_m,q_root_qw,", 46), 0);
  int rows = 0;
  for (const char* c = text; *c != '\0'; ++c) {
    rows += *c == '\n';
  }
  assert_int_equal(rows, 4);  // header, start, steps 5 and 10
  // free fall, symplectic: z = 0.5 - g h^2 n (n + 1)/2
  const char* last = strrchr(text, '\0');
  for (int lines = 0; lines < 2; --last) {
    lines += last[-1] == '\n';
  }
  double t, x, y, z;
  assert_int_equal(sscanf(last + 1, "%lf,%lf,%lf,%lf", &t, &x, &y, &z), 4);
  ASSERT_NEAR(t, 0.1, 1e-12);
  ASSERT_NEAR(z, 0.5 - 9.81 * 1e-4 * 55.0, 1e-12);
  free(text);
}

// A mass of 2 kg on a slide: nothing for 0.1 s, 4 N for 0.2 s, -1 N for the rest; or a keyframe's 3 N.
static void test_controls(void** state) {
  static const char cart[] =
      "<mujoco><option timestep='0.005'/><worldbody><body><joint name='x' type='slide' axis='1 0 "
      "0'/>"
      "<geom size='.1' mass='2'/></body></worldbody><actuator><motor name='push' joint='x'/>"
      "</actuator><keyframe><key name='pushed' ctrl='3'/></keyframe></mujoco>";
  static const char csv[] = "t_s,push\n0.1,4\n0.3,-1\n";
  static const struct {
    const char* controls;
    double v;
  } cases[] = {{"c.csv", (4.0 * 0.2 - 0.2) / 2.0}, {"pushed", 3.0 * 0.5 / 2.0}};
  char path[SCRATCH_PATH_SIZE], line[256];
  (void)scratch_write(*state, "cart.xml", cart, strlen(cart), path);
  (void)scratch_write(*state, "c.csv", csv, strlen(csv), path);
  for (int i = 0; i < 2; ++i) {
    (void)snprintf(line, sizeof line,
                   "mujoco cart.xml --duration 0.5 --controls %s --output t.csv > table",
                   cases[i].controls);
    command_expect(*state, program, line, 0, NULL);
    char* text = scratch_text(*state, "t.csv");
    text[strlen(text) - 1] = '\0';
    double t, q, v;
    assert_int_equal(sscanf(strrchr(text, '\n') + 1, "%lf,%lf,%lf", &t, &q, &v), 3);
    ASSERT_NEAR(v, cases[i].v, 1e-12);
    free(text);
  }
  command_expect(*state, program, "mujoco cart.xml --controls box.xml", 3,
                 "first column must be t_s");
}

// The problems can be read again, those of free fall too.
static void test_dump(void** state) {
  char path[SCRATCH_PATH_SIZE];
  command_expect(
      *state, program,
      "mujoco box.xml --keyframe up --duration 1 --dump-problems . --dump-every 50 > table", 0,
      NULL);
  assert_int_equal(access(scratch_path(*state, "step_000050.hdf5", path), F_OK), 0);
  assert_int_not_equal(access(scratch_path(*state, "step_000051.hdf5", path), F_OK), 0);
  command_result r = command_run(*state, program, "", "solve step_000200.hdf5 --format json");
  assert_int_equal((int)json_member(r.out, "nc"), 4);
  command_clear(&r);
  command_expect(*state, program, "mujoco box.xml --dump-every 2", 2, "needs --dump-problems");
}

// No time to solve: the run goes on, and says in how many steps that was so.
static void test_deadline(void** state) {
  command_result r =
      command_run(*state, program, "",
                  "mujoco box.xml --keyframe up --duration 1 --time-limit 1e-9 --format json");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.err, "steps did not converge"));
  assert_int_equal((int)json_member(r.out, "steps"), 200);
  assert_true(json_member(r.out, "unconverged") > 0.0);
  command_clear(&r);
}

// The last line of the trajectory of a run in one part, and of one in two.
static void test_checkpoint(void** state) {
  static const char* const commands[] = {
      "mujoco box.xml --keyframe up --duration 0.6 --output whole.csv >table",
      "mujoco box.xml --keyframe up --duration 0.35 --checkpoint a --checkpoint-every 7 >table",
      "mujoco box.xml --duration 0.6 --resume a --output rest.csv >table"};
  char* lines[2];
  char path[SCRATCH_PATH_SIZE];
  for (int i = 0; i < 3; ++i) {
    command_expect(*state, program, commands[i], 0, NULL);
  }
  char* texts[2] = {scratch_read(scratch_path(*state, "whole.csv", path), NULL),
                    scratch_read(scratch_path(*state, "rest.csv", path), NULL)};
  for (int i = 0; i < 2; ++i) {
    assert_non_null(texts[i]);
    texts[i][strlen(texts[i]) - 1] = '\0';
    lines[i] = strrchr(texts[i], '\n');
    assert_non_null(lines[i]);
  }
  assert_string_equal(lines[0], lines[1]);
  free(texts[0]);
  free(texts[1]);
  // every 7 steps: that of step 49, were it not for the one at the end
  command_result r =
      command_run(*state, program, "", "mujoco box.xml --duration 0.6 --resume a --format json");
  assert_int_equal((int)json_member(r.out, "steps"), 50);
  command_clear(&r);
  command_expect(*state, program, "mujoco box.xml --dt 0.01 --resume a", 3, "timestep = 0.005");
  command_expect(*state, program, "mujoco box.xml --resume box.xml", 3, "no checkpoint");
  command_expect(*state, program, "mujoco box.xml --resume a --keyframe up", 2, "--keyframe");
  command_expect(*state, program, "mujoco box.xml --checkpoint-every 3", 2, "needs --checkpoint");
  command_expect(*state, program, "mujoco box.xml --checkpoint no/a", 3, "no/a");
}

static void test_wrong_input(void** state) {
  command_expect(*state, program, "mujoco box.xml --time-limit -1", 2,
                 "--time-limit '-1' must be in [0, 1e+09] s");
  command_expect(*state, program, "mujoco", 2, "the arguments must be MODEL, 0 found");
  command_expect(*state, program, "mujoco box.xml box.xml", 2,
                 "the arguments must be MODEL, 2 found");
  command_expect(*state, program, "mujoco --dt 0 box.xml", 2, "--dt '0' must be");
  command_expect(*state, program, "mujoco --every 3 box.xml", 2, "--every needs --output");
  command_expect(*state, program, "mujoco --solver none box.xml", 2, "sapstep solvers");
  command_expect(*state, program, "mujoco --contact-model hard box.xml", 2, "lagged");
  command_expect(*state, program, "mujoco --plugins . box.xml", 3, "plugins");
  command_expect(*state, program, "mujoco none.xml", 3, "cannot read 'none.xml': No such file");
  command_expect(*state, program, "mujoco bad.xml", 3, "bogus");
  command_expect(*state, program, "mujoco --keyframe down box.xml", 3, "has no keyframe 'down'");
  command_expect(*state, program, "mujoco --output no/t.csv box.xml", 3,
                 "cannot write 'no/t.csv': No such file or directory");
}

// A trajectory appears whole; of one that meets a full disk the lines that were written stay.
static void test_full_disk(void** state) {
  const int before = scratch_count(*state);
  command_expect_after(*state, program, "ulimit -f 16; trap '' XFSZ;",
                       "mujoco --output t.csv --duration 5 box.xml", 3,
                       "the trajectory's rows so far are in 't.csv'");
  char* text = scratch_text(*state, "t.csv");
  assert_int_equal(text[strlen(text) - 1], '\n');
  assert_true(strlen(text) > 4000 && strlen(text) <= 16 * 1024);
  free(text);
  command_expect(*state, program, "mujoco --output u.csv --checkpoint no/a box.xml", 3, "no/a");
  assert_int_equal(scratch_count(*state), before + 1);  // no file but t.csv: it did not begin
  if (access("/dev/full", W_OK) == 0) {
    command_expect(*state, program, "mujoco --output u.csv --checkpoint /dev/full box.xml", 3,
                   "cannot write '/dev/full': No space left");
    assert_int_equal(scratch_count(*state), before + 2);  // and u.csv
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_table, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_stiffness, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_trajectory, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_controls, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_dump, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_deadline, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_checkpoint, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_input, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_full_disk, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
