// SPDX-License-Identifier: BSD-3-Clause
// Charts: well-formed XML, points where they belong, what is left out, refusals.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libxml/parser.h>

#include <sapstep/output.h>

#include "support/near.h"
#include "support/scratch.h"

static char* draw(scratch* s, const sap_chart_panel* panels, int32_t count) {
  char path[SCRATCH_PATH_SIZE];
  sap_error error = {0};
  if (sap_chart_write(scratch_path(s, "chart.svg", path), panels, count, &error) != SAP_STATUS_OK) {
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

static int count_of(const char* text, const char* what) {
  int count = 0;
  for (const char* at = text; (at = strstr(at, what)) != NULL; ++at) {
    ++count;
  }
  return count;
}

// The first three points of the n-th polyline.
static void points_of(const char* svg, int n, double p[3][2]) {
  const char* at = svg;
  for (int i = 0; i <= n; ++i) {
    at = strstr(at, " points=\"");
    assert_non_null(at);
    at += strlen(" points=\"");
  }
  for (int i = 0; i < 3; ++i) {
    char* stop;
    p[i][0] = strtod(at, &stop);
    p[i][1] = strtod(stop + 1, &stop);
    at = stop;
  }
}

static void test_places(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  const double x[4] = {1.0, 10.0, 100.0, 1000.0}, y[4] = {1e-4, 1e-2, 1.0, 100.0};
  const double lx[3] = {0.0, 1.0, 4.0}, ly[3] = {-1.0, 0.0, 3.0};
  const sap_chart_series logarithmic = {"a < b & c", 4, x, y};
  const sap_chart_series linear = {"plain", 3, lx, ly};
  const sap_chart_panel panels[2] = {{.title = "squares",
                                      .x_label = "x",
                                      .y_label = "y > 0",
                                      .log_x = true,
                                      .log_y = true,
                                      .markers = true,
                                      .slopes = 2,
                                      .series_count = 1,
                                      .series = &logarithmic},
                                     {.series_count = 1, .series = &linear}};
  char* svg = draw(&s, panels, 2);
  assert_int_equal(count_of(svg, "<polyline"), 2);
  assert_int_equal(count_of(svg, "<circle"), 5);  // four points and the legend
  assert_int_equal(count_of(svg, "stroke-dasharray"), 3);
  assert_non_null(strstr(svg, "a &lt; b &amp; c"));
  assert_non_null(strstr(svg, "y &gt; 0"));
  double p[3][2];
  // y = x^2 on logarithmic axes is a straight line with equal steps, rising on paper
  points_of(svg, 0, p);
  ASSERT_NEAR(p[1][0] - p[0][0], p[2][0] - p[1][0], 0.02);
  ASSERT_NEAR(p[1][1] - p[0][1], p[2][1] - p[1][1], 0.02);
  assert_true(p[1][0] > p[0][0] && p[1][1] < p[0][1]);
  // linear axes: thrice the distance
  points_of(svg, 1, p);
  ASSERT_NEAR(p[2][0] - p[1][0], 3.0 * (p[1][0] - p[0][0]), 0.05);
  ASSERT_NEAR(p[2][1] - p[1][1], 3.0 * (p[1][1] - p[0][1]), 0.05);
  assert_true(p[0][0] > 478.0);  // the second panel is to the right of the first
  free(svg);
  scratch_end(&s);
}

static void test_what_is_left_out(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  const double x[6] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  const double y[6] = {1.0, 2.0, -1.0, 3.0, 4.0, (double)NAN};
  const sap_chart_series series[2] = {{"gap", 6, x, y}, {NULL, 0, NULL, NULL}};
  sap_chart_panel panel = {.log_y = true, .markers = true, .series_count = 2, .series = series};
  char* svg = draw(&s, &panel, 1);
  assert_int_equal(count_of(svg, "<polyline"), 2);  // before and after the gap
  assert_int_equal(count_of(svg, "<circle"), 5);
  free(svg);
  // one point, and none at all
  const sap_chart_series one = {"one", 1, x, y}, none = {"none", 1, x, y + 2};
  panel.series_count = 1;
  panel.series = &one;
  free(draw(&s, &panel, 1));
  panel.series = &none;
  svg = draw(&s, &panel, 1);
  assert_null(strstr(svg, "nan"));
  free(svg);
  scratch_end(&s);
}

static void test_refusals(void** state) {
  (void)state;
  sap_error error = {0};
  const sap_chart_panel empty = {.title = "nothing"};
  const double x = 1.0;
  const sap_chart_series series = {"one", 1, &x, &x};
  const sap_chart_panel good = {.series_count = 1, .series = &series};
  assert_int_equal(sap_chart_write("a.svg", &empty, 1, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "chart: panel 0 has no series");
  assert_int_equal(sap_chart_write(NULL, &good, 1, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_chart_write("a.svg", &good, 0, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_chart_write("no/such/folder/a.svg", &good, 1, &error), SAP_STATUS_IO);
  assert_int_equal(sap_chart_write("/dev/full", &good, 1, &error), SAP_STATUS_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_what_is_left_out),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
