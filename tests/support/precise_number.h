// SPDX-License-Identifier: BSD-3-Clause
// Numbers of support/precise.h: 128 bits, or 80 where the compiler has no such type.
#ifndef SAP_TESTS_SUPPORT_PRECISE_NUMBER_H
#define SAP_TESTS_SUPPORT_PRECISE_NUMBER_H

#include <math.h>

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 real;
#define PRECISE_FINEST 1e-24  // relative accuracy of solutions
#else
typedef long double real;
#define PRECISE_FINEST 1e-14
#endif

enum { NORMAL = 2, ROWS_MOST = 6 };  // of a cone

static inline real absolute(real x) {
  return x < 0 ? -x : x;
}

static inline real larger(real a, real b) {
  return a > b ? a : b;
}

// Newton from the root in double; scaled, so that squares outside double's range have roots, too.
static inline real root(real x) {
  real scale = 1;
  if (!(x > 0)) {
    return 0;
  }
  for (; x > (real)1e200; x *= (real)1e-200) {
    scale *= (real)1e100;
  }
  for (; x < (real)1e-200; x *= (real)1e200) {
    scale *= (real)1e-100;
  }
  real y = (real)sqrt((double)x);
  for (int i = 0; i < 3; ++i) {
    y = (y + x / y) / 2;
  }
  return y * scale;
}

static inline real clamp(real x, real low, real high) {
  return x < low ? low : x > high ? high : x;
}

#endif
