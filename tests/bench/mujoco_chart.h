// SPDX-License-Identifier: BSD-3-Clause
// Lines of charts that grow point by point.
#ifndef SAP_TESTS_BENCH_MUJOCO_CHART_H
#define SAP_TESTS_BENCH_MUJOCO_CHART_H

#include <sapstep/output.h>

enum { MAX_POINTS = 64, MAX_LINES = 6 };

typedef struct line {
  const char* name;
  int count;
  double x[MAX_POINTS], y[MAX_POINTS];
} line;

void add_point(line* l, double x, double y);
// Panels with `count` lines each, one under the other, as folder/name.svg; folder NULL: nowhere.
void write_panels(const char* folder, const char* name, const sap_chart_panel* axes, int panels,
                  const line* const* lines, int count);
void write_chart(const char* folder, const char* name, const sap_chart_panel* axes,
                 const line* lines, int count);

#endif
