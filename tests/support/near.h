// SPDX-License-Identifier: BSD-3-Clause
// Comparison of doubles within a tolerance; NaN fails. (cmocka's own works in single precision.)
#ifndef SAP_TESTS_SUPPORT_NEAR_H
#define SAP_TESTS_SUPPORT_NEAR_H

#include <math.h>

#define ASSERT_NEAR(a, b, tolerance)                                                            \
  do {                                                                                          \
    const double near_a = (a), near_b = (b), near_tolerance = (tolerance);                      \
    if (!(fabs(near_a - near_b) <= near_tolerance)) {                                           \
      fail_msg("%s = %.17g, %s = %.17g, tolerance %g", #a, near_a, #b, near_b, near_tolerance); \
    }                                                                                           \
  } while (0)

#endif
