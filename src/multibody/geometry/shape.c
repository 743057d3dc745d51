// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/shape.h"

#include <stdlib.h>

void sap_shape_init(sap_placed_shape* shape, const sap_shape_def* def, const sap_polytope* hull) {
  *shape = (sap_placed_shape){.type = def->type, .hull = hull};
  const double* s = def->size;
  sap_v3_copy(shape->size, s);
  switch (def->type) {
    case SAP_SHAPE_PLANE:
      shape->bound = shape->inner = HUGE_VAL;
      break;
    case SAP_SHAPE_SPHERE:  // a capsule of length 0
      sap_v3_set(shape->size, s[0], 0.0, 0.0);
      shape->radius = s[0];
      shape->bound = shape->inner = s[0];
      break;
    case SAP_SHAPE_CAPSULE:
      shape->radius = s[0];
      shape->bound = s[0] + s[1];
      shape->inner = s[0];
      break;
    case SAP_SHAPE_CYLINDER:
      shape->bound = hypot(s[0], s[1]);
      shape->inner = sap_least(s[0], s[1]);
      break;
    case SAP_SHAPE_BOX:
      shape->bound = sap_v3_norm(s);
      shape->inner = sap_least(s[0], sap_least(s[1], s[2]));
      break;
    case SAP_SHAPE_ELLIPSOID:
      shape->bound = sap_most(s[0], sap_most(s[1], s[2]));
      shape->inner = sap_least(s[0], sap_least(s[1], s[2]));
      break;
    case SAP_SHAPE_MESH:
      shape->bound = hull->bound;
      shape->inner = hull->inner;
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

double sap_shape_thickness(const sap_placed_shape* shape, const double n[3]) {
  const double* s = shape->size;
  const double back[3] = {-n[0], -n[1], -n[2]};
  double m[3];
  sap_m3_tmul_v3(m, shape->R, n);
  switch (shape->type) {
    case SAP_SHAPE_PLANE:
      return HUGE_VAL;
    case SAP_SHAPE_MESH:
      return sap_shape_extent(shape, n) + sap_shape_extent(shape, back);
    case SAP_SHAPE_BOX:
      return 2.0 / sap_most(fabs(m[0]) / s[0], sap_most(fabs(m[1]) / s[1], fabs(m[2]) / s[2]));
    case SAP_SHAPE_CYLINDER:
      return 2.0 / sap_most(hypot(m[0], m[1]) / s[0], fabs(m[2]) / s[1]);
    case SAP_SHAPE_ELLIPSOID:
      sap_v3_set(m, m[0] / s[0], m[1] / s[1], m[2] / s[2]);
      return 2.0 / sap_v3_norm(m);
    case SAP_SHAPE_SPHERE:
    case SAP_SHAPE_CAPSULE:
      break;
  }
  return 2.0 * shape->radius;
}

// --- hulls of meshes ---

// Searches along a direction start from the answer for the middle of its cell: one of the squares
// of the sides of a cube about 0.
enum { CELLS = 8, STARTS = 6 * CELLS * CELLS };
// Cosines closer than this are equal, so that such faces do not alternate by round-off: the first
// one wins.
static const double clearly = 1e-9;

static void center_vertices(const sap_hull* source, sap_polytope* p) {
  for (int32_t i = 0; i < p->nvertices; ++i) {
    sap_v3_add_scaled(p->center, source->vertices + 3 * (size_t)i, 1.0 / p->nvertices);
  }
  for (int k = 0; k < 3; ++k) {
    p->lower[k] = HUGE_VAL;
    p->upper[k] = -HUGE_VAL;
  }
  for (int32_t i = 0; i < p->nvertices; ++i) {
    double* x = p->vertices + 3 * (size_t)i;
    sap_v3_sub(x, source->vertices + 3 * (size_t)i, p->center);
    p->bound = fmax(p->bound, sap_v3_norm(x));
    for (int k = 0; k < 3; ++k) {
      p->upper[k] = fmax(p->upper[k], x[k]);
      p->lower[k] = fmin(p->lower[k], x[k]);
    }
  }
}

// Returns twice the area of the triangle of corners i, j, k.
static double triangle(double (*corners)[2], int32_t i, int32_t j, int32_t k) {
  return (corners[j][0] - corners[i][0]) * (corners[k][1] - corners[i][1]) -
         (corners[k][0] - corners[i][0]) * (corners[j][1] - corners[i][1]);
}

// Removes the corners that cut off least, one after another; returns the new count.
static int32_t thin_out(double (*corners)[2], int32_t count) {
  while (count > SAP_POLYTOPE_CORNERS) {
    int32_t least = 0;
    double least_area = HUGE_VAL;
    for (int32_t i = 0; i < count; ++i) {
      const double area = triangle(corners, (i + count - 1) % count, i, (i + 1) % count);
      if (area < least_area) {
        least_area = area;
        least = i;
      }
    }
    --count;
    for (int32_t i = least; i < count; ++i) {
      corners[i][0] = corners[i + 1][0];
      corners[i][1] = corners[i + 1][1];
    }
  }
  return count;
}

// Returns the radius of the largest circle about 0 within the corners; 0: there is none.
static double inner_radius(double (*corners)[2], int32_t count) {
  double least = HUGE_VAL;
  for (int32_t i = 0; i < count; ++i) {
    const double *from = corners[i], *to = corners[(i + 1) % count];
    const double length = hypot(to[0] - from[0], to[1] - from[1]);
    const double height = (from[0] * to[1] - from[1] * to[0]) / length;
    least = height < least ? height : isnan(height) ? 0.0 : least;
  }
  return sap_most(0.0, least);
}

static void set_sides(double (*corners)[2], int32_t count, double* sides) {
  for (int32_t i = 0; i < count; ++i) {
    const double *from = corners[i], *to = corners[(i + 1) % count];
    const double x = to[0] - from[0], y = to[1] - from[1];
    sides[i] = x;
    sides[count + i] = y;
    sides[2 * count + i] = y * from[0] - x * from[1] + SAP_INSIDE_SLACK * (fabs(x) + fabs(y));
  }
}

static void set_face(const sap_hull* source, int32_t index, sap_polytope* p,
                     int32_t* corner_count) {
  sap_polytope_face* face = &p->faces[index];
  const int32_t first = source->face_start[index], count = source->face_start[index + 1] - first;
  const int32_t* ids = source->face_vertices + first;
  double frame[9], size = 0.0;
  sap_m3_from_normal(frame, p->normals + 3 * (size_t)index);
  double(*corners)[2] = p->corners + *corner_count;
  for (int32_t i = 0; i < count; ++i) {
    sap_v3_add_scaled(face->c, p->vertices + 3 * (size_t)ids[i], 1.0 / count);
  }
  for (int32_t i = 0; i < count; ++i) {
    double d[3];
    sap_v3_sub(d, p->vertices + 3 * (size_t)ids[i], face->c);
    corners[i][0] = sap_v3_dot(frame, d);
    corners[i][1] = sap_v3_dot(frame + 3, d);
    size = fmax(size, fmax(fabs(corners[i][0]), fabs(corners[i][1])));
  }
  sap_v3_scale(face->u, frame, size);
  sap_v3_scale(face->v, frame + 3, size);
  face->first = *corner_count;
  for (int32_t i = 0; i < count && size > 0.0; ++i) {
    corners[i][0] /= size;
    corners[i][1] /= size;
  }
  face->count = thin_out(corners, count);
  face->inner = inner_radius(corners, face->count);
  set_sides(corners, face->count, p->sides + 3 * (size_t)face->first);
  *corner_count += face->count;
}

static sap_status allocate_polytope(const sap_hull* source, sap_polytope* out, sap_error* error) {
  const size_t nfaces = (size_t)source->nfaces;
  const int32_t ncorners = source->face_start[nfaces];
  return SAP_POOL_ADD_ALL(
      &out->pool, error, SAP_ARRAY(&out->vertices, 3 * (size_t)source->nvertices),
      SAP_ARRAY(&out->normals, 3 * nfaces), SAP_ARRAY(&out->offsets, nfaces),
      SAP_ARRAY(&out->faces, nfaces), SAP_ARRAY(&out->corners, ncorners),
      SAP_ARRAY(&out->sides, 3 * (size_t)ncorners), SAP_ARRAY(&out->start_vertices, STARTS),
      SAP_ARRAY(&out->start_faces, STARTS), SAP_ARRAY(&out->ranks[0], nfaces),
      SAP_ARRAY(&out->ranks[1], nfaces), SAP_ARRAY(&out->ranks[2], nfaces));
}

static int compare_ranks(const void* a, const void* b) {
  const sap_polytope_rank *x = a, *y = b;
  return x->height != y->height ? (x->height < y->height ? -1 : 1) : x->face - y->face;
}

static void rank_faces(sap_polytope* p) {
  for (int k = 0; k < 3; ++k) {
    for (int32_t i = 0; i < p->nfaces; ++i) {
      p->ranks[k][i] = (sap_polytope_rank){p->normals[3 * (size_t)i + (size_t)k], i};
    }
    qsort(p->ranks[k], (size_t)p->nfaces, sizeof *p->ranks[k], compare_ranks);
  }
}

static int32_t climb(const sap_polytope* p, const double d[3], int32_t at) {
  double top = sap_v3_dot(d, p->vertices + 3 * (size_t)at);
  for (;;) {
    int32_t next = at;
    for (int32_t k = p->neighbor_start[at]; k < p->neighbor_start[at + 1]; ++k) {
      const double height = sap_v3_dot(d, p->vertices + 3 * (size_t)p->neighbors[k]);
      if (height > top) {
        top = height;
        next = p->neighbors[k];
      }
    }
    if (next == at) {
      return at;
    }
    at = next;
  }
}

static int32_t find_cell(const double d[3]) {
  int k = 0;
  for (int i = 1; i < 3; ++i) {
    k = fabs(d[i]) > fabs(d[k]) ? i : k;
  }
  const double half = 0.5 * CELLS, length = fabs(d[k]);
  // A zero d gives NaN, and so the last cell.
  const double x = sap_least(half + half * (d[(k + 1) % 3] / length), CELLS - 1);
  const double y = sap_least(half + half * (d[(k + 2) % 3] / length), CELLS - 1);
  return ((d[k] < 0.0 ? 3 + k : k) * CELLS + (int32_t)x) * CELLS + (int32_t)y;
}

static void find_starts(sap_polytope* p) {
  int32_t vertex = 0, face = 0;
  for (int32_t i = 0; i < STARTS; ++i) {
    const int32_t side = i / (CELLS * CELLS), k = side % 3;
    double d[3];
    d[k] = side < 3 ? CELLS : -CELLS;
    d[(k + 1) % 3] = 2 * (i / CELLS % CELLS) + 1 - CELLS;
    d[(k + 2) % 3] = 2 * (i % CELLS) + 1 - CELLS;
    sap_v3_scale(d, d, 1.0 / sap_v3_norm(d));
    p->start_vertices[i] = vertex = climb(p, d, vertex);
    p->start_faces[i] = face;  // of the cell before
    p->start_faces[i] = face = sap_polytope_facing(p, d);
  }
}

sap_status sap_polytope_create(const sap_hull* source, sap_polytope* out, sap_error* error) {
  const int32_t nfaces = source->nfaces;
  *out = (sap_polytope){.pool.owner = "hull of a mesh",
                        .nvertices = source->nvertices,
                        .nfaces = nfaces,
                        .neighbor_start = source->neighbor_start,
                        .neighbors = source->neighbors};
  SAP_TRY_OR(allocate_polytope(source, out, error), sap_polytope_clear(out));
  center_vertices(source, out);
  int32_t corner_count = 0;
  out->inner = HUGE_VAL;
  for (int32_t i = 0; i < nfaces; ++i) {
    const double* plane = source->planes + 4 * (size_t)i;
    sap_v3_copy(out->normals + 3 * (size_t)i, plane);
    out->offsets[i] = plane[3] - sap_v3_dot(plane, out->center);
    out->inner = fmin(out->inner, out->offsets[i]);
    set_face(source, i, out, &corner_count);
  }
  rank_faces(out);
  find_starts(out);
  return SAP_STATUS_OK;
}

const double* sap_polytope_support(const sap_polytope* p, const double d[3], int32_t* hint) {
  const int32_t start = p->start_vertices[find_cell(d)];
  const double* from = p->vertices + 3 * (size_t)*hint;
  const double* other = p->vertices + 3 * (size_t)start;
  *hint = climb(p, d, sap_v3_dot(d, other) > sap_v3_dot(d, from) ? start : *hint);
  return p->vertices + 3 * (size_t)*hint;
}

int32_t sap_polytope_facing(const sap_polytope* p, const double d[3]) {
  int k = 0;
  for (int i = 1; i < 3; ++i) {
    k = fabs(d[i]) < fabs(d[k]) ? i : k;
  }
  const sap_polytope_rank* ranks = p->ranks[k];
  int32_t up = 0, end = p->nfaces, best = p->start_faces[find_cell(d)];
  while (up < end) {
    const int32_t middle = up + (end - up) / 2;
    end = ranks[middle].height < d[k] ? end : middle;
    up = ranks[middle].height < d[k] ? middle + 1 : up;
  }
  // cos = 1 - |n - d|^2/2: no face farther away along the axis can be better.
  double top = sap_v3_dot(d, p->normals + 3 * (size_t)best), most = 2.0 * (1.0 - top + clearly);
  for (int side = 0; side < 2; ++side) {
    for (int32_t i = side == 0 ? up : up - 1; i >= 0 && i < p->nfaces; i += side == 0 ? 1 : -1) {
      const double way = ranks[i].height - d[k];
      if (!(way * way <= most)) {
        break;
      }
      const int32_t face = ranks[i].face;
      const double cosine = sap_v3_dot(d, p->normals + 3 * (size_t)face);
      if (cosine >= top - clearly) {
        best = cosine > top + clearly || face < best ? face : best;
        top = sap_most(top, cosine);
        most = 2.0 * (1.0 - top + clearly);
      }
    }
  }
  return best;
}
