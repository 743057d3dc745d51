// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/shape.h"

void sap_shape_init(sap_placed_shape* shape, const sap_shape_def* def, const sap_polytope* hull) {
  *shape = (sap_placed_shape){.type = def->type, .hull = hull};
  const double* s = def->size;
  sap_v3_copy(shape->size, s);
  switch (def->type) {
    case SAP_SHAPE_PLANE:
      shape->bound = HUGE_VAL;
      break;
    case SAP_SHAPE_SPHERE:
      shape->radius = s[0];
      shape->bound = s[0];
      break;
    case SAP_SHAPE_CAPSULE:
      shape->radius = s[0];
      shape->bound = s[0] + s[1];
      break;
    case SAP_SHAPE_CYLINDER:
      shape->bound = hypot(s[0], s[1]);
      break;
    case SAP_SHAPE_BOX:
      shape->bound = sap_v3_norm(s);
      break;
    case SAP_SHAPE_ELLIPSOID:
      shape->bound = sap_most(s[0], sap_most(s[1], s[2]));
      break;
    case SAP_SHAPE_MESH:
      shape->bound = hull->bound;
      break;
  }
}

// Bounds the rotated box of the hull: not tight, but without a pass over the vertices.
static void mesh_bounds(const sap_placed_shape* shape, double lower[3], double upper[3]) {
  double middle[3], half[3], center[3];
  for (int k = 0; k < 3; ++k) {
    middle[k] = 0.5 * (shape->hull->lower[k] + shape->hull->upper[k]);
    half[k] = 0.5 * (shape->hull->upper[k] - shape->hull->lower[k]);
  }
  sap_v3_place(center, shape->p, shape->R, middle);
  for (int i = 0; i < 3; ++i) {
    const double extent = fabs(shape->R[i]) * half[0] + fabs(shape->R[3 + i]) * half[1] +
                          fabs(shape->R[6 + i]) * half[2];
    lower[i] = center[i] - extent;
    upper[i] = center[i] + extent;
  }
}

void sap_shape_bounds(const sap_placed_shape* shape, double lower[3], double upper[3]) {
  if (shape->type == SAP_SHAPE_MESH) {
    mesh_bounds(shape, lower, upper);
    return;
  }
  const double* R = shape->R;
  const double* s = shape->size;
  for (int i = 0; i < 3; ++i) {
    const double x = R[i], y = R[3 + i], z = R[6 + i];
    double extent = shape->bound;
    if (shape->type == SAP_SHAPE_CAPSULE) {
      extent = fabs(z) * s[1] + s[0];
    } else if (shape->type == SAP_SHAPE_CYLINDER) {
      extent = fabs(z) * s[1] + s[0] * sqrt(x * x + y * y);
    } else if (shape->type == SAP_SHAPE_BOX) {
      extent = fabs(x) * s[0] + fabs(y) * s[1] + fabs(z) * s[2];
    } else if (shape->type == SAP_SHAPE_ELLIPSOID) {
      extent = sqrt(x * x * s[0] * s[0] + y * y * s[1] * s[1] + z * z * s[2] * s[2]);
    }
    lower[i] = shape->p[i] - extent;
    upper[i] = shape->p[i] + extent;
  }
}
