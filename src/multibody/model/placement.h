// SPDX-License-Identifier: BSD-3-Clause
// Poses of bodies while a model is compiled: lengths of transmissions in any configuration, their
// gradients, and the accelerations that forces cause.
#ifndef SAP_MULTIBODY_MODEL_PLACEMENT_H
#define SAP_MULTIBODY_MODEL_PLACEMENT_H

#include "multibody/model/drive.h"

typedef struct sap_placed {
  const sap_model* model;
  sap_pool pool;  // of all arrays below
  double* q;      // of hinge and slide joints, by q_start; ball: quaternion; free: the default (nq)
  double* p_WB;   //                                                                     (3 bodies)
  double* q_WB;   //                                                                     (4 bodies)
  double* R_WB;   //                                                                     (9 bodies)
  double (*S)[6];    // directions of the dofs in world axes about O, the origin of the tree's first
                     // body                                                              (nv)
  int32_t* root;     // the first body of the tree of each body, -1: does not move      (bodies)
  bool* wanted;      // bodies to be placed; all at first                               (bodies)
  double* gradient;  // of a transmission's length                                      (nv)
  double* response;  // M^-1 gradient'                                                  (nv)
  double (*inertia)[36];    // articulated                                                (bodies)
  double (*composite)[36];  // rigid, of all bodies below                               (bodies)
  double* diagonal;         // of M                                                     (nv)
  double (*force)[6];       //                                                            (bodies)
  double (*U)[6];           //                                                            (nv)
  double *D, *u;            //                                                            (nv)
} sap_placed;

// Places all bodies in the default pose.
sap_status sap_placed_create(const sap_model* model, sap_placed* placed, sap_error* error);
void sap_placed_clear(sap_placed* placed);
// Places the wanted bodies at placed->q.
void sap_placed_move(sap_placed* placed);
// Returns coordinates and poses for drive.h.
sap_poses sap_placed_poses(const sap_placed* placed);
// Fills placed->gradient of gear times the length of an actuator's transmission; all bodies must be
// placed.
void sap_placed_gradient(sap_placed* placed, const sap_model_actuator* actuator);
// Factorizes M, from the leaves to the roots; returns a joint that moves no inertia, where it ends,
// -1: none.
int32_t sap_placed_eliminate(sap_placed* placed);
// Fills placed->response from the gradient, by the articulated-body recursion.
void sap_placed_respond(sap_placed* placed);

// Finds the least and the largest of gear times the length over the ranges of the joints that move
// it, with equalities between joints; infinite if a joint without range lets it grow without bound.
// Leaves `placed` in another pose. In reach.c.
sap_status sap_find_reach(sap_placed* placed, const sap_model_actuator* actuator, double range[2],
                          sap_error* error);

#endif
