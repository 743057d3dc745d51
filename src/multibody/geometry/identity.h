// SPDX-License-Identifier: BSD-3-Clause
// Which contact point of this call is which of the last one: a point keeps its feature number while
// it lasts.
//
// Points of a pair are matched to those of the call before, nearest first, by the smaller of the
// distances in A's and in B's body frame: a point that slides on one body rests on the other.
#ifndef SAP_MULTIBODY_GEOMETRY_IDENTITY_H
#define SAP_MULTIBODY_GEOMETRY_IDENTITY_H

#include "multibody/geometry/manifold.h"

typedef struct sap_identity {
  uint64_t pair;  // shape_A << 32 | shape_B
  int32_t feature;
  double p_A[3], p_B[3];             // in the frames of the two bodies [m]
  double n[3];                       // normal, from A into B, in A's body frame
  double friction, relaxation_time;  // mu, tau_d [s]
} sap_identity;

// Sets `feature` of the points of one pair from the old ones of the same pair; points farther
// apart than `tolerance` [m] do not match. Fresh points get the lowest numbers that neither old
// nor matched points carry.
void sap_identity_match(const sap_identity* old, int32_t old_count, double tolerance,
                        sap_identity* points, int32_t count);

#endif
