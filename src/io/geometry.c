// SPDX-License-Identifier: BSD-3-Clause
#include "io/geometry.h"

#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "math/scalar.h"

// --- poses and rotations ------------------------------------------------------------------------

const sap_pose sap_pose_identity = {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}};

sap_pose sap_pose_of(const double p[3], const double q[4]) {
  return (sap_pose){{p[0], p[1], p[2]}, {q[0], q[1], q[2], q[3]}};
}

void sap_pose_get(const sap_pose* pose, double p[3], double q[4]) {
  memcpy(p, pose->p, sizeof pose->p);
  memcpy(q, pose->q, sizeof pose->q);
}

void sap_pose_compose(sap_pose* out, const sap_pose* a, const sap_pose* b) {
  double p[3], q[4];
  sap_quaternion_place(p, a->p, a->q, b->p);
  sap_quaternion_multiply(q, a->q, b->q);
  (void)sap_quaternion_normalize(q);
  memcpy(out->p, p, sizeof p);
  memcpy(out->q, q, sizeof q);
}

void sap_quaternion_from_z(double q[4], const double z[3]) {
  double axis[3] = {-z[1], z[0], 0.0};  // (0, 0, 1) x z
  const double s = sap_v3_norm(axis);
  if (s > 1e-10 * sap_v3_norm(z)) {
    sap_v3_scale(axis, axis, 1.0 / s);
  } else {
    sap_v3_set(axis, 1.0, 0.0, 0.0);
  }
  sap_quaternion_from_axis_angle(q, axis, atan2(s, z[2]));
}

// Computes the largest of w, x, y, z first.
void sap_quaternion_from_rotation(double q[4], const double r[9]) {
  const double trace[4] = {r[0] + r[4] + r[8], r[0] - r[4] - r[8], r[4] - r[0] - r[8],
                           r[8] - r[0] - r[4]};
  int k = 0;
  for (int i = 1; i < 4; ++i) {
    k = trace[i] > trace[k] ? i : k;
  }
  const double big = 0.5 * sqrt(1.0 + trace[k]);
  const double s = 0.25 / big;
  const double wx = s * (r[5] - r[7]), wy = s * (r[6] - r[2]), wz = s * (r[1] - r[3]);
  const double xy = s * (r[1] + r[3]), xz = s * (r[2] + r[6]), yz = s * (r[5] + r[7]);
  const double all[4][4] = {
      {big, wx, wy, wz}, {wx, big, xy, xz}, {wy, xy, big, yz}, {wz, xz, yz, big}};
  memcpy(q, all[k], sizeof all[k]);
  (void)sap_quaternion_normalize(q);
}

void sap_quaternion_from_euler(double q[4], const char* sequence, const double angles[3]) {
  memcpy(q, sap_pose_identity.q, sizeof sap_pose_identity.q);
  for (int i = 0; i < 3; ++i) {
    const bool fixed = sequence[i] < 'a';
    double axis[3] = {0.0, 0.0, 0.0};
    axis[sequence[i] - (fixed ? 'X' : 'x')] = 1.0;
    double turn[4];
    sap_quaternion_from_axis_angle(turn, axis, angles[i]);
    sap_quaternion_multiply(q, fixed ? turn : q, fixed ? q : turn);
  }
}

// --- mass properties ----------------------------------------------------------------------------

double sap_shape_volume(sap_shape_type type, const double size[3]) {
  const double a = size[0], b = size[1], c = size[2];
  switch (type) {
    case SAP_SHAPE_SPHERE:
      return 4.0 / 3.0 * SAP_PI * a * a * a;
    case SAP_SHAPE_CAPSULE:
      return SAP_PI * a * a * (2.0 * b + 4.0 / 3.0 * a);
    case SAP_SHAPE_CYLINDER:
      return 2.0 * SAP_PI * a * a * b;
    case SAP_SHAPE_BOX:
      return 8.0 * a * b * c;
    case SAP_SHAPE_ELLIPSOID:
      return 4.0 / 3.0 * SAP_PI * a * b * c;
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_MESH:
      break;
  }
  return 0.0;
}

static void set_box_inertia(double inertia[3], double factor, const double size[3]) {
  const double x = size[0] * size[0], y = size[1] * size[1], z = size[2] * size[2];
  sap_v3_set(inertia, factor * (y + z), factor * (x + z), factor * (x + y));
}

static void set_capsule_inertia(double inertia[3], const double size[3], double mass) {
  const double r = size[0], h = size[1];
  const double ends = mass * (4.0 / 3.0 * r) / (4.0 / 3.0 * r + 2.0 * h);  // two half spheres
  const double middle = mass - ends;
  // A half sphere's centre of mass is 3 r/8 beyond the end of the segment.
  const double across =
      middle * (3.0 * r * r + 4.0 * h * h) / 12.0 + ends * (0.4 * r * r + h * h + 0.75 * h * r);
  const double along = middle * 0.5 * r * r + ends * 0.4 * r * r;
  sap_v3_set(inertia, across, across, along);
}

void sap_shape_inertia(sap_shape_type type, const double size[3], double mass, double inertia[3]) {
  const double r = size[0], h = size[1];
  sap_v3_set(inertia, 0.0, 0.0, 0.0);
  switch (type) {
    case SAP_SHAPE_SPHERE:
      sap_v3_set(inertia, 0.4 * mass * r * r, 0.4 * mass * r * r, 0.4 * mass * r * r);
      return;
    case SAP_SHAPE_CAPSULE:
      set_capsule_inertia(inertia, size, mass);
      return;
    case SAP_SHAPE_CYLINDER: {
      const double across = mass * (3.0 * r * r + 4.0 * h * h) / 12.0;
      sap_v3_set(inertia, across, across, 0.5 * mass * r * r);
      return;
    }
    case SAP_SHAPE_BOX:
      set_box_inertia(inertia, mass / 3.0, size);
      return;
    case SAP_SHAPE_ELLIPSOID:
      set_box_inertia(inertia, mass / 5.0, size);
      return;
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_MESH:
      return;
  }
}

void sap_inertia_rotate(double out[6], const double I[6], const double q[4]) {
  double R[9], full[9];
  sap_quaternion_to_matrix(R, q);
  sap_m3_rotate_symmetric(full, R, I);
  const double packed[6] = {full[0], full[4], full[8], full[3], full[6], full[7]};
  memcpy(out, packed, sizeof packed);
}

void sap_inertia_shift(double I[6], double mass, const double d[3]) {
  I[0] += mass * (d[1] * d[1] + d[2] * d[2]);
  I[1] += mass * (d[0] * d[0] + d[2] * d[2]);
  I[2] += mass * (d[0] * d[0] + d[1] * d[1]);
  I[3] -= mass * d[0] * d[1];
  I[4] -= mass * d[0] * d[2];
  I[5] -= mass * d[1] * d[2];
}
