// SPDX-License-Identifier: BSD-3-Clause
#include "cli/thin_line.h"

#include <math.h>
#include <stdbool.h>

static bool never_falls(int64_t n, const double* x) {
  for (int64_t i = 1; i < n; ++i) {
    if (!(x[i] >= x[i - 1])) {
      return false;
    }
  }
  return true;
}

static int32_t every_kth(int64_t n, const double* x, const double* y, int32_t most, double* xs,
                         double* ys) {
  const int64_t stride = n > most ? (n + most - 1) / most : 1;
  int32_t count = 0;
  for (int64_t i = 0; i < n; i += stride) {
    const int64_t at = i + stride < n ? i : n - 1;
    xs[count] = x[at];
    ys[count++] = y[at];
  }
  return count;
}

int32_t cli_thin_line(int64_t n, const double* x, const double* y, int32_t most, double* xs,
                      double* ys) {
  if (n <= most || !never_falls(n, x)) {
    return every_kth(n, x, y, most, xs, ys);
  }
  const int64_t stretch = (n + most / 2 - 1) / (most / 2);
  int32_t count = 0;
  for (int64_t at = 0; at < n; at += stretch) {
    int64_t low = at, high = at;
    for (int64_t i = at; i < n && i < at + stretch; ++i) {
      low = y[i] < y[low] || isnan(y[low]) ? i : low;
      high = y[i] > y[high] || isnan(y[high]) ? i : high;
    }
    const int64_t pair[2] = {low < high ? low : high, low < high ? high : low};
    for (int k = 0; k < (low == high ? 1 : 2); ++k, ++count) {
      xs[count] = x[pair[k]];
      ys[count] = y[pair[k]];
    }
  }
  return count;
}
