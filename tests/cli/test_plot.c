// SPDX-License-Identifier: BSD-3-Clause
// sapstep plot and export: numbers against mechanics, pictures by what they hold, wrong input.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/command.h"
#include "support/near.h"
#include "support/skip.h"
#include "support/svg.h"

static const char* const program = SAPSTEP_PROGRAM;
#define BOX "'" SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml'"

static char* run(scratch* s, const char* arguments, int exit_code, const char* message) {
  command_result r = command_run(s, program, "", arguments);
  if (r.exit_code != exit_code || (message != NULL && strstr(r.err, message) == NULL)) {
    fail_msg("'%s': exit %d, stderr '%s'", arguments, r.exit_code, r.err);
  }
  free(r.err);
  return r.out;
}

static void expect(scratch* s, const char* arguments, int exit_code, const char* message) {
  free(run(s, arguments, exit_code, message));
}

// A box of 1 kg that falls from half a metre and lies still after 2 s.
static void record(scratch* s) {
  expect(s, "run " BOX " --dt 0.005 --duration 3 --record a.h5", 0, NULL);
}

// The numbers of a line of CSV.
static int numbers(const char* line, double* out, int most) {
  int n = 0;
  char* stop;
  for (; n < most; ++n) {
    out[n] = strtod(line, &stop);
    if (stop == line || *stop != ',') {
      return n + (stop != line);
    }
    line = stop + 1;
  }
  return n;
}

static void exported_numbers_obey_mechanics(void** state) {
  record(*state);
  char* csv = run(*state,
                  "export a.h5 position:box:z v:root energy contact_force:box penetration "
                  "contacts momentum:pz step:newton_iterations",
                  0, NULL);
  const char* head =
      "t_s,position_box_z_m,v_root_x_mps,v_root_y_mps,v_root_z_mps,v_root_wx_radps,"
      "v_root_wy_radps,v_root_wz_radps,kinetic_J,gravity_J,springs_J,"
      "total_J,contact_force_box_x_N,contact_force_box_y_N,contact_force_box_z_N,"
      "penetration_m,contacts,momentum_pz_kgmps,newton_iterations\n";
  if (strncmp(csv, head, strlen(head)) != 0) {
    fail_msg("%.600s", csv);
  }
  int rows = 0;
  double x[19], before = 0.0;
  for (const char* line = strchr(csv, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
    assert_int_equal(numbers(line, x, 19), 19);
    ASSERT_NEAR(x[0], 0.005 * rows, 1e-12);
    ASSERT_NEAR(x[9], 9.81 * x[1], 1e-5);            // 1 kg; positions are floats
    ASSERT_NEAR(x[11], x[8] + x[9] + x[10], 1e-14);  //
    const double turning = x[5] * x[5] + x[6] * x[6] + x[7] * x[7];
    ASSERT_NEAR(x[8], 0.5 * (x[2] * x[2] + x[3] * x[3] + x[4] * x[4] + turning / 150.0), 1e-12);
    ASSERT_NEAR(x[17], x[4], 1e-14);
    if (rows > 0) {  // momentum balance of the step, to 1e-6 of 3 N s by the solver's tolerance
      ASSERT_NEAR((x[4] - before) / 0.005, x[14] - 9.81, 1e-3);
    }
    before = x[4];
    ++rows;
  }
  assert_int_equal(rows, 601);
  ASSERT_NEAR(x[14], 9.81, 1e-4);  // it lies still
  assert_true(x[15] > 0.0 && x[16] == 4.0);
  free(csv);
  csv = run(*state, "export a.h5 --contacts", 0, NULL);
  const char* last = csv + strlen(csv) - 1;
  while (last > csv && last[-1] != '\n') {
    --last;
  }
  double c[32];
  assert_int_equal(numbers(last, c, 32), 32);
  ASSERT_NEAR(c[0], 3.0, 1e-12);
  assert_true(c[1] == 0.0 && c[2] == 1.0);
  ASSERT_NEAR(c[18], 1.0, 1e-9);                 // the normal is up
  ASSERT_NEAR(c[25], 9.81 * 0.005 / 4.0, 0.01);  // impulse of one corner of four
  free(csv);
  expect(*state, "export a.h5 -o all.csv", 0, NULL);
  csv = scratch_text(*state, "all.csv");
  assert_non_null(strstr(csv, ",q_root_qw,"));
  assert_non_null(strstr(csv, ",cost_J,"));
  free(csv);
}

static int count(const char* text, const char* word) {
  int n = 0;
  for (const char* at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
    ++n;
  }
  return n;
}

static void pictures_hold_what_was_asked(void** state) {
  svg_need_gnuplot();
  record(*state);
  expect(*state, "plot a.h5 energy slip history", 0, NULL);
  char* svg = scratch_text(*state, "a.svg");
  assert_int_equal(svg_lines(svg), 4 + 1 + 2);
  assert_int_equal(count(svg, ">t [s]<"), 2);
  assert_int_equal(count(svg, ">iteration<"), 1);
  assert_int_equal(count(svg, "<text>kinetic<"), 1);
  free(svg);
  expect(*state, "plot a.h5 v:root:z --against q:root:z -o phase.svg", 0, NULL);
  svg = scratch_text(*state, "phase.svg");
  assert_non_null(strstr(svg, ">q:root:z [m]<"));
  assert_non_null(strstr(svg, ">v [m/s]<"));
  free(svg);
  expect(*state, "plot a.h5 energy -o e.png", 0, NULL);
  char* png = scratch_text(*state, "e.png");
  assert_memory_equal(png, "\x89PNG", 4);
  free(png);
}

static void wrong_input_is_told(void** state) {
  record(*state);
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "text.h5", "no\n", 3, path);
  expect(*state, "plot a.h5 energi:kinetic", 3,
         "unknown quantity 'energi:kinetic', did you mean 'energy'?");
  expect(*state, "plot a.h5 heat", 3,
         "unknown quantity 'heat'; there are energy, position, q, v, momentum, actuator, "
         "sensor, contacts, contact_force, penetration, slip, pressure, step and history");
  expect(*state, "export a.h5 energy:heat", 3,
         "'energy' has no 'heat'; there are kinetic, gravity, springs, total");
  expect(*state, "export a.h5 position:bo", 3, "there are box:x, box:y, box:z");
  expect(*state, "export a.h5 actuator", 3, "the recording has no 'actuator'");
  expect(*state, "plot a.h5 history:0", 3, "did not iterate in row 0");
  expect(*state, "plot a.h5 history:9999", 3, "row 9999: the recording has 601");
  expect(*state, "plot a.h5 history:x", 3, "comes a row");
  expect(*state, "plot a.h5 energy --against energy", 3, "must be one, as in energy:kinetic");
  expect(*state, "plot a.h5", 2, "the arguments must be RECORDING QUANTITY..., 1 found");
  expect(*state, "plot none.h5 energy", 3, "'none.h5'");
  expect(*state, "plot text.h5 energy", 3, "is not an HDF5 file");
  expect(*state, "plot a.h5 energy -o no/such/a.svg", 3, "no/such/a.svg");
  expect(*state, "plot a.h5 energy -o no/such/a.png", 3, "no/such/a.png");
  expect(*state, "export a.h5 energy -o no/such/a.csv", 3, "no/such/a.csv");
  expect(*state, "export a.h5 energy > /dev/full", 3, "cannot write to standard output");
  expect(*state, "plot a.h5 step", 3, "choose, as in step:newton_iterations; there are");
  // A path that is not a regular file is written to, not replaced.
  command_result piped =
      command_run(*state, program, "mkfifo pipe; cat pipe > b.csv &",
                  "export a.h5 contacts -o pipe; wait; test -p pipe && echo still");
  assert_string_equal(piped.out, "still\n");
  command_clear(&piped);
  char* text = scratch_text(*state, "b.csv");
  command_says(text, "t_s,contacts\n0,");
  free(text);
  expect(*state, "export", 2, "the arguments must be RECORDING [QUANTITY...], 0 found");
  expect(*state, "export a.h5 energy --contacts", 2, "--contacts excludes quantities");
}

// The total energy is the sum of its parts, springs among them.
static void energies_add_up(void** state) {
  expect(*state,
         "run '" SAPSTEP_SOURCE_DIR
         "/examples/scenes/spring_cylinder.xml' --duration 0.4 --record s.h5",
         0, NULL);
  char* csv = run(*state, "export s.h5 energy", 0, NULL);
  const char* line = strchr(csv, '\n');
  double largest = 0.0;
  int rows = 0;
  for (; line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n'), ++rows) {
    double x[5];
    assert_int_equal(numbers(line + 1, x, 5), 5);
    ASSERT_NEAR(x[1] + x[2] + x[3], x[4], 1e-12);
    largest = fmax(largest, x[3]);
  }
  assert_true(rows > 10 && largest > 0.1);  // J
  free(csv);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(exported_numbers_obey_mechanics),
      TEST(energies_add_up),
      TEST(pictures_hold_what_was_asked),
      TEST(wrong_input_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
