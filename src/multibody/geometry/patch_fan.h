// SPDX-License-Identifier: BSD-3-Clause
// Integral over a part of a contact surface that is a star about a point of the plane of its
// columns.
//
// q = c + r ((1 - t) P + t Q), r up to the border: sectors between neighbouring points P and Q of
// the border are integrated by Gauss. The border is smooth but for corners; sectors and rays are
// cut where a side of a shape changes.
#pragma once

#include "multibody/geometry/patch.h"

enum { SAP_FAN_BORDER = 2 * SAP_PATCH_SIDES + 48 };

// A point of the surface.
typedef struct sap_fan_spot {
  double x[3];            // from A's centre [m]
  double p;               // [Pa]
  double slant;           // area of the surface over that of the plane
  sap_patch_depth at[2];  // of both shapes
} sap_fan_spot;

typedef struct sap_fan {
  sap_patch_surface* s;
  double e[2][3];  // axes of the plane
  double c[2];     // a point in the part
  double reach;    // last distance of the border [m]
  int32_t nborder;
  double border[SAP_FAN_BORDER][2];  // corners, before sap_fan_add: from the origin
  bool edges;                        // the part has edges on which p > 0
  bool changes;                      // a ray ended on another side than it began
  // Finds the point of the surface at c + t way.
  void (*find_spot)(struct sap_fan* fan, const double way[2], double t, sap_fan_spot* out);
  // Returns a concave function that is 0 where p is, and its slope by t.
  double (*measure)(struct sap_fan* fan, const double way[2], double t, double* slope);
  // With edges: returns the t <= end at which the part ends. on_edge: where p > 0.
  double (*limit)(struct sap_fan* fan, const double way[2], double end, bool* on_edge);
} sap_fan;

// Sets the axes of the plane with the normal N: along the axis of the smaller capsule or cylinder.
void sap_fan_set_axes(sap_fan* fan, const double N[3]);
// Adds the point x to the border's corners.
void sap_fan_add_corner(sap_fan* fan, const double origin[3], const double x[3]);
// Adds the samples: about the middle of the corners, or about c without corners. Returns false if
// there is no room for them.
bool sap_fan_add(sap_fan* fan);
// Adds a sample of that area of the plane with the axes e. False: no room.
bool sap_fan_add_spot(sap_patch_surface* s, const double (*e)[3], const sap_fan_spot* at,
                      double area);
// Returns the part t of the way from c at which p falls to 0; its distance is the next one's start.
double sap_fan_leave(sap_fan* fan, const double way[2]);
