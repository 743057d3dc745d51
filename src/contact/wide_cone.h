// SPDX-License-Identifier: BSD-3-Clause
// Friction cones of n = 4 or 6 rows [t1 t2 n spin roll1 roll2]: the formulas of sets.h with u_t all
// rows but the normal.
#ifndef SAP_CONTACT_WIDE_CONE_H
#define SAP_CONTACT_WIDE_CONE_H

#include "contact/sets.h"

enum { SAP_WIDE_ROWS = 6, SAP_NORMAL_ROW = 2 };

// x_t . y_t
static inline double sap_wide_dot(int32_t n, const double* x, const double* y) {
  double sum = x[0] * y[0] + x[1] * y[1];
  for (int32_t i = SAP_NORMAL_ROW + 1; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

// gamma from u; returns the cost [J].
static inline double sap_wide_impulse(const sap_cone* cone, int32_t n, const double* u,
                                      double* gamma) {
  const double ur2 = sap_wide_dot(n, u, u), un = u[SAP_NORMAL_ROW];
  double scale = 0.0, gamma_n = 0.0, cost = 0.0;
  if (cone->potential != NULL) {
    const sap_potential_point at = sap_potential_at(cone->potential, sqrt(ur2), un);
    for (int32_t i = 0; i < n; ++i) {
      gamma[i] = at.cross * u[i];
    }
    gamma[SAP_NORMAL_ROW] = at.gamma_n;
    return at.cost;
  }
  switch (sap_cone_classify(cone, ur2, un)) {
    case SAP_CONE_STICTION:
      scale = cone->inverse_Rt;
      gamma_n = un * cone->inverse_Rn;
      cost = 0.5 * (ur2 * scale + un * gamma_n);
      break;
    case SAP_CONE_NONE:
      break;
    case SAP_CONE_SLIDING: {
      const double ur = sqrt(ur2);
      gamma_n = sap_cone_sliding_normal(cone, ur, un);
      scale = cone->mu * gamma_n / ur;
      cost = 0.5 * gamma_n * (un + cone->mu * ur);
      break;
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    gamma[i] = scale * u[i];
  }
  gamma[SAP_NORMAL_ROW] = gamma_n;
  return cost;
}

// G = across I + (along - across) t t' in the tangents, coupling t to the normal, nn there.
typedef struct sap_wide_parts {
  double along, across, coupling, nn;
} sap_wide_parts;

static inline void sap_wide_fill(int32_t n, const sap_wide_parts* p, const double* t, double* G) {
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

// G at u (n x n).
static inline void sap_wide_hessian(const sap_cone* cone, int32_t n, const double* u, double* G) {
  double t[SAP_WIDE_ROWS] = {0.0};
  const double ur2 = sap_wide_dot(n, u, u), un = u[SAP_NORMAL_ROW];
  if (cone->potential != NULL) {
    const double ur = sqrt(ur2);
    const sap_potential_point at = sap_potential_at(cone->potential, ur, un);
    for (int32_t i = 0; i < n; ++i) {
      t[i] = ur > 0.0 ? u[i] / ur : 0.0;
    }
    const sap_wide_parts parts = {at.tt, at.cross, at.nt, at.nn};
    sap_wide_fill(n, &parts, t, G);
    return;
  }
  const sap_cone_region region = sap_cone_classify(cone, ur2, un);
  if (region != SAP_CONE_SLIDING) {
    const double on = region == SAP_CONE_STICTION ? 1.0 : 0.0;
    const sap_wide_parts parts = {.along = on * cone->inverse_Rt,
                                  .across = on * cone->inverse_Rt,
                                  .nn = on * cone->inverse_Rn};
    sap_wide_fill(n, &parts, t, G);
    return;
  }
  const double ur = sqrt(ur2), mu = cone->mu;
  for (int32_t i = 0; i < n; ++i) {
    t[i] = u[i] / ur;
  }
  const sap_wide_parts parts = {.along = cone->k * mu * mu,
                                .across = mu * sap_cone_sliding_normal(cone, ur, un) / ur,
                                .coupling = cone->k * mu,
                                .nn = cone->k};
  sap_wide_fill(n, &parts, t, G);
}

#endif
