// SPDX-License-Identifier: BSD-3-Clause
// The law of a problem's contacts: settings, compliant rows, and what a solution changes in it.
#pragma once

#include "contact/contact_law.h"
#include "core/archive.h"
#include "problem/problem_data.h"

static inline sap_law_settings sap_problem_law_settings(const sap_problem* problem,
                                                        const sap_regularization* regularization) {
  return (sap_law_settings){problem->dt, &problem->scheme, regularization};
}

// Sets the last block's start, its velocities from the scheme, if the scheme has a theta point.
void sap_problem_set_start(sap_problem* problem, const sap_contact_start* start);
// Returns the height per time and mu to which a cone lifts a contact of slip |g_t|; similar: h(s).
static inline double sap_law_rise(sap_set set, double slip_speed, double slip) {
  const double vs = slip_speed;
  return set != SAP_SET_SIMILAR ? slip : slip < vs ? 0.5 * slip * slip / vs : slip - 0.5 * vs;
}
// Gives the contacts of one patch, blocks [first, first + count), the same share of their
// stiffness, the least: near-rigid limits of each alone would change the ratios of their forces.
static inline void sap_problem_even_contacts(sap_problem* p, int32_t first, int32_t count) {
  // That limit is stiffer than that of points by this factor: its points are nearer to the middle
  // than the corners of a face, and a pile of ten cubes would buckle at 20 ms.
  static const double STIFFER = 4.0;
  double least = 1.0;
  for (int32_t b = first; b < first + count; ++b) {
    least = fmin(least, p->blocks[b].realised);
  }
  least = fmin(1.0, STIFFER * least);
  for (int32_t b = first; b < first + count && !p->scheme.rigid; ++b) {
    sap_block_data* block = &p->blocks[b];
    const bool cone = block->set == SAP_SET_FRICTION_CONE;
    const double factor = least > 0.0 ? block->realised / least : 1.0;
    for (int32_t i = 0; i < block->nrows; ++i) {
      p->R[block->first_row + i] *= cone && i != SAP_NORMAL_ROW ? 1.0 : factor;
    }
    block->realised = least;
  }
}
// Shifts v_hat_n of a contact against gliding; slip: |g_t| expected.
void sap_problem_shift_contact(sap_problem* problem, sap_block_data* block, double slip);
// Shifts v_hat_n of contacts that act within the step by |g_t| of a solution. Returns true if the
// solution would change.
bool sap_problem_shift_again(sap_problem* problem, const double* vc, const double* gamma);
// Counts contacts that push with less than half of their stiffness.
int32_t sap_problem_count_softened(const sap_problem* problem, const double* gamma);
// Sets n0 of all lagged contacts to gamma_n of a solve, if any contact's n0 differs. Returns true
// if it did.
bool sap_problem_relag(sap_problem* problem, const double* gamma);
// Store what these two changed, and restore it in a problem of the same blocks.
void sap_problem_store_repeats(sap_problem* problem);
void sap_problem_restore_repeats(sap_problem* problem);
// Adds dt times the shifts of v_hat so far to `missed` of bilateral rows and returns the largest
// |missed|; then sap_problem_shift_closure moves v_hat by a share of missed/dt.
double sap_problem_missed_closure(sap_problem* problem);
void sap_problem_shift_closure(sap_problem* problem);
// Saves, loads or forgets the impulses that sap_problem_keep_impulses kept; sap_archive_function.
sap_status sap_problem_archive(void* problem, sap_archive* archive, sap_error* error);
