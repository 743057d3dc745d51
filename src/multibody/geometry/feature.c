// SPDX-License-Identifier: BSD-3-Clause
// Flat features of shapes (see manifold.h).
#include "multibody/geometry/manifold.h"

static const double half_sqrt2 = 0.70710678118654752;
// A cylinder's cap faces n within 45 degrees, its side beyond.
static const double cap_cosine = 0.70710678118654752;
// Sine below which a cap counts as flat: the lowest point of its rim would run around it as a body
// rocks at rest. The eight points then miss the depth by less than 1e-5 of the radius.
static const double flat_sine = 1e-4;
// A later axis of a box must be better by this much.
static const double clearly = 1.0 + 1e-9;

static void box_feature(const sap_placed_shape* shape, const double n[3], sap_feature* out) {
  double local[3];
  sap_m3_tmul_v3(local, shape->R, n);
  int i = 0;
  for (int k = 1; k < 3; ++k) {
    // Prefer the lower axis among equals: 45 degree poses do not flip by round-off.
    if (fabs(local[k]) > fabs(local[i]) * clearly) {
      i = k;
    }
  }
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  out->kind = SAP_FEATURE_QUAD;
  sap_v3_add_scaled(out->c, shape->R + 3 * i, copysign(shape->size[i], local[i]));
  sap_v3_scale(out->u, shape->R + 3 * j, shape->size[j]);
  sap_v3_scale(out->v, shape->R + 3 * k, shape->size[k]);
}

static void cylinder_feature(const sap_placed_shape* shape, const double n[3], sap_feature* out) {
  double local[3];
  sap_m3_tmul_v3(local, shape->R, n);
  const double sine = hypot(local[0], local[1]);
  if (fabs(local[2]) > cap_cosine) {
    out->kind = SAP_FEATURE_DISC;
    sap_v3_add_scaled(out->c, shape->R + 6, copysign(shape->size[1], local[2]));
    sap_v3_scale(out->u, shape->R, shape->size[0]);
    sap_v3_scale(out->v, shape->R + 3, shape->size[0]);
    out->tilted = sine > flat_sine;
    if (out->tilted) {
      out->deepest[0] = local[0] / sine;
      out->deepest[1] = local[1] / sine;
    }
    return;
  }
  out->kind = SAP_FEATURE_SEGMENT;
  out->radius = shape->size[0];
  sap_v3_scale(out->u, shape->R + 6, shape->size[1]);
  sap_v3_add_scaled(out->c, shape->R, out->radius * local[0] / sine);
  sap_v3_add_scaled(out->c, shape->R + 3, out->radius * local[1] / sine);
}

static void mesh_feature(const sap_placed_shape* shape, const double n[3], sap_feature* out) {
  double local[3], c[3];
  sap_m3_tmul_v3(local, shape->R, n);
  out->face = sap_polytope_facing(shape->hull, local);
  const sap_polytope_face* face = &shape->hull->faces[out->face];
  out->kind = SAP_FEATURE_POLYGON;
  sap_m3_mul_v3(c, shape->R, face->c);
  sap_v3_add(out->c, out->c, c);
  sap_m3_mul_v3(out->u, shape->R, face->u);
  sap_m3_mul_v3(out->v, shape->R, face->v);
  out->ncorners = face->count;
  out->corners = (const double(*)[2])shape->hull->corners + face->first;
}

void sap_feature_facing(const sap_placed_shape* shape, const double centre[3], const double n[3],
                        sap_feature* out) {
  *out = (sap_feature){.kind = SAP_FEATURE_POINT};
  sap_v3_copy(out->c, centre);
  sap_v3_copy(out->axis, centre);
  if (shape->type == SAP_SHAPE_BOX) {
    box_feature(shape, n, out);
  } else if (shape->type == SAP_SHAPE_CYLINDER) {
    cylinder_feature(shape, n, out);
  } else if (shape->type == SAP_SHAPE_MESH) {
    mesh_feature(shape, n, out);
  } else if (shape->type == SAP_SHAPE_CAPSULE) {
    out->kind = SAP_FEATURE_SEGMENT;
    out->radius = shape->size[0];
    sap_v3_scale(out->u, shape->R + 6, shape->size[1]);
    sap_v3_add_scaled(out->c, n, out->radius);
  }
}

int sap_feature_corners(const sap_feature* f, double corners[][2]) {
  switch (f->kind) {
    case SAP_FEATURE_QUAD: {
      static const double quad[4][2] = {{1.0, 1.0}, {-1.0, 1.0}, {-1.0, -1.0}, {1.0, -1.0}};
      for (int i = 0; i < 4; ++i) {
        corners[i][0] = quad[i][0];
        corners[i][1] = quad[i][1];
      }
      return 4;
    }
    case SAP_FEATURE_DISC: {
      static const double octant[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                          {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
      int nearest = 0;
      double best = -1.0;
      for (int i = 0; i < 8; ++i) {
        const double scale = i % 2 == 0 ? 1.0 : half_sqrt2;
        corners[i][0] = scale * octant[i][0];
        corners[i][1] = scale * octant[i][1];
        const double along = corners[i][0] * f->deepest[0] + corners[i][1] * f->deepest[1];
        if (along > best) {
          best = along;
          nearest = i;
        }
      }
      if (f->tilted) {
        corners[nearest][0] = f->deepest[0];
        corners[nearest][1] = f->deepest[1];
      }
      return 8;
    }
    case SAP_FEATURE_SEGMENT:
      corners[0][0] = -1.0;
      corners[1][0] = 1.0;
      corners[0][1] = corners[1][1] = 0.0;
      return 2;
    case SAP_FEATURE_POLYGON:
      for (int i = 0; i < f->ncorners; ++i) {
        corners[i][0] = f->corners[i][0];
        corners[i][1] = f->corners[i][1];
      }
      return f->ncorners;
    case SAP_FEATURE_POINT:
      break;
  }
  return 0;
}

void sap_feature_point(const sap_feature* f, const double ab[2], double x[3]) {
  sap_v3_copy(x, f->c);
  sap_v3_add_scaled(x, f->u, ab[0]);
  sap_v3_add_scaled(x, f->v, ab[1]);
}
