// SPDX-License-Identifier: BSD-3-Clause
// Four spatial vectors side by side, so that compilers compute them at once.
#ifndef SAP_MULTIBODY_DYNAMICS_LANES_H
#define SAP_MULTIBODY_DYNAMICS_LANES_H

enum { SAP_LANES = 4 };
typedef double sap_lanes[SAP_LANES];

// out (count) += scale a.
static inline void sap_lanes_add(sap_lanes* out, sap_lanes* a, double scale, int count) {
  for (int i = 0; i < count; ++i) {
    for (int f = 0; f < SAP_LANES; ++f) {
      out[i][f] += scale * a[i][f];
    }
  }
}

// out (3) += scale a x s.
static inline void sap_lanes_add_cross(sap_lanes* out, sap_lanes* a, const double s[3],
                                       double scale) {
  const double x = scale * s[0], y = scale * s[1], z = scale * s[2];
  for (int f = 0; f < SAP_LANES; ++f) {
    out[0][f] += a[1][f] * z - a[2][f] * y;
    out[1][f] += a[2][f] * x - a[0][f] * z;
    out[2][f] += a[0][f] * y - a[1][f] * x;
  }
}

#endif
