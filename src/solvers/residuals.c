// SPDX-License-Identifier: BSD-3-Clause
// The judge: residuals of (v, gamma) on a problem, all computed from (v, gamma) alone.
//   momentum     D (A (v - v*) - J' gamma),  D = diag(A)^-1/2                         castro (32)
//   slackness    mean |g . gamma|/l over cones,  g = J v - v_hat + R gamma            castro (33)
//   projection   gamma against P_C(y(J v)), or a potential's law, in the R norm       castro (23)
// Blocks with an R = 0 count neither in cost nor in projection: theirs is 0 or infinite.
// cost: one pass over A and J.  fails: ARGUMENT, NOT_FINITE, NOT_SPD (no positive diagonal).
#include <math.h>

#include <sapstep/solver.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "problem/blocks.h"
#include "problem/problem_data.h"
#include "solvers/complementarity.h"
#include "solvers/momentum_residual.h"

typedef struct block_sums {
  double cost;           // sum of l_i
  double projection;     // max |gamma - P|_R
  double gamma_norm_2;   // |gamma|_R^2
  double slackness;      // sum |g . gamma|
  double set_violation;  // max distance
  double penetration;
  int32_t ncones;
} block_sums;

static bool is_compliant(const sap_block* block) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    if (!(block->R[i] > 0.0)) {
      return false;
    }
  }
  return true;
}

static void judge_block(const sap_block* block, const double* vc, const double* gamma,
                        double* projected, block_sums* sums) {
  const bool compliant = is_compliant(block);
  if (compliant) {
    sums->cost += sap_set_impulse(block, vc, projected);
  }
  double distance_2 = 0.0, product = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double difference = compliant ? gamma[i] - projected[i] : 0.0;
    distance_2 += block->R[i] * difference * difference;
    sums->gamma_norm_2 += block->R[i] * gamma[i] * gamma[i];
    product += (vc[i] - block->v_hat[i] + block->R[i] * gamma[i]) * gamma[i];
    const bool unilateral =
        block->set == SAP_SET_NONNEGATIVE || (sap_set_is_contact(block->set) && i == 2);
    sums->penetration =
        unilateral ? fmax(sums->penetration, block->v_hat[i] - vc[i]) : sums->penetration;
  }
  sums->projection = fmax(sums->projection, sqrt(distance_2));
  sums->set_violation = fmax(sums->set_violation, sap_set_distance(block, gamma));
  if (block->set == SAP_SET_FRICTION_CONE) {
    sums->slackness += fabs(product);
    sums->ncones += 1;
  }
}

sap_status sap_residuals(const sap_problem* p, const double* v, const double* gamma,
                         sap_residual* out, sap_error* error) {
  if (p == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_residuals: %s is NULL",
                    p == NULL ? "problem" : "out");
  }
  sap_momentum momentum;
  SAP_TRY(sap_check_numbers("v", v, p->nv, error));
  SAP_TRY(sap_check_numbers("gamma", gamma, p->nrows, error));
  SAP_TRY(sap_momentum_residual(p, v, gamma, &momentum, error));
  const int64_t needed = 3 * (int64_t)p->nrows + sap_complementarity_work(p);
  SAP_TRY(SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, needed, error));
  block_sums sums = {0};
  sap_complementarity models = {0};
  for (int32_t b = 0; b < p->nblocks; ++b) {
    double* vc = p->cache->scratch;
    double* projected = vc + p->blocks[b].nrows;
    sap_block block;
    int32_t first_row;
    (void)sap_problem_block(p, b, &block, &first_row, NULL);
    sap_problem_block_velocity(p, &p->blocks[b], v, vc);
    judge_block(&block, vc, gamma + first_row, projected, &sums);
    double* rho = projected + p->blocks[b].nrows;
    SAP_TRY(sap_complementarity_steps(p, b, rho + p->blocks[b].nrows, rho, error));
    sap_complementarity_add(p, b, vc, gamma + first_row, rho, &models);
  }
  const double cost = momentum.energy + sums.cost;
  const double mean = sums.ncones > 0 ? sums.slackness / (double)sums.ncones : 0.0;
  *out = (sap_residual){
      .cost = cost,
      .momentum = momentum.relative,
      .momentum_absolute = momentum.absolute,
      .projection = sums.projection / fmax(sqrt(sums.gamma_norm_2), 1e-300),
      .slackness = mean > 0.0 ? mean / cost : 0.0,
      .set_violation = sums.set_violation,
      .penetration = sums.penetration,
      .ccp_natural_map = sap_relative_map(models.ccp.map_2, models.gamma_2),
      .ccp_natural_map_scaled = sap_relative_map(models.ccp.scaled_map_2, models.gamma_2),
      .ccp_dual = models.ccp.dual,
      .ccp_complementarity = models.ccp.complementarity,
      .ncp_natural_map = sap_relative_map(models.ncp.map_2, models.gamma_2),
      .ncp_natural_map_scaled = sap_relative_map(models.ncp.scaled_map_2, models.gamma_2),
      .ncp_dual = models.ncp.dual,
      .ncp_complementarity = models.ncp.complementarity,
      .ncp_absolute = fmax(sums.set_violation, fmax(models.ncp.dual, models.ncp.complementarity)),
      .signorini = models.signorini,
      .dissipation = models.dissipation};
  return SAP_STATUS_OK;
}
