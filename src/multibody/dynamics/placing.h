// SPDX-License-Identifier: BSD-3-Clause
// Order in which bodies are placed: level by level from the roots. Bodies of one level with the
// same number of hinges and no other joints are placed four at a time, as are the inertias of all
// links. Trees that share a group of four make one unit. Units follow one another in the order of
// links, are independent, and can be placed side by side.
#ifndef SAP_MULTIBODY_DYNAMICS_PLACING_H
#define SAP_MULTIBODY_DYNAMICS_PLACING_H

#include "math/simd.h"
#include "multibody/model/model_data.h"

// A hinge of each of four bodies.
typedef struct sap_hinge_lanes {
  double axis[3][SAP_QUAD], p_BJ[3][SAP_QUAD], reference[SAP_QUAD];
  int32_t q_start[SAP_QUAD], v_start[SAP_QUAD];
  bool anchored;  // same anchor as the hinge before it
} sap_hinge_lanes;

// Four bodies; unused lanes repeat the first.
typedef struct sap_body_lanes {
  int32_t body[SAP_QUAD], parent[SAP_QUAD], root[SAP_QUAD], tree[SAP_QUAD];
  int32_t first_hinge, nhinges;
  double p_PB[3][SAP_QUAD], q_PB[4][SAP_QUAD];
} sap_body_lanes;

typedef struct sap_link_lanes {
  int32_t link[SAP_QUAD], body[SAP_QUAD], root[SAP_QUAD], tree[SAP_QUAD];
  double mass[SAP_QUAD], h[3][SAP_QUAD], I[6][SAP_QUAD];
} sap_link_lanes;

// Where a unit begins: steps, groups of four links, links of the dynamics, trees.
typedef struct sap_placing_unit {
  int32_t step, four, link, tree;
} sap_placing_unit;

typedef struct sap_placing {
  int32_t nunits;
  sap_placing_unit* units;  // then the end of the last one                 (nunits + 1)
  int32_t nsteps;
  int32_t* steps;  // a body to place alone, or -1 - index in fours                   (nsteps)
  int32_t nfours, nhinges;
  sap_body_lanes* fours;    //                                                  (nfours)
  sap_hinge_lanes* hinges;  //                                                  (nhinges)
  int32_t nlinks;
  sap_link_lanes* links;  //                                                    (nlinks)
} sap_placing;

typedef struct sap_dynamics sap_dynamics;

// Makes dynamics->placing, in the dynamics' pool. The links must be made.
sap_status sap_placing_create(sap_dynamics* dynamics, sap_error* error);

#endif
