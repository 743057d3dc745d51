// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/shape.h"

void sap_shape_init(sap_placed_shape* shape, const sap_shape_def* def) {
  *shape = (sap_placed_shape){.type = def->type};
  const double* s = def->size;
  sap_v3_copy(shape->size, s);
  switch (def->type) {
    case SAP_SHAPE_PLANE:
      shape->bound = HUGE_VAL;
      break;
    case SAP_SHAPE_SPHERE:
      shape->margin = s[0];
      shape->bound = s[0];
      break;
    case SAP_SHAPE_CAPSULE:
      shape->margin = s[0];
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
    case SAP_SHAPE_MESH:  // compiling refuses it
      break;
  }
}

void sap_shape_extent(const sap_placed_shape* shape, double extent[3]) {
  const double* R = shape->R;
  const double* s = shape->size;
  for (int i = 0; i < 3; ++i) {
    const double x = R[i], y = R[3 + i], z = R[6 + i];
    switch (shape->type) {
      case SAP_SHAPE_CAPSULE:
        extent[i] = fabs(z) * s[1] + s[0];
        break;
      case SAP_SHAPE_CYLINDER:
        extent[i] = fabs(z) * s[1] + s[0] * sqrt(x * x + y * y);
        break;
      case SAP_SHAPE_BOX:
        extent[i] = fabs(x) * s[0] + fabs(y) * s[1] + fabs(z) * s[2];
        break;
      case SAP_SHAPE_ELLIPSOID:
        extent[i] = sqrt(x * x * s[0] * s[0] + y * y * s[1] * s[1] + z * z * s[2] * s[2]);
        break;
      case SAP_SHAPE_PLANE:
      case SAP_SHAPE_SPHERE:
      case SAP_SHAPE_MESH:  // compiling refuses it
        extent[i] = shape->bound;
        break;
    }
  }
}
