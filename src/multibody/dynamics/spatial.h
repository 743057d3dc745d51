// SPDX-License-Identifier: BSD-3-Clause
// Spatial vectors [omega; v] and [moment; force], about one common point and in world axes.
#pragma once

#include <math.h>

#include "math/quaternion.h"
#include "math/vector3.h"

// Rigid-body inertia about a point O.
typedef struct sap_inertia {
  double mass;  // m [kg]
  double h[3];  // m (c - O), c the centre of mass [kg m]
  double I[6];  // about O: xx yy zz xy xz yz [kg m^2]
} sap_inertia;

static inline double sap_spatial_dot(const double a[6], const double b[6]) {
  return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

// out += s a
static inline void sap_spatial_add_scaled(double out[6], const double a[6], double s) {
  for (int i = 0; i < 6; ++i) {
    out[i] += s * a[i];
  }
}

// out = v + omega x arm: the velocity of a point at `arm` from the common one; out may be V + 3.
static inline void sap_spatial_velocity_at(double out[3], const double V[6], const double arm[3]) {
  double turning[3];
  sap_v3_cross(turning, V, arm);
  sap_v3_add(out, V + 3, turning);
}

// out += v x s: rate of change of a motion s fixed in a body that moves with v.
static inline void sap_spatial_add_motion_cross(double out[6], const double v[6],
                                                const double s[6]) {
  double a[3], b[3], c[3];
  sap_v3_cross(a, v, s);
  sap_v3_cross(b, v, s + 3);
  sap_v3_cross(c, v + 3, s);
  for (int i = 0; i < 3; ++i) {
    out[i] += a[i];
    out[i + 3] += b[i] + c[i];
  }
}

// out += v x* f: rate of change of a momentum f fixed in a body that moves with v.
static inline void sap_spatial_add_force_cross(double out[6], const double v[6],
                                               const double f[6]) {
  double a[3], b[3], c[3];
  sap_v3_cross(a, v, f);
  sap_v3_cross(b, v + 3, f + 3);
  sap_v3_cross(c, v, f + 3);
  for (int i = 0; i < 3; ++i) {
    out[i] += a[i] + b[i];
    out[i + 3] += c[i];
  }
}

// Returns the part in [0, 1] of a free body's rotation that moments of blows follow, by its inertia
// about the centre of mass: 0 of a ball's, 1 of a thin rod's. |I|^2 = tr(I)^2/3 and tr(I)^2/2 there.
static inline double sap_inertia_turning_share(const double I[6]) {
  const double trace = I[0] + I[1] + I[2];
  const double square = sap_v3_dot(I, I) + 2.0 * sap_v3_dot(I + 3, I + 3);
  return trace > 0.0 ? sqrt(fmax(0.0, 6.0 * square / (trace * trace) - 2.0)) : 0.0;
}

// out = T' (r x f) - r x f, T the rotation by `turn`.
static inline void sap_spatial_turn_moment(double out[3], const double turn[3], const double r[3],
                                           const double f[3]) {
  double q[4], T[9], moment[3];
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(T, q);
  sap_v3_cross(moment, r, f);
  sap_m3_tmul_v3(out, T, moment);
  sap_v3_sub(out, out, moment);
}

// out = S a, S symmetric {xx yy zz xy xz yz}.
static inline void sap_symmetric_mul(double out[3], const double s[6], const double a[3]) {
  sap_v3_set(out, s[0] * a[0] + s[3] * a[1] + s[4] * a[2], s[3] * a[0] + s[1] * a[1] + s[5] * a[2],
             s[4] * a[0] + s[5] * a[1] + s[2] * a[2]);
}

// out = [I omega + h x v; m v - h x omega], the momentum of a body with velocity v.
static inline void sap_inertia_mul(double out[6], const sap_inertia* inertia, const double v[6]) {
  double hv[3], hw[3];
  sap_symmetric_mul(out, inertia->I, v);
  sap_v3_cross(hv, inertia->h, v + 3);
  sap_v3_cross(hw, inertia->h, v);
  for (int i = 0; i < 3; ++i) {
    out[i] += hv[i];
    out[i + 3] = inertia->mass * v[i + 3] - hw[i];
  }
}

static inline void sap_inertia_add(sap_inertia* sum, const sap_inertia* inertia) {
  sum->mass += inertia->mass;
  for (int i = 0; i < 3; ++i) {
    sum->h[i] += inertia->h[i];
  }
  for (int i = 0; i < 6; ++i) {
    sum->I[i] += inertia->I[i];
  }
}

// Moves an inertia about B's origin in B's axes to a point O and axes W, r = p_OB in W:
//   h_O = R h + m r
//   I_O = R I R' + (2 r.Rh + m r.r) 1 - (r Rh' + Rh r' + m r r')
static inline void sap_inertia_move(sap_inertia* out, const sap_inertia* in, const double R[9],
                                    const double r[3]) {
  double I[6], h[3];
  sap_m3_rotate_packed(I, R, in->I);
  sap_m3_mul_v3(h, R, in->h);
  const double m = in->mass;
  const double trace = 2.0 * sap_v3_dot(r, h) + m * sap_v3_dot(r, r);
  double g[3];  // r Rh' + Rh r' + m r r' = r g' + Rh r',  g = Rh + m r
  for (int i = 0; i < 3; ++i) {
    g[i] = h[i] + m * r[i];
  }
  out->mass = m;
  out->I[0] = I[0] + trace - (r[0] * g[0] + h[0] * r[0]);
  out->I[1] = I[1] + trace - (r[1] * g[1] + h[1] * r[1]);
  out->I[2] = I[2] + trace - (r[2] * g[2] + h[2] * r[2]);
  out->I[3] = I[3] - (r[0] * g[1] + h[0] * r[1]);
  out->I[4] = I[4] - (r[0] * g[2] + h[0] * r[2]);
  out->I[5] = I[5] - (r[1] * g[2] + h[1] * r[2]);
  sap_v3_copy(out->h, g);
}
