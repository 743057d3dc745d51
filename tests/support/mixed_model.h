// SPDX-License-Identifier: BSD-3-Clause
// A small model with everything that the dynamics know: a static body with offset pose, several
// joints on one body, welded bodies, ball and free joints, springs, dampers, armature, actuators.
#ifndef SAP_TESTS_SUPPORT_MIXED_MODEL_H
#define SAP_TESTS_SUPPORT_MIXED_MODEL_H

#include <sapstep/model.h>

enum { MIXED_NQ = 23, MIXED_NV = 20, MIXED_NU = 3, MIXED_BODIES = 9, MIXED_TREES = 3 };

// A configuration, velocity, acceleration and control with nothing special about them.
extern const double mixed_q[MIXED_NQ];
extern const double mixed_v[MIXED_NV];
extern const double mixed_a[MIXED_NV];
extern const double mixed_control[MIXED_NU];

// NULL when something fails.
sap_builder* mixed_builder(void);
sap_model* mixed_model(void);

#endif
