// SPDX-License-Identifier: BSD-3-Clause
// The linearisations of the impulses, and the duals that the primal-dual steps carry along.
//
// SAP's G knows the present slip direction only; where Rt is tiny, that direction turns within a
// step and Newton's method creeps. A dual gamma of its own remembers where friction pushes.
//
// Semismooth step (metric rho, the same in all rows of a cone). The law is
//   gamma = P(z),  z = gamma + rho (u - R gamma),  u = v_hat - J v,
// P the Euclidean projection. Linearised in v and gamma and solved for gamma:
//   gamma + dgamma = q - G J dv
// with, from the region of z,
//   none      q = 0,    G = 0
//   stiction  q = y,    G = R^-1
//   sliding   t^ = z_t/|z_t|, p^ its normal, k = 1/(Rn + mu^2 Rt), c = mu P_n/|z_t| < 1,
//             e = 1/(1 - c + c rho Rt):
//             q_n = k (un + mu t^ . u_t),  q_t = mu q_n t^ + (1 - e) (p^ . gamma_t) p^,
//             G as SAP's in t^ and n;  rho c e in p^
// G is symmetric and positive semidefinite. With gamma = P_C(y), q = gamma and G is SAP's.
//
// Dual-direction step (after Chan, Golub, Mulet, SIAM J. Sci. Comput. 20, 1999): SAP's step with
// w = gamma_t/(mu gamma_n) of the dual, |w| <= 1, in the curvature of the slip direction:
//   c (I - t^ t^')  becomes  c (I - (w t^' + t^ w')/2)
// An interval row's law is linearised likewise: 0 or 1/R for G, decided by z.
//
// Lagged contacts have a set of their own in the tangents, the disk of radius r = mu n0, and
// Rt = v_s/r; their normal law is linearised by itself. Semismooth step: with c = r/|z_t|,
//   stiction  q_t = u_t/Rt, G_tt = 1/Rt;  sliding  q_t = r t^ + (1 - e) (p^ . gamma_t) p^,
//   G_tt = rho c e p^ p^'
// Dual-direction step: w = gamma_t/r. Similar contacts are linearised as in SAP's step.
//
// rho: dual_start.c.
//
// The duals move by the whole step even where v moves by a part of it: the line search on l, stiff
// by 1/Rt, says little about gamma. SAP's own steps leave the cones' duals as they are. Where more
// contacts stick than can, the linearised gamma may be a thousand times what friction can bear: it
// is brought back along the tangents, so that the next step's slip directions are those of real
// impulses. (The nearest point of the cone would raise gamma_n by half of the excess; the limit of
// the linearised gamma_n alone costs dense problems iterations.)
#include <math.h>
#include <string.h>

#include "solvers/primal/patch_vector.h"
#include "solvers/primal/triple.h"
#include "solvers/primal/wide.h"

// w of a dual impulse, scaled back into the unit disk.
static inline void direction_of(const sap_cone* cone, sap_triple dual, double w[2]) {
  w[0] = w[1] = 0.0;
  const double limit = sap_cone_friction_limit(cone, dual.n);
  if (limit > 0.0) {
    const double size = sqrt(dual.t0 * dual.t0 + dual.t1 * dual.t1);
    const double scale = 1.0 / (size > limit ? size : limit);
    w[0] = scale * dual.t0;
    w[1] = scale * dual.t1;
  }
}

// SAP's G with the slip direction's curvature relaxed.
static void relax_direction(const sap_cone* cone, sap_triple u, sap_triple dual, double G[6]) {
  const double ur2 = u.t0 * u.t0 + u.t1 * u.t1;
  if (!sap_cone_slides(cone, ur2, u.n)) {
    return;
  }
  const double ur = sqrt(ur2);
  const double c = sap_cone_friction_limit(cone, sap_cone_sliding_normal(cone, ur, u.n)) / ur;
  const double t0 = u.t0 / ur, t1 = u.t1 / ur;
  double w[2];
  direction_of(cone, dual, w);
  G[0] += c * t0 * (t0 - w[0]);
  G[1] += c * (t0 * t1 - 0.5 * (w[0] * t1 + t0 * w[1]));
  G[2] += c * t1 * (t1 - w[1]);
}

// q and G of a lagged contact's semismooth step; G comes with the normal's entry.
static sap_triple linearise_lagged(const sap_potential* p, double rho, sap_triple u,
                                   sap_triple dual, double G[6]) {
  const double gamma_n = sap_potential_at(p, 0.0, u.n).gamma_n;
  G[0] = G[1] = G[2] = G[3] = G[4] = 0.0;
  if (!(p->limit > 0.0)) {
    return (sap_triple){0.0, 0.0, gamma_n};
  }
  const double Rt = p->slip_speed / p->limit;
  const double z0 = dual.t0 + rho * (u.t0 - Rt * dual.t0);
  const double z1 = dual.t1 + rho * (u.t1 - Rt * dual.t1);
  const double zr = sqrt(z0 * z0 + z1 * z1);
  if (zr <= p->limit) {
    G[0] = G[2] = 1.0 / Rt;
    return (sap_triple){u.t0 / Rt, u.t1 / Rt, gamma_n};
  }
  const double t0 = z0 / zr, t1 = z1 / zr, c = p->limit / zr;
  const double e = 1.0 / (1.0 - c + c * rho * Rt);
  const double across = rho * c * e;
  G[0] = across * t1 * t1;
  G[1] = -across * t0 * t1;
  G[2] = across * t0 * t0;
  const double qp = (1.0 - e) * (t0 * dual.t1 - t1 * dual.t0);
  return (sap_triple){p->limit * t0 - qp * t1, p->limit * t1 + qp * t0, gamma_n};
}

// q and G of the semismooth step.
static sap_triple linearise_law(const sap_cone* cone, double rho, sap_triple u, sap_triple dual,
                                double G[6]) {
  const double Rn = 1.0 / cone->inverse_Rn;
  const double Rt = cone->inverse_Rt > 0.0 ? 1.0 / cone->inverse_Rt : Rn;
  const double z0 = dual.t0 + rho * (u.t0 - Rt * dual.t0);
  const double z1 = dual.t1 + rho * (u.t1 - Rt * dual.t1);
  const double zn = dual.n + rho * (u.n - Rn * dual.n);
  const double mu = cone->mu;
  const double zr = sqrt(z0 * z0 + z1 * z1);
  memset(G, 0, 6 * sizeof *G);
  if (sap_cone_holds(mu, zr, zn)) {
    G[0] = G[2] = cone->inverse_Rt;
    G[5] = cone->inverse_Rn;
    return (sap_triple){u.t0 * cone->inverse_Rt, u.t1 * cone->inverse_Rt, u.n * cone->inverse_Rn};
  }
  if (mu * zr <= -zn) {
    return (sap_triple){0.0, 0.0, 0.0};
  }
  const double t0 = z0 / zr, t1 = z1 / zr;
  const double c = mu * (zn + mu * zr) / ((1.0 + mu * mu) * zr);
  const double e = 1.0 / (1.0 - c + c * rho * Rt);
  const double k = cone->k;
  sap_cone_fill_sliding(cone, t0, t1, rho * c * e, G);
  const double qn = k * (u.n + mu * (t0 * u.t0 + t1 * u.t1));
  const double qp = (1.0 - e) * (t0 * dual.t1 - t1 * dual.t0);
  return (sap_triple){mu * qn * t0 - qp * t1, mu * qn * t1 + qp * t0, qn};
}

// Target and G of an interval row.
static void linearise_row(sap_newton* n, int32_t k, sap_step_kind kind) {
  const sap_interval* interval = &n->intervals[k];
  const double u = n->interval_u[k];
  if (kind == SAP_STEP_SEMISMOOTH) {
    const double dual = n->interval_dual[k];
    const double z = dual + n->interval_rho[k] * (u - interval->R * dual);
    const bool inside =
        z >= interval->lower && z <= interval->upper && interval->lower < interval->upper;
    n->interval_G[k] = inside ? interval->inverse_R : 0.0;
    n->interval_target[k] = inside ? u * interval->inverse_R
                                   : (z < interval->lower ? interval->lower : interval->upper);
    return;
  }
  const bool inside =
      sap_interval_is_inside(u, interval->inverse_R, interval->lower, interval->upper);
  n->interval_G[k] = inside ? interval->inverse_R : 0.0;
}

void sap_newton_linearise(sap_newton* n, sap_step_kind kind) {
  const size_t nc = (size_t)n->ncones;
  for (size_t c = 0; c < nc; ++c) {
    const sap_cone* cone = &n->cones[c];
    const sap_triple u = sap_triple_load(n->cone_u, nc, c);
    double* G = n->cone_G + 6 * c;
    if (kind == SAP_STEP_SEMISMOOTH && cone->potential != NULL) {
      const double rows[3] = {u.t0, u.t1, u.n};
      sap_cone_hessian(cone, rows, G);
      sap_triple_store(n->cone_target, nc, c,
                       sap_cone_is_lagged(cone)
                           ? linearise_lagged(cone->potential, n->cone_rho[c], u,
                                              sap_triple_load(n->cone_dual, nc, c), G)
                           : sap_triple_load(n->cone_gamma, nc, c));
      continue;
    }
    if (kind == SAP_STEP_SEMISMOOTH) {
      sap_triple_store(
          n->cone_target, nc, c,
          linearise_law(cone, n->cone_rho[c], u, sap_triple_load(n->cone_dual, nc, c), G));
      continue;
    }
    const double rows[3] = {u.t0, u.t1, u.n};
    sap_cone_hessian(cone, rows, G);
    if (kind == SAP_STEP_DUAL_DIRECTION && sap_cone_has_friction_dual(cone)) {
      relax_direction(cone, u, sap_triple_load(n->cone_dual, nc, c), G);
    }
  }
  sap_wide_linearise(n, kind);
  for (int32_t k = 0; k < n->nintervals; ++k) {
    linearise_row(n, k, kind);
  }
}

// gamma = q - G d, within the friction limit of its normal impulse or of the law's at the new v.
static void move_semismooth(sap_newton* n, size_t c) {
  const size_t nc = (size_t)n->ncones;
  const sap_cone* cone = &n->cones[c];
  const double* G = n->cone_G + 6 * c;
  const sap_triple q = sap_triple_load(n->cone_target, nc, c),
                   d = sap_triple_load(n->cone_d, nc, c);
  sap_triple dual = {q.t0 - (G[0] * d.t0 + G[1] * d.t1 + G[3] * d.n),
                     q.t1 - (G[1] * d.t0 + G[2] * d.t1 + G[4] * d.n),
                     q.n - (G[3] * d.t0 + G[4] * d.t1 + G[5] * d.n)};
  if (sap_cone_has_friction_dual(cone)) {
    const double normal = fmax(dual.n, n->cone_gamma[2 * nc + c]);
    const double limit = sap_cone_friction_limit(cone, normal);
    const double size_2 = dual.t0 * dual.t0 + dual.t1 * dual.t1;
    if (size_2 > limit * limit) {
      const double scale = limit / sqrt(size_2);
      dual.t0 *= scale;
      dual.t1 *= scale;
    }
  }
  sap_triple_store(n->cone_dual, nc, c, dual);
}

// w becomes (u_t - d_t + (t^ . d_t) w)/|u_t| of the point that was left where that slid, else
// gamma_t/(mu gamma_n) of the new point; gamma = gamma_n (mu w, 1), gamma_n of the new point.
static void move_direction(sap_newton* n, size_t c, double alpha) {
  const size_t nc = (size_t)n->ncones;
  const sap_cone* cone = &n->cones[c];
  const sap_triple d = sap_triple_load(n->cone_d, nc, c),
                   gamma = sap_triple_load(n->cone_gamma, nc, c);
  sap_triple u = sap_triple_load(n->cone_u, nc, c);
  double w[2], target[2];
  direction_of(cone, sap_triple_load(n->cone_dual, nc, c), w);
  direction_of(cone, gamma, target);
  u.t0 += alpha * d.t0;
  u.t1 += alpha * d.t1;
  const double ur2 = u.t0 * u.t0 + u.t1 * u.t1;
  if (sap_cone_slides(cone, ur2, u.n + alpha * d.n)) {
    const double inverse = 1.0 / sqrt(ur2);
    const double along = inverse * (u.t0 * d.t0 + u.t1 * d.t1);
    target[0] = inverse * (u.t0 - d.t0 + along * w[0]);
    target[1] = inverse * (u.t1 - d.t1 + along * w[1]);
  }
  const double size_2 = target[0] * target[0] + target[1] * target[1];
  const double limit = sap_cone_friction_limit(cone, gamma.n) / (size_2 > 1.0 ? sqrt(size_2) : 1.0);
  sap_triple_store(n->cone_dual, nc, c,
                   (sap_triple){limit * target[0], limit * target[1], gamma.n});
}

void sap_newton_move_dual(sap_newton* n, sap_step_kind kind, double alpha) {
  if (kind == SAP_STEP_PRIMAL) {
    return;
  }
  const bool semismooth = kind == SAP_STEP_SEMISMOOTH;
  for (size_t c = 0; c < (size_t)n->ncones; ++c) {
    if (semismooth) {
      move_semismooth(n, c);
    } else {
      move_direction(n, c, alpha);
    }
  }
  sap_wide_move_dual(n, kind, alpha);
  for (int32_t k = 0; k < n->nintervals; ++k) {
    n->interval_dual[k] = semismooth ? n->interval_target[k] - n->interval_G[k] * n->interval_d[k]
                                     : n->interval_gamma[k];
  }
}
