// SPDX-License-Identifier: BSD-3-Clause
// Gaps at which contacts ahead are taken, and where on two moving bodies they act: for our own
// collision detection and the MuJoCo adapter.
#pragma once

#include <math.h>

// The gap at which a contact is taken may be larger by this factor: the bounds of speed are not
// sharp.
#define SAP_AHEAD_LATE 1.5
// Share of a pair's way that its slack may be, and bound of way and slack over that way, without
// the fall.
#define SAP_AHEAD_SHARE 0.25
#define SAP_WAY_AND_SLACK (1.0 + SAP_AHEAD_SHARE)
// Part of a fall from rest by which impulses bring shapes together that lie beside each other.
// Measured: piles that fall have 1 % more contacts and half of the further solves.
#define SAP_AHEAD_BESIDE 0.3

// Returns the gap at which a contact is taken, before the touch, of a pair whose smaller shape has
// that size and whose relative way is `way` [m]. J and the normal there serve for the rest of the
// way, so the gap is small where that is long.
static inline double sap_ahead_gap(double size, double way) {
  static const double slow_gap = 0.1, fast_gap = 1e-3;  // of the size
  static const double slow_way = 0.5, fast_way = 1.0;   // between which the gap changes
  const double fast = (way / size - slow_way) / (fast_way - slow_way);
  return size * (slow_gap + fmin(1.0, fmax(0.0, fast)) * (fast_gap - slow_gap));
}

// Returns the distance that v* may leave between a pair that is taken all the same, as impulses
// change the motion [m]. fall: way of a fall from rest in the step, by which bodies that fall
// together come near if one is held.
static inline double sap_ahead_slack(double size, double way, double fall) {
  return fmin(fmax(SAP_AHEAD_SHARE * way, fall), sap_ahead_gap(size, way));
}

// Positions move from q0 with the velocity after the impact, so impulses conserve angular momentum
// if they act at one point of q0. Two moving bodies get the mean of their ways until the touch
// while these differ by `apart` much less than the size of the smaller shape, and their own ways
// where by much. Returns the part of their own ways, in [0, 1].
static inline double sap_ahead_own_ways(double size, double apart) {
  static const double near_ways = 0.25, far_ways = 0.5;  // of the size
  return fmin(1.0, fmax(0.0, (apart / size - near_ways) / (far_ways - near_ways)));
}
