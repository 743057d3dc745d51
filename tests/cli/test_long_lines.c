// SPDX-License-Identifier: BSD-3-Clause
// Charts of long runs: the numbers beside a chart are all there, and its thinned lines keep their
// band.
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

// Without friction the energy of symplectic Euler swings within 28.9 % of 0.5 J for ever, twice in
// 22 steps (castro Fig. 5).
static const char cylinder[] = "'" SAPSTEP_SOURCE_DIR "/examples/scenes/spring_cylinder.xml'";
enum { STEPS = 10000, PARTS = 10, POINTS = 5000 };

static void run(scratch* s, const char* format, ...) {
  char arguments[1024];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  command_result r = command_exits(s, program, arguments, 0);
  command_clear(&r);
}

// Points of the first line; in each tenth of its width it spans the whole band.
static int check_band(const char* svg) {
  static double at[POINTS][2];
  double low[PARTS], high[PARTS];
  const int count = svg_points(svg, 0, at, POINTS);
  const double left = at[0][0], right = at[count - 1][0];
  for (int i = 0; i < PARTS; ++i) {
    low[i] = (double)INFINITY;
    high[i] = -(double)INFINITY;
  }
  for (int i = 0; i < count; ++i) {
    const double x = at[i][0], y = at[i][1];
    const int part = (int)fmin(PARTS * (x - left) / (right - left), PARTS - 1);
    low[part] = fmin(low[part], y);
    high[part] = fmax(high[part], y);
  }
  for (int i = 1; i < PARTS; ++i) {  // steps fall on the crests within 2 % of the band
    ASSERT_NEAR(high[i] - low[i], high[0] - low[0], 0.02 * (high[0] - low[0]));
  }
  return count;
}

static void test_sweep(void** state) {
  svg_need_gnuplot();
  scratch* s = *state;
  static const char study[] = "scene " SAPSTEP_SOURCE_DIR
                              "/examples/scenes/spring_cylinder.xml\n"
                              "set scheme symplectic-euler\nset friction 0\nduration 200\n"
                              "plot energy\n";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, "a.study", study, strlen(study), path);
  run(s, "sweep a.study --csv t.csv --svg a.svg --lines a.csv");
  char* svg = scratch_text(s, "a.svg");
  assert_in_range(check_band(svg), 200, 400);
  free(svg);
  char* csv = scratch_text(s, "a.csv");
  int rows = 0;
  double low = (double)INFINITY, high = -(double)INFINITY;
  for (char* line = strtok(csv, "\n"); line != NULL; line = strtok(NULL, "\n"), ++rows) {
    const double e = strtod(strrchr(line, ',') + 1, NULL);
    low = rows > 0 ? fmin(low, e) : low;
    high = rows > 0 ? fmax(high, e) : high;
  }
  free(csv);
  assert_int_equal(rows, STEPS + 1);  // and a header
  ASSERT_NEAR((high - low) / 0.5, 0.289, 5e-4);
}

static void test_plot(void** state) {
  svg_need_gnuplot();
  scratch* s = *state;
  run(s, "run %s --scheme symplectic-euler --friction 0 --duration 200 --record a.h5", cylinder);
  run(s, "plot a.h5 energy:total -o b.svg");
  char* svg = scratch_text(s, "b.svg");
  assert_in_range(check_band(svg), 2000, 4000);
  free(svg);
  run(s, "plot a.h5 v:x --against q:x -o c.svg");  // an ellipse: both its ends are there
  svg = scratch_text(s, "c.svg");
  assert_int_equal(svg_lines(svg), 1);
  free(svg);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_sweep, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_plot, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
