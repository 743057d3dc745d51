// SPDX-License-Identifier: BSD-3-Clause
#include "contact/potential.h"

#include <math.h>

sap_potential sap_potential_make(const sap_block* block) {
  const double v_hat = block->v_hat[2], Rn = block->R[2], d = block->dissipation;
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

double sap_potential_impulse(const sap_potential* p, const double u[3], double gamma[3]) {
  const sap_potential_point at = sap_potential_at(p, sqrt(u[0] * u[0] + u[1] * u[1]), u[2]);
  gamma[0] = at.cross * u[0];
  gamma[1] = at.cross * u[1];
  gamma[2] = at.gamma_n;
  return at.cost;
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

double sap_potential_slope_in(const sap_potential* p, const sap_potential_line* line,
                              double* curvature) {
  const double ur = sqrt(line->ur2);
  const sap_potential_point at = sap_potential_at(p, ur, line->un);
  const double along = ur > 0.0 ? line->ud / ur : 0.0;  // t^ . d
  const double across_2 = line->dd - along * along;
  *curvature += at.nn * line->dn * line->dn + 2.0 * at.nt * along * line->dn +
                at.tt * along * along + at.cross * (across_2 > 0.0 ? across_2 : 0.0);
  return at.cross * line->ud + at.gamma_n * line->dn;
}

double sap_potential_slope(const sap_potential* p, const double u[3], const double d[3],
                           double* curvature) {
  const sap_potential_line line = {.ur2 = u[0] * u[0] + u[1] * u[1],
                                   .un = u[2],
                                   .ud = u[0] * d[0] + u[1] * d[1],
                                   .dd = d[0] * d[0] + d[1] * d[1],
                                   .dn = d[2]};
  return sap_potential_slope_in(p, &line, curvature);
}
