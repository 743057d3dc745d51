// SPDX-License-Identifier: BSD-3-Clause
#include "io/pose.h"

#include <string.h>

#include "math/quaternion.h"

const sap_pose sap_pose_identity = {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}};

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
