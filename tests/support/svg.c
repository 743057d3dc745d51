// SPDX-License-Identifier: BSD-3-Clause
#include "support/svg.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/skip.h"

static const char group[] = "<g id=\"gnuplot_plot_";

void svg_need_gnuplot(void) {
  if (system("command -v gnuplot >/dev/null") != 0) {
    SKIP_LACKING("gnuplot is missing (gnuplot-nox)");
  }
}

int svg_lines(const char* svg) {
  int count = 0;
  for (const char* at = svg; (at = strstr(at, group)) != NULL; ++at) {
    ++count;
  }
  return count;
}

int svg_points(const char* svg, int n, double (*points)[2], int most) {
  const char* at = svg;
  for (int i = 0; i <= n; ++i) {
    at = strstr(at + 1, group);
    assert_non_null(at);
  }
  const char* next = strstr(at + 1, group);
  const char* end = next != NULL ? next : at + strlen(at);
  int count = 0;
  for (const char* path = strstr(at, "d='M"); path != NULL && path < end && count == 0;
       path = strstr(path + 1, "d='M")) {
    for (const char* p = path + 3; *p != '\'' && *p != 'Z'; ++p) {
      if (*p == 'M' || *p == 'L') {
        char* stop;
        assert_true(count < most);
        // a second piece begins: the first was the sample in the legend
        count = *p == 'M' && count == 2 && points[0][1] == points[1][1] ? 0 : count;
        points[count][0] = strtod(p + 1, &stop);
        points[count++][1] = strtod(stop + 1, NULL);
      }
    }
  }
  assert_true(count > 0);
  return count;
}
