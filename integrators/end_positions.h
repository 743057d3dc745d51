// SPDX-License-Identifier: BSD-3-Clause
// Positions that agree with contacts whose law acts at the end of the step.
//
// Such a contact expects the gap phi0 + dt vn. A scheme with theta_vq < 1 moves by
//   v_vq = theta_vq v + (1 - theta_vq) v0
// instead: a body that the contact stops moves on by dt (1 - theta_vq) vn0, is pushed out of the
// ground by the step that follows, hops by g dt and never comes to rest; where stiff contacts have
// no damping it gains energy. So v_vq gets d, the least in A's metric that has
//   J_n d = s (1 - theta_vq) J_n (v - v0)
// in these contacts, tree by tree: along their normals trees move by the velocity of the end.
//   s = min(1, change/(share of pushed)) min(1, 3 pushed/change)
// of a tree, with its contacts' largest change |vn - vn0| of relative normal speeds, and the sum
// pushed of J_n A^-1 J_n' gamma_n, what impulses change of its own: 1 in an impact, 0 at rest,
// where two trees in contact move as one and where hardly anything pushes, and O(dt) where contacts
// carry smoothly.
#ifndef SAP_INTEGRATORS_END_POSITIONS_H
#define SAP_INTEGRATORS_END_POSITIONS_H

#include <sapstep/problem.h>
#include <sapstep/solver.h>

typedef struct sap_end_positions {
  double *change, *pushed;  // of trees [m/s]; in the end change is s  (ntrees)
  double* rest;             // s (1 - theta_vq) (v - v0) - d    (nv)
  double* x;                // A^-1 J_n' of a contact and tree  (nv)
} sap_end_positions;

sap_status sap_end_positions_create(int32_t ntrees, int32_t nv, sap_end_positions* end,
                                    sap_error* error);
void sap_end_positions_clear(sap_end_positions* end);
// v_vq (nv) gets d.
sap_status sap_end_positions_correct(sap_end_positions* end, const sap_problem* problem,
                                     const sap_solution* solution, const double* v0,
                                     double theta_vq, double* v_vq, sap_error* error);

#endif
