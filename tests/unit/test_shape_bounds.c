// SPDX-License-Identifier: BSD-3-Clause
// World boxes of shapes against their support points along the axes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "support/convex_oracle.h"
#include "support/near.h"

static void test_bounds(void** state) {
  (void)state;
  static const sap_shape_type types[] = {SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE, SAP_SHAPE_CYLINDER,
                                         SAP_SHAPE_BOX, SAP_SHAPE_ELLIPSOID};
  const double size[3] = {0.7, 1.6, 2.3};
  uint64_t seed = 5;
  for (int i = 0; i < 200; ++i) {
    sap_placed_shape s;
    oracle_shape(&s, types[i % 5], size);
    oracle_random_rotation(&seed, s.R);
    sap_v3_set(s.p, oracle_random(&seed), oracle_random(&seed), oracle_random(&seed));
    double lower[3], upper[3];
    sap_shape_bounds(&s, lower, upper);
    for (int k = 0; k < 3; ++k) {
      double axis[3] = {0.0, 0.0, 0.0}, x[3];
      for (int side = -1; side <= 1; side += 2) {
        axis[k] = side;
        sap_shape_support(&s, axis, x);
        ASSERT_NEAR(side < 0 ? lower[k] : upper[k], s.p[k] + x[k] + side * s.radius, 1e-14);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
