// SPDX-License-Identifier: BSD-3-Clause
// Corrects positions for contacts whose law acts at the end of the step.
//
// Such a contact has the gap phi0 + dt (vn + (J_end - J) v) in its law, but a scheme with
// theta_vq < 1 moves by
//   v_vq = theta_vq v + (1 - theta_vq) v0
// Along the normals of these contacts, bodies must move as the law says: then what its proof of
// energy holds for happens (src/contact/contact_law.c (1): k d (phi - phi0) <= k (d0^2 - d^2)/2).
// Without this a body that the contact stops moves on by dt (1 - theta_vq) vn0, three times as deep
// at 10 ms, and the next step throws it out. So d is added to v_vq, the smallest in the metric of A
// with
//   J_n d = s ((1 - theta_vq) J_n (v - v0) + (J_end - J) v)
// in the contacts that push, where s is the share of the end of the step in their law. Where
// contacts carry smoothly, J_n v0 = J_n v + 2 (J_end - J) v at the midpoint, and d is 0. Where a
// rigid law lets a body bounce within the step, J_n d takes it to the touch at its old speed.
// |J_n d| is at most |J_n (v - v*)|, the change of speed by impulses: it is 0 where they are, so
// that positions do not jump where contacts let go. What stops keeps its J_n d: J_n (v* - v0) < 0.
#pragma once

#include <sapstep/problem.h>
#include <sapstep/solver.h>

#include "core/memory.h"

typedef struct sap_end_positions {
  double *p, *g, *x;  // direction, gradient, A^-1 g (nv)
  double *Ap, *unit;  // A p, and the d of one move (nv)
} sap_end_positions;

typedef struct sap_end_motion {
  const double* v0;  // start of the step (nv)
  double theta_vq;
} sap_end_motion;

// Allocates in the pool; start from {0}.
sap_status sap_end_positions_create(int32_t nv, sap_pool* pool, sap_end_positions* end,
                                    sap_error* error);
// Adds d to v_vq (nv).
sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* problem,
                                     const sap_solution* solution, const sap_end_motion* motion,
                                     double* v_vq, sap_error* error);
// Sets d_v (nv x nv) to the derivatives of d to v - v0 at fixed J and A, within the bound of |J_n d|.
// acts: there are such contacts.
sap_status sap_end_positions_slopes(sap_end_positions* end, sap_problem* problem,
                                    const sap_solution* solution, const sap_end_motion* motion,
                                    double* d_v, bool* acts, sap_error* error);
