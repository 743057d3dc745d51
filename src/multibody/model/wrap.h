// SPDX-License-Identifier: BSD-3-Clause
// How a taut string from one end to the other goes round a sphere or a cylinder.
//   In the plane through both points and the sphere's centre, or across the cylinder, the string
//   touches the circle of radius r in two points and follows it between them; along a cylinder's
//   axis it rises evenly with its unrolled length. It takes the shorter of the two ways round, or
//   that past the side point.
//   A side point inside the circle makes it a ring: the string goes through and is bent over one
//   point of its edge, at equal angles, unless it goes through freely.
#ifndef SAP_MULTIBODY_MODEL_WRAP_H
#define SAP_MULTIBODY_MODEL_WRAP_H

#include <stdbool.h>

typedef struct sap_obstacle {
  bool cylinder;
  double radius;
  double center[3];
  double axis[3];  // unit, of a cylinder
  bool has_side;   // is there a side point?
  double side[3];
} sap_obstacle;

// Where it first and last touches; returns the length between them, < 0: it goes straight.
double sap_wrap(const sap_obstacle* obstacle, double ends[2][3], double touch[2][3]);

#endif
