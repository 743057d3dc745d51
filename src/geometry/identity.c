// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/identity.h"

static double distance2(const sap_identity* a, const sap_identity* b) {
  double d_A[3], d_B[3];
  sap_v3_sub(d_A, a->p_A, b->p_A);
  sap_v3_sub(d_B, a->p_B, b->p_B);
  return sap_least(sap_v3_dot(d_A, d_A), sap_v3_dot(d_B, d_B));
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
