// SPDX-License-Identifier: BSD-3-Clause
// For files that begin with #define _POSIX_C_SOURCE 200809L.
#ifndef SAP_BENCH_CLOCK_H
#define SAP_BENCH_CLOCK_H

#include <time.h>

static inline double bench_seconds(clockid_t clock) {
  struct timespec t = {0};
  (void)clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
