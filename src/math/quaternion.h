// SPDX-License-Identifier: BSD-3-Clause
// Quaternions w, x, y, z that rotate body coordinates to world coordinates, and the exponential
// map between rotation vectors and rotations.
#pragma once

#include "math/vector3.h"

// out = a b (b's rotation first); out may alias a or b.
static inline void sap_quaternion_multiply(double out[4], const double a[4], const double b[4]) {
  const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  out[0] = w;
  out[1] = x;
  out[2] = y;
  out[3] = z;
}

static inline void sap_quaternion_conjugate(double out[4], const double a[4]) {
  out[0] = a[0];
  out[1] = -a[1];
  out[2] = -a[2];
  out[3] = -a[3];
}

// Normalises q in place. Returns false and leaves q unchanged if the norm is zero or not finite.
static inline bool sap_quaternion_normalize(double q[4]) {
  const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(norm > 0.0) || !isfinite(norm)) {
    return false;
  }
  for (int i = 0; i < 4; ++i) {
    q[i] /= norm;
  }
  return true;
}

// Computes R_WB of a unit quaternion, column-major.
static inline void sap_quaternion_to_matrix(double r[9], const double q[4]) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  r[0] = 1.0 - 2.0 * (y * y + z * z);
  r[1] = 2.0 * (x * y + w * z);
  r[2] = 2.0 * (x * z - w * y);
  r[3] = 2.0 * (x * y - w * z);
  r[4] = 1.0 - 2.0 * (x * x + z * z);
  r[5] = 2.0 * (y * z + w * x);
  r[6] = 2.0 * (x * z + w * y);
  r[7] = 2.0 * (y * z - w * x);
  r[8] = 1.0 - 2.0 * (x * x + y * y);
}

// out = q a q*; out may alias a.
static inline void sap_quaternion_rotate(double out[3], const double q[4], const double a[3]) {
  double t[3], u[3];
  sap_v3_cross(t, q + 1, a);
  sap_v3_scale(t, t, 2.0);
  sap_v3_cross(u, q + 1, t);
  sap_v3_set(out, a[0] + q[0] * t[0] + u[0], a[1] + q[0] * t[1] + u[1], a[2] + q[0] * t[2] + u[2]);
}

// out = p + q x q*: transforms a point from the frame at p with orientation q. out may alias x.
static inline void sap_quaternion_place(double out[3], const double p[3], const double q[4],
                                        const double x[3]) {
  sap_quaternion_rotate(out, q, x);
  sap_v3_add(out, out, p);
}

// Computes the rotation by |r| [rad] about r. Below 1e-4, the series' next term is under 1e-18.
static inline void sap_quaternion_exp(double q[4], const double r[3]) {
  const double angle = sap_v3_norm(r);
  const double half = 0.5 * angle;
  const double s = angle > 1e-4 ? sin(half) / angle : 0.5 - angle * angle / 48.0;
  q[0] = cos(half);
  sap_v3_scale(q + 1, r, s);
}

// Computes the rotation vector of a unit quaternion, in [-pi, pi].
static inline void sap_quaternion_log(double r[3], const double q[4]) {
  const double sign = copysign(1.0, q[0]);
  const double s = sap_v3_norm(q + 1);
  const double w = sign * q[0];
  // angle/s with s = sin(angle/2); the series' next term is s^4.
  const double scale = s > 1e-4 ? 2.0 * atan2(s, w) / s : (2.0 + s * s / 3.0);
  sap_v3_scale(r, q + 1, sign * scale);
}

// phi = log(q0^-1 q1), the rotation vector from q0 to q1 in the axes of q0.
static inline void sap_quaternion_difference(double phi[3], const double q0[4],
                                             const double q1[4]) {
  double relative[4];
  sap_quaternion_conjugate(relative, q0);
  sap_quaternion_multiply(relative, relative, q1);
  (void)sap_quaternion_normalize(relative);
  sap_quaternion_log(phi, relative);
}

// q (+) r: rotates by the rotation vector r given in body axes, and renormalises.
static inline void sap_quaternion_integrate(double out[4], const double q[4], const double r[3]) {
  double step[4];
  sap_quaternion_exp(step, r);
  sap_quaternion_multiply(out, q, step);
  (void)sap_quaternion_normalize(out);
}

// Computes the rotation by an angle about a unit axis.
static inline void sap_quaternion_from_axis_angle(double q[4], const double axis[3], double angle) {
  q[0] = cos(0.5 * angle);
  sap_v3_scale(q + 1, axis, sin(0.5 * angle));
}
