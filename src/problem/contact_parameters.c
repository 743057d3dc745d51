// SPDX-License-Identifier: BSD-3-Clause
// Contact parameters: k, tau_d, mu of a pair, and R and v_hat that follow, castro (29)-(30).
#include <sapstep/contact.h>

#include <float.h>
#include <math.h>

#include "core/error.h"

static const double FOUR_PI_SQUARED = 39.478417604357434;  // 4 pi^2 of castro (29)

sap_material sap_material_default(void) {
  return (sap_material){.stiffness = 1e6, .relaxation_time = 0.01, .friction = 0.5};
}

sap_regularization sap_regularization_default(void) {
  return (sap_regularization){.beta = 1.0, .sigma = 1e-3};
}

static sap_status check_number(const char* name, double value, bool positive, sap_error* error) {
  const char* allowed = positive ? "finite and > 0" : "finite and >= 0";
  if (!isfinite(value)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "%s = %g must be %s", name, value, allowed);
  }
  if (positive ? !(value > 0.0) : !(value >= 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %g must be %s", name, value, allowed);
  }
  return SAP_STATUS_OK;
}

static sap_status check_material(const sap_material* m, sap_error* error) {
  if (isnan(m->stiffness)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "stiffness = %g must be > 0 N/m", m->stiffness);
  }
  if (!(m->stiffness > 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "stiffness = %g must be > 0 N/m", m->stiffness);
  }
  const sap_status status = check_number("relaxation_time", m->relaxation_time, false, error);
  return status == SAP_STATUS_OK ? check_number("friction", m->friction, false, error) : status;
}

double sap_friction_combine(double a, double b, sap_friction_rule rule) {
  if (rule == SAP_FRICTION_MAXIMUM) {
    return a > b ? a : b;
  }
  // 2 a b/(a + b) without overflow: both divided by the larger first
  const double larger = a > b ? a : b;
  const double smaller = a > b ? b : a;
  return larger > 0.0 ? smaller / (0.5 + 0.5 * (smaller / larger)) : 0.0;
}

sap_status sap_material_combine(const sap_material* a, const sap_material* b,
                                sap_friction_rule rule, sap_material* out, sap_error* error) {
  if (a == NULL || b == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_material_combine: %s is NULL",
                    a == NULL   ? "a"
                    : b == NULL ? "b"
                                : "out");
  }
  if (rule != SAP_FRICTION_HARMONIC && rule != SAP_FRICTION_MAXIMUM) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "rule = %d is not a sap_friction_rule", (int)rule);
  }
  sap_status status = check_material(a, error);
  if (status == SAP_STATUS_OK) {
    status = check_material(b, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_material pair;
  pair.friction = sap_friction_combine(a->friction, b->friction, rule);
  if (isinf(a->stiffness) || isinf(b->stiffness)) {
    const bool both = isinf(a->stiffness) && isinf(b->stiffness);
    const sap_material* soft = isinf(a->stiffness) ? b : a;
    pair.stiffness = soft->stiffness;
    pair.relaxation_time =
        both ? 0.5 * (a->relaxation_time + b->relaxation_time) : soft->relaxation_time;
  } else {
    // weight of b's stiffness in the sum; 1/(1 + kA/kB) cannot overflow to NaN
    const double share_B = 1.0 / (1.0 + a->stiffness / b->stiffness);
    pair.stiffness = a->stiffness * share_B;
    if (a->stiffness > b->stiffness) {
      pair.stiffness = b->stiffness / (1.0 + b->stiffness / a->stiffness);
    }
    pair.relaxation_time = share_B * a->relaxation_time + (1.0 - share_B) * b->relaxation_time;
  }
  *out = pair;
  return SAP_STATUS_OK;
}

double sap_friction_scales(const double* friction, int32_t nrows, double* scales) {
  double mu = friction[0] > friction[1] ? friction[0] : friction[1];
  bool any = mu > 0.0;
  for (int32_t j = 2; j < nrows - 1; ++j) {
    any = any || friction[j] > 0.0;
  }
  mu = any && !(mu > 0.0) ? 1.0 : mu;
  for (int32_t row = 0; row < nrows; ++row) {
    scales[row] = any && row != 2 ? friction[row < 2 ? row : row - 1] / mu : 1.0;
  }
  return mu;
}

sap_status sap_contact_regularize(const sap_material* pair,
                                  const sap_regularization* regularization, double dt, double phi0,
                                  double w, double R[3], double v_hat[3], sap_error* error) {
  if (pair == NULL || regularization == NULL || R == NULL || v_hat == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_contact_regularize: an argument is NULL");
  }
  sap_status status = check_material(pair, error);
  if (status == SAP_STATUS_OK) {
    status = check_number("dt", dt, true, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_number("w", w, true, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_number("beta", regularization->beta, false, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_number("sigma", regularization->sigma, true, error);
  }
  if (status == SAP_STATUS_OK && !isfinite(phi0)) {
    status = sap_fail(error, SAP_STATUS_NOT_FINITE, "phi0 = %g must be finite", phi0);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const double beta = regularization->beta;
  const double time = dt + pair->relaxation_time;
  const double near_rigid = beta * beta / FOUR_PI_SQUARED * w;
  const double soft = 1.0 / (dt * pair->stiffness * time);
  const double Rn = near_rigid > soft ? near_rigid : soft;
  const double Rt = regularization->sigma * w;
  const double bias = -phi0 / time;
  if (!isfinite(Rn) || !isfinite(Rt) || !isfinite(bias)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE,
                    "contact: Rn = %g, Rt = %g, v_hat = %g overflow (k = %g, tau_d = %g, w = %g)",
                    Rn, Rt, bias, pair->stiffness, pair->relaxation_time, w);
  }
  if (!(Rn >= DBL_MIN) || !(Rt >= DBL_MIN)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact: Rn = %g, Rt = %g must be > 0: beta = %g, stiffness = %g, sigma = %g",
                    Rn, Rt, beta, pair->stiffness, regularization->sigma);
  }
  R[0] = Rt;
  R[1] = Rt;
  R[2] = Rn;
  v_hat[0] = 0.0;
  v_hat[1] = 0.0;
  v_hat[2] = bias;
  return SAP_STATUS_OK;
}
