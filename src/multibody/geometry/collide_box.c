// SPDX-License-Identifier: BSD-3-Clause
// Box against box: separating axes, then the overlap of the two facing sides.
//
// The difference of two boxes is a zonotope whose faces have 3 + 3 + 9 normals, so the least
// overlap over these axes is the penetration depth, exactly. All in a's axes: C = R_A' R_B,
// c = R_A' (p_B - p_A). Boxes apart by less than the reach go to GJK: their nearest points need not
// lie along these axes.
#include "multibody/geometry/collide.h"

typedef struct box_pair {
  double C[9];  // column-major: columns are b's axes in a
  double absC[9];
  double c[3];
  const double *ha, *hb;
  double depth, n[3];  // least overlap so far and its axis in a, from a to b
  double reach;
  bool apart;
} box_pair;

// False when the axis (of squared length `norm2`) separates them by the reach. An edge axis must
// beat the faces clearly, or round-off decides between a face's four points and an edge's one.
static bool test(box_pair* p, const double axis[3], double norm2, double reach, double gain) {
  const double along = sap_v3_dot(axis, p->c);
  const double overlap = reach - fabs(along);
  if (!(overlap > 0.0)) {
    p->apart = true;
    const double norm = sqrt(norm2);
    if (!(overlap > -p->reach * norm)) {
      sap_v3_scale(p->n, axis, (along < 0.0 ? -1.0 : 1.0) / norm);
      return false;
    }
    return true;
  }
  const double limit = gain * p->depth;
  if (overlap * overlap < limit * limit * norm2) {
    const double norm = sqrt(norm2);
    p->depth = overlap / norm;
    sap_v3_scale(p->n, axis, (along < 0.0 ? -1.0 : 1.0) / norm);
  }
  return true;
}

static bool test_faces(box_pair* p) {
  for (int i = 0; i < 3; ++i) {
    double axis[3] = {0.0, 0.0, 0.0};
    axis[i] = 1.0;
    const double reach =
        p->ha[i] + p->absC[i] * p->hb[0] + p->absC[3 + i] * p->hb[1] + p->absC[6 + i] * p->hb[2];
    if (!test(p, axis, 1.0, reach, 1.0)) {
      return false;
    }
  }
  for (int j = 0; j < 3; ++j) {
    if (!test(p, p->C + 3 * j, 1.0, p->hb[j] + sap_v3_dot(p->absC + 3 * j, p->ha), 1.0 - 1e-9)) {
      return false;
    }
  }
  return true;
}

static bool test_edges(box_pair* p) {
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      // e_i x b_j
      double axis[3];
      axis[i] = 0.0;
      axis[i1] = -p->C[3 * j + i2];
      axis[i2] = p->C[3 * j + i1];
      const double norm2 = axis[i1] * axis[i1] + axis[i2] * axis[i2];
      if (norm2 < 1e-12) {
        continue;  // parallel edges: a face axis says the same
      }
      const double reach = p->ha[i1] * fabs(axis[i1]) + p->ha[i2] * fabs(axis[i2]) +
                           p->hb[j1] * p->absC[3 * j2 + i] + p->hb[j2] * p->absC[3 * j1 + i];
      if (!test(p, axis, norm2, reach, 1.0 - 1e-6)) {
        return false;
      }
    }
  }
  return true;
}

void sap_collide_box_box(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                         double reach, sap_manifold* out) {
  box_pair p = {.ha = a->size, .hb = b->size, .depth = HUGE_VAL, .reach = reach};
  sap_m3_tmul_v3(p.c, a->R, ab);
  for (int j = 0; j < 3; ++j) {
    sap_m3_tmul_v3(p.C + 3 * j, a->R, b->R + 3 * j);
  }
  for (int k = 0; k < 9; ++k) {
    p.absC[k] = fabs(p.C[k]);
  }
  if (!test_faces(&p) || !test_edges(&p)) {
    sap_m3_mul_v3(out->apart, a->R, p.n);
    return;
  }
  if (p.apart) {
    sap_collide_convex(a, b, ab, reach, out);
    return;
  }
  sap_manifold_point witness = {.phi = -p.depth};
  sap_m3_mul_v3(witness.n, a->R, p.n);
  // b's deepest point, in case the features miss it by round-off.
  const double back[3] = {-witness.n[0], -witness.n[1], -witness.n[2]};
  sap_shape_support(b, back, witness.p);
  sap_v3_add(witness.p, witness.p, ab);
  sap_v3_add_scaled(witness.p, witness.n, p.depth);
  sap_collide_features(&(sap_facing){a, b, ab, reach}, &witness, out);
}
