// SPDX-License-Identifier: BSD-3-Clause
// Sliding contacts that are evaluated within the step do not glide. In the convex problem (24) a
// contact that slides opens until  g_n = mu |g_t|,  g = vc - v_hat + R gamma  (castro, Sec. III):
// with dt -> 0 a gap of (dt/4 + tau_d/2) mu |v_t| at the midpoint, an error of first order and,
// with tau_d, of order 0. De Saxce's shift of v_hat_n by -mu |g_t| takes it away; |g_t| is known
// from the start of the step, then from the solution, after which the problem is solved once more.
//   g_t = vt - v_hat_t + R gamma_t
#include <math.h>

#include "problem/problem_data.h"

// Solutions are repeated while shifts change by more than this part of what the load does, Rn
// gamma_n: what they miss of the load in the end.
#define SHIFT_TOLERANCE 1e-7

void sap_problem_forbid_gliding(sap_problem* p, bool forbidden) {
  p->no_gliding = forbidden;
}

void sap_problem_shift_contact(sap_problem* p, int64_t index, double slip) {
  sap_block_data* block = &p->blocks[index];
  block->guarded = p->no_gliding;
  block->shift = block->guarded ? block->friction * slip : 0.0;
  p->v_hat[block->first_row + 2] -= block->shift;
}

static double slack(const sap_problem* p, const sap_block_data* block, const double* vc,
                    const double* gamma) {
  double sum = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const int32_t row = block->first_row + i;
    const double g = vc[row] - p->v_hat[row] + p->R[row] * gamma[row];
    sum += i == 2 ? 0.0 : g * g;
  }
  return sqrt(sum);
}

bool sap_problem_shift_again(sap_problem* p, const double* vc, const double* gamma) {
  bool moved = false;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    sap_block_data* block = &p->blocks[b];
    if (!block->guarded) {
      continue;
    }
    const int32_t normal = block->first_row + 2;
    const double change = block->friction * slack(p, block, vc, gamma) - block->shift;
    const double load = fmax(p->R[normal] * gamma[normal], fabs(p->v_hat[normal] - vc[normal]));
    if (fabs(change) > SHIFT_TOLERANCE * load) {
      block->shift += change;
      p->v_hat[normal] -= change;
      moved = true;
    }
  }
  return moved;
}
