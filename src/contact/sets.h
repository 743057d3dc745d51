// SPDX-License-Identifier: BSD-3-Clause
// Convex sets of impulses: projection in the R norm, cost and Hessian of one block.
//
// With u = v_hat - vc, y = R^-1 u:   gamma = P_C(y),  l = gamma . u - 1/2 |gamma|_R^2   [J]
// (Moreau envelope; 1/2 |gamma|_R^2 for cones),  dl/dvc = -gamma,  G = -dgamma/dvc >= 0.
//
// Friction cone, R = diag(Rt, Rt, Rn), ur = |u_t|, t^ = u_t/ur:               castro V-A, App. C, D
//   stiction  ur/Rt <= mu un/Rn:  gamma = y,  G = R^-1
//   none      un <= -mu ur:       gamma = 0,  G = 0
//   sliding   else, with k = 1/(Rn + mu^2 Rt):
//     gamma_n = k (un + mu ur),  gamma_t = mu gamma_n t^,  c = mu gamma_n/ur
//     G_nn = k,  G_nt = k mu t^,  G_tt = k mu^2 t^ t^' + c (I - t^ t^')
// A cone with a potential follows that instead (potential.h).
// Intervals [lower, upper], row by row:  gamma = clamp(y),  G = 1/R where the bounds do not bind.
#ifndef SAP_CONTACT_SETS_H
#define SAP_CONTACT_SETS_H

#include <math.h>

#include <sapstep/problem.h>

#include "contact/potential.h"

// What a cone's formulas need of mu and R.
typedef struct sap_cone {
  double mu;
  double inverse_Rt;  // 1/Rt; 0 when mu = 0: then the tangents never carry an impulse
  double inverse_Rn;
  double k;                        // 1/(Rn + mu^2 Rt)
  double stick_2;                  // (mu Rt/Rn)^2: stiction where ur^2 <= stick_2 un^2, un >= 0
  const sap_potential* potential;  // NULL: a cone
} sap_cone;

static inline sap_cone sap_cone_make(double mu, double Rt, double Rn) {
  const double ratio = mu * (Rt / Rn);
  return (sap_cone){.mu = mu,
                    .inverse_Rt = mu > 0.0 ? 1.0 / Rt : 0.0,
                    .inverse_Rn = 1.0 / Rn,
                    .k = 1.0 / (Rn + mu * mu * Rt),
                    .stick_2 = ratio * ratio};
}

typedef enum sap_cone_region { SAP_CONE_STICTION, SAP_CONE_SLIDING, SAP_CONE_NONE } sap_cone_region;

// ur2 = |u_t|^2. Comparisons of squares spare the root.
static inline sap_cone_region sap_cone_classify(const sap_cone* cone, double ur2, double un) {
  const double un2 = un * un;
  if (un >= 0.0 && ur2 <= cone->stick_2 * un2) {
    return SAP_CONE_STICTION;
  }
  return un <= 0.0 && cone->mu * cone->mu * ur2 <= un2 ? SAP_CONE_NONE : SAP_CONE_SLIDING;
}

// Does a point lie in |x_t| <= mu x_n? Without friction mu x_n tells nothing of x_n < 0.
static inline bool sap_cone_holds(double mu, double xt, double xn) {
  return xn >= 0.0 && xt <= mu * xn;
}

// gamma_n of a sliding contact.
static inline double sap_cone_sliding_normal(const sap_cone* cone, double ur, double un) {
  const double gamma_n = cone->k * (un + cone->mu * ur);
  return gamma_n < 0.0 ? 0.0 : gamma_n;  // rounding at the apex' edge; NaN stays
}

// gamma from u; returns the cost [J].
static inline double sap_cone_impulse(const sap_cone* cone, const double u[3], double gamma[3]) {
  if (cone->potential != NULL) {
    return sap_potential_impulse(cone->potential, u, gamma);
  }
  const double ur2 = u[0] * u[0] + u[1] * u[1];
  switch (sap_cone_classify(cone, ur2, u[2])) {
    case SAP_CONE_STICTION:
      gamma[0] = u[0] * cone->inverse_Rt;
      gamma[1] = u[1] * cone->inverse_Rt;
      gamma[2] = u[2] * cone->inverse_Rn;
      return 0.5 * (ur2 * cone->inverse_Rt + u[2] * gamma[2]);
    case SAP_CONE_NONE:
      gamma[0] = 0.0;
      gamma[1] = 0.0;
      gamma[2] = 0.0;
      return 0.0;
    case SAP_CONE_SLIDING:
      break;
  }
  const double ur = sqrt(ur2);
  const double gamma_n = sap_cone_sliding_normal(cone, ur, u[2]);
  const double per_u = cone->mu * gamma_n / ur;
  gamma[0] = per_u * u[0];
  gamma[1] = per_u * u[1];
  gamma[2] = gamma_n;
  return 0.5 * gamma_n * (u[2] + cone->mu * ur);
}

// G of a cone that slides along (t0, t1), a unit vector, and `across` it:
// {t1t1, t1t2, t2t2, t1n, t2n, nn}.
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

// G at u, in the same order.
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

// Friction that does not depend on the contact's own normal impulse.
static inline bool sap_cone_is_lagged(const sap_cone* cone) {
  return cone->potential != NULL && cone->potential->lagged;
}

// Friction that is a projection, which a dual can point the way to; that of similar contacts is
// not.
static inline bool sap_cone_has_friction_dual(const sap_cone* cone) {
  return cone->potential == NULL || cone->potential->lagged;
}

// Largest friction impulse: of a normal impulse, or the lagged one.
static inline double sap_cone_friction_limit(const sap_cone* cone, double normal) {
  return sap_cone_is_lagged(cone) ? cone->potential->limit : cone->mu * normal;
}

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

// One row of an interval set.
static inline double sap_interval_impulse(double u, double inverse_R, double lower, double upper) {
  const double y = u * inverse_R;
  return y < lower ? lower : (y > upper ? upper : y);
}

static inline bool sap_interval_is_inside(double u, double inverse_R, double lower, double upper) {
  const double y = u * inverse_R;
  return y >= lower && y <= upper && lower < upper;
}

// The same for a whole block at vc (nrows). gamma (nrows); returns the cost.
double sap_set_impulse(const sap_block* block, const double* vc, double* gamma);
// G (nrows x nrows, column-major, all entries written).
void sap_set_hessian(const sap_block* block, const double* vc, double* G);
// Euclidean distance of gamma from C [N s].
double sap_set_distance(const sap_block* block, const double* gamma);

#endif
