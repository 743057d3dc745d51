// SPDX-License-Identifier: BSD-3-Clause
// Laws of impulses: friction cones of 3, 4 or 6 rows, contact potentials, intervals.
//
// u = v_hat - vc,  y = R^-1 u  of the block's rows
//   gamma = P_C(y)                          projection on C in the R norm
//   l     = gamma . u - 1/2 |gamma|_R^2     [J], Moreau envelope; 1/2 |gamma|_R^2 for cones
//   dl/dvc = -gamma,  G = -dgamma/dvc >= 0
//
// Friction cone, rows [t1 t2 n spin roll1 roll2], t: all rows but n      castro V-A, App. C, D
//   R = Rt in all rows but n, Rn in n;  ur = |u_t|,  t^ = u_t/ur
//   stiction  ur/Rt <= mu un/Rn:  gamma = y,  G = R^-1
//   none      un <= -mu ur:       gamma = 0,  G = 0
//   sliding   else, with k = 1/(Rn + mu^2 Rt) and c = mu gamma_n/ur:
//     gamma_n = k (un + mu ur)
//     gamma_t = mu gamma_n t^
//     G_nn    = k
//     G_nt    = k mu t^
//     G_tt    = k mu^2 t^ t^' + c (I - t^ t^')
//
// Potentials, the similar and lagged models of sapstep/contact.h: gamma = dl/du, G = d2l/du2 >= 0.
//   normal    n(Y) = Y (a + b Y) for Y > 0, else 0
//             N(Y) = Y^2 (a/2 + b Y/3)
//             equals (v_hat - z)+ (1 - d z)+/Rn  with  Y = m - z,  m = min(v_hat, 1/d),
//             a = |1 - d v_hat|/Rn,  b = d/Rn
//   similar   l = N(Y),  Y = un + mu h(ur) - offset,  offset = v_hat - m
//             gamma_n = n
//             gamma_t = mu n h' t^
//             G_nn = n'
//             G_nt = mu h' n'
//             G_tt = (mu h')^2 n' + mu n h''  along t^,  mu n h'/ur  across
//   lagged    l = N(un - offset) + mu n0 h(ur)
//             gamma_t = mu n0 h' t^
//             G_nn = n'
//             G_nt = 0
//             G_tt = mu n0 h''  along t^,  mu n0 h'/ur  across
//
// Intervals [lower, upper], row by row:  gamma = clamp(y),  G = 1/R where no bound is active.
#pragma once

#include <math.h>

#include <sapstep/problem.h>

// Rows of the largest cone, and the index of the normal row.
enum { SAP_CONE_ROWS_MAX = 6, SAP_NORMAL_ROW = 2 };

typedef struct sap_potential {
  bool lagged;
  double mu;
  double linear, quadratic;  // a, b
  double offset;             // v_hat - m [m/s]
  double slip_speed;         // v_s [m/s]
  double limit;              // lagged: mu n0 [N s]
} sap_potential;

// Returns the potential of a block of the similar or lagged model.
sap_potential sap_potential_make(const sap_block* block);

// The potential's impulse and Hessian at a point, in the plane of t^ and n.
typedef struct sap_potential_point {
  double cost;               // [J]
  double gamma_n, gamma_r;   // gamma_r along t^ [N s]
  double nn, nt, tt, cross;  // of G; cross: along tangents other than t^, and gamma_r/ur
} sap_potential_point;

// Evaluates the potential at |u_t| = ur and un.
sap_potential_point sap_potential_at(const sap_potential* potential, double ur, double un);

// Returns G of 3 rows at u: {t1t1, t1t2, t2t2, t1n, t2n, nn}.
void sap_potential_hessian(const sap_potential* potential, const double u[3], double G[6]);

// Returns gamma . d of n rows at u; adds d' G d to *curvature.
double sap_potential_slope(const sap_potential* potential, int32_t n, const double* u,
                           const double* d, double* curvature);

// Constants of one cone.
typedef struct sap_cone {
  double mu;
  double inverse_Rt;  // 1/Rt; 0 when mu = 0: then the tangents never carry an impulse
  double inverse_Rn;
  double k;                        // 1/(Rn + mu^2 Rt)
  double stick_2;                  // (mu Rt/Rn)^2: stiction where ur^2 <= stick_2 un^2, un >= 0
  const sap_potential* potential;  // its law replaces the cone's; NULL: a cone
} sap_cone;

// Returns the constants of a cone without a potential.
static inline sap_cone sap_cone_make(double mu, double Rt, double Rn) {
  const double ratio = mu * (Rt / Rn);
  return (sap_cone){.mu = mu,
                    .inverse_Rt = mu > 0.0 ? 1.0 / Rt : 0.0,
                    .inverse_Rn = 1.0 / Rn,
                    .k = 1.0 / (Rn + mu * mu * Rt),
                    .stick_2 = ratio * ratio};
}

typedef enum sap_cone_region { SAP_CONE_STICTION, SAP_CONE_SLIDING, SAP_CONE_NONE } sap_cone_region;

// Returns the region of u, ur2 = |u_t|^2. Comparing squares saves the root.
static inline sap_cone_region sap_cone_classify(const sap_cone* cone, double ur2, double un) {
  const double un2 = un * un;
  if (un >= 0.0 && ur2 <= cone->stick_2 * un2) {
    return SAP_CONE_STICTION;
  }
  return un <= 0.0 && cone->mu * cone->mu * ur2 <= un2 ? SAP_CONE_NONE : SAP_CONE_SLIDING;
}

// Returns true if |x_t| <= mu x_n. Without friction mu x_n does not show x_n < 0.
static inline bool sap_cone_holds(double mu, double xt, double xn) {
  return xn >= 0.0 && xt <= mu * xn;
}

// gamma_n of a sliding contact.
static inline double sap_cone_sliding_normal(const sap_cone* cone, double ur, double un) {
  const double gamma_n = cone->k * (un + cone->mu * ur);
  return gamma_n < 0.0 ? 0.0 : gamma_n;  // rounding at the apex' edge; NaN stays
}

// x_t . y_t of n rows
static inline double sap_cone_n_dot(int32_t n, const double* x, const double* y) {
  double sum = x[0] * y[0] + x[1] * y[1];
  for (int32_t i = SAP_NORMAL_ROW + 1; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

// Sets gamma of n rows from u; returns the cost [J].
static inline double sap_cone_n_impulse(const sap_cone* cone, int32_t n, const double* u,
                                        double* gamma) {
  const double ur2 = sap_cone_n_dot(n, u, u), un = u[SAP_NORMAL_ROW];
  double scale = 0.0, gamma_n = 0.0, cost = 0.0;
  if (cone->potential != NULL) {
    const sap_potential_point at = sap_potential_at(cone->potential, sqrt(ur2), un);
    scale = at.cross;
    gamma_n = at.gamma_n;
    cost = at.cost;
  } else {
    switch (sap_cone_classify(cone, ur2, un)) {
      case SAP_CONE_STICTION:
        scale = cone->inverse_Rt;
        gamma_n = un * cone->inverse_Rn;
        cost = 0.5 * (ur2 * scale + un * gamma_n);
        break;
      case SAP_CONE_NONE:
        for (int32_t i = 0; i < n; ++i) {
          gamma[i] = 0.0;
        }
        return 0.0;
      case SAP_CONE_SLIDING: {
        const double ur = sqrt(ur2);
        gamma_n = sap_cone_sliding_normal(cone, ur, un);
        scale = cone->mu * gamma_n / ur;
        cost = 0.5 * gamma_n * (un + cone->mu * ur);
        break;
      }
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    gamma[i] = scale * u[i];
  }
  gamma[SAP_NORMAL_ROW] = gamma_n;
  return cost;
}

static inline double sap_cone_impulse(const sap_cone* cone, const double u[3], double gamma[3]) {
  return sap_cone_n_impulse(cone, 3, u, gamma);
}

// Sets G of a 3-row cone that slides along (t0, t1), a unit vector; `across`: its eigenvalue across
// that direction. {t1t1, t1t2, t2t2, t1n, t2n, nn}.
static inline void sap_cone_fill_sliding(const sap_cone* cone, double t0, double t1, double across,
                                         double G[6]) {
  const double mu = cone->mu, k = cone->k, along = k * mu * mu;
  G[0] = along * t0 * t0 + across * t1 * t1;
  G[1] = (along - across) * t0 * t1;
  G[2] = along * t1 * t1 + across * t0 * t0;
  G[3] = k * mu * t0;
  G[4] = k * mu * t1;
  G[5] = k;
}

// Sets G of a 3-row cone at u, in the same order.
static inline void sap_cone_hessian(const sap_cone* cone, const double u[3], double G[6]) {
  if (cone->potential != NULL) {
    sap_potential_hessian(cone->potential, u, G);
    return;
  }
  const double ur2 = u[0] * u[0] + u[1] * u[1];
  const sap_cone_region region = sap_cone_classify(cone, ur2, u[2]);
  if (region != SAP_CONE_SLIDING) {
    const double on = region == SAP_CONE_STICTION ? 1.0 : 0.0;
    G[0] = G[2] = on * cone->inverse_Rt;
    G[1] = G[3] = G[4] = 0.0;
    G[5] = on * cone->inverse_Rn;
    return;
  }
  const double ur = sqrt(ur2);
  const double c = cone->mu * sap_cone_sliding_normal(cone, ur, u[2]) / ur;
  sap_cone_fill_sliding(cone, u[0] / ur, u[1] / ur, c, G);
}

// G of n rows by four numbers: across I + (along - across) t^ t^' in the tangents, coupling t^ to
// the normal, nn in the normal.
typedef struct sap_cone_n_parts {
  double along, across, coupling, nn;
} sap_cone_n_parts;

// Sets G (n x n, all entries).
static inline void sap_cone_n_fill(int32_t n, const sap_cone_n_parts* p, const double* t,
                                   double* G) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      G[j * n + i] = (p->along - p->across) * (t[i] * t[j]) + (i == j ? p->across : 0.0);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    G[SAP_NORMAL_ROW * n + i] = G[i * n + SAP_NORMAL_ROW] = p->coupling * t[i];
  }
  G[SAP_NORMAL_ROW * (n + 1)] = p->nn;
}

// Sets G at u (n x n).
static inline void sap_cone_n_hessian(const sap_cone* cone, int32_t n, const double* u, double* G) {
  double t[SAP_CONE_ROWS_MAX] = {0.0};
  const double ur2 = sap_cone_n_dot(n, u, u), un = u[SAP_NORMAL_ROW];
  sap_cone_n_parts parts = {0.0, 0.0, 0.0, 0.0};
  double ur = 0.0;
  if (cone->potential != NULL) {
    ur = sqrt(ur2);
    const sap_potential_point at = sap_potential_at(cone->potential, ur, un);
    parts = (sap_cone_n_parts){at.tt, at.cross, at.nt, at.nn};
  } else {
    const double mu = cone->mu;
    switch (sap_cone_classify(cone, ur2, un)) {
      case SAP_CONE_STICTION:
        parts = (sap_cone_n_parts){cone->inverse_Rt, cone->inverse_Rt, 0.0, cone->inverse_Rn};
        break;
      case SAP_CONE_NONE:
        break;
      case SAP_CONE_SLIDING:
        ur = sqrt(ur2);
        parts =
            (sap_cone_n_parts){cone->k * mu * mu, mu * sap_cone_sliding_normal(cone, ur, un) / ur,
                               cone->k * mu, cone->k};
        break;
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    t[i] = ur > 0.0 ? u[i] / ur : 0.0;
  }
  sap_cone_n_fill(n, &parts, t, G);
}

// Friction that does not depend on the contact's own normal impulse.
static inline bool sap_cone_is_lagged(const sap_cone* cone) {
  return cone->potential != NULL && cone->potential->lagged;
}

// Largest friction impulse: mu times the normal impulse, or the lagged limit.
static inline double sap_cone_friction_limit(const sap_cone* cone, double normal) {
  return sap_cone_is_lagged(cone) ? cone->potential->limit : cone->mu * normal;
}

// The same at a sliding point: of the law's own normal impulse there.
static inline double sap_cone_sliding_limit(const sap_cone* cone, double ur, double un) {
  if (cone->potential != NULL && !cone->potential->lagged) {
    return cone->mu * sap_potential_at(cone->potential, ur, un).gamma_n;
  }
  return sap_cone_friction_limit(cone, sap_cone_sliding_normal(cone, ur, un));
}

// Returns true if u slides; for a potential: faster than its slip speed.
static inline bool sap_cone_slides(const sap_cone* cone, double ur2, double un) {
  const sap_potential* p = cone->potential;
  return p != NULL ? ur2 > p->slip_speed * p->slip_speed
                   : sap_cone_classify(cone, ur2, un) == SAP_CONE_SLIDING;
}

// Rows [t1 t2 n ..]: a friction cone or a potential.
static inline bool sap_set_is_contact(sap_set set) {
  return set == SAP_SET_FRICTION_CONE || set == SAP_SET_SIMILAR || set == SAP_SET_LAGGED;
}

static inline bool sap_set_is_potential(sap_set set) {
  return set == SAP_SET_SIMILAR || set == SAP_SET_LAGGED;
}

// Bounds of a row of an interval set.
static inline double sap_set_lower(const sap_block* block, int32_t row) {
  return block->set == SAP_SET_BOX           ? block->lower[row]
         : block->set == SAP_SET_NONNEGATIVE ? 0.0
                                             : -(double)INFINITY;
}
static inline double sap_set_upper(const sap_block* block, int32_t row) {
  return block->set == SAP_SET_BOX ? block->upper[row] : (double)INFINITY;
}

// One row of an interval set.
static inline double sap_interval_impulse(double u, double inverse_R, double lower, double upper) {
  const double y = u * inverse_R;
  return y < lower ? lower : (y > upper ? upper : y);
}

// Returns true if no bound is active.
static inline bool sap_interval_is_inside(double u, double inverse_R, double lower, double upper) {
  const double y = u * inverse_R;
  return y >= lower && y <= upper && lower < upper;
}

// Sets gamma of a whole block at vc (nrows); returns the cost.
double sap_set_impulse(const sap_block* block, const double* vc, double* gamma);
// Sets G (nrows x nrows, column-major, all entries).
void sap_set_hessian(const sap_block* block, const double* vc, double* G);
// Returns the Euclidean distance of gamma from C [N s].
double sap_set_distance(const sap_block* block, const double* gamma);
