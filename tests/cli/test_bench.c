// SPDX-License-Identifier: BSD-3-Clause
// sapstep bench: numbers of ourselves, peers that answer, refuse, die or talk nonsense, bad input.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

static const char* const program = SAPSTEP_PROGRAM;

// A ball at rest on the ground: one contact.
static const char scene[] =
    "<mujoco><option timestep='0.004'/><worldbody><geom type='plane' size='1 1 1'/>\n"
    "<body pos='0 0 .0999'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";

// Tells what it is asked on standard error and says that a step takes a second.
static const char peer[] =
    "echo '{\"peer\": \"clock 1\"}'\n"
    "while read -r line; do echo \"$line\" >>asked.txt\n"
    "echo '{\"step_s\": 1.0, \"contacts\": 3, \"iterations\": 2}'; done\n";
static const char refuses[] =
    "echo '{\"peer\": \"no\"}'\nread -r line; echo '{\"error\": \"not a scene of mine\"}'\n";

static int begin(void** state) {
  static scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "ball.xml", scene, sizeof scene - 1, path);
  scratch_write(&s, "peer.sh", peer, sizeof peer - 1, path);
  scratch_write(&s, "refuses.sh", refuses, sizeof refuses - 1, path);
  *state = &s;
  return 0;
}

static void alone(void** state) {
  command_result r =
      command_run(*state, program, "", "bench ball.xml --steps 5 --repetitions 3 --format json");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");
  assert_true(json_valid(r.out));
  command_says(r.out, "\"engine\": \"sapstep\"");
  assert_true(json_member(r.out, "repetitions") == 3.0);
  assert_true(json_member(r.out, "ratio") == 1.0);
  assert_true(json_member(r.out, "contacts") == 1.0);
  assert_true(json_member(r.out, "dt_s") == 0.004);
  const double step = json_member(r.out, "step_us");
  assert_true(step > 0.0 && json_member(r.out, "step_min_us") <= step);
  assert_true(json_member(r.out, "solver_us") <= step);
  command_clear(&r);
}

static void beside_a_peer(void** state) {
  command_result r = command_run(*state, program, "rm -f asked.txt;",
                                 "bench ball.xml --steps 4 --skip 2 --repetitions 2 --format json "
                                 "--clock cpu --peer 'sh peer.sh' --svg chart.svg");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_valid(r.out));
  const char* row = strstr(r.out, "clock 1");
  assert_non_null(row);
  assert_true(json_member(row, "step_us") == 1e6);
  assert_true(json_member(row, "contacts") == 3.0);
  assert_true(json_member(row, "ratio") > 1e3);
  command_clear(&r);
  r = command_run(*state, "cat", "", "asked.txt");
  const char line[] = "run 0.0040000000000000001 2 4 cpu ball.xml\n";
  assert_int_equal(strlen(r.out), 3 * strlen(line));  // two, and one that warms up
  assert_memory_equal(r.out, line, strlen(line));
  command_clear(&r);
  r = command_run(*state, "grep", "", "-c 'clock 1' chart.svg");
  assert_int_equal(r.exit_code, 0);
  command_clear(&r);
}

// A peer whose steps take 1, 2, ... 6 s, the first of which warms up.
static void numbers_of_a_peer(void** state) {
  static const char counts[] =
      "echo '{\"peer\": \"counter\"}'\nn=0\nwhile read -r line; do n=$((n + 1))\n"
      "echo \"{\\\"step_s\\\": $n, \\\"contacts\\\": 7, \\\"iterations\\\": 8, "
      "\\\"solver_s\\\": 1.5, \\\"residual\\\": 0.25}\"; done\n";
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "counts.sh", counts, sizeof counts - 1, path);
  command_result r = command_run(*state, program, "",
                                 "bench ball.xml --steps 2 --repetitions 5 --format json --dt .002 "
                                 "--peer 'sh counts.sh'");
  assert_int_equal(r.exit_code, 0);
  const char* own = strstr(r.out, "\"sapstep\"");
  const char* row = strstr(r.out, "counter");
  assert_true(own != NULL && row != NULL);
  assert_true(json_member(row, "repetitions") == 5.0);
  assert_true(json_member(row, "step_us") == 4e6 && json_member(row, "step_min_us") == 2e6);
  assert_true(json_member(row, "solver_us") == 4e6 * 1.5 / 6.0);
  assert_true(json_member(row, "contacts") == 7.0 && json_member(row, "iterations") == 8.0);
  assert_true(json_member(row, "residual") == 0.25 && json_member(row, "dt_s") == 0.002);
  assert_true(json_member(row, "ratio_q1") < json_member(row, "ratio"));
  assert_true(json_member(row, "ratio") < json_member(row, "ratio_q3"));
  assert_true(json_member(own, "ratio_q1") == 1.0 && json_member(own, "ratio_q3") == 1.0);
  command_clear(&r);
}

// Each peer ends when its own input does, whichever others are there.
static void beside_two_peers(void** state) {
  command_result r =
      command_run(*state, program, "timeout 20",
                  "bench ball.xml --steps 2 --repetitions 2 --format json --peer 'sh peer.sh' "
                  "--peer 'sh peer.sh' --peer 'sh peer.sh'");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_valid(r.out));
  command_clear(&r);
}

static void peers_that_cannot(void** state) {
  command_result r = command_run(*state, program, "",
                                 "bench ball.xml --steps 2 --repetitions 2 --format json --peer "
                                 "false --peer 'echo hello' --peer 'sh refuses.sh'");
  assert_int_equal(r.exit_code, 0);
  command_says(r.err, "peer 'false' ended before its greeting");
  command_says(r.err, "peer 'echo hello' is left out");
  command_says(r.err, "no leaves out ball.xml: not a scene of mine");
  assert_true(json_valid(r.out));
  command_says(r.out, "\"engine\": \"no\", \"repetitions\": 0, \"step_us\": null");
  command_clear(&r);
}

// A peer that never ends a line, one that says nothing and ignores the end of its input, and one
// that falls silent later: each is left out after the time that it is given.
static void peers_that_never_answer(void** state) {
  static const char* const peers[] = {"cat", "yes peer | tr -d '\\n'", "sleep 600",
                                      "echo '{\"peer\": \"dumb\"}'; exec sleep 600"};
  static const char* const told[] = {
      "peer 'cat' is left out: no answer within --patience", "a line is too long",
      "peer 'sleep 600' is left out: no answer", "dumb leaves out ball.xml: no answer"};
  for (size_t i = 0; i < sizeof peers / sizeof *peers; ++i) {
    char path[SCRATCH_PATH_SIZE];
    scratch_write(*state, "peer.txt", peers[i], strlen(peers[i]), path);
    command_result r =
        command_run(*state, program, "timeout 30",
                    "bench ball.xml --steps 2 --repetitions 2 --patience 0.2 --format json --peer "
                    "\"$(cat peer.txt)\"");
    assert_int_equal(r.exit_code, 0);
    command_says(r.err, told[i]);
    assert_true(json_valid(r.out));
    command_clear(&r);
  }
}

// The name ends where its quotes do, and what follows the time is not read.
static void what_a_peer_says(void** state) {
  static const char talks[] =
      "echo '{\"peer\": \"one \\\"1\\\"\", \"version\": \"2\"}'\n"
      "read -r line; echo '{\"step_s\": 1e999}'\n"
      "read -r line; echo '{\"error\": 5}'\n";
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "talks.sh", talks, sizeof talks - 1, path);
  command_result r =
      command_run(*state, program, "timeout 30",
                  "bench ball.xml ball.xml --steps 2 --repetitions 2 --peer 'sh talks.sh'");
  assert_int_equal(r.exit_code, 0);
  command_says(r.err, "one \\\"1\\\" leaves out ball.xml: no time in its answer");
  assert_null(strstr(r.err, "version"));
  command_clear(&r);
}

static void wrong_input(void** state) {
  command_expect(*state, program, "bench", 2, "the arguments must be SCENE..., 0 found");
  command_expect(*state, program, "bench ball.xml --steps 0", 2, "--steps '0' must be");
  command_expect(*state, program, "bench ball.xml --repetitions 1001", 2, "--repetitions '1001'");
  command_expect(*state, program, "bench ball.xml --dt -1", 2,
                 "--dt '-1' must be > 0 and <= 1e+09 s");
  command_expect(*state, program, "bench ball.xml --patience 0", 2, "--patience '0' must be");
  command_expect(*state, program, "bench ball.xml --clock sun", 2, "must be wall or cpu");
  command_result r = command_run(*state, program, "", "bench none.xml ball.xml --steps 1");
  assert_int_equal(r.exit_code, 3);
  command_says(r.err, "cannot read 'none.xml'");
  command_says(r.out, "ball.xml");  // the others are done all the same
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alone),
      cmocka_unit_test(beside_a_peer),
      cmocka_unit_test(numbers_of_a_peer),
      cmocka_unit_test(beside_two_peers),
      cmocka_unit_test(peers_that_cannot),
      cmocka_unit_test(peers_that_never_answer),
      cmocka_unit_test(what_a_peer_says),
      cmocka_unit_test(wrong_input),
  };
  return cmocka_run_group_tests(tests, begin, scratch_teardown);
}
