// SPDX-License-Identifier: BSD-3-Clause
// Charts as SVG: lines with markers on linear or logarithmic axes.
#ifndef SAPSTEP_CHART_H
#define SAPSTEP_CHART_H

#include <sapstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// One line. Points that are not finite, or not > 0 on a logarithmic axis, are left out.
typedef struct sap_chart_series {
  const char* name;     // for the legend
  int32_t count;        // points
  const double *x, *y;  //                                                          (count)
} sap_chart_series;

// One pair of axes.
typedef struct sap_chart_panel {
  const char *title, *x_label, *y_label;  // UTF-8
  bool log_x, log_y;
  bool markers;                // a marker at every point
  bool dashes;                 // lines are dashed in turn, so that one seen through another shows
  int32_t slopes;              // with both axes logarithmic: dashed lines of slope 1 ... slopes
  const char* const* x_names;  // in place of the numbers 0, 1, ... of axis x; NULL: none
  int32_t x_name_count;        //
  int32_t series_count;        //
  const sap_chart_series* series;
} sap_chart_panel;

// Writes the panels side by side; the legend names the series of the panel that has most. The file
// appears whole or not at all. ARGUMENT: nothing to draw; IO.
SAP_API sap_status sap_chart_write(const char* path, const sap_chart_panel* panels, int32_t count,
                                   sap_error* error);
// The same one under the other, each panel wide and with its own legend.
SAP_API sap_status sap_chart_write_stacked(const char* path, const sap_chart_panel* panels,
                                           int32_t count, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
