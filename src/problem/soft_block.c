// SPDX-License-Identifier: BSD-3-Clause
// Joints, limits and stops in physical terms as one block:
//   force = -k (g + tau_d dg/dt),  R and v_hat by castro (29)-(30) or the problem's stage
// A rigid bilateral row has R = SAP_RIGID_ROW w instead of the near-rigid limit, which lets a loop
// vibrate once per beta steps.
#include <math.h>

#include "contact/rigid_row.h"
#include "problem/problem_data.h"

static sap_status soften(const sap_problem* p, const sap_soft_block* soft,
                         const sap_regularization* regularization, const sap_soft_row* row,
                         double* R, double* v_hat, sap_error* error) {
  const sap_status status = sap_problem_soften_row(p, regularization, row, R, v_hat, error);
  if (status == SAP_STATUS_OK && isinf(soft->stiffness) && !soft->unilateral && !p->rigid) {
    sap_rigid_bilateral(row, p->dt, R, v_hat);
  }
  return status;
}

sap_status sap_problem_add_soft(sap_problem* p, const sap_soft_block* soft,
                                const sap_regularization* regularization, sap_error* error) {
  if (p == NULL || soft == NULL || regularization == NULL || soft->g0 == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_add_soft: %s is NULL",
                    p == NULL          ? "problem"
                    : soft == NULL     ? "block"
                    : soft->g0 == NULL ? "g0"
                                       : "regularization");
  }
  sap_block block = {.set = soft->unilateral ? SAP_SET_NONNEGATIVE : SAP_SET_FREE,
                     .nrows = soft->nrows,
                     .ntrees = soft->ntrees,
                     .trees = soft->trees,
                     .jacobians = soft->jacobians,
                     .key = soft->key};
  double w = 0.0;
  sap_status status = sap_problem_check_shape(p, &block, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_checked_scale(p, &block, &w, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  // R, v_hat and J v0 of the rows.
  const int64_t n = block.nrows;
  status = SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, 3 * n, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double *R = p->cache->scratch, *v_hat = R + n, *rate0 = v_hat + n;
  sap_stage_velocity(p, &block, rate0);
  for (int32_t r = 0; status == SAP_STATUS_OK && r < block.nrows; ++r) {
    const sap_soft_row row = {.stiffness = soft->stiffness,
                              .relaxation_time = soft->relaxation_time,
                              .g0 = soft->g0[r],
                              .rate0 = rate0[r],
                              .w = w > 0.0 ? w : 1.0,
                              .unilateral = soft->unilateral};
    status = soften(p, soft, regularization, &row, &R[r], &v_hat[r], error);
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "block %d, row %d", p->nblocks, r);
    }
  }
  if (status != SAP_STATUS_OK || !(w > 0.0)) {
    return status;
  }
  block.R = R;
  block.v_hat = v_hat;
  return sap_problem_append_block(p, &block, error);
}
