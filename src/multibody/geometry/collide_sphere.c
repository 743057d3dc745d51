// SPDX-License-Identifier: BSD-3-Clause
// A sphere (a) against sphere, capsule, cylinder and box (b): exact, one point.
// With m the outward normal of b where it is nearest to the sphere's centre, n = -m and
// phi = (signed distance of the centre from b) - r.
#include "multibody/geometry/collide.h"

static void set_point(const sap_placed_shape* a, const double n[3], double phi, double reach,
                      sap_manifold* out) {
  if (!(phi < reach)) {
    return;
  }
  out->count = 1;
  out->points[0].phi = phi;
  sap_v3_copy(out->points[0].n, n);
  sap_v3_scale(out->points[0].p, n, a->size[0]);
}

// b is a sphere of radius r about q (from a's centre); `fallback` is n where they coincide.
static void touch_point(const sap_placed_shape* a, const double q[3], double r,
                        const double fallback[3], double reach, sap_manifold* out) {
  const double distance = sap_v3_norm(q);
  const double phi = distance - a->size[0] - r;
  if (!(phi < reach)) {
    return;
  }
  double n[3];
  sap_v3_scale(n, q, 1.0 / distance);
  // Not so for distance 0 (NaN) and for one so small that 1/distance overflows.
  const bool unit = fabs(sap_v3_dot(n, n) - 1.0) < 1e-6;
  set_point(a, unit ? n : fallback, phi, reach, out);
}

void sap_collide_sphere_sphere(const sap_placed_shape* a, const sap_placed_shape* b,
                               const double ab[3], double reach, sap_manifold* out) {
  static const double up[3] = {0.0, 0.0, 1.0};
  touch_point(a, ab, b->size[0], up, reach, out);
}

void sap_collide_sphere_capsule(const sap_placed_shape* a, const sap_placed_shape* b,
                                const double ab[3], double reach, sap_manifold* out) {
  const double* axis = b->R + 6;
  const double t = -sap_v3_dot(ab, axis);
  double q[3];
  sap_v3_copy(q, ab);
  sap_v3_add_scaled(q, axis, sap_most(-b->size[1], sap_least(b->size[1], t)));
  touch_point(a, q, b->size[0], b->R, reach, out);
}

// From b's axes to the world, n = -m.
static void set_local(const sap_placed_shape* a, const sap_placed_shape* b, const double m[3],
                      double distance, double reach, sap_manifold* out) {
  double n[3];
  sap_m3_mul_v3(n, b->R, m);
  sap_v3_scale(n, n, -1.0);
  set_point(a, n, distance - a->size[0], reach, out);
}

void sap_collide_sphere_cylinder(const sap_placed_shape* a, const sap_placed_shape* b,
                                 const double ab[3], double reach, sap_manifold* out) {
  double x[3];
  sap_m3_tmul_v3(x, b->R, ab);
  sap_v3_scale(x, x, -1.0);
  const double rho = hypot(x[0], x[1]);
  const double radial[3] = {rho > 0.0 ? x[0] / rho : 1.0, rho > 0.0 ? x[1] / rho : 0.0, 0.0};
  const double out_r = rho - b->size[0], out_z = fabs(x[2]) - b->size[1];
  double m[3] = {0.0, 0.0, 0.0};
  double distance = sap_most(out_r, out_z);
  if (out_r > 0.0 && out_z > 0.0) {
    distance = hypot(out_r, out_z);
    sap_v3_scale(m, radial, out_r / distance);
    m[2] = copysign(out_z / distance, x[2]);
  } else if (out_r > out_z) {
    sap_v3_copy(m, radial);
  } else {
    m[2] = copysign(1.0, x[2]);
  }
  set_local(a, b, m, distance, reach, out);
}

void sap_collide_sphere_box(const sap_placed_shape* a, const sap_placed_shape* b,
                            const double ab[3], double reach, sap_manifold* out) {
  double x[3], m[3];
  sap_m3_tmul_v3(x, b->R, ab);
  sap_v3_scale(x, x, -1.0);
  int nearest = 0;
  for (int i = 0; i < 3; ++i) {
    m[i] = copysign(sap_most(fabs(x[i]) - b->size[i], 0.0), x[i]);
    if (fabs(x[i]) - b->size[i] > fabs(x[nearest]) - b->size[nearest]) {
      nearest = i;
    }
  }
  double distance = sap_v3_norm(m);
  if (distance > 0.0) {
    sap_v3_scale(m, m, 1.0 / distance);
  } else {
    distance = fabs(x[nearest]) - b->size[nearest];
    sap_v3_set(m, 0.0, 0.0, 0.0);
    m[nearest] = copysign(1.0, x[nearest]);
  }
  set_local(a, b, m, distance, reach, out);
}
