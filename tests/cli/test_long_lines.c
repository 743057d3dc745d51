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

static const char* const program = SAPSTEP_PROGRAM;

// Without friction the energy of symplectic Euler swings within 28.9 % of 0.5 J for ever, twice in
// 22 steps (castro Fig. 5).
static const char cylinder[] = "'" SAPSTEP_SOURCE_DIR "/examples/scenes/spring_cylinder.xml'";
enum { STEPS = 10000, PARTS = 10, LINE = 64 };

static void run(scratch* s, const char* format, ...) {
  char arguments[1024];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  command_result r = command_exits(s, program, arguments, 0);
  command_clear(&r);
}

// Points of the first polyline; in each tenth of its width it spans the whole band.
static int check_band(const char* svg) {
  const char* at = strstr(svg, "<polyline");
  assert_non_null(at);
  at = strstr(at, "points=\"");
  assert_non_null(at);
  at += strlen("points=\"");
  const char* const begin = at;
  double low[PARTS], high[PARTS], left = 0.0, right = 0.0, x, y;
  int count = 0, length = 0;
  for (; sscanf(at, "%lf,%lf%n", &x, &y, &length) == 2; at += length, ++count) {
    left = count == 0 ? x : left;
    right = x;
  }
  for (int i = 0; i < PARTS; ++i) {
    low[i] = (double)INFINITY;
    high[i] = -(double)INFINITY;
  }
  at = begin;
  for (int i = 0; i < count; ++i, at += length) {
    assert_int_equal(sscanf(at, "%lf,%lf%n", &x, &y, &length), 2);
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
  scratch* s = *state;
  run(s, "run %s --scheme symplectic-euler --friction 0 --duration 200 --record a.h5", cylinder);
  run(s, "plot a.h5 energy:total -o b.svg");
  char* svg = scratch_text(s, "b.svg");
  assert_in_range(check_band(svg), 2000, 4000);
  free(svg);
  run(s, "plot a.h5 v:x --against q:x -o c.svg");  // an ellipse: both its ends are there
  svg = scratch_text(s, "c.svg");
  assert_non_null(strstr(svg, "<polyline"));
  free(svg);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_sweep, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_plot, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
