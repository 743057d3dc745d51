// SPDX-License-Identifier: BSD-3-Clause
// The sets of sets.h applied to a whole block.
#include "contact/sets.h"

#include <string.h>

#include "contact/wide_cone.h"

static double lower_bound(const sap_block* block, int32_t row) {
  switch (block->set) {
    case SAP_SET_BOX:
      return block->lower[row];
    case SAP_SET_NONNEGATIVE:
      return 0.0;
    case SAP_SET_FRICTION_CONE:
    case SAP_SET_FREE:
    case SAP_SET_SIMILAR:
    case SAP_SET_LAGGED:
      break;
  }
  return -(double)INFINITY;
}

static double upper_bound(const sap_block* block, int32_t row) {
  return block->set == SAP_SET_BOX ? block->upper[row] : (double)INFINITY;
}

// The potential, if it is one, is written to the caller's memory.
static sap_cone cone_of(const sap_block* block, const double* vc, double* u,
                        sap_potential* potential) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    u[i] = block->v_hat[i] - vc[i];
  }
  sap_cone cone = sap_cone_make(block->friction, block->R[0], block->R[2]);
  if (sap_set_is_potential(block->set)) {
    *potential = sap_potential_make(block);
    cone.potential = potential;
  }
  return cone;
}

double sap_set_impulse(const sap_block* block, const double* vc, double* gamma) {
  if (sap_set_is_contact(block->set)) {
    sap_potential potential;
    double u[SAP_WIDE_ROWS];
    const sap_cone cone = cone_of(block, vc, u, &potential);
    return block->nrows == 3 ? sap_cone_impulse(&cone, u, gamma)
                             : sap_wide_impulse(&cone, block->nrows, u, gamma);
  }
  double cost = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double u = block->v_hat[i] - vc[i];
    gamma[i] =
        sap_interval_impulse(u, 1.0 / block->R[i], lower_bound(block, i), upper_bound(block, i));
    cost += gamma[i] * (u - 0.5 * block->R[i] * gamma[i]);
  }
  return cost;
}

void sap_set_hessian(const sap_block* block, const double* vc, double* G) {
  if (sap_set_is_contact(block->set)) {
    sap_potential potential;
    double u[SAP_WIDE_ROWS], packed[6];
    const sap_cone cone = cone_of(block, vc, u, &potential);
    if (block->nrows > 3) {
      sap_wide_hessian(&cone, block->nrows, u, G);
      return;
    }
    sap_cone_hessian(&cone, u, packed);
    const int at[9] = {0, 1, 3, 1, 2, 4, 3, 4, 5};
    for (int i = 0; i < 9; ++i) {
      G[i] = packed[at[i]];
    }
    return;
  }
  const size_t nrows = (size_t)block->nrows;
  memset(G, 0, nrows * nrows * sizeof(double));
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double inverse_R = 1.0 / block->R[i];
    if (sap_interval_is_inside(block->v_hat[i] - vc[i], inverse_R, lower_bound(block, i),
                               upper_bound(block, i))) {
      G[(size_t)i * (nrows + 1)] = inverse_R;
    }
  }
}

// Distance from the circular cone |gamma_t| <= mu gamma_n.
static double cone_distance(double mu, int32_t nrows, const double* gamma) {
  const double gr = sqrt(sap_wide_dot(nrows, gamma, gamma));
  if (sap_cone_holds(mu, gr, gamma[2])) {
    return 0.0;
  }
  if (mu * gr <= -gamma[2]) {
    return sqrt(gr * gr + gamma[2] * gamma[2]);
  }
  return (gr - mu * gamma[2]) / sqrt(1.0 + mu * mu);
}

double sap_set_distance(const sap_block* block, const double* gamma) {
  if (sap_set_is_potential(block->set)) {
    return gamma[2] < 0.0 ? -gamma[2] : 0.0;
  }
  if (block->set == SAP_SET_FRICTION_CONE) {
    return cone_distance(block->friction, block->nrows, gamma);
  }
  double sum = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double below = lower_bound(block, i) - gamma[i];
    const double above = gamma[i] - upper_bound(block, i);
    const double outside = below > 0.0 ? below : (above > 0.0 ? above : 0.0);
    sum += outside * outside;
  }
  return sqrt(sum);
}
