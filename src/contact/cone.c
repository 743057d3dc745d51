// SPDX-License-Identifier: BSD-3-Clause
#include "contact/cone.h"

#include <string.h>

sap_potential sap_potential_make(const sap_block* block) {
  const double v_hat = block->v_hat[2] + block->shift, Rn = block->R[2], d = block->dissipation;
  const double excess = d * v_hat - 1.0;  // > 0: damping ends the contact before v_hat
  return (sap_potential){.lagged = block->set == SAP_SET_LAGGED,
                         .mu = block->friction,
                         .linear = fabs(excess) / Rn,
                         .quadratic = d / Rn,
                         .offset = excess > 0.0 ? excess / d : 0.0,
                         .slip_speed = block->slip_speed,
                         .limit = block->friction * block->lagged_impulse};
}

sap_potential_point sap_potential_at(const sap_potential* p, double ur, double un) {
  const bool creeps = ur < p->slip_speed;
  const double inverse_slip = 1.0 / p->slip_speed;
  const double h = creeps ? 0.5 * ur * ur * inverse_slip : ur - 0.5 * p->slip_speed;
  const double h1 = creeps ? ur * inverse_slip : 1.0;
  const double h2 = creeps ? inverse_slip : 0.0;
  const double h1_per_ur = creeps ? inverse_slip : 1.0 / ur;
  const double Y = (p->lagged ? un : un + p->mu * h) - p->offset;
  sap_potential_point at = {0};
  if (!(Y <= 0.0)) {  // NaN stays
    at.gamma_n = Y * (p->linear + p->quadratic * Y);
    at.nn = p->linear + 2.0 * p->quadratic * Y;
    at.cost = Y * Y * (0.5 * p->linear + p->quadratic * Y / 3.0);
  }
  const double bound = p->lagged ? p->limit : p->mu * at.gamma_n;
  at.gamma_r = bound * h1;
  at.tt = bound * h2;
  at.cross = bound * h1_per_ur;
  if (p->lagged) {
    at.cost += p->limit * h;
  } else {
    at.nt = p->mu * h1 * at.nn;
    at.tt += p->mu * h1 * at.nt;
  }
  return at;
}

void sap_potential_hessian(const sap_potential* p, const double u[3], double G[6]) {
  const double ur = sqrt(u[0] * u[0] + u[1] * u[1]);
  const sap_potential_point at = sap_potential_at(p, ur, u[2]);
  const double t0 = ur > 0.0 ? u[0] / ur : 0.0, t1 = ur > 0.0 ? u[1] / ur : 0.0;
  const double extra = at.tt - at.cross;
  G[0] = at.cross + extra * t0 * t0;
  G[1] = extra * t0 * t1;
  G[2] = at.cross + extra * t1 * t1;
  G[3] = at.nt * t0;
  G[4] = at.nt * t1;
  G[5] = at.nn;
}

double sap_potential_slope(const sap_potential* p, int32_t n, const double* u, const double* d,
                           double* curvature) {
  const double ur = sqrt(sap_cone_n_dot(n, u, u)), ud = sap_cone_n_dot(n, u, d);
  const double un = u[SAP_NORMAL_ROW], dn = d[SAP_NORMAL_ROW];
  const sap_potential_point at = sap_potential_at(p, ur, un);
  const double along = ur > 0.0 ? ud / ur : 0.0;  // t^ . d
  const double across_2 = sap_cone_n_dot(n, d, d) - along * along;
  *curvature += at.nn * dn * dn + 2.0 * at.nt * along * dn + at.tt * along * along +
                at.cross * (across_2 > 0.0 ? across_2 : 0.0);
  return at.cross * ud + at.gamma_n * dn;
}

// Sets u and returns the block's cone; a potential is written to the caller's memory.
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
    double u[SAP_CONE_ROWS_MAX];
    const sap_cone cone = cone_of(block, vc, u, &potential);
    return sap_cone_n_impulse(&cone, block->nrows, u, gamma);
  }
  double cost = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double u = block->v_hat[i] - vc[i];
    gamma[i] = sap_interval_impulse(u, 1.0 / block->R[i], sap_set_lower(block, i),
                                    sap_set_upper(block, i));
    cost += gamma[i] * (u - 0.5 * block->R[i] * gamma[i]);
  }
  return cost;
}

void sap_set_hessian(const sap_block* block, const double* vc, double* G) {
  if (sap_set_is_contact(block->set)) {
    sap_potential potential;
    double u[SAP_CONE_ROWS_MAX];
    const sap_cone cone = cone_of(block, vc, u, &potential);
    sap_cone_n_hessian(&cone, block->nrows, u, G);
    return;
  }
  const size_t nrows = (size_t)block->nrows;
  memset(G, 0, nrows * nrows * sizeof(double));
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double inverse_R = 1.0 / block->R[i];
    if (sap_interval_is_inside(block->v_hat[i] - vc[i], inverse_R, sap_set_lower(block, i),
                               sap_set_upper(block, i))) {
      G[(size_t)i * (nrows + 1)] = inverse_R;
    }
  }
}

// Distance from the circular cone |gamma_t| <= mu gamma_n.
static double cone_distance(double mu, int32_t nrows, const double* gamma) {
  const double gr = sqrt(sap_cone_n_dot(nrows, gamma, gamma));
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
    const double below = sap_set_lower(block, i) - gamma[i];
    const double above = gamma[i] - sap_set_upper(block, i);
    const double outside = below > 0.0 ? below : (above > 0.0 ? above : 0.0);
    sum += outside * outside;
  }
  return sqrt(sum);
}
