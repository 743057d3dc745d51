// SPDX-License-Identifier: BSD-3-Clause
// Pictures that gnuplot draws.
#ifndef SAP_TESTS_SUPPORT_SVG_H
#define SAP_TESTS_SUPPORT_SVG_H

// Skips the test without gnuplot.
void svg_need_gnuplot(void);
// The number of lines drawn, slopes included.
int svg_lines(const char* svg);
// The points of the n-th line, its sample in the legend left out; returns their number. The test
// fails if there are more than `most`, or no such line.
int svg_points(const char* svg, int n, double (*points)[2], int most);

#endif
