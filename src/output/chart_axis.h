// SPDX-License-Identifier: BSD-3-Clause
// An axis of a chart: the values it shows, where they lie on paper, and its ticks.
#ifndef SAP_OUTPUT_CHART_AXIS_H
#define SAP_OUTPUT_CHART_AXIS_H

#include <sapstep/output.h>

enum { SAP_CHART_TICKS = 64 };

typedef struct sap_chart_axis {
  bool logarithmic;
  double low, high;      // of the value or its logarithm
  double start, length;  // on paper; length < 0 for y
  int ticks;
  double tick[SAP_CHART_TICKS];  // values
} sap_chart_axis;

// From the smallest to the largest value that is shown, and a little more; start and length are
// the caller's.
void sap_chart_fit_axis(const sap_chart_panel* panel, bool vertical, sap_chart_axis* out);
// Where on paper a value lies.
double sap_chart_place(const sap_chart_axis* axis, double value);
bool sap_chart_point_shown(const sap_chart_panel* panel, const sap_chart_series* series, int32_t i);

#endif
