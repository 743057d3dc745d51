// SPDX-License-Identifier: BSD-3-Clause
// The linearisations of the impulses, and the multipliers lambda of primal-dual steps.
//
// SAP's G knows the current slip direction only. Where Rt is tiny, that direction turns within a
// step and Newton's method creeps. lambda, an impulse that is a variable of its own, remembers the
// direction of friction.
//
// Semismooth step, with a metric rho, the same in all rows of a cone: `weight` times that of start.c,
// beyond which z forgets lambda, but at most 1/max(R), beyond which G loses its sign. The law is
//   lambda = P(z),  z = lambda + rho (u - R lambda),  u = v_hat - J v
// with P the Euclidean projection. Linearised in v and lambda and solved for lambda:
//   lambda + dlambda = q - G J dv
// with, by the region of z,
//   none      q = 0,  G = 0
//   stiction  q = y,  G = R^-1
//   sliding   t^ = z_t/|z_t|,  p^ normal to t^,  k = 1/(Rn + mu^2 Rt)
//             c = mu P_n/|z_t| < 1,  e = 1/(1 - c + c rho Rt)
//             q_n = k (un + mu t^ . u_t)
//             q_t = mu q_n t^ + (1 - e) (p^ . lambda_t) p^
//             G as SAP's in t^ and n;  rho c e in p^
// G is symmetric and positive semidefinite. With lambda = P_C(y), q = lambda and G is SAP's.
//
// Slip-direction step (after Chan, Golub, Mulet, SIAM J. Sci. Comput. 20, 1999): SAP's step with
// w = lambda_t/(mu lambda_n), |w| <= 1, in the curvature of the slip direction:
//   c (I - t^ t^')  becomes  c (I - (w t^' + t^ w')/2)
// The law of an interval row is linearised likewise: G is 0 or 1/R, by z.
//
// Lagged contacts have a set of their own in the tangents, the disk of radius r = mu n0, with
// Rt = v_s/r; their normal law is linearised by itself. Semismooth step, c = r/|z_t|:
//   stiction  q_t = u_t/Rt,  G_tt = 1/Rt
//   sliding   q_t = r t^ + (1 - e) (p^ . lambda_t) p^,  G_tt = rho c e p^ p^'
// Slip-direction step: w = lambda_t/r.
// Similar contacts: the same with r = mu gamma_n of the present point and rho <= 1/Rt. gamma_n also
// depends on u_t: G += n' (mu w, 1) (mu w, 1)', n' = d gamma_n/du_n.
//
// Cones of n rows: I - t^ t^' takes the place of p^ p^'.
//
// The multipliers move by the whole step even where v moves by a part of it: the line search on l,
// stiff by 1/Rt, says little about gamma. SAP's own steps leave them as they are. Where more
// contacts stick than can, the linearised lambda may be a thousand times what friction can bear: it
// is brought back along the tangents, so that the next slip directions are those of real impulses.
// (The nearest point of the cone would raise lambda_n by half of the excess; the limit of the
// linearised lambda_n alone costs dense problems iterations.)
#include "solvers/primal/newton.h"

#include <math.h>
#include <string.h>

#include "math/scalar.h"
#include "solvers/primal/patch_vector.h"

// Sets w of an impulse, scaled back into the unit ball; 0 in the normal's row.
static inline void find_direction(const sap_cone* cone, int32_t n, const double* impulse,
                                  double* w) {
  const double limit = sap_cone_friction_limit(cone, impulse[SAP_NORMAL_ROW]);
  double scale = 0.0;
  if (limit > 0.0) {
    const double size = sqrt(sap_cone_n_dot(n, impulse, impulse));
    scale = 1.0 / (size > limit ? size : limit);
  }
  for (int32_t i = 0; i < n; ++i) {
    w[i] = scale * impulse[i];
  }
  w[SAP_NORMAL_ROW] = 0.0;
}

// Relaxes the curvature of the slip direction in SAP's G.
static void relax_direction_3(const sap_cone* cone, sap_triple u, sap_triple lambda, double G[6]) {
  const double ur2 = u.t0 * u.t0 + u.t1 * u.t1;
  if (!sap_cone_slides(cone, ur2, u.n)) {
    return;
  }
  const double ur = sqrt(ur2);
  const double c = sap_cone_sliding_limit(cone, ur, u.n) / ur;
  const double t0 = u.t0 / ur, t1 = u.t1 / ur;
  double w[3];
  find_direction(cone, 3, (double[]){lambda.t0, lambda.t1, lambda.n}, w);
  G[0] += c * t0 * (t0 - w[0]);
  G[1] += c * (t0 * t1 - 0.5 * (w[0] * t1 + t0 * w[1]));
  G[2] += c * t1 * (t1 - w[1]);
}

// Returns the metric of a step: rho, or 1/R where rho is larger, infinite or NaN.
static inline double bound_metric(double rho, double R) {
  return rho * R < 1.0 ? rho : 1.0 / R;
}

// Friction of a potential's contact at a point: the disk's radius, Rt and the metric.
typedef struct disk {
  double limit, Rt, rho;
  double gamma_n, nn;  // of the law there
} disk;

static disk find_disk(const sap_potential* p, double rho, double ur, double un) {
  const sap_potential_point at = sap_potential_at(p, p->lagged ? 0.0 : ur, un);
  const double limit = p->lagged ? p->limit : p->mu * at.gamma_n;
  const double Rt = p->slip_speed / limit;
  return (disk){limit, Rt, bound_metric(rho, Rt), at.gamma_n, at.nn};
}

// Sets target q and G (n x n) of the semismooth step of a similar or lagged contact.
static void linearise_potential(const sap_cone* cone, double metric, int32_t n, const double* u,
                                const double* lambda, double* target, double* G) {
  const sap_potential* p = cone->potential;
  const disk on = find_disk(p, metric, sqrt(sap_cone_n_dot(n, u, u)), u[SAP_NORMAL_ROW]);
  const double Rt = on.Rt, rho = on.rho;
  memset(target, 0, (size_t)n * sizeof *target);
  target[SAP_NORMAL_ROW] = on.gamma_n;
  if (!(on.limit > 0.0)) {
    sap_cone_n_hessian(cone, n, u, G);
    return;
  }
  double z[SAP_CONE_ROWS_MAX] = {0.0}, t[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    z[i] = lambda[i] + rho * (u[i] - Rt * lambda[i]);
  }
  const double zr = sqrt(sap_cone_n_dot(n, z, z));
  sap_cone_n_parts parts = {.nn = on.nn};
  if (zr <= on.limit) {
    parts.along = parts.across = 1.0 / Rt;
    for (int32_t i = 0; i < n; ++i) {
      target[i] = i == SAP_NORMAL_ROW ? target[i] : u[i] / Rt;
    }
  } else {
    const double c = on.limit / zr, e = 1.0 / (1.0 - c + c * rho * Rt);
    for (int32_t i = 0; i < n; ++i) {
      t[i] = z[i] / zr;
    }
    parts.across = rho * c * e;
    const double forward = sap_cone_n_dot(n, t, lambda);
    for (int32_t i = 0; i < n; ++i) {
      const double q = on.limit * t[i] + (1.0 - e) * (lambda[i] - forward * t[i]);
      target[i] = i == SAP_NORMAL_ROW ? target[i] : q;
    }
  }
  sap_cone_n_fill(n, &parts, t, G);
  if (!p->lagged) {
    double w[SAP_CONE_ROWS_MAX];
    find_direction(cone, n, lambda, w);
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = 0; i < n; ++i) {
        const double a = i == SAP_NORMAL_ROW ? 1.0 : p->mu * w[i];
        const double b = j == SAP_NORMAL_ROW ? 1.0 : p->mu * w[j];
        G[j * n + i] += i == SAP_NORMAL_ROW && j == i ? 0.0 : on.nn * a * b;
      }
    }
  }
}

// Returns q of the semismooth step and sets G.
static sap_triple linearise_law_3(const sap_cone* cone, double metric, sap_triple u,
                                  sap_triple lambda, double G[6]) {
  const double Rn = 1.0 / cone->inverse_Rn;
  const double Rt = cone->inverse_Rt > 0.0 ? 1.0 / cone->inverse_Rt : Rn;
  const double rho = bound_metric(metric, sap_most(Rn, Rt));
  const double z0 = lambda.t0 + rho * (u.t0 - Rt * lambda.t0);
  const double z1 = lambda.t1 + rho * (u.t1 - Rt * lambda.t1);
  const double zn = lambda.n + rho * (u.n - Rn * lambda.n);
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
  const double qp = (1.0 - e) * (t0 * lambda.t1 - t1 * lambda.t0);
  return (sap_triple){mu * qn * t0 - qp * t1, mu * qn * t1 + qp * t0, qn};
}

// Sets target and G of an interval row.
static void linearise_row(sap_newton* n, int32_t k, sap_step_kind kind) {
  const sap_interval* interval = &n->intervals[k];
  const double u = n->row_u[k];
  if (kind == SAP_STEP_SEMISMOOTH) {
    const double lambda = n->row_lambda[k];
    const double rho = bound_metric(n->weight * n->interval_rho[k], interval->R);
    const double z = lambda + rho * (u - interval->R * lambda);
    const bool inside =
        z >= interval->lower && z <= interval->upper && interval->lower < interval->upper;
    n->interval_G[k] = inside ? interval->inverse_R : 0.0;
    n->row_target[k] = inside ? u * interval->inverse_R
                              : (z < interval->lower ? interval->lower : interval->upper);
    return;
  }
  const bool inside =
      sap_interval_is_inside(u, interval->inverse_R, interval->lower, interval->upper);
  n->interval_G[k] = inside ? interval->inverse_R : 0.0;
}

// Relaxes the curvature of the slip direction: G += c t^ t^' - c (w t^' + t^ w')/2.
static void relax_direction_n(const sap_newton* newton, sap_cone_n* cone_n) {
  const double* u = newton->row_u + cone_n->first;
  const double* lambda = newton->row_lambda + cone_n->first;
  const int32_t n = cone_n->nrows;
  const double ur2 = sap_cone_n_dot(n, u, u), un = u[SAP_NORMAL_ROW];
  if (!sap_cone_slides(&cone_n->cone, ur2, un)) {
    return;
  }
  const double ur = sqrt(ur2);
  const double c = sap_cone_sliding_limit(&cone_n->cone, ur, un) / ur;
  double t[SAP_CONE_ROWS_MAX], w[SAP_CONE_ROWS_MAX];
  find_direction(&cone_n->cone, n, lambda, w);
  for (int32_t i = 0; i < n; ++i) {
    t[i] = i == SAP_NORMAL_ROW ? 0.0 : u[i] / ur;
  }
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      cone_n->G[j * n + i] += c * (t[i] * t[j] - 0.5 * (w[i] * t[j] + t[i] * w[j]));
    }
  }
}

// Sets target and G of the semismooth step.
static void linearise_law_n(const sap_newton* newton, sap_cone_n* cone_n) {
  const double* u = newton->row_u + cone_n->first;
  const double* lambda = newton->row_lambda + cone_n->first;
  double* target = newton->row_target + cone_n->first;
  const double metric = newton->weight * cone_n->rho;
  if (cone_n->cone.potential != NULL) {
    linearise_potential(&cone_n->cone, metric, cone_n->nrows, u, lambda, target, cone_n->G);
    return;
  }
  const int32_t n = cone_n->nrows;
  const sap_cone* cone = &cone_n->cone;
  const double Rn = 1.0 / cone->inverse_Rn, mu = cone->mu;
  const double Rt = cone->inverse_Rt > 0.0 ? 1.0 / cone->inverse_Rt : Rn;
  const double rho = bound_metric(metric, sap_most(Rn, Rt));
  double z[SAP_CONE_ROWS_MAX] = {0.0}, t[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    z[i] = lambda[i] + rho * (u[i] - (i == SAP_NORMAL_ROW ? Rn : Rt) * lambda[i]);
  }
  const double zr = sqrt(sap_cone_n_dot(n, z, z)), zn = z[SAP_NORMAL_ROW];
  sap_cone_n_parts parts = {0};
  memset(target, 0, (size_t)n * sizeof *target);
  if (sap_cone_holds(mu, zr, zn)) {
    parts.along = parts.across = cone->inverse_Rt;
    parts.nn = cone->inverse_Rn;
    for (int32_t i = 0; i < n; ++i) {
      target[i] = u[i] * (i == SAP_NORMAL_ROW ? cone->inverse_Rn : cone->inverse_Rt);
    }
  } else if (!(mu * zr <= -zn)) {
    for (int32_t i = 0; i < n; ++i) {
      t[i] = z[i] / zr;
    }
    const double c = mu * (zn + mu * zr) / ((1.0 + mu * mu) * zr);
    const double e = 1.0 / (1.0 - c + c * rho * Rt);
    parts.along = cone->k * mu * mu;
    parts.across = rho * c * e;
    parts.coupling = cone->k * mu;
    parts.nn = cone->k;
    const double qn = cone->k * (u[SAP_NORMAL_ROW] + mu * sap_cone_n_dot(n, t, u));
    const double forward = sap_cone_n_dot(n, t, lambda);
    for (int32_t i = 0; i < n; ++i) {
      target[i] = mu * qn * t[i] + (1.0 - e) * (lambda[i] - forward * t[i]);
    }
    target[SAP_NORMAL_ROW] = qn;
  }
  sap_cone_n_fill(n, &parts, t, cone_n->G);
}

static void linearise_cones_n(sap_newton* n, sap_step_kind kind) {
  for (int32_t k = 0; k < n->ncones_n; ++k) {
    sap_cone_n* cone_n = &n->cones_n[k];
    if (kind == SAP_STEP_SEMISMOOTH) {
      linearise_law_n(n, cone_n);
      continue;
    }
    sap_cone_n_hessian(&cone_n->cone, cone_n->nrows, n->row_u + cone_n->first, cone_n->G);
    if (kind == SAP_STEP_SLIP_DIRECTION) {
      relax_direction_n(n, cone_n);
    }
  }
}

void sap_newton_linearise(sap_newton* n, sap_step_kind kind) {
  const size_t nc = (size_t)n->ncones;
  for (size_t c = 0; c < nc; ++c) {
    const sap_cone* cone = &n->cones[c];
    const sap_triple u = sap_triple_load(n->cone_u, nc, c);
    double* G = n->cone_G + 6 * c;
    const double metric = n->weight * n->cone_rho[c];
    if (kind == SAP_STEP_SEMISMOOTH && cone->potential != NULL) {
      static const int at[6] = {0, 1, 4, 2, 5, 8};  // of a 3 x 3 matrix
      const sap_triple l = sap_triple_load(n->cone_lambda, nc, c);
      const double rows[3] = {u.t0, u.t1, u.n}, lambda[3] = {l.t0, l.t1, l.n};
      double target[3], full[9];
      linearise_potential(cone, metric, 3, rows, lambda, target, full);
      sap_triple_store(n->cone_target, nc, c, (sap_triple){target[0], target[1], target[2]});
      for (int i = 0; i < 6; ++i) {
        G[i] = full[at[i]];
      }
      continue;
    }
    if (kind == SAP_STEP_SEMISMOOTH) {
      sap_triple_store(n->cone_target, nc, c,
                       linearise_law_3(cone, metric, u, sap_triple_load(n->cone_lambda, nc, c), G));
      continue;
    }
    const double rows[3] = {u.t0, u.t1, u.n};
    sap_cone_hessian(cone, rows, G);
    if (kind == SAP_STEP_SLIP_DIRECTION) {
      relax_direction_3(cone, u, sap_triple_load(n->cone_lambda, nc, c), G);
    }
  }
  linearise_cones_n(n, kind);
  for (int32_t k = 0; k < n->nintervals; ++k) {
    linearise_row(n, k, kind);
  }
}

// Scales the tangents of lambda back to the friction limit of the larger of lambda_n and gamma_n,
// the law's at the new v.
static inline void limit_friction(const sap_cone* cone, int32_t n, double gamma_n, double* lambda) {
  const double normal = lambda[SAP_NORMAL_ROW];
  const double limit = sap_cone_friction_limit(cone, fmax(normal, gamma_n));
  const double size_2 = sap_cone_n_dot(n, lambda, lambda);
  const double scale = size_2 > limit * limit ? limit / sqrt(size_2) : 1.0;
  for (int32_t i = 0; i < n; ++i) {
    lambda[i] *= scale;
  }
  lambda[SAP_NORMAL_ROW] = normal;
}

// Sets lambda = gamma_n (mu w, 1) with gamma_n of the new point and
//   w = (u_t - d_t + (t^ . d_t) w)/|u_t|  of the old point if the contact slid there
//   w = gamma_t/(mu gamma_n)              of the new point else
// u0: u of the new point.
static inline void move_direction(const sap_cone* cone, int32_t n, double alpha, const double* u0,
                                  const double* d, const double* gamma, double* lambda) {
  double u[SAP_CONE_ROWS_MAX] = {0.0}, w[SAP_CONE_ROWS_MAX], target[SAP_CONE_ROWS_MAX];
  find_direction(cone, n, lambda, w);
  find_direction(cone, n, gamma, target);
  for (int32_t i = 0; i < n; ++i) {
    u[i] = u0[i] + alpha * d[i];
  }
  const double ur2 = sap_cone_n_dot(n, u, u), gamma_n = gamma[SAP_NORMAL_ROW];
  if (sap_cone_slides(cone, ur2, u[SAP_NORMAL_ROW])) {
    const double inverse = 1.0 / sqrt(ur2);
    const double along = inverse * sap_cone_n_dot(n, u, d);
    for (int32_t i = 0; i < n; ++i) {
      target[i] = inverse * (u[i] - d[i] + along * w[i]);
    }
  }
  const double size_2 = sap_cone_n_dot(n, target, target);
  const double limit = sap_cone_friction_limit(cone, gamma_n) / (size_2 > 1.0 ? sqrt(size_2) : 1.0);
  for (int32_t i = 0; i < n; ++i) {
    lambda[i] = limit * target[i];
  }
  lambda[SAP_NORMAL_ROW] = gamma_n;
}

// Moves the multipliers of cone c of 3 rows.
static void move_cone(sap_newton* n, size_t c, bool semismooth, double alpha) {
  const size_t nc = (size_t)n->ncones;
  const double* G = n->cone_G + 6 * c;
  double lambda[3], d[3], u[3], gamma[3];
  for (size_t r = 0; r < 3; ++r) {
    const size_t at = r * nc + c;
    lambda[r] = semismooth ? n->cone_target[at] : n->cone_lambda[at];
    d[r] = n->cone_d[at];
    u[r] = n->cone_u[at];
    gamma[r] = n->cone_gamma[at];
  }
  if (semismooth) {  // lambda = q - G d
    lambda[0] -= G[0] * d[0] + G[1] * d[1] + G[3] * d[2];
    lambda[1] -= G[1] * d[0] + G[2] * d[1] + G[4] * d[2];
    lambda[2] -= G[3] * d[0] + G[4] * d[1] + G[5] * d[2];
    limit_friction(&n->cones[c], 3, gamma[2], lambda);
  } else {
    move_direction(&n->cones[c], 3, alpha, u, d, gamma, lambda);
  }
  for (size_t r = 0; r < 3; ++r) {
    n->cone_lambda[r * nc + c] = lambda[r];
  }
}

// Moves the multipliers of a cone of n rows.
static void move_cone_n(sap_newton* newton, const sap_cone_n* cone_n, bool semismooth,
                        double alpha) {
  const int32_t n = cone_n->nrows;
  const double *d = newton->row_d + cone_n->first, *gamma = newton->row_gamma + cone_n->first;
  double* lambda = newton->row_lambda + cone_n->first;
  if (!semismooth) {
    move_direction(&cone_n->cone, n, alpha, newton->row_u + cone_n->first, d, gamma, lambda);
    return;
  }
  for (int32_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < n; ++j) {
      sum += cone_n->G[j * n + i] * d[j];
    }
    lambda[i] = newton->row_target[cone_n->first + i] - sum;
  }
  limit_friction(&cone_n->cone, n, gamma[SAP_NORMAL_ROW], lambda);
}

void sap_newton_move_multipliers(sap_newton* n, sap_step_kind kind, double alpha) {
  if (kind == SAP_STEP_PRIMAL) {
    return;
  }
  const bool semismooth = kind == SAP_STEP_SEMISMOOTH;
  for (size_t c = 0; c < (size_t)n->ncones; ++c) {
    move_cone(n, c, semismooth, alpha);
  }
  for (int32_t k = 0; k < n->ncones_n; ++k) {
    move_cone_n(n, &n->cones_n[k], semismooth, alpha);
  }
  for (int32_t k = 0; k < n->nintervals; ++k) {
    n->row_lambda[k] =
        semismooth ? n->row_target[k] - n->interval_G[k] * n->row_d[k] : n->row_gamma[k];
  }
}
