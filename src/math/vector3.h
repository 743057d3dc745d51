// SPDX-License-Identifier: BSD-3-Clause
// 3-vectors and 3x3 matrices (column-major: m[3 j + i] is row i, column j). Outputs may not alias
// inputs unless a comment allows it.
#pragma once

#include <math.h>
#include <stdbool.h>

static inline void sap_v3_set(double out[3], double x, double y, double z) {
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

static inline void sap_v3_copy(double out[3], const double a[3]) {
  sap_v3_set(out, a[0], a[1], a[2]);
}

static inline bool sap_v3_equal(const double a[3], const double b[3]) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static inline double sap_v3_dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double sap_v3_norm(const double a[3]) {
  return sqrt(sap_v3_dot(a, a));
}

// out may alias a or b.
static inline void sap_v3_add(double out[3], const double a[3], const double b[3]) {
  sap_v3_set(out, a[0] + b[0], a[1] + b[1], a[2] + b[2]);
}

// out may alias a or b.
static inline void sap_v3_sub(double out[3], const double a[3], const double b[3]) {
  sap_v3_set(out, a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// out may alias a.
static inline void sap_v3_scale(double out[3], const double a[3], double s) {
  sap_v3_set(out, s * a[0], s * a[1], s * a[2]);
}

// out += s a
static inline void sap_v3_add_scaled(double out[3], const double a[3], double s) {
  out[0] += s * a[0];
  out[1] += s * a[1];
  out[2] += s * a[2];
}

// out may alias a or b.
static inline void sap_v3_cross(double out[3], const double a[3], const double b[3]) {
  sap_v3_set(out, a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}

// out = M a; out may alias a.
static inline void sap_m3_mul_v3(double out[3], const double m[9], const double a[3]) {
  sap_v3_set(out, m[0] * a[0] + m[3] * a[1] + m[6] * a[2], m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
             m[2] * a[0] + m[5] * a[1] + m[8] * a[2]);
}

// out = p + R x: transforms a point from the frame at p with the axes R. out may alias x.
static inline void sap_v3_place(double out[3], const double p[3], const double r[9],
                                const double x[3]) {
  sap_m3_mul_v3(out, r, x);
  sap_v3_add(out, out, p);
}

// out = M' a; out may alias a.
static inline void sap_m3_tmul_v3(double out[3], const double m[9], const double a[3]) {
  sap_v3_set(out, sap_v3_dot(m, a), sap_v3_dot(m + 3, a), sap_v3_dot(m + 6, a));
}

// out = A B
static inline void sap_m3_mul(double out[9], const double a[9], const double b[9]) {
  sap_m3_mul_v3(out, a, b);
  sap_m3_mul_v3(out + 3, a, b + 3);
  sap_m3_mul_v3(out + 6, a, b + 6);
}

// Rotates a symmetric matrix S = {xx yy zz xy xz yz}: out = R S R', full 3x3.
static inline void sap_m3_rotate_symmetric(double out[9], const double r[9], const double s[6]) {
  const double full[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
  double rs[9];
  sap_m3_mul(rs, r, full);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      out[3 * j + i] = rs[i] * r[j] + rs[3 + i] * r[3 + j] + rs[6 + i] * r[6 + j];
    }
  }
}

// The same, out = {xx yy zz xy xz yz}.
static inline void sap_m3_rotate_packed(double out[6], const double r[9], const double s[6]) {
  const double full[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
  double rs[9];
  sap_m3_mul(rs, r, full);
  out[0] = rs[0] * r[0] + rs[3] * r[3] + rs[6] * r[6];
  out[1] = rs[1] * r[1] + rs[4] * r[4] + rs[7] * r[7];
  out[2] = rs[2] * r[2] + rs[5] * r[5] + rs[8] * r[8];
  out[3] = rs[1] * r[0] + rs[4] * r[3] + rs[7] * r[6];
  out[4] = rs[2] * r[0] + rs[5] * r[3] + rs[8] * r[6];
  out[5] = rs[2] * r[1] + rs[5] * r[4] + rs[8] * r[7];
}

// Computes unit tangents t1, t2 with t1 x t2 = n for a unit n, continuous except at n = -z. Columns
// of R are t1, t2, n. (Duff et al., J. Comput. Graph. Tech. 6, 2017)
static inline void sap_m3_from_normal(double r[9], const double n[3]) {
  const double sign = copysign(1.0, n[2]);
  const double a = -1.0 / (sign + n[2]);
  const double b = n[0] * n[1] * a;
  sap_v3_set(r, 1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]);
  sap_v3_set(r + 3, b, sign + n[1] * n[1] * a, -n[1]);
  sap_v3_copy(r + 6, n);
}
