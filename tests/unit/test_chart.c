// SPDX-License-Identifier: BSD-3-Clause
// Charts: well-formed XML, points where they belong, what is left out, formats, refusals.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <libxml/parser.h>

#include <sapstep/output.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/svg.h"

enum { MOST = 64 };

static char* draw(scratch* s, const sap_chart_panel* panels, int32_t count) {
  char path[SCRATCH_PATH_SIZE];
  sap_error error = {0};
  svg_need_gnuplot();
  if (sap_chart_write(scratch_path(s, "chart.svg", path), panels, count, false, &error) !=
      SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  size_t size = 0;
  char* text = scratch_read(path, &size);
  assert_non_null(text);
  xmlDocPtr document = xmlReadMemory(text, (int)size, "chart.svg", NULL, XML_PARSE_NONET);
  assert_non_null(document);
  xmlFreeDoc(document);
  return text;
}

static void test_places(void** state) {
  scratch* s = *state;
  const double x[4] = {1.0, 10.0, 100.0, 1000.0}, y[4] = {1e-4, 1e-2, 1.0, 100.0};
  const double lx[3] = {0.0, 1.0, 4.0}, ly[3] = {-1.0, 0.0, 3.0};
  const sap_chart_series logarithmic = {"a < b & c, it's `d` \\ \"e\" 10 µs", 4, x, y};
  const sap_chart_series linear = {"plain", 3, lx, ly};
  const sap_chart_panel panels[2] = {{.title = "squares",
                                      .x_label = "x",
                                      .y_label = "y > 0 [m_s^2]",
                                      .log_x = true,
                                      .log_y = true,
                                      .slopes = 2,
                                      .series_count = 1,
                                      .series = &logarithmic},
                                     {.series_count = 1, .series = &linear}};
  char* svg = draw(s, panels, 2);
  assert_int_equal(svg_lines(svg), 4);  // two of them slopes
  assert_non_null(strstr(svg, "a &lt; b &amp; c, it's `d` \\ \"e\" 10 µs"));
  assert_non_null(strstr(svg, " 0 [m_s^2]"));
  assert_non_null(strstr(svg, "slopes 1 to 2"));
  double p[MOST][2];
  // y = x^2 on logarithmic axes is a straight line with equal steps, rising on paper
  assert_int_equal(svg_points(svg, 0, p, MOST), 4);
  ASSERT_NEAR(p[1][0] - p[0][0], p[2][0] - p[1][0], 0.02);
  ASSERT_NEAR(p[1][1] - p[0][1], p[2][1] - p[1][1], 0.02);
  assert_true(p[1][0] > p[0][0] && p[1][1] < p[0][1]);
  // linear axes: thrice the distance
  assert_int_equal(svg_points(svg, 3, p, MOST), 3);
  ASSERT_NEAR(p[2][0] - p[1][0], 3.0 * (p[1][0] - p[0][0]), 0.05);
  ASSERT_NEAR(p[2][1] - p[1][1], 3.0 * (p[1][1] - p[0][1]), 0.05);
  assert_true(p[0][0] > 478.0);  // the second panel is to the right of the first
  free(svg);
}

static void test_what_is_left_out(void** state) {
  scratch* s = *state;
  const double x[6] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  const double y[6] = {1.0, 2.0, -1.0, 3.0, 4.0, (double)NAN};
  const sap_chart_series series[2] = {{"gap", 6, x, y}, {NULL, 0, NULL, NULL}};
  sap_chart_panel panel = {.log_y = true, .series_count = 2, .series = series};
  double p[MOST][2];
  char* svg = draw(s, &panel, 1);
  assert_int_equal(svg_points(svg, 0, p, MOST), 4);  // before and after the gap
  free(svg);
  // one point, and none at all
  const sap_chart_series one = {"one", 1, x, y}, none = {"none", 1, x, y + 2};
  panel.series_count = 1;
  panel.series = &one;
  free(draw(s, &panel, 1));
  panel.series = &none;
  svg = draw(s, &panel, 1);
  assert_non_null(strstr(svg, ">none<"));
  free(svg);
}

static void test_formats(void** state) {
  scratch* s = *state;
  static const struct {
    const char *name, *begin;
  } formats[] = {{"a.png", "\x89PNG"}, {"a.pdf", "%PDF"}, {"a", "<?xml"}};
  const double x[2] = {0.0, 1.0};
  const sap_chart_series series = {"one", 2, x, x};
  const sap_chart_panel panel = {.series_count = 1, .series = &series};
  svg_need_gnuplot();
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(sap_chart_write(scratch_path(s, formats[i].name, path), &panel, 1, true, NULL),
                     SAP_STATUS_OK);
    char* bytes = scratch_read(path, NULL);
    assert_memory_equal(bytes, formats[i].begin, strlen(formats[i].begin));
    free(bytes);
  }
}

// The script, by a program in gnuplot's place that prints it: axes with slopes, logarithmic ones of
// few decades, without data and linear ones; dashes, markers, formats.
static void test_script(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE], folder[SCRATCH_PATH_SIZE];
  static const char cat[] = "#!/bin/sh\nexec /bin/cat\n";
  static const double x[4] = {1.0, 10.0, 100.0, 1000.0}, y[4] = {1e-4, 1e-2, 1.0, 100.0};
  static const double none = -1.0;
  const sap_chart_series two[2] = {{"a", 4, x, y}, {"b", 4, x, y}}, few = {"few", 2, x, x};
  const sap_chart_series empty = {"empty", 1, &none, &none};
  const sap_chart_panel panels[4] = {{.log_x = true,
                                      .log_y = true,
                                      .slopes = 2,
                                      .markers = true,
                                      .dashes = true,
                                      .series_count = 2,
                                      .series = two},
                                     {.log_y = true, .series_count = 1, .series = &few},
                                     {.log_x = true, .series_count = 1, .series = &empty},
                                     {.series_count = 1, .series = &few}};
  static const char* const parts[4][6] = {
      {"set xrange [0.909091:1100]\n", "set yrange [5e-05:200]\n", "set format x '10^{%T}'",
       "$line1 using 1:2 with linespoints dt 2 lt 2 title 'b'", "200*(x/1100)**1 with lines dt 2",
       "200*(x/1100)**2 with lines dt 2"},
      {"set format y '%g'\nset ytics (1, 1e0, 2e0, 5e0, 1e1, 2e1, 5e1)\n",
       "$line0 using 1:2 with lines dt 1 lt 1 title 'few'"},
      {"set xrange [0:1]\nset yrange [0:1]\n", "NaN*0 with lines dt 1 lt 1 title 'empty'"},
      {"set autoscale\nset title", "$line0 using 1:2 with lines dt 1 lt 1"}};
  const char* const before = getenv("PATH");
  char* kept = strdup(before != NULL ? before : "");
  (void)scratch_write(s, "gnuplot", cat, sizeof cat - 1, path);
  assert_int_equal(chmod(path, 0700), 0);
  assert_int_equal(setenv("PATH", scratch_path(s, "", folder), 1), 0);
  for (int i = 0; i < 4; ++i) {
    static const char* const names[] = {"a.svg", "a.pdf", "a.png", "a.svg"};
    static const char* const terminals[] = {"set terminal svg", "set terminal pdfcairo",
                                            "set terminal pngcairo", "set terminal svg"};
    assert_int_equal(sap_chart_write(scratch_path(s, names[i], path), &panels[i], 1, false, NULL),
                     SAP_STATUS_OK);
    char* script = scratch_read(path, NULL);
    assert_non_null(strstr(script, terminals[i]));
    for (int k = 0; k < 6 && parts[i][k] != NULL; ++k) {
      if (strstr(script, parts[i][k]) == NULL) {
        fail_msg("panel %d: no '%s' in\n%s", i, parts[i][k], script);
      }
    }
    assert_true(i % 2 == 0 || strstr(script, "range [") == NULL);
    free(script);
  }
  assert_int_equal(setenv("PATH", kept, 1), 0);
  free(kept);
}

static void test_refusals(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  sap_error error = {0};
  const sap_chart_panel empty = {.title = "nothing"};
  const double x = 1.0;
  const sap_chart_series series = {"one", 1, &x, &x};
  const sap_chart_panel good = {.series_count = 1, .series = &series};
  assert_int_equal(sap_chart_write("a.svg", &empty, 1, false, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "chart: panel 0 has no series");
  assert_int_equal(sap_chart_write(NULL, &good, 1, false, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_chart_write("a.svg", &good, 0, false, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_chart_write("no/such/folder/a.svg", &good, 1, false, &error), SAP_STATUS_IO);
  const int count = scratch_count(s);
  const char* const before = getenv("PATH");
  char* kept = strdup(before != NULL ? before : "");
  assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
  assert_int_equal(sap_chart_write(scratch_path(s, "b.svg", path), &good, 1, false, &error),
                   SAP_STATUS_UNSUPPORTED);
  assert_int_equal(setenv("PATH", kept, 1), 0);
  free(kept);
  assert_non_null(strstr(error.message, "gnuplot-nox"));
  assert_int_equal(scratch_count(s), count);
  svg_need_gnuplot();
  assert_int_equal(sap_chart_write("/dev/full", &good, 1, false, &error), SAP_STATUS_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),   cmocka_unit_test(test_what_is_left_out),
      cmocka_unit_test(test_formats),  cmocka_unit_test(test_script),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
