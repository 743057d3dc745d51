// SPDX-License-Identifier: BSD-3-Clause
#include "support/convex_oracle.h"

#include "math/quaternion.h"

double oracle_random(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 11) * 0x1p-53;
}

void oracle_random_rotation(uint64_t* seed, double R[9]) {
  double q[4];
  do {
    for (int i = 0; i < 4; ++i) {
      q[i] = 2.0 * oracle_random(seed) - 1.0;
    }
  } while (!sap_quaternion_normalize(q));
  sap_quaternion_to_matrix(R, q);
}

void oracle_shape(sap_placed_shape* out, sap_shape_type type, const double size[3]) {
  sap_shape_def def = {.type = type};
  sap_v3_copy(def.size, size);
  sap_shape_init(out, &def, NULL);
  out->R[0] = out->R[4] = out->R[8] = 1.0;
}

// Support function about the shape's centre: closed forms, written apart from the library's.
static double support(const sap_placed_shape* s, const double n[3]) {
  double m[3];
  for (int i = 0; i < 3; ++i) {
    m[i] = s->R[3 * i] * n[0] + s->R[3 * i + 1] * n[1] + s->R[3 * i + 2] * n[2];
  }
  const double* e = s->size;
  switch (s->type) {
    case SAP_SHAPE_SPHERE:
      return e[0];
    case SAP_SHAPE_CAPSULE:
      return e[0] + e[1] * fabs(m[2]);
    case SAP_SHAPE_CYLINDER:
      return e[0] * sqrt(m[0] * m[0] + m[1] * m[1]) + e[1] * fabs(m[2]);
    case SAP_SHAPE_BOX:
      return e[0] * fabs(m[0]) + e[1] * fabs(m[1]) + e[2] * fabs(m[2]);
    case SAP_SHAPE_ELLIPSOID:
      return sqrt(e[0] * e[0] * m[0] * m[0] + e[1] * e[1] * m[1] * m[1] +
                  e[2] * e[2] * m[2] * m[2]);
    case SAP_SHAPE_MESH: {
      double top = -HUGE_VAL;
      for (int32_t i = 0; i < s->hull->nvertices; ++i) {
        top = fmax(top, sap_v3_dot(m, s->hull->vertices + 3 * i));
      }
      return top;
    }
    case SAP_SHAPE_PLANE:
      break;
  }
  return 0.0;
}

double oracle_gap(const sap_placed_shape* a, const sap_placed_shape* b, const double n[3]) {
  double d[3];
  const double back[3] = {-n[0], -n[1], -n[2]};
  sap_v3_sub(d, b->p, a->p);
  return sap_v3_dot(n, d) - support(a, n) - support(b, back);
}

static void better(const sap_placed_shape* a, const sap_placed_shape* b, const double move[3],
                   double n[3], double* best) {
  double trial[3];
  sap_v3_add(trial, n, move);
  sap_v3_scale(trial, trial, 1.0 / sap_v3_norm(trial));
  const double gap = oracle_gap(a, b, trial);
  if (!(gap > *best)) {
    return;
  }
  *best = gap;
  sap_v3_copy(n, trial);
}

// Shrinking pattern search over directions: all around, and about the axes of the shapes, which is
// the way along the ridge of a kink.
static double climb(const sap_placed_shape* a, const sap_placed_shape* b, double n[3]) {
  double best = oracle_gap(a, b, n);
  for (double step = 0.1; step > 1e-12; step *= 0.7) {
    for (int turn = 0; turn < 12 + 12; ++turn) {
      double frame[9], move[3];
      if (turn < 12) {
        const double angle = 0.5235987755982988 * turn + 1e3 * step;
        sap_m3_from_normal(frame, n);
        sap_v3_scale(move, frame, step * cos(angle));
        sap_v3_add_scaled(move, frame + 3, step * sin(angle));
      } else {
        const double* axis = (turn < 18 ? a : b)->R + 3 * (turn % 3);
        sap_v3_cross(move, axis, n);
        sap_v3_scale(move, move, turn % 6 < 3 ? step : -step);
      }
      better(a, b, move, n, &best);
    }
  }
  return best;
}

// Moves along the ridges of a hull's edges near n.
static void follow_edges(const sap_placed_shape* a, const sap_placed_shape* b,
                         const sap_placed_shape* mesh, double step, double n[3], double* best) {
  const sap_polytope* hull = mesh->hull;
  for (int32_t i = 0; i < hull->nvertices; ++i) {
    for (int32_t k = hull->neighbor_start[i]; k < hull->neighbor_start[i + 1]; ++k) {
      double edge[3], axis[3], move[3];
      sap_v3_sub(edge, hull->vertices + 3 * hull->neighbors[k], hull->vertices + 3 * i);
      sap_m3_mul_v3(axis, mesh->R, edge);
      sap_v3_scale(axis, axis, 1.0 / sap_v3_norm(axis));
      if (fabs(sap_v3_dot(axis, n)) < 0.02) {
        sap_v3_cross(move, axis, n);
        sap_v3_scale(move, move, step);
        better(a, b, move, n, best);
      }
    }
  }
}

static double climb_ridges(const sap_placed_shape* a, const sap_placed_shape* b, double n[3]) {
  double best = climb(a, b, n);
  for (double step = 0.01; step > 1e-8; step *= 0.5) {
    if (a->type == SAP_SHAPE_MESH) {
      follow_edges(a, b, a, step, n, &best);
    }
    if (b->type == SAP_SHAPE_MESH) {
      follow_edges(a, b, b, step, n, &best);
    }
  }
  return best;
}

double oracle_distance(const sap_placed_shape* a, const sap_placed_shape* b, double n[3]) {
  enum { DIRECTIONS = 3000, STARTS = 4 };
  double starts[STARTS][3], gaps[STARTS];
  for (int k = 0; k < STARTS; ++k) {
    gaps[k] = -HUGE_VAL;
  }
  for (int i = 0; i < DIRECTIONS; ++i) {
    const double z = 1.0 - (2.0 * i + 1.0) / DIRECTIONS, r = sqrt(1.0 - z * z);
    const double angle = 2.399963229728653 * i;
    const double d[3] = {r * cos(angle), r * sin(angle), z};
    const double gap = oracle_gap(a, b, d);
    int slot = -1;
    for (int k = 0; k < STARTS; ++k) {
      if (gaps[k] > -HUGE_VAL && sap_v3_dot(starts[k], d) > 0.97) {
        slot = gap > gaps[k] ? k : STARTS;  // the same hill
        break;
      }
      if (slot < 0 || gaps[k] < gaps[slot]) {
        slot = k;
      }
    }
    if (slot < STARTS && gap > gaps[slot]) {
      gaps[slot] = gap;
      sap_v3_copy(starts[slot], d);
    }
  }
  double best = -HUGE_VAL;
  for (int k = 0; k < STARTS && gaps[k] > -HUGE_VAL; ++k) {
    const double gap = climb_ridges(a, b, starts[k]);
    if (gap > best) {
      best = gap;
      sap_v3_copy(n, starts[k]);
    }
  }
  return best;
}

bool oracle_holds(const sap_placed_shape* s, const double x[3], double tolerance) {
  double d[3], m[3];
  sap_v3_sub(d, x, s->p);
  sap_m3_tmul_v3(m, s->R, d);
  const double* e = s->size;
  switch (s->type) {
    case SAP_SHAPE_PLANE:
      return m[2] <= tolerance;
    case SAP_SHAPE_SPHERE:
      return sap_v3_norm(d) <= e[0] + tolerance;
    case SAP_SHAPE_CAPSULE: {
      const double z = fmax(0.0, fabs(m[2]) - e[1]);
      return sqrt(m[0] * m[0] + m[1] * m[1] + z * z) <= e[0] + tolerance;
    }
    case SAP_SHAPE_CYLINDER:
      return hypot(m[0], m[1]) <= e[0] + tolerance && fabs(m[2]) <= e[1] + tolerance;
    case SAP_SHAPE_BOX:
      return fabs(m[0]) <= e[0] + tolerance && fabs(m[1]) <= e[1] + tolerance &&
             fabs(m[2]) <= e[2] + tolerance;
    case SAP_SHAPE_ELLIPSOID: {
      const double smallest = fmin(e[0], fmin(e[1], e[2]));
      const double u[3] = {m[0] / e[0], m[1] / e[1], m[2] / e[2]};
      return sap_v3_norm(u) <= 1.0 + tolerance / smallest;
    }
    case SAP_SHAPE_MESH:
      for (int32_t i = 0; i < s->hull->nfaces; ++i) {
        double u[3];
        sap_v3_sub(u, m, s->hull->faces[i].c);
        if (!(sap_v3_dot(s->hull->normals + 3 * i, u) <= tolerance)) {
          return false;
        }
      }
      return true;
  }
  return false;
}
