// SPDX-License-Identifier: BSD-3-Clause
// sapstep sweep --svg: what a chart of a sweep shows, and studies that have none.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/near.h"
#include "support/svg.h"

static const char* const program = SAPSTEP_PROGRAM;
#define BOX "scene " SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml\nduration 0.02\n"

static void write_study(scratch* s, const char* text) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, "a.study", text, strlen(text), path);
}

// The a.svg that a sweep draws; to be freed.
static char* chart_of(scratch* s, const char* arguments) {
  svg_need_gnuplot();
  command_result r = command_exits(s, program, arguments, 0);
  command_clear(&r);
  char* svg = scratch_text(s, "a.svg");
  return svg;
}

// In free fall the potential energy is m g (z - g t^2/2) for every dt: level; the energy of a mass
// rises in proportion.
static void draws_measures_over_the_grid(void** state) {
  write_study(*state, BOX
              "grid geom/box/mass 1 2 3\nrandom sigma uniform 1e-3 2e-3\nsamples 2\n"
              "measure potential\n");
  char* svg = chart_of(*state, "sweep a.study --svg a.svg --csv a.csv");
  command_says(svg, "potential [J]");
  command_says(svg, "geom/box/mass");
  command_says(svg, "falling_box.xml");
  double at[8][2];
  assert_int_equal(svg_points(svg, 0, at, 8), 3);
  ASSERT_NEAR(at[1][0] - at[0][0], at[2][0] - at[1][0], 0.02);
  ASSERT_NEAR(at[1][1] - at[0][1], at[2][1] - at[1][1], 0.02);
  assert_true(at[1][1] < at[0][1] - 5.0);  // up the page
  free(svg);
}

// A point of the grid has the median of its samples.
static void draws_medians_of_samples(void** state) {
  write_study(*state, BOX
              "grid sigma 1e-4 1e-3\nrandom geom/box/mass log 1e-3 1e3\nsamples 3\nmeasure mass\n");
  command_result r = command_exits(*state, program, "sweep a.study --csv a.csv --lines l.csv", 0);
  command_says(r.out, "mass [kg]");
  command_clear(&r);
  char *cases = scratch_text(*state, "a.csv"), *lines = scratch_text(*state, "l.csv");
  const char *row = strchr(cases, '\n'), *line = strchr(lines, '\n');
  for (int point = 0; point < 2; ++point) {
    double mass[3], median;
    for (int i = 0; i < 3; ++i, row = strchr(row + 1, '\n')) {
      assert_int_equal(sscanf(row, " %*d,%*f,%*f,%lf", &mass[i]), 1);
    }
    const double least = fmin(mass[0], fmin(mass[1], mass[2]));
    const double most = fmax(mass[0], fmax(mass[1], mass[2]));
    assert_int_equal(sscanf(line, " %*[^,],%*[^,],%*[^,],%*f,%*[^,],%lf", &median), 1);
    line = strchr(line + 1, '\n');
    assert_true(median > least && median < most);
    ASSERT_NEAR(median, mass[0] + mass[1] + mass[2] - least - most, 1e-9 * most);
  }
  free(cases);
  free(lines);
}

static void names_lines_by_the_rest_of_the_grid(void** state) {
  write_study(*state, BOX
              "grid scheme midpoint implicit-euler\ngrid dt 0.01 0.005 0.0025\n"
              "measure energy center_z steps mass\n");
  char* svg = chart_of(*state, "sweep a.study --svg a.svg --csv a.csv --jobs 1");
  command_says(svg, "scheme midpoint");
  command_says(svg, "scheme implicit-euler");
  command_says(svg, "center_z [m]");
  command_says(svg, "mass [kg]");
  free(svg);
}

static void refuses_before_it_runs(void** state) {
  static const struct {
    const char *study, *message;
  } cases[] = {
      {BOX "random sigma uniform 1e-3 2e-3\nsamples 2\nmeasure steps\n",
       "a.study: a chart needs plots or a grid of numbers, and the study has none"},
      {BOX "grid scheme midpoint implicit-euler\nmeasure steps\n",
       "a chart needs plots or a grid of numbers"},
      {BOX "grid dt 0.01 0.005\ngrid sigma 1e-6 2e-6 3e-6 4e-6\ngrid beta 1 2 3 4\ngrid friction 1 "
           "2 3 4\n"
           "measure steps\n",
       "would have 32 lines over sigma, at most 12"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    write_study(*state, cases[i].study);
    command_expect(*state, program, "sweep a.study --svg no.svg -o no.h5", 3, cases[i].message);
    char path[SCRATCH_PATH_SIZE];
    assert_null(scratch_read(scratch_path(*state, "no.h5", path), NULL));
  }
  write_study(*state, BOX "grid dt 0.01 0.005\nmeasure steps\n");
  command_expect(*state, program, "sweep a.study --csv a.csv --svg none/x.svg", 3, "none/x.svg");
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(draws_measures_over_the_grid),
      TEST(draws_medians_of_samples),
      TEST(names_lines_by_the_rest_of_the_grid),
      TEST(refuses_before_it_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
