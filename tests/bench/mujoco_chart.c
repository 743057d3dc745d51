// SPDX-License-Identifier: BSD-3-Clause
#include "mujoco_chart.h"

#include <stdio.h>

enum { PATH_SIZE = 1024, MAX_PANELS = 2 };

void add_point(line* l, double x, double y) {
  if (l->count < MAX_POINTS) {
    l->x[l->count] = x;
    l->y[l->count++] = y;
  }
}

void write_panels(const char* folder, const char* name, const sap_chart_panel* axes, int panels,
                  const line* const* lines, int count) {
  if (folder == NULL) {
    return;
  }
  char path[PATH_SIZE];
  sap_chart_series series[MAX_PANELS][MAX_LINES];
  sap_chart_panel drawn[MAX_PANELS];
  sap_error error = {0};
  for (int p = 0; p < panels; ++p) {
    for (int i = 0; i < count; ++i) {
      const line* l = &lines[p][i];
      series[p][i] = (sap_chart_series){l->name, l->count, l->x, l->y};
    }
    drawn[p] = axes[p];
    drawn[p].markers = true;
    drawn[p].series = series[p];
    drawn[p].series_count = count;
  }
  (void)snprintf(path, sizeof path, "%s/%s.svg", folder, name);
  const sap_status status = panels == 1 ? sap_chart_write(path, drawn, 1, &error)
                                        : sap_chart_write_stacked(path, drawn, panels, &error);
  if (status != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s: %s\n", path, error.message);
  }
}

void write_chart(const char* folder, const char* name, const sap_chart_panel* axes,
                 const line* lines, int count) {
  write_panels(folder, name, axes, 1, &lines, count);
}
