// SPDX-License-Identifier: BSD-3-Clause
// The contact surface of two shapes in either order, from its pieces to its clusters.
#include "multibody/geometry/patch.h"

void sap_patch_set_normals(const sap_patch_surface* s, const double m_A[3], const double m_B[3],
                           sap_patch_piece* piece) {
  sap_v3_copy(piece->m[0], m_A);
  sap_v3_copy(piece->m[1], m_B);
  sap_v3_scale(piece->n, m_A, s->alpha);
  sap_v3_add_scaled(piece->n, m_B, -s->beta);
  piece->steep = sap_v3_norm(piece->n);
  sap_v3_scale(piece->n, piece->n, 1.0 / piece->steep);
}

double sap_patch_area(const sap_patch_surface* s) {
  double area = 0.0;
  for (int32_t i = 0; i < s->npatches; ++i) {
    area += s->patches[i].area;
  }
  return area;
}

// The middle of the overlap at the manifold's points, and the normal and depth of the deepest.
static void set_middle(sap_patch_surface* s, const sap_manifold* manifold) {
  const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
  int32_t count = 0;
  sap_v3_set(s->x0, 0.0, 0.0, 0.0);
  for (int32_t i = 0; i < manifold->count; ++i) {
    const sap_manifold_point* point = &manifold->points[i];
    if (point->phi <= 0.0) {
      sap_v3_add(s->x0, s->x0, point->p);
      sap_v3_add_scaled(s->x0, point->n, 0.5 * point->phi);
      ++count;
    }
  }
  sap_v3_scale(s->x0, s->x0, count > 0 ? 1.0 / count : 0.0);
  for (int side = 0; side < 2; ++side) {  // the points of two rounded sides may lie outside of them
    sap_patch_depth at;
    sap_patch_find_depth_at(s, side, s->x0, &at);
    if (at.d < deepest->phi) {
      sap_v3_copy(s->x0, deepest->p);
      sap_v3_add_scaled(s->x0, deepest->n, 0.5 * deepest->phi);
    }
  }
  sap_v3_copy(s->N, deepest->n);
  s->depth = s->found_depth = -deepest->phi;
}

static bool find_ordered(sap_patch_surface* s, const sap_placed_shape* a, const sap_placed_shape* b,
                         const double kappa[2], const sap_manifold* manifold) {
  s->shape[0] = a;
  s->shape[1] = b;
  sap_v3_set(s->centre[0], 0.0, 0.0, 0.0);
  sap_v3_sub(s->centre[1], b->p, a->p);
  s->kappa[0] = kappa[0];
  s->kappa[1] = kappa[1];
  s->alpha = isinf(kappa[0]) ? 1.0 : isinf(kappa[1]) ? 0.0 : 1.0 / (1.0 + kappa[1] / kappa[0]);
  s->beta = 1.0 - s->alpha;
  s->series = isinf(kappa[1]) ? kappa[0] : kappa[1] * s->alpha;
  s->npieces = s->ncorners = 0;
  int mesh = -1;
  for (int side = 0; side < 2; ++side) {
    if (sap_patch_has_triangles(s->shape[side], s->kappa[side])) {
      mesh = side;
    } else if (sap_patch_is_flat(s->shape[side])) {
      s->nplanes[side] = sap_patch_set_planes(s->shape[side], s->centre[side], s->planes[side]);
    }
  }
  if (mesh >= 0) {
    const bool found = sap_patch_add_mesh(s, mesh);
    s->found_depth = s->depth;
    return found && sap_patch_set_clusters(s);
  }
  set_middle(s, manifold);
  const int flat = sap_patch_is_flat(a) + sap_patch_is_flat(b);
  return s->depth > 0.0 &&
         (flat == 2   ? sap_patch_add_polygons(s)
          : flat == 1 ? sap_patch_add_facets(s)
                      : sap_patch_add_samples(s)) &&
         sap_patch_set_clusters(s);
}

// Returns < 0 where a is the first of two shapes, whatever their order in the pair; 0: no order.
static int compare_shapes(const sap_placed_shape* a, const sap_placed_shape* b) {
  return a->type != b->type ? (int)a->type - (int)b->type
                            : (a->bound > b->bound) - (a->bound < b->bound);
}

// Sets the shape whose facets make clusters: the stiffer flat one, of equal ones the first.
static void set_ruler(const sap_placed_shape* a, const sap_placed_shape* b, const double kappa[2],
                      sap_patch_surface* s) {
  const bool flat[2] = {sap_patch_is_flat(a), sap_patch_is_flat(b)};
  const bool second = kappa[0] == kappa[1] ? compare_shapes(b, a) < 0 : kappa[0] < kappa[1];
  s->ruler = flat[0] && !(flat[1] && second) ? 0 : flat[1] ? 1 : -1;
}

// Moves the points from the centre of A to that of B, by the part `phi` of their heights.
static void exchange(const double from_b[3], double phi, sap_manifold* manifold) {
  for (int32_t i = 0; i < manifold->count; ++i) {
    sap_manifold_point* point = &manifold->points[i];
    sap_v3_add_scaled(point->p, point->n, phi * point->phi);
    sap_v3_add(point->p, point->p, from_b);
    sap_v3_scale(point->n, point->n, -1.0);
  }
}

bool sap_patch_find(sap_patch_surface* s, const sap_placed_shape* a, const sap_placed_shape* b,
                    const double kappa[2], const sap_manifold* manifold) {
  double ab[3], from_b[3];
  sap_v3_sub(ab, b->p, a->p);
  sap_v3_scale(from_b, ab, -1.0);
  const int axis = ab[0] != 0.0 ? 0 : ab[1] != 0.0 ? 1 : 2;
  set_ruler(a, b, kappa, s);
  // The order is that of the shapes, so that exchanged bodies have opposite forces.
  const int order = compare_shapes(a, b);
  if (order < 0 || (order == 0 && ab[axis] >= 0.0)) {
    return find_ordered(s, a, b, kappa, manifold);
  }
  const double swapped[2] = {kappa[1], kappa[0]};
  sap_manifold points = {.count = 0};
  if (manifold != NULL) {
    points = *manifold;
    exchange(from_b, 1.0, &points);
  }
  s->ruler = s->ruler < 0 ? -1 : 1 - s->ruler;
  if (!find_ordered(s, b, a, swapped, &points)) {
    return false;
  }
  for (int32_t i = 0; i < s->npatches; ++i) {
    exchange(ab, 0.0, &s->patches[i].points);
  }
  return true;
}
