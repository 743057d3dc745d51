// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/manifold.h"

// All relative to the pair's size.
static const double same_point = 1e-6;  // nearer points act as one
static const double same_depth = 1e-9;  // above round-off, below the effect of any load
// Equal depths among the corners of faces that lie flat on each other: the deepest corner changes
// as a body rocks at rest, and the points chosen after it would change too.
static const double same_corner = 1e-4;
// Points on a rim between its corners lie this near to them.
static const double like_point = 0.02;

void sap_candidates_start(sap_candidates* list, double reach) {
  list->count = 0;
  list->reach = reach;
  list->witness = -1;
  list->boxes = false;
}

// Keeps the deepest point and the farthest in sixteen directions across the first normal.
static void thin_out(sap_candidates* list) {
  enum { AXES = 8 };  // each has two directions
  bool stays[SAP_CANDIDATE_POINTS] = {false};
  double frame[9], across[SAP_CANDIDATE_POINTS][2];
  sap_m3_from_normal(frame, list->points[0].n);
  for (int32_t i = 0; i < list->count; ++i) {
    across[i][0] = sap_v3_dot(frame, list->points[i].p);
    across[i][1] = sap_v3_dot(frame + 3, list->points[i].p);
  }
  for (int k = 0; k <= AXES; ++k) {
    const double angle = 0.39269908169872414 * k;  // pi/8
    const double c = cos(angle), s = sin(angle);
    double top = -HUGE_VAL, bottom = HUGE_VAL;
    int32_t highest = 0, lowest = 0;
    for (int32_t i = 0; i < list->count; ++i) {
      const double height = k < AXES ? c * across[i][0] + s * across[i][1] : -list->points[i].phi;
      highest = height > top ? i : highest;
      top = height > top ? height : top;
      lowest = height < bottom && k < AXES ? i : lowest;
      bottom = height < bottom ? height : bottom;
    }
    stays[highest] = true;
    stays[k < AXES ? lowest : highest] = true;
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < list->count; ++i) {
    if (stays[i]) {
      list->points[kept++] = list->points[i];
    }
  }
  list->count = kept;
}

void sap_candidates_add(sap_candidates* list, const double p[3], const double n[3], double phi) {
  if (!(phi < list->reach)) {
    return;
  }
  if (list->count >= SAP_CANDIDATE_POINTS) {
    thin_out(list);
  }
  sap_manifold_point* point = &list->points[list->count++];
  sap_v3_copy(point->p, p);
  sap_v3_copy(point->n, n);
  point->phi = phi;
}

static double distance2(const double a[3], const double b[3]) {
  double d[3];
  sap_v3_sub(d, a, b);
  return sap_v3_dot(d, d);
}

static int32_t deepest(const sap_candidates* list, double scale) {
  int32_t best = 0;
  for (int32_t i = 1; i < list->count; ++i) {
    if (list->points[i].phi < list->points[best].phi - same_depth * scale) {
      best = i;
    }
  }
  const double apart = same_point * scale;
  const double margin = same_corner * scale;
  for (int32_t i = 0; best != list->witness && i < best; ++i) {
    if (list->points[i].phi < list->points[best].phi + margin &&
        distance2(list->points[i].p, list->points[best].p) > apart * apart) {
      best = i;
    }
  }
  return best;
}

// Ties go to the earlier point: a later one must be better by this factor.
static const double clearly = 1.0 + 1e-9;

static int32_t farthest(const sap_candidates* list, int32_t from, double minimum2) {
  int32_t best = -1;
  double best2 = minimum2;
  for (int32_t i = 0; i < list->count; ++i) {
    const double d2 = distance2(list->points[i].p, list->points[from].p);
    if (d2 > best2 * clearly) {
      best2 = d2;
      best = i;
    }
  }
  return best;
}

// Returns twice the signed area of (a, b, point) seen along n.
static double signed_area(const sap_candidates* list, int32_t a, int32_t b, int32_t i) {
  const double* n = list->points[a].n;
  double e[3], f[3], c[3];
  sap_v3_sub(e, list->points[b].p, list->points[a].p);
  sap_v3_sub(f, list->points[i].p, list->points[a].p);
  sap_v3_cross(c, e, f);
  return sap_v3_dot(c, n);
}

// Returns the point that spans the largest triangle with a and b, -1: none.
static int32_t widest(const sap_candidates* list, int32_t a, int32_t b, double minimum) {
  int32_t best = -1;
  double best_area = minimum;
  for (int32_t i = 0; i < list->count; ++i) {
    const double area = fabs(signed_area(list, a, b, i));
    if (area > best_area * clearly) {
      best_area = area;
      best = i;
    }
  }
  return best;
}

// Returns the point that adds the largest triangle outside (a, b, c), -1: none.
static int32_t outermost(const sap_candidates* list, const int32_t abc[3], double minimum) {
  const double turn = signed_area(list, abc[0], abc[1], abc[2]) > 0.0 ? 1.0 : -1.0;
  int32_t best = -1;
  double best_area = minimum;
  for (int k = 0; k < 3; ++k) {
    for (int32_t i = 0; i < list->count; ++i) {
      const double area = -turn * signed_area(list, abc[k], abc[(k + 1) % 3], i);
      if (area > best_area * clearly) {
        best_area = area;
        best = i;
      }
    }
  }
  return best;
}

static bool has_point(const sap_manifold* out, const double p[3], double apart) {
  int32_t k = 0;
  while (k < out->count && distance2(p, out->points[k].p) > apart * apart) {
    ++k;
  }
  return k < out->count;
}

// Takes all corners of two boxes' faces, at most eight: a choice among them turns with the smallest
// motion, and the bodies rock from choice to choice. Returns false if there are more.
static bool take_corners(const sap_candidates* list, double scale, sap_manifold* out) {
  const double apart = same_point * scale;
  out->count = 0;
  for (int32_t i = 0; i < list->count; ++i) {
    if (has_point(out, list->points[i].p, apart)) {
      continue;
    }
    if (out->count == SAP_MANIFOLD_POINTS) {
      return false;
    }
    out->points[out->count++] = list->points[i];
  }
  return true;
}

static void choose(const sap_candidates* list, double scale, sap_manifold* out) {
  out->count = 0;
  if (list->count == 0) {
    return;
  }
  int32_t chosen[SAP_CHOSEN_POINTS];
  int32_t count = 0;
  chosen[count++] = deepest(list, scale);
  const double gap = same_point * scale;
  int32_t next = list->count > 1 ? farthest(list, chosen[0], gap * gap) : -1;
  if (next >= 0) {
    chosen[count++] = next;
    const double base = sqrt(distance2(list->points[chosen[0]].p, list->points[next].p));
    next = list->count > 2 ? widest(list, chosen[0], chosen[1], base * gap) : -1;
    if (next >= 0) {
      chosen[count++] = next;
      next = list->count > 3 ? outermost(list, chosen, base * gap) : -1;
      if (next >= 0) {
        chosen[count++] = next;
      }
    } else {  // a line: its other end, where the deepest point is between
      chosen[count++] = farthest(list, chosen[1], 0.0);
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!has_point(out, list->points[chosen[i]].p, gap)) {
      out->points[out->count++] = list->points[chosen[i]];
    }
  }
}

// Takes the points below the height.
static void take(const sap_candidates* list, double height, sap_candidates* part) {
  sap_candidates_start(part, list->reach);
  for (int32_t i = 0; i < list->count; ++i) {
    if (list->points[i].phi < height) {
      part->witness = i == list->witness ? part->count : part->witness;
      part->points[part->count++] = list->points[i];
    }
  }
}

// Returns true if one of the points is so near and about as deep that the other adds nothing, but not
// the same.
static bool has_like(const sap_manifold* manifold, const sap_manifold_point* point, double scale) {
  const double apart = like_point * scale;
  bool found = false;
  SAP_EACH(const sap_manifold_point, other, manifold->points, manifold->count) {
    found = found || (fabs(point->phi - other->phi) <= same_corner * scale &&
                      distance2(point->p, other->p) <= apart * apart);
  }
  return found && !has_point(manifold, point->p, same_point * scale);
}

// The choice from all points is made beside that from those below `near`: a first point that passes
// it does not change the choice. Where it is not in that choice, one like it mostly is.
void sap_candidates_reduce(const sap_candidates* list, double scale, sap_manifold* out) {
  if (list->boxes && take_corners(list, scale, out)) {
    return;
  }
  sap_candidates part;
  take(list, out->near, &part);
  if (part.count == 0 || part.count == list->count) {
    choose(list, scale, out);
    return;
  }
  sap_manifold all, deep;
  choose(list, scale, &all);
  choose(&part, scale, &deep);
  out->count = 0;
  for (int32_t i = 0; i < deep.count; ++i) {
    if (!has_like(&all, &deep.points[i], scale)) {
      out->points[out->count++] = deep.points[i];
    }
  }
  for (int32_t i = 0; i < all.count; ++i) {
    if (!has_point(out, all.points[i].p, same_point * scale)) {
      out->points[out->count++] = all.points[i];
    }
  }
}
