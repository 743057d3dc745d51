// SPDX-License-Identifier: BSD-3-Clause
// Lines of a chart that are collected before it is drawn.
#pragma once

#include <sapstep/sapstep.h>

enum { CLI_LABEL_SIZE = 256 };

// Compares two doubles, or rows that begin with one, for qsort: ascending.
int cli_ascending(const void* a, const void* b);
// Returns a quantile, part 0.5: the median, of the finite values, which it sorts; NaN of none.
double cli_quantile(double* values, int64_t count, double part);

typedef struct cli_line {
  int panel;
  char label[CLI_LABEL_SIZE];
  int64_t count;
  double *x, *y;  //                                                                (count)
} cli_line;

typedef struct cli_lines {
  cli_line* lines;
  int32_t count, capacity;
} cli_lines;

// Adds a copy of a line.
void cli_line_add(cli_lines* lines, int panel, const char* label, int64_t count, const double* x,
                  const double* y);
// Finds the range of a panel's finite values of x or y: low is infinite without any, high >= 0.
void cli_lines_range(const cli_lines* lines, int panel, bool of_x, double* low, double* high);
// Writes a chart of the panels, which have no series yet, with the collected lines thinned to what
// can be seen, and the lines as CSV (panel, line, x_label, x, y_label, y). NULL: not written.
sap_status cli_lines_write(const cli_lines* lines, sap_chart_panel* panels, int count,
                           const char* chart, const char* csv, sap_error* error);

// Thins a line to at most `most` points (even, > 2) in xs and ys; returns their number. If x never
// falls the lowest and highest point of each stretch are kept, so that a dense oscillation keeps
// its band; else every k-th point and the last.
int32_t cli_thin_line(int64_t n, const double* x, const double* y, int32_t most, double* xs,
                      double* ys);
