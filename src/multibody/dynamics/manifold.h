// SPDX-License-Identifier: BSD-3-Clause
// Steps on the manifold of configurations: q (+) dt v, and back.
#ifndef SAP_MULTIBODY_DYNAMICS_MANIFOLD_H
#define SAP_MULTIBODY_DYNAMICS_MANIFOLD_H

#include "core/threads.h"
#include "multibody/model/model_data.h"

// The last rotation of a joint: q = q0 (+) r, r != 0; {0}: none yet.
typedef struct sap_rotation_memory {
  double q0[4], r[3], q[4];
} sap_rotation_memory;

// q = q0 (+) dt v: exponential map on rotations, quaternions unit to 1e-15.
void sap_manifold_integrate(const sap_model* model, const double* q0, const double* v, double dt,
                            double* q);
// Same, in `threads` (NULL: one). A rotation that equals the joint's last one is copied from
// memory. memory (joints) may be NULL.
void sap_manifold_integrate_threads(const sap_model* model, sap_threads* threads, const double* q0,
                                    const double* v, double dt, sap_rotation_memory* memory,
                                    double* q);
// delta with q1 = q0 (+) delta.
void sap_manifold_difference(const sap_model* model, const double* q0, const double* q1,
                             double* delta);

#endif
