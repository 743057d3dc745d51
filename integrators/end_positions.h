// SPDX-License-Identifier: BSD-3-Clause
// Corrects positions for contacts whose law acts at the end of the step.
//
// Such a contact expects the gap phi0 + dt vn, but a scheme with theta_vq < 1 moves by
//   v_vq = theta_vq v + (1 - theta_vq) v0
// A body stopped by the contact then moves on by dt (1 - theta_vq) vn0, the next step pushes it out
// of the ground, and it hops by g dt and never comes to rest; with stiff undamped contacts it gains
// energy. Therefore d is added to v_vq, the smallest in the metric of A with
//   J_n d = s (1 - theta_vq) J_n (v - v0)
// in these contacts, tree by tree: along their normals trees move by the velocity at the end.
//   s = min(1, change/(0.01 pushed)) min(1, 3 pushed/change)
// change: largest |vn - vn0| of the tree's contacts; pushed: sum of J_n A^-1 J_n' gamma_n, the
// change by their impulses. s is 1 in an impact, 0 at rest, where two trees in contact move as one
// and where hardly anything pushes, and O(dt) where contacts carry smoothly.
#ifndef SAP_INTEGRATORS_END_POSITIONS_H
#define SAP_INTEGRATORS_END_POSITIONS_H

#include <sapstep/problem.h>
#include <sapstep/solver.h>

#include "core/memory.h"

typedef struct sap_end_positions {
  double *change, *pushed;  // of trees [m/s]; `change` is s in the end  (ntrees)
  double* rest;             // s (1 - theta_vq) (v - v0) - d    (nv)
  double* x;                // A^-1 J_n' of a contact and tree  (nv)
} sap_end_positions;

// Allocates in the pool; start from {0}.
sap_status sap_end_positions_create(int32_t ntrees, int32_t nv, sap_pool* pool,
                                    sap_end_positions* end, sap_error* error);
// Adds d to v_vq (nv).
sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* problem,
                                     const sap_solution* solution, const double* v0,
                                     double theta_vq, double* v_vq, sap_error* error);

#endif
