// SPDX-License-Identifier: BSD-3-Clause
// Median times of solvers on scenes, cold beside warm.

#include "cli/commands/compare/compare.h"

sap_status compare_timings_write(compare_job* job, sap_error* error) {
  const compare_options* o = &job->options;
  const int first = o->start == COMPARE_WARM ? 1 : 0, last = o->start == COMPARE_COLD ? 0 : 1;
  static const char* const titles[] = {"Cold start", "Warm start"};
  char names[COMPARE_VALUES_MAX][COMPARE_LABEL_SIZE];
  const char* x_names[COMPARE_VALUES_MAX];
  const int scenes = job->scene_count < COMPARE_VALUES_MAX ? job->scene_count : COMPARE_VALUES_MAX;
  compare_lines lines = {0};
  sap_chart_panel panels[2] = {{0}};
  for (int s = 0; s < scenes; ++s) {
    compare_scene_name(o->operands[s], names[s]);
    x_names[s] = names[s];
  }
  bool good = true;
  for (int i = 0; i < job->count && good; ++i) {
    const compare_contender* c = &job->contenders[i];
    double x[COMPARE_VALUES_MAX], y[COMPARE_VALUES_MAX];
    for (int s = 0; s < scenes; ++s) {
      const compare_where where = {.scene = s};
      x[s] = s;
      y[s] = 1e6 * compare_median_time(compare_group_of(job, &where, i));
    }
    good = compare_line_add(&lines, (c->warm ? 1 : 0) - first, c->name, scenes, x, y);
  }
  for (int p = first; p <= last; ++p) {
    panels[p - first] = (sap_chart_panel){.title = titles[p],
                                          .x_label = "",
                                          .y_label = "median time of a solve [µs]",
                                          .log_y = true,
                                          .markers = true,
                                          .x_names = x_names,
                                          .x_name_count = scenes};
  }
  sap_status status = SAP_STATUS_OK;
  if (good) {
    status = compare_chart_write(&lines, panels, last - first + 1, o->timings, error);
  } else {
    status = cli_no_memory(error);
  }
  compare_lines_clear(&lines);
  return status;
}
