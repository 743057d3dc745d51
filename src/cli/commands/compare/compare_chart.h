// SPDX-License-Identifier: BSD-3-Clause
// Lines that `sapstep compare` collects, and charts of them.
#ifndef SAP_CLI_COMMANDS_COMPARE_COMPARE_CHART_H
#define SAP_CLI_COMMANDS_COMPARE_COMPARE_CHART_H

#include <sapstep/chart.h>

enum { COMPARE_LABEL_SIZE = 96 };

typedef struct compare_line {
  int panel;
  char label[COMPARE_LABEL_SIZE];
  int64_t count;
  double *x, *y;  //                                                                (count)
} compare_line;

typedef struct compare_lines {
  compare_line* lines;
  int count, capacity;
} compare_lines;

// Lines are copied.
bool compare_line_add(compare_lines* lines, int panel, const char* label, int64_t count,
                      const double* x, const double* y);
// Whether a panel's values differ enough for a logarithmic axis.
bool compare_lines_spread(const compare_lines* lines, int panel);
// " [s]" of what varies, where its name says it; else "".
const char* compare_unit_of(const char* name);
void compare_lines_clear(compare_lines* lines);
// Panels without series (their lines are those collected, thinned to what can be seen), as SVG, and
// the lines as CSV beside it.
sap_status compare_chart_write(const compare_lines* lines, sap_chart_panel* panels, int count,
                               const char* path, sap_error* error);

#endif
