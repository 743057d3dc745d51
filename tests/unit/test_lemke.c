// SPDX-License-Identifier: BSD-3-Clause
// Linear complementarity problems with known answers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solvers/dual/dual.h"
#include "support/near.h"

enum { LARGEST = 24 };

static sap_lcp_end solve(int32_t n, const double* M, const double* q, double* z, int32_t pivots) {
  double tableau[LARGEST * (2 * LARGEST + 2)];
  int32_t basis[LARGEST];
  const sap_lcp lcp = {n, M, q, z, tableau, basis};
  return sap_lemke(&lcp, &pivots);
}

static void test_known(void** state) {
  (void)state;
  double z[3];
  const double M1[4] = {2, 1, 1, 2}, q1[2] = {-5, -6};
  assert_int_equal(solve(2, M1, q1, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 4.0 / 3.0, 1e-14);
  ASSERT_NEAR(z[1], 7.0 / 3.0, 1e-14);
  const double M2[4] = {1, -1, -1, 1}, q2[2] = {1, -1};
  assert_int_equal(solve(2, M2, q2, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 0.0, 1e-14);
  ASSERT_NEAR(z[1], 1.0, 1e-14);
  // rows 0 -1 2; 2 0 -2; -1 1 0
  const double M3[9] = {0, 2, -1, -1, 0, 1, 2, -2, 0}, q3[3] = {-3, 6, -1};
  assert_int_equal(solve(3, M3, q3, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 0.0, 1e-14);
  ASSERT_NEAR(z[1], 1.0, 1e-14);
  ASSERT_NEAR(z[2], 3.0, 1e-14);
  const double M4 = 49.0, q4 = -1.0;  // 49 (1/49) is 1 - 1.1e-16
  assert_int_equal(solve(1, &M4, &q4, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 1.0 / 49.0, 1e-16);
  const double positive[2] = {1, 2};
  assert_int_equal(solve(2, M1, positive, z, 0), SAP_LCP_SOLVED);
  assert_true(z[0] == 0.0 && z[1] == 0.0);
}

static void test_ends(void** state) {
  (void)state;
  double z[2];
  const double M[4] = {-1, 0, 0, -1}, q[2] = {-1, -1};  // w = -z - 1: no solution
  assert_int_equal(solve(2, M, q, z, 100), SAP_LCP_RAY);
  const double I[4] = {1, 0, 0, 1};
  assert_int_equal(solve(2, I, q, z, 1), SAP_LCP_LIMIT);
}

// Singular and degenerate: the same row four times over, as a table on four legs.
static void test_degenerate(void** state) {
  (void)state;
  double M[16], z[4];
  const double q[4] = {-1, -1, -1, -1};
  for (int i = 0; i < 16; ++i) {
    M[i] = 1.0;
  }
  assert_int_equal(solve(4, M, q, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0] + z[1] + z[2] + z[3], 1.0, 1e-14);
}

static void check_conditions(int32_t n, const double* M, const double* q, const double* z,
                             double tolerance) {
  for (int i = 0; i < n; ++i) {
    double w = q[i];
    for (int j = 0; j < n; ++j) {
      w += M[j * n + i] * z[j];
    }
    assert_true(z[i] >= 0.0 && w >= -tolerance);
    assert_true(fmin(w, z[i]) <= tolerance);
    ASSERT_NEAR(w * z[i], 0.0, 10.0 * tolerance * (1.0 + z[i]));
  }
}

// Made-up positive semidefinite matrices: the conditions themselves.
static void test_conditions(void** state) {
  (void)state;
  enum { N = 12 };
  for (int seed = 0; seed < 50; ++seed) {
    double B[N * 5], M[N * N] = {0}, q[N], z[N];
    for (int i = 0; i < N * 5; ++i) {
      B[i] = sin(12.9898 * i + 78.233 * seed);
    }
    for (int j = 0; j < N; ++j) {
      q[j] = 0.0;
      for (int k = 0; k < 5; ++k) {
        q[j] += B[5 * j + k] * cos(3.0 * k + seed);  // in the range: solvable
        for (int i = 0; i < N; ++i) {
          M[j * N + i] += B[5 * j + k] * B[5 * i + k];
        }
      }
    }
    assert_int_equal(solve(N, M, q, z, 1000), SAP_LCP_SOLVED);
    check_conditions(N, M, q, z, 1e-9);
  }
}

enum { LEGS = 4, DIRECTIONS = 4, PER_LEG = 2 + DIRECTIONS, TABLE = LEGS * PER_LEG };

// Velocity of each unknown of a cone by that of the table, which has unit mass: rows of the normal
// and of the directions; the multiplier has none.
static void table_rows(double turn, double tilt, double J[TABLE][6]) {
  for (int u = 0; u < TABLE; ++u) {
    const int leg = u / PER_LEG, k = u % PER_LEG;
    const double at = turn + 0.7853981633974483 * (2 * leg + 1);
    const double r[3] = {0.1414 * cos(at), 0.1414 * sin(at), -0.1 + tilt * cos(at - 1.0)};
    const double angle = 1.5707963267948966 * (k - 1);
    const double along[3] = {k == 0 ? 0.0 : cos(angle), k == 0 ? 0.0 : sin(angle), k == 0};
    for (int i = 0; i < 3; ++i) {
      const int a = (i + 1) % 3, b = (i + 2) % 3;
      J[u][i] = k <= DIRECTIONS ? along[i] : 0.0;
      J[u][3 + i] = k <= DIRECTIONS ? r[a] * along[b] - r[b] * along[a] : 0.0;
    }
  }
}

// Four legs on the ground with friction: twelve rows of six velocities, so that what cancels in the
// tableau leaves round-off, on which a pivot once gave impulses of a thousand times the right ones.
// A table that is tilted a little makes it worse: what is said to be solved must be.
static void make_table(double turn, double tilt, const double v[6], double M[TABLE * TABLE],
                       double q[TABLE]) {
  const double friction = 0.5, inertia = 0.0067;
  double J[TABLE][6];
  table_rows(turn, tilt, J);
  for (int j = 0; j < TABLE; ++j) {
    q[j] = 0.0;
    for (int k = 0; k < 6; ++k) {
      q[j] += J[j][k] * v[k];
    }
    for (int i = 0; i < TABLE; ++i) {
      const bool same_leg = i / PER_LEG == j / PER_LEG;
      const int a = i % PER_LEG, b = j % PER_LEG;
      double sum = 0.0;
      for (int k = 0; k < 6; ++k) {
        sum += J[i][k] * J[j][k] / (k < 3 ? 1.0 : inertia);
      }
      if (same_leg && a > DIRECTIONS && b <= DIRECTIONS) {
        sum = b == 0 ? friction : -1.0;
      } else if (same_leg && b > DIRECTIONS && a >= 1 && a <= DIRECTIONS) {
        sum = 1.0;
      }
      M[j * TABLE + i] = sum;
    }
  }
}

static void test_table(void** state) {
  (void)state;
  int solved = 0;
  for (int seed = 0; seed < 4000; ++seed) {
    const double size = pow(10.0, -(seed % 8)), tilt = pow(10.0, -3.0 - seed % 11);
    double v[6], M[TABLE * TABLE], q[TABLE], z[TABLE];
    for (int k = 0; k < 6; ++k) {
      v[k] = size * sin(12.9898 * k + 78.233 * seed) - (k == 2 ? 0.05 : 0.0);
    }
    make_table(0.37 * seed, tilt, v, M, q);
    if (solve(TABLE, M, q, z, 5000) == SAP_LCP_SOLVED) {
      check_conditions(TABLE, M, q, z, 1e-8);
      ++solved;
    }
    // also by the last pivot allowed
    if (solve(TABLE, M, q, z, 10 + seed % 50) == SAP_LCP_SOLVED) {
      check_conditions(TABLE, M, q, z, 1e-8);
    }
  }
  assert_true(solved >= 3800);  // the worst tilts leave nothing but round-off to pivot on
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known),      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_degenerate), cmocka_unit_test(test_conditions),
      cmocka_unit_test(test_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
