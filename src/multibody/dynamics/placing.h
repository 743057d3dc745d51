// SPDX-License-Identifier: BSD-3-Clause
// In what order bodies are placed: level by level from the roots. Those of one level with hinges
// alone, and equally many, are placed four at a time; so are the inertias of all links. Trees that
// share a four make one unit; units, one after the other in the order of links, stand on their own
// and can be placed side by side.
#ifndef SAP_MULTIBODY_DYNAMICS_PLACING_H
#define SAP_MULTIBODY_DYNAMICS_PLACING_H

#include "math/simd.h"
#include "multibody/model/model_data.h"

// A hinge of each of four bodies.
typedef struct sap_hinge_lanes {
  double axis[3][SAP_QUAD], p_BJ[3][SAP_QUAD], reference[SAP_QUAD];
  int32_t q_start[SAP_QUAD], v_start[SAP_QUAD];
  bool anchored;  // where the hinges before it are
} sap_hinge_lanes;

// Four bodies; where there are fewer the first stands for the rest.
typedef struct sap_body_lanes {
  int32_t body[SAP_QUAD], parent[SAP_QUAD], root[SAP_QUAD], tree[SAP_QUAD];
  int32_t first_hinge, nhinges;
  double p_PB[3][SAP_QUAD], q_PB[4][SAP_QUAD];
} sap_body_lanes;

typedef struct sap_link_lanes {
  int32_t link[SAP_QUAD], body[SAP_QUAD], root[SAP_QUAD], tree[SAP_QUAD];
  double mass[SAP_QUAD], h[3][SAP_QUAD], I[6][SAP_QUAD];
} sap_link_lanes;

// What comes before a unit.
typedef struct sap_placing_unit {
  int32_t step, four, link, tree;  // in steps, links (four at a time), the dynamics' links, trees
} sap_placing_unit;

typedef struct sap_placing {
  int32_t nunits;
  sap_placing_unit* units;  // and where the last one ends                  (nunits + 1)
  int32_t nsteps;
  int32_t* steps;  // a body to be placed alone, or -1 - four                   (nsteps)
  int32_t nfours, nhinges;
  sap_body_lanes* fours;    //                                                  (nfours)
  sap_hinge_lanes* hinges;  //                                                  (nhinges)
  int32_t nlinks;
  sap_link_lanes* links;  //                                                    (nlinks)
} sap_placing;

typedef struct sap_dynamics sap_dynamics;

// When the links stand.
sap_status sap_placing_create(const sap_dynamics* dynamics, sap_placing* placing, sap_error* error);
void sap_placing_clear(sap_placing* placing);

#endif
