// SPDX-License-Identifier: BSD-3-Clause
// Corrects positions for contacts whose law acts at the end of the step.
//
// Such a contact expects the gap phi0 + dt (vn + (J_end - J) v), but a scheme with theta_vq < 1
// moves by
//   v_vq = theta_vq v + (1 - theta_vq) v0
// A body stopped by the contact then moves on by dt (1 - theta_vq) vn0, the next step pushes it out
// of the ground, and it hops by g dt and never comes to rest; with stiff undamped contacts it gains
// energy. Therefore d is added to v_vq, the smallest in the metric of A with
//   J_n d = s ((1 - theta_vq) J_n (v - v0) + (J_end - J) v)
// in these contacts, where s is the share of the end of the step in their law
// (src/contact/contact_law.c): along their normals bodies move as their law says. Where contacts
// carry smoothly, J_n v0 = J_n v + 2 (J_end - J) v at the midpoint, and d is 0. Where a rigid law
// lets a body bounce within the step, J_n d takes it to the touch at its old speed.
#ifndef SAP_INTEGRATORS_END_POSITIONS_H
#define SAP_INTEGRATORS_END_POSITIONS_H

#include <sapstep/problem.h>
#include <sapstep/solver.h>

#include "core/memory.h"

typedef struct sap_end_positions {
  double* pushed;  // sum of J_n A^-1 J_n' gamma_n of a tree [m/s]  (ntrees)
  double *p, *g;   // direction and gradient                       (nv)
  double* x;       // A^-1 J_n' of a contact and tree, A^-1 g      (nv)
} sap_end_positions;

typedef struct sap_end_motion {
  const double* v0;  // start of the step (nv)
  double theta_vq;
} sap_end_motion;

// Allocates in the pool; start from {0}.
sap_status sap_end_positions_create(int32_t ntrees, int32_t nv, sap_pool* pool,
                                    sap_end_positions* end, sap_error* error);
// Adds d to v_vq (nv).
sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* problem,
                                     const sap_solution* solution, const sap_end_motion* motion,
                                     double* v_vq, sap_error* error);

#endif
