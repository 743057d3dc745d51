// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/identity.h"

static double distance2(const sap_identity* a, const sap_identity* b) {
  double d_A[3], d_B[3];
  sap_v3_sub(d_A, a->p_A, b->p_A);
  sap_v3_sub(d_B, a->p_B, b->p_B);
  return sap_least(sap_v3_dot(d_A, d_A), sap_v3_dot(d_B, d_B));
}

// Mostly the nearest old points of the new ones differ, and are what the search by rounds would
// take. False: nothing is set.
static bool match_nearest(const sap_identity* old, int32_t old_count, double limit2,
                          double apart2[SAP_MANIFOLD_POINTS][SAP_MANIFOLD_POINTS],
                          sap_identity* points, int32_t count) {
  int32_t nearest[SAP_MANIFOLD_POINTS];
  uint32_t taken = 0;
  for (int32_t i = 0; i < count; ++i) {
    int32_t best = -1;
    double least = limit2;
    for (int32_t j = 0; j < old_count; ++j) {
      best = apart2[i][j] < least ? j : best;
      least = apart2[i][j] < least ? apart2[i][j] : least;
    }
    if (best < 0 || (taken >> best & 1U) != 0) {
      return false;
    }
    taken |= 1U << best;
    nearest[i] = best;
  }
  for (int32_t i = 0; i < count; ++i) {
    points[i].feature = old[nearest[i]].feature;
  }
  return true;
}

void sap_identity_match(const sap_identity* old, int32_t old_count, double tolerance,
                        sap_identity* points, int32_t count) {
  bool matched[SAP_MANIFOLD_POINTS] = {false}, taken[SAP_MANIFOLD_POINTS] = {false};
  double apart2[SAP_MANIFOLD_POINTS][SAP_MANIFOLD_POINTS];
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < old_count; ++j) {
      apart2[i][j] = distance2(&points[i], &old[j]);
    }
  }
  if (match_nearest(old, old_count, tolerance * tolerance, apart2, points, count)) {
    return;
  }
  for (int32_t round = 0; round < count && round < old_count; ++round) {
    double best = tolerance * tolerance;
    int32_t best_point = -1, best_old = -1;
    for (int32_t i = 0; i < count; ++i) {
      for (int32_t j = 0; j < old_count && !matched[i]; ++j) {
        if (!taken[j] && apart2[i][j] < best) {
          best = apart2[i][j];
          best_point = i;
          best_old = j;
        }
      }
    }
    if (best_point < 0) {
      break;
    }
    matched[best_point] = taken[best_old] = true;
    points[best_point].feature = old[best_old].feature;
  }
  int32_t fresh = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (matched[i]) {
      continue;
    }
    for (int32_t j = 0; j < old_count; ++j) {
      if (old[j].feature == fresh) {
        ++fresh;
        j = -1;
      }
    }
    points[i].feature = fresh++;
  }
}
