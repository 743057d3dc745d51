// SPDX-License-Identifier: BSD-3-Clause
// Y = B J' of a problem that gives B = A^-1: columns hold the trees that B reaches from a row's.
#ifndef SAP_PROBLEM_DELASSUS_MOBILITY_H
#define SAP_PROBLEM_DELASSUS_MOBILITY_H

#include "problem/delassus_operator.h"

typedef struct sap_mobility_lift {
  int32_t* integers;  // neighbours of every tree, marks, trees of the lifts
  double* lift;
  int32_t integers_capacity, lift_capacity;
} sap_mobility_lift;

void sap_mobility_lift_clear(sap_mobility_lift* m);
// Fills first_lift, nlift_trees, nlift, lift of the items, lift_trees and lift of the operator,
// whose J and trees are there. local: island's index of a problem's tree.
sap_status sap_mobility_lift_items(sap_delassus* d, sap_mobility_lift* m, const int32_t* local,
                                   sap_error* error);

#endif
