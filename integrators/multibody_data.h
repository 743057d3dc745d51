// SPDX-License-Identifier: BSD-3-Clause
// What the functions on a sap_multibody share.
#ifndef SAP_INTEGRATORS_MULTIBODY_DATA_H
#define SAP_INTEGRATORS_MULTIBODY_DATA_H

#include <sapstep/multibody.h>

#include "dynamics/dynamics.h"

// Where the last step began: q0 (nq), v0 (nv) without what is locked, and its controls (nu).
typedef struct sap_step_start {
  double *q0, *v0, *control;
} sap_step_start;
const sap_step_start* sap_multibody_step_start(const sap_multibody* multibody);
// The dynamics with kinematics at q.
sap_dynamics* sap_multibody_at(sap_multibody* multibody, const double* q);
// The same between steps: these kinematics stay at hand, because the next step begins there.
sap_dynamics* sap_multibody_look(sap_multibody* multibody, const double* q);
// The dynamics wherever their kinematics stand.
sap_dynamics* sap_multibody_dynamics(sap_multibody* multibody);
const sap_model* sap_multibody_model(const sap_multibody* multibody);
// ARGUMENT when x is NULL, NOT_FINITE with "what[i] = x".
sap_status sap_multibody_check_numbers(const char* what, const double* x, int32_t n,
                                       sap_error* error);

#endif
