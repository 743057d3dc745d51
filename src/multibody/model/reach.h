// SPDX-License-Identifier: BSD-3-Clause
// Between which lengths a transmission can move.
#ifndef SAP_MULTIBODY_MODEL_REACH_H
#define SAP_MULTIBODY_MODEL_REACH_H

#include "multibody/model/placement.h"

// The least and the largest of gear times the length over the ranges of the joints that move it;
// equalities between joints are kept. Infinite where a joint without range lets it grow for ever.
// Leaves `placed` elsewhere than in the default pose.
sap_status sap_find_reach(sap_placed* placed, const sap_model_actuator* actuator, double range[2],
                          sap_error* error);

// reach_joints.c: the joints (joints) whose motion changes the length; coupled ones count as those
// that lead them.
sap_status sap_find_reach_joints(const sap_model* model, const sap_model_actuator* actuator,
                                 bool* moves, sap_error* error);

#endif
