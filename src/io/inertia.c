// SPDX-License-Identifier: BSD-3-Clause
#include "io/inertia.h"

#include <string.h>

#include "math/quaternion.h"

static const double pi = 3.14159265358979323846;

double sap_shape_volume(sap_shape_type type, const double size[3]) {
  const double a = size[0], b = size[1], c = size[2];
  switch (type) {
    case SAP_SHAPE_SPHERE:
      return 4.0 / 3.0 * pi * a * a * a;
    case SAP_SHAPE_CAPSULE:
      return pi * a * a * (2.0 * b + 4.0 / 3.0 * a);
    case SAP_SHAPE_CYLINDER:
      return 2.0 * pi * a * a * b;
    case SAP_SHAPE_BOX:
      return 8.0 * a * b * c;
    case SAP_SHAPE_ELLIPSOID:
      return 4.0 / 3.0 * pi * a * b * c;
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

void sap_inertia_rotate(double out[6], const double diagonal[3], const double q[4]) {
  double r[9], full[9];
  const double s[6] = {diagonal[0], diagonal[1], diagonal[2], 0.0, 0.0, 0.0};
  sap_quaternion_to_matrix(r, q);
  sap_m3_rotate_symmetric(full, r, s);
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
