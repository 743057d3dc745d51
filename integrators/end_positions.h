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
//
// Derivatives in reverse, m the right-hand side, with A d = J_n' mu and A e + J_n' s = z, J_n e = 0:
//   z' dd = e' (dJ_n' mu - dA d) + s' (dm - dJ_n d)
// and of a bound |J_n A^-1 p|, p = A (v - v*), which adds t_i = +-s_i (else 0), with A y = J_n' t:
//   t' dJ_n (v - v*) + y' (dp - dA (v - v*))
#pragma once

#include <sapstep/problem.h>
#include <sapstep/solver.h>

#include "core/memory.h"

typedef struct sap_end_positions {
  double *p, *g, *x;  // direction, gradient, A^-1 g (nv)
  double* Ap;         // A p (nv)
  double* back[4];    // d, e, v - v*, y of derivatives, read up to the end of a four (nv)
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
void sap_end_positions_forget(sap_problem* problem);
// True if there are such contacts.
bool sap_end_positions_act(const sap_problem* problem, const sap_solution* solution);
// Sets d, e, mu, s, y and t of z (nv), which the problem then borrows, and by_v (nv) = z' d of v in m
// but for p. bound: y is not zero.
sap_status sap_end_positions_pull(sap_end_positions* end, sap_problem* problem,
                                  const sap_solution* solution, const sap_end_motion* motion,
                                  const double* z, double* by_v, bool* bound, sap_error* error);
