// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of two flat shapes. Facets i of A and j of B make the plane alpha d_i = beta d_j,
// clipped to p >= 0, d_i <= d_i' and d_j <= d_j' for all others: one convex polygon. Every edge
// names the constraint that cut it, which is the neighbouring pair (i', j) or (i, j'). A flood fill
// from a first pair finds a sheet of the surface. cost: O(polygons (facets of A + facets of B))
// Each sheet ends on a closed line in which the surfaces of both shapes cross. Where a part of a
// shape outside of the other is not connected, as of a rod through a plate, there may be several:
// the fill starts from all points where an edge goes through a facet as well.
#include <string.h>

#include "multibody/geometry/patch.h"

enum { NO_LABEL = -1, PAIRS = 256, MASK = 64 };
// Edges shorter than this, relative to the smaller shape, lead to no neighbour.
static const double SHORT = 1e-12;
// Round-off of a depth, relative to the size.
static const double ROUND_OFF = 1e-13;
// Least difference of the weighted normals of two facets that have a surface.
static const double STEEP = 1e-9;

// Keeps the part with b - m . x >= 0; the new edge gets the label. Corners outside by round-off
// stay: the walls of flush shapes lie in the constraint of each other. False: full.
static bool clip(sap_patch_polygon* poly, const double m[3], double b, int32_t label) {
  double h[SAP_PATCH_SIDES];
  bool cut = false;
  for (int32_t i = 0; i < poly->count; ++i) {
    h[i] = b - sap_v3_dot(m, poly->x[i]);
    h[i] = h[i] < -poly->round_off ? h[i] : sap_most(h[i], 0.0);
    cut = cut || h[i] < 0.0;
  }
  if (!cut) {
    return true;
  }
  sap_patch_polygon out;
  out.count = 0;
  for (int32_t i = 0; i < poly->count; ++i) {
    const int32_t next = i + 1 < poly->count ? i + 1 : 0;
    if (out.count + 2 > SAP_PATCH_SIDES) {
      return false;
    }
    if (h[i] >= 0.0) {
      sap_v3_copy(out.x[out.count], poly->x[i]);
      out.label[out.count++] = poly->label[i];
    }
    if ((h[i] >= 0.0) != (h[next] >= 0.0)) {
      double* x = out.x[out.count];
      const double t = h[i] / (h[i] - h[next]);
      sap_v3_sub(x, poly->x[next], poly->x[i]);
      sap_v3_scale(x, x, t);
      sap_v3_add(x, x, poly->x[i]);
      out.label[out.count++] = h[i] >= 0.0 ? label : poly->label[i];
    }
  }
  poly->count = out.count;
  memcpy(poly->x, out.x, (size_t)out.count * sizeof *out.x);
  memcpy(poly->label, out.label, (size_t)out.count * sizeof *out.label);
  return true;
}

// Sets a large square on the plane m . x = b about the point nearest to x0.
static void set_square(const double m[3], double b, const double x0[3], double half,
                       sap_patch_polygon* poly) {
  double n[3], R[9], middle[3];
  const double norm = sap_v3_norm(m);
  sap_v3_scale(n, m, 1.0 / norm);
  sap_m3_from_normal(R, n);
  sap_v3_copy(middle, x0);
  sap_v3_add_scaled(middle, n, b / norm - sap_v3_dot(n, x0));
  poly->count = 4;
  poly->round_off = ROUND_OFF * half;
  for (int32_t i = 0; i < 4; ++i) {
    sap_v3_copy(poly->x[i], middle);
    sap_v3_add_scaled(poly->x[i], R, i == 0 || i == 3 ? half : -half);
    sap_v3_add_scaled(poly->x[i], R + 3, i < 2 ? half : -half);
    poly->label[i] = NO_LABEL;
  }
}

// Clips to the part where facet i is the nearest one of its shape.
static bool clip_to_facet(const sap_patch_surface* s, int side, int32_t i, int32_t first_label,
                          sap_patch_polygon* poly) {
  const double(*planes)[4] = (const double(*)[4])s->planes[side];
  for (int32_t k = 0; k < s->nplanes[side] && poly->count > 2; ++k) {
    double m[3];
    sap_v3_sub(m, planes[k], planes[i]);
    if (k != i && !clip(poly, m, planes[k][3] - planes[i][3], first_label + k)) {
      return false;
    }
  }
  return true;
}

bool sap_patch_set_face(const sap_patch_surface* s, int side, int32_t facet, double half,
                        sap_patch_polygon* face) {
  const double* plane = s->planes[side][facet];
  set_square(plane, plane[3], s->x0, half, face);
  return clip_to_facet(s, side, facet, 0, face) && face->count > 2;
}

// Adds the polygon as a piece. False: no room.
static bool add_piece(sap_patch_surface* s, int32_t i, int32_t j, const sap_patch_polygon* poly) {
  const double *plane_A = s->planes[0][i], *plane_B = s->planes[1][j];
  if (s->npieces >= SAP_PATCH_PIECES || s->ncorners + poly->count > SAP_PATCH_CORNERS) {
    return false;
  }
  sap_patch_piece* piece = &s->pieces[s->npieces];
  *piece = (sap_patch_piece){.first = s->ncorners, .count = poly->count};
  sap_patch_set_normals(s, plane_A, plane_B, piece);
  for (int32_t k = 0; k < poly->count; ++k) {
    sap_patch_corner* corner = &s->corners[s->ncorners + k];
    sap_v3_copy(corner->x, poly->x[k]);
    corner->p = s->series * (plane_A[3] - sap_v3_dot(plane_A, corner->x) + plane_B[3] -
                             sap_v3_dot(plane_B, corner->x));
  }
  const sap_patch_corner* c = &s->corners[s->ncorners];
  for (int32_t k = 1; k + 1 < poly->count; ++k) {
    double u[3], v[3], cross[3];
    sap_v3_sub(u, c[k].x, c[0].x);
    sap_v3_sub(v, c[k + 1].x, c[0].x);
    sap_v3_cross(cross, u, v);
    const double area = 0.5 * fabs(sap_v3_dot(piece->n, cross));
    piece->area += area;
    piece->force += area / 3.0 * (c[0].p + c[k].p + c[k + 1].p);
  }
  if (piece->force > 0.0) {
    ++s->npieces;
    s->ncorners += poly->count;
  }
  return true;
}

typedef struct flood {
  int32_t pairs[PAIRS][2], count;
} flood;

static void push(flood* f, int32_t i, int32_t j) {
  for (int32_t k = 0; k < f->count; ++k) {
    if (f->pairs[k][0] == i && f->pairs[k][1] == j) {
      return;
    }
  }
  if (f->count < PAIRS) {
    f->pairs[f->count][0] = i;
    f->pairs[f->count++][1] = j;
  }
}

static void push_neighbours(const sap_patch_surface* s, const sap_patch_polygon* poly,
                            const int32_t pair[2], double shortest, flood* f) {
  for (int32_t k = 0; k < poly->count; ++k) {
    double edge[3];
    const int32_t next = k + 1 < poly->count ? k + 1 : 0, label = poly->label[k];
    sap_v3_sub(edge, poly->x[next], poly->x[k]);
    if (label == NO_LABEL || !(sap_v3_dot(edge, edge) > shortest * shortest)) {
      continue;
    }
    const bool of_A = label < s->nplanes[0];
    push(f, of_A ? label : pair[0], of_A ? pair[1] : label - s->nplanes[0]);
  }
}

// Adds the polygon of a pair of facets. False: no room.
static bool add_pair(sap_patch_surface* s, const int32_t pair[2], double size, flood* f) {
  const double *A = s->planes[0][pair[0]], *B = s->planes[1][pair[1]];
  double m[3], sum[3];
  sap_patch_polygon poly;
  sap_v3_scale(m, A, s->alpha);
  sap_v3_add_scaled(m, B, -s->beta);
  const double norm = sap_v3_norm(m);
  if (!(norm > STEEP)) {
    return true;
  }
  set_square(m, s->alpha * A[3] - s->beta * B[3], s->x0, 4.0 * size, &poly);
  sap_v3_add(sum, A, B);
  if (!clip(&poly, sum, A[3] + B[3], NO_LABEL) || !clip_to_facet(s, 0, pair[0], 0, &poly) ||
      !clip_to_facet(s, 1, pair[1], s->nplanes[0], &poly)) {
    return false;
  }
  if (poly.count > 2) {
    push_neighbours(s, &poly, pair, SHORT * size, f);
    return add_piece(s, pair[0], pair[1], &poly);
  }
  return true;
}

// Pushes the pairs of facets whose depths at x exceed the least ones by at most `more`.
static void push_at(const sap_patch_surface* s, const double x[3], double more, flood* f) {
  double depth[2];
  for (int side = 0; side < 2; ++side) {
    sap_patch_depth at;
    sap_patch_find_depth_at(s, side, x, &at);
    depth[side] = at.d + more;
  }
  for (int32_t i = 0; i < s->nplanes[0]; ++i) {
    const double* A = s->planes[0][i];
    for (int32_t j = 0; A[3] - sap_v3_dot(A, x) <= depth[0] && j < s->nplanes[1]; ++j) {
      const double* B = s->planes[1][j];
      if (B[3] - sap_v3_dot(B, x) <= depth[1]) {
        push(f, i, j);
      }
    }
  }
}

bool sap_patch_add_triangle(sap_patch_surface* s, int side, const double x[3][3],
                            const double n[3]) {
  const int other = 1 - side;
  const double(*planes)[4] = (const double(*)[4])s->planes[other];
  const double size = sap_least(s->shape[0]->bound, s->shape[1]->bound);
  double middle[3] = {0.0, 0.0, 0.0};
  sap_patch_polygon part;
  flood f;
  part.count = 3;
  part.round_off = ROUND_OFF * size;
  for (int32_t k = 0; k < 3; ++k) {
    sap_v3_copy(part.x[k], x[k]);
    part.label[k] = NO_LABEL;
  }
  for (int32_t k = 0; k < s->nplanes[other] && part.count > 2; ++k) {
    if (!clip(&part, planes[k], planes[k][3], NO_LABEL)) {
      return false;
    }
  }
  if (part.count < 3) {
    return true;
  }
  for (int32_t k = 0; k < part.count; ++k) {
    sap_v3_add_scaled(middle, part.x[k], 1.0 / part.count);
  }
  s->nplanes[side] = 1;
  sap_v3_copy(s->planes[side][0], n);
  s->planes[side][0][3] = sap_v3_dot(n, x[0]);
  f.count = 0;
  push_at(s, middle, 10.0 * ROUND_OFF * size, &f);
  for (int32_t k = 0; k < f.count; ++k) {
    const int32_t* pair = f.pairs[k];
    sap_patch_polygon poly = part;
    if (!clip_to_facet(s, other, pair[other], other == 0 ? 0 : 1, &poly)) {
      return false;
    }
    if (poly.count > 2) {
      push_neighbours(s, &poly, pair, SHORT * size, &f);
      if (!add_piece(s, pair[0], pair[1], &poly)) {
        return false;
      }
    }
  }
  return true;
}

// --- further sheets ---

static int32_t vertex_count(const sap_placed_shape* shape) {
  return shape->type == SAP_SHAPE_BOX    ? 8
         : shape->type == SAP_SHAPE_MESH ? shape->hull->nvertices
                                         : 0;
}

static void get_vertex(const sap_patch_surface* s, int side, int32_t i, double x[3]) {
  const sap_placed_shape* shape = s->shape[side];
  double local[3];
  for (int k = 0; k < 3; ++k) {
    local[k] = shape->type == SAP_SHAPE_MESH ? shape->hull->vertices[3 * (size_t)i + (size_t)k]
               : (i >> k & 1) != 0           ? shape->size[k]
                                             : -shape->size[k];
  }
  sap_v3_place(x, s->centre[side], shape->R, local);
}

// Returns true if the part of one shape outside of the other, by `more`, is connected: its vertices there, of
// which those outside of the same facet are.
static bool is_outside_connected(const sap_patch_surface* s, int side, double more) {
  const double(*planes)[4] = (const double(*)[4])s->planes[1 - side];
  const int32_t nplanes = s->nplanes[1 - side], count = vertex_count(s->shape[side]);
  uint64_t parts[MASK];
  int32_t nparts = 0;
  for (int32_t i = 0; i < count && nplanes > 1; ++i) {
    double x[3];
    uint64_t outside = 0;
    get_vertex(s, side, i, x);
    for (int32_t k = 0; k < nplanes; ++k) {
      outside |= (uint64_t)(planes[k][3] - sap_v3_dot(planes[k], x) < -more) << k;
    }
    for (int32_t k = nparts - 1; k >= 0; --k) {
      if ((parts[k] & outside) != 0) {
        outside |= parts[k];
        parts[k] = parts[--nparts];
      }
    }
    if (outside != 0) {
      parts[nparts++] = outside;
    }
  }
  return nparts <= 1;
}

// Pushes the pairs of facets where an edge of a shape goes through the surface of the other one.
static void push_edge(const sap_patch_surface* s, int side, const double from[3],
                      const double to[3], double more, flood* f) {
  const double(*planes)[4] = (const double(*)[4])s->planes[1 - side];
  double way[3], t[2] = {0.0, 1.0};
  sap_v3_sub(way, to, from);
  for (int32_t k = 0; k < s->nplanes[1 - side]; ++k) {
    const double d = planes[k][3] - sap_v3_dot(planes[k], from), fall = sap_v3_dot(planes[k], way);
    if (d < 0.0 && !(fall < 0.0)) {
      return;
    }
    const int end = fall > 0.0;
    if (fall != 0.0 && (end ? d / fall < t[1] : d / fall > t[0])) {
      t[end] = d / fall;
    }
  }
  for (int end = 0; end < 2 && t[0] < t[1]; ++end) {
    double x[3];
    sap_v3_copy(x, from);
    sap_v3_add_scaled(x, way, t[end]);
    if (t[end] > 0.0 && t[end] < 1.0) {
      push_at(s, x, more, f);
    }
  }
}

static void push_edges(const sap_patch_surface* s, double more, flood* f) {
  for (int side = 0; side < 2; ++side) {
    const sap_placed_shape* shape = s->shape[side];
    const bool box = shape->type == SAP_SHAPE_BOX;
    for (int32_t i = 0; i < vertex_count(shape); ++i) {
      const int32_t first = box ? 0 : shape->hull->neighbor_start[i];
      const int32_t end = box ? 3 : shape->hull->neighbor_start[i + 1];
      double x[3], y[3];
      get_vertex(s, side, i, x);
      for (int32_t k = first; k < end; ++k) {
        const int32_t j = box ? i ^ (1 << k) : shape->hull->neighbors[k];
        if (j > i) {
          get_vertex(s, side, j, y);
          push_edge(s, side, x, y, more, f);
        }
      }
    }
  }
}

// Returns true if the surfaces of both shapes may cross in more than one closed line. With both
// parts outside connected, each part inside is a disc; discs that share their borders and make a
// closed surface are two, with one border.
static bool may_have_sheets(const sap_patch_surface* s, double more) {
  return s->nplanes[0] <= MASK && s->nplanes[1] <= MASK &&
         !(is_outside_connected(s, 0, more) && is_outside_connected(s, 1, more));
}

bool sap_patch_add_polygons(sap_patch_surface* s) {
  const double size = sap_least(s->shape[0]->bound, s->shape[1]->bound);
  const double more = 10.0 * ROUND_OFF * size;
  bool all = !may_have_sheets(s, more);
  flood f;
  f.count = 0;
  push_at(s, s->x0, more, &f);
  for (int32_t k = 0; k < f.count; ++k) {
    if (!add_pair(s, f.pairs[k], size, &f)) {
      return false;
    }
    if (k + 1 == f.count && (!all || s->npieces == 0)) {  // or x0 is over an edge
      push_edges(s, more, &f);
      all = true;
    }
  }
  return s->npieces > 0;
}
