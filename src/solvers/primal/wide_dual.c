// SPDX-License-Identifier: BSD-3-Clause
// The linearisations and duals of dual.c for friction cones of 4 and 6 rows. Across the slip
// direction t^, I - t^ t^' takes the place of p^ p^'.
#include <math.h>
#include <string.h>

#include "solvers/primal/wide.h"

// w of an impulse, scaled back into the unit ball; 0 in the normal's row.
static void direction_of(const sap_wide_cone* wide, const double* impulse, double* w) {
  const int32_t n = wide->nrows;
  const double limit = sap_cone_friction_limit(&wide->cone, impulse[SAP_NORMAL_ROW]);
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

// SAP's G with the slip direction's curvature relaxed: c t^ t^' - c (w t^' + t^ w')/2 is added.
static void relax_direction(sap_wide_cone* wide) {
  const int32_t n = wide->nrows;
  const double ur2 = sap_cone_n_dot(n, wide->u, wide->u), un = wide->u[SAP_NORMAL_ROW];
  if (!sap_cone_slides(&wide->cone, ur2, un)) {
    return;
  }
  const double ur = sqrt(ur2);
  const double c =
      sap_cone_friction_limit(&wide->cone, sap_cone_sliding_normal(&wide->cone, ur, un)) / ur;
  double t[SAP_CONE_ROWS_MAX], w[SAP_CONE_ROWS_MAX];
  direction_of(wide, wide->dual, w);
  for (int32_t i = 0; i < n; ++i) {
    t[i] = i == SAP_NORMAL_ROW ? 0.0 : wide->u[i] / ur;
  }
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      wide->G[j * n + i] += c * (t[i] * t[j] - 0.5 * (w[i] * t[j] + t[i] * w[j]));
    }
  }
}

// Of a similar or lagged contact.
static void linearise_potential(sap_wide_cone* wide) {
  const int32_t n = wide->nrows;
  const sap_potential* p = wide->cone.potential;
  memcpy(wide->target, wide->gamma, sizeof wide->target);
  if (!p->lagged || !(p->limit > 0.0)) {
    sap_cone_n_hessian(&wide->cone, n, wide->u, wide->G);
    return;
  }
  const double Rt = p->slip_speed / p->limit;
  double z[SAP_CONE_ROWS_MAX] = {0.0}, t[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    z[i] = wide->dual[i] + wide->rho * (wide->u[i] - Rt * wide->dual[i]);
  }
  const double zr = sqrt(sap_cone_n_dot(n, z, z));
  sap_cone_n_parts parts = {.nn = sap_potential_at(p, 0.0, wide->u[SAP_NORMAL_ROW]).nn};
  if (zr <= p->limit) {
    parts.along = parts.across = 1.0 / Rt;
    for (int32_t i = 0; i < n; ++i) {
      wide->target[i] = i == SAP_NORMAL_ROW ? wide->target[i] : wide->u[i] / Rt;
    }
  } else {
    const double c = p->limit / zr, e = 1.0 / (1.0 - c + c * wide->rho * Rt);
    for (int32_t i = 0; i < n; ++i) {
      t[i] = z[i] / zr;
    }
    parts.across = wide->rho * c * e;
    const double forward = sap_cone_n_dot(n, t, wide->dual);
    for (int32_t i = 0; i < n; ++i) {
      const double q = p->limit * t[i] + (1.0 - e) * (wide->dual[i] - forward * t[i]);
      wide->target[i] = i == SAP_NORMAL_ROW ? wide->target[i] : q;
    }
  }
  sap_cone_n_fill(n, &parts, t, wide->G);
}

// Target and G of the semismooth step.
static void linearise_law(sap_wide_cone* wide) {
  if (wide->cone.potential != NULL) {
    linearise_potential(wide);
    return;
  }
  const int32_t n = wide->nrows;
  const sap_cone* cone = &wide->cone;
  const double Rn = 1.0 / cone->inverse_Rn, mu = cone->mu, rho = wide->rho;
  const double Rt = cone->inverse_Rt > 0.0 ? 1.0 / cone->inverse_Rt : Rn;
  double z[SAP_CONE_ROWS_MAX] = {0.0}, t[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    z[i] = wide->dual[i] + rho * (wide->u[i] - (i == SAP_NORMAL_ROW ? Rn : Rt) * wide->dual[i]);
  }
  const double zr = sqrt(sap_cone_n_dot(n, z, z)), zn = z[SAP_NORMAL_ROW];
  sap_cone_n_parts parts = {0};
  memset(wide->target, 0, sizeof wide->target);
  if (sap_cone_holds(mu, zr, zn)) {
    parts.along = parts.across = cone->inverse_Rt;
    parts.nn = cone->inverse_Rn;
    for (int32_t i = 0; i < n; ++i) {
      wide->target[i] = wide->u[i] * (i == SAP_NORMAL_ROW ? cone->inverse_Rn : cone->inverse_Rt);
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
    const double qn = cone->k * (wide->u[SAP_NORMAL_ROW] + mu * sap_cone_n_dot(n, t, wide->u));
    const double forward = sap_cone_n_dot(n, t, wide->dual);
    for (int32_t i = 0; i < n; ++i) {
      wide->target[i] = mu * qn * t[i] + (1.0 - e) * (wide->dual[i] - forward * t[i]);
    }
    wide->target[SAP_NORMAL_ROW] = qn;
  }
  sap_cone_n_fill(n, &parts, t, wide->G);
}

void sap_wide_linearise(sap_newton* n, sap_step_kind kind) {
  for (int32_t k = 0; k < n->nwide; ++k) {
    sap_wide_cone* wide = &n->wide[k];
    if (kind == SAP_STEP_SEMISMOOTH) {
      linearise_law(wide);
      continue;
    }
    sap_cone_n_hessian(&wide->cone, wide->nrows, wide->u, wide->G);
    if (kind == SAP_STEP_DUAL_DIRECTION && sap_cone_has_friction_dual(&wide->cone)) {
      relax_direction(wide);
    }
  }
}

// gamma = q - G d, within the friction limit as in dual.c.
static void move_semismooth(sap_wide_cone* wide) {
  const int32_t n = wide->nrows;
  for (int32_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < n; ++j) {
      sum += wide->G[j * n + i] * wide->d[j];
    }
    wide->dual[i] = wide->target[i] - sum;
  }
  if (sap_cone_has_friction_dual(&wide->cone)) {
    const double normal = wide->dual[SAP_NORMAL_ROW];
    const double limit =
        sap_cone_friction_limit(&wide->cone, fmax(normal, wide->gamma[SAP_NORMAL_ROW]));
    const double size_2 = sap_cone_n_dot(n, wide->dual, wide->dual);
    const double scale = size_2 > limit * limit ? limit / sqrt(size_2) : 1.0;
    for (int32_t i = 0; i < n; ++i) {
      wide->dual[i] *= scale;
    }
    wide->dual[SAP_NORMAL_ROW] = normal;
  }
}

// As move_direction of dual.c.
static void move_direction(sap_wide_cone* wide, double alpha) {
  const int32_t n = wide->nrows;
  const double* d = wide->d;
  double u[SAP_CONE_ROWS_MAX] = {0.0}, w[SAP_CONE_ROWS_MAX], target[SAP_CONE_ROWS_MAX];
  direction_of(wide, wide->dual, w);
  direction_of(wide, wide->gamma, target);
  for (int32_t i = 0; i < n; ++i) {
    u[i] = wide->u[i] + alpha * d[i];
  }
  const double ur2 = sap_cone_n_dot(n, u, u);
  if (sap_cone_slides(&wide->cone, ur2, u[SAP_NORMAL_ROW])) {
    const double inverse = 1.0 / sqrt(ur2);
    const double along = inverse * sap_cone_n_dot(n, u, d);
    for (int32_t i = 0; i < n; ++i) {
      target[i] = inverse * (u[i] - d[i] + along * w[i]);
    }
  }
  const double size_2 = sap_cone_n_dot(n, target, target), gamma_n = wide->gamma[SAP_NORMAL_ROW];
  const double limit =
      sap_cone_friction_limit(&wide->cone, gamma_n) / (size_2 > 1.0 ? sqrt(size_2) : 1.0);
  for (int32_t i = 0; i < n; ++i) {
    wide->dual[i] = limit * target[i];
  }
  wide->dual[SAP_NORMAL_ROW] = gamma_n;
}

void sap_wide_move_dual(sap_newton* n, sap_step_kind kind, double alpha) {
  for (int32_t k = 0; k < n->nwide; ++k) {
    if (kind == SAP_STEP_SEMISMOOTH) {
      move_semismooth(&n->wide[k]);
    } else {
      move_direction(&n->wide[k], alpha);
    }
  }
}

void sap_wide_start_dual(sap_newton* n, bool recall) {
  for (int32_t k = 0; k < n->nwide; ++k) {
    sap_wide_cone* wide = &n->wide[k];
    const double* known = recall ? n->known + wide->row : NULL;
    memcpy(wide->dual, known != NULL && !isnan(known[0]) ? known : wide->gamma,
           (size_t)wide->nrows * sizeof *wide->dual);
  }
}
