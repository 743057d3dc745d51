// SPDX-License-Identifier: BSD-3-Clause
// Depth fields of the shapes, see patch.h.
#include "multibody/geometry/patch.h"

// The tip of a field, where its gradient is not defined.
static const double TIP = 1e-30;

// Round about the point `core`: d = radius - |x - core|.
static void set_round(double radius, const double x[3], const double core[3],
                      sap_patch_depth* out) {
  double r[3];
  sap_v3_sub(r, x, core);
  const double distance = sap_v3_norm(r);
  out->d = radius - distance;
  out->curved = true;
  sap_v3_copy(out->foot, core);
  sap_v3_set(out->m, 0.0, 0.0, 1.0);
  if (distance > TIP) {
    sap_v3_scale(out->m, r, 1.0 / distance);
  }
}

static void set_ellipsoid(const sap_placed_shape* shape, const double x[3], sap_patch_depth* out) {
  double u[3], m[3];
  sap_m3_tmul_v3(u, shape->R, x);
  for (int k = 0; k < 3; ++k) {
    u[k] /= shape->size[k];
  }
  const double q = sap_v3_norm(u);
  out->d = shape->inner * (1.0 - q);
  out->curved = true;
  for (int k = 0; k < 3; ++k) {
    m[k] = q > TIP ? shape->inner * u[k] / (shape->size[k] * q) : 0.0;
  }
  sap_m3_mul_v3(out->m, shape->R, m);
  sap_v3_set(out->foot, 0.0, 0.0, 0.0);
}

void sap_patch_find_depth(const sap_placed_shape* shape, const double x[3], sap_patch_depth* out) {
  const double *size = shape->size, *axis = shape->R + 6, z = sap_v3_dot(axis, x);
  double core[3] = {0.0, 0.0, 0.0};
  out->side = 0;
  out->curved = false;
  switch (shape->type) {
    case SAP_SHAPE_PLANE:
      out->d = -z;
      sap_v3_copy(out->m, axis);
      break;
    case SAP_SHAPE_SPHERE:
      set_round(size[0], x, core, out);
      break;
    case SAP_SHAPE_CAPSULE:
      sap_v3_scale(core, axis, sap_most(-size[1], sap_least(size[1], z)));
      set_round(size[0], x, core, out);
      out->side = fabs(z) <= size[1] ? 0 : z < 0.0 ? 2 : 1;
      break;
    case SAP_SHAPE_CYLINDER:
      sap_v3_scale(core, axis, z);
      set_round(size[0], x, core, out);
      if (size[1] - fabs(z) < out->d) {
        out->d = size[1] - fabs(z);
        out->side = z < 0.0 ? 2 : 1;
        out->curved = false;
        sap_v3_scale(out->m, axis, z < 0.0 ? -1.0 : 1.0);
      }
      break;
    case SAP_SHAPE_ELLIPSOID:
      set_ellipsoid(shape, x, out);
      break;
    case SAP_SHAPE_BOX:
    case SAP_SHAPE_MESH:
      break;
  }
}

void sap_patch_find_depth_at(const sap_patch_surface* s, int shape, const double x[3],
                             sap_patch_depth* out) {
  double local[3];
  if (!sap_patch_is_flat(s->shape[shape])) {
    sap_v3_sub(local, x, s->centre[shape]);
    sap_patch_find_depth(s->shape[shape], local, out);
    return;
  }
  out->d = HUGE_VAL;
  out->side = 0;
  out->curved = false;
  for (int32_t i = 0; i < s->nplanes[shape]; ++i) {
    const double* plane = s->planes[shape][i];
    const double d = plane[3] - sap_v3_dot(plane, x);
    if (d < out->d) {
      out->d = d;
      out->side = i;
    }
  }
  sap_v3_copy(out->m, s->planes[shape][out->side]);
}

double sap_patch_side_gap(const sap_placed_shape* shape, int32_t i, int32_t k,
                          const double centre[3], const double x[3]) {
  const double* axis = shape->R + 6;
  double d[3];
  sap_v3_sub(d, x, centre);
  const double z = sap_v3_dot(axis, d);
  sap_v3_add_scaled(d, axis, -z);
  const double mantle = shape->type == SAP_SHAPE_CYLINDER ? shape->size[0] - sap_v3_norm(d) : 0.0;
  const double sides[3] = {mantle, shape->size[1] - z, shape->size[1] + z};
  return sides[k] - sides[i];
}

static void set_plane(const double m[3], double offset, const double centre[3], double plane[4]) {
  sap_v3_copy(plane, m);
  plane[3] = offset + sap_v3_dot(m, centre);
}

int32_t sap_patch_set_planes(const sap_placed_shape* shape, const double centre[3],
                             double (*planes)[4]) {
  if (shape->type == SAP_SHAPE_PLANE) {
    set_plane(shape->R + 6, 0.0, centre, planes[0]);
    return 1;
  }
  if (shape->type == SAP_SHAPE_BOX) {
    for (int k = 0; k < 6; ++k) {
      double m[3];
      sap_v3_scale(m, shape->R + 3 * (k / 2), k % 2 == 0 ? 1.0 : -1.0);
      set_plane(m, shape->size[k / 2], centre, planes[k]);
    }
    return 6;
  }
  for (int32_t i = 0; i < shape->hull->nfaces; ++i) {
    double m[3];
    sap_m3_mul_v3(m, shape->R, shape->hull->normals + 3 * (size_t)i);
    set_plane(m, shape->hull->offsets[i], centre, planes[i]);
  }
  return shape->hull->nfaces;
}
