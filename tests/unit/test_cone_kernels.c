// SPDX-License-Identifier: BSD-3-Clause
// The laws over arrays of every instruction set: against those of one cone, and to the bit against
// the baseline.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "contact/cone.h"
#include "solvers/primal/cone_kernels.h"
#include "support/near.h"

enum { MOST = 61 };  // not a multiple of a vector

typedef struct cones {
  sap_cone one[MOST];
  double law[5 * MOST], v_hat[3 * MOST], vc[3 * MOST], d[3 * MOST];
} cones;

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// All regions; among them u = 0, no slip, no friction, and points on the edges of the regions.
static void make(cones* x, int32_t count) {
  uint32_t seed = 11;
  for (int32_t c = 0; c < count; ++c) {
    const double mu = c % 7 == 3 ? 0.0 : 0.5 + 0.4 * pseudo_random(&seed);
    const double Rt = pow(10.0, 2.0 * pseudo_random(&seed)), Rn = Rt * (c % 5 == 0 ? 1e4 : 1.0);
    x->one[c] = sap_cone_make(mu, Rt, Rn);
    const double law[5] = {mu, x->one[c].inverse_Rt, x->one[c].inverse_Rn, x->one[c].k,
                           x->one[c].stick_2};
    for (int32_t i = 0; i < 5; ++i) {
      x->law[i * count + c] = law[i];
    }
    for (int32_t r = 0; r < 3; ++r) {
      x->v_hat[r * count + c] = pseudo_random(&seed);
      x->vc[r * count + c] = pseudo_random(&seed);
      x->d[r * count + c] = pseudo_random(&seed);
    }
    for (int32_t r = 0; r < 3 && c % 11 == 1; ++r) {  // at rest, and in every third of them falling
      x->vc[r * count + c] = x->v_hat[r * count + c] - (r == 2 && c % 3 == 0 ? -0.5 : 0.0);
    }
    if (c % 11 == 2) {  // slips along t1 with un = 0
      x->vc[count + c] = x->v_hat[count + c];
      x->vc[2 * count + c] = x->v_hat[2 * count + c];
    }
  }
}

typedef struct results {
  double u[3 * MOST], gamma[3 * MOST], cost[MOST], slope[MOST], curvature[MOST];
  double sum;
  sap_cone_slope sums;
} results;

static void run(const sap_cone_kernels* k, const cones* x, int32_t count, results* out) {
  memset(out, 0, sizeof *out);
  const sap_cone_rows rows = {count, x->law};
  k->impulses(&rows, x->v_hat, x->vc, out->u, out->gamma, out->cost);
  k->slopes(&rows, out->u, x->d, 0.3, out->slope, out->curvature);
  out->sum = k->sum(count, out->cost);
  out->sums = k->sum_slopes(count, out->slope, out->curvature);
}

// gamma and cost of one cone; gamma . d and d . G d of its impulse and Hessian at u - 0.3 d.
static void check(const cones* x, int32_t count, const results* got) {
  double sum = 0.0, slopes = 0.0, magnitude = 0.0, curvatures = 0.0;
  for (int32_t c = 0; c < count; ++c) {
    double u[3], d[3], moved[3], gamma[3], G[6];
    for (int32_t r = 0; r < 3; ++r) {
      u[r] = x->v_hat[r * count + c] - x->vc[r * count + c];
      d[r] = x->d[r * count + c];
      moved[r] = u[r] - 0.3 * d[r];
      ASSERT_NEAR(got->u[r * count + c], u[r], 0.0);
    }
    const double cost = sap_cone_impulse(&x->one[c], u, gamma);
    const double scale = fabs(gamma[0]) + fabs(gamma[1]) + fabs(gamma[2]);
    ASSERT_NEAR(got->cost[c], cost, 1e-15 * cost);
    for (int32_t r = 0; r < 3; ++r) {
      ASSERT_NEAR(got->gamma[r * count + c], gamma[r], 1e-15 * scale);
    }
    (void)sap_cone_impulse(&x->one[c], moved, gamma);
    sap_cone_hessian(&x->one[c], moved, G);
    const double slope = gamma[0] * d[0] + gamma[1] * d[1] + gamma[2] * d[2];
    const double curvature = G[0] * d[0] * d[0] + 2.0 * G[1] * d[0] * d[1] + G[2] * d[1] * d[1] +
                             2.0 * (G[3] * d[0] + G[4] * d[1]) * d[2] + G[5] * d[2] * d[2];
    const double stiff = x->one[c].inverse_Rt + x->one[c].inverse_Rn;  // round-off of G's entries
    ASSERT_NEAR(got->slope[c], slope, 1e-14 * stiff);
    ASSERT_NEAR(got->curvature[c], curvature, 1e-14 * stiff);
    sum += cost;
    slopes += slope;
    magnitude += fabs(slope);
    curvatures += curvature;
  }
  ASSERT_NEAR(got->sum, sum, 1e-13 * sum);
  ASSERT_NEAR(got->sums.slope, slopes, 1e-13 * magnitude);
  ASSERT_NEAR(got->sums.magnitude, magnitude, 1e-13 * magnitude);
  ASSERT_NEAR(got->sums.curvature, curvatures, 1e-13 * curvatures);
}

// The last set that a processor can run.
static const sap_cone_kernels* baseline(void) {
  int32_t last = 0;
  while (sap_cone_kernels_get(last + 1) != NULL) {
    ++last;
  }
  assert_string_equal(sap_cone_kernels_get(last)->name, "baseline");
  return sap_cone_kernels_get(last);
}

static void test_every_set(void** state) {
  (void)state;
  static cones x;
  static results base, other;
  for (int32_t count = 0; count <= MOST; ++count) {
    make(&x, count);
    run(baseline(), &x, count, &base);
    check(&x, count, &base);
    const sap_cone_kernels* k;
    for (int32_t set = 0; (k = sap_cone_kernels_get(set)) != NULL; ++set) {
      run(k, &x, count, &other);
      assert_memory_equal(&base, &other, sizeof base);
    }
  }
}

static void test_what_is_not_finite_stays(void** state) {
  (void)state;
  static cones x;
  static results out;
  const sap_cone_kernels* k;
  for (int32_t set = 0; (k = sap_cone_kernels_get(set)) != NULL; ++set) {
    for (int32_t r = 0; r < 3; ++r) {
      make(&x, 8);
      x.vc[8 * r + 5] = (double)NAN;
      run(k, &x, 8, &out);
      assert_true(isnan(out.cost[5]) && isnan(out.slope[5]));
      assert_true(isnan(out.sum) && isnan(out.sums.slope));
      assert_false(isnan(out.cost[4]) || isnan(out.slope[4]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_set),
                                     cmocka_unit_test(test_what_is_not_finite_stays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
