// SPDX-License-Identifier: BSD-3-Clause
// Long lines drawn with fewer points.
#ifndef SAPSTEP_CLI_THIN_LINE_H
#define SAPSTEP_CLI_THIN_LINE_H

#include <stdint.h>

// Of a line over x that never falls the lowest and highest of each stretch, in their order, so that
// a dense oscillation keeps its band; of another one every k-th point and the last. Returns the
// number of points in xs and ys, (most) long; most is even and > 2.
int32_t cli_thin_line(int64_t n, const double* x, const double* y, int32_t most, double* xs,
                      double* ys);

#endif
