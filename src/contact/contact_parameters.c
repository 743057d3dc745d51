// SPDX-License-Identifier: BSD-3-Clause
// Contact parameters: k, tau_d, mu of a pair, and R and v_hat that follow, castro (29)-(30).
#include <sapstep/contact.h>

#include <float.h>
#include <math.h>

#include "contact/contact_law.h"
#include "core/error.h"

#define SAP_STICTION_TOLERANCE 1e-4  // [m/s]

static const double FOUR_PI_SQUARED = 39.478417604357434;  // 4 pi^2 of castro (29)

sap_material sap_material_default(void) {
  return (sap_material){
#define SAP_X(type, name, value, range) .name = value,
      SAP_MATERIAL_FIELDS(SAP_X)
#undef SAP_X
  };
}

sap_material sap_material_unset(void) {
  return (sap_material){
#define SAP_X_STIFFNESS(name) .name = (double)NAN,
#define SAP_X_NOT_NEGATIVE(name) .name = (double)NAN,
#define SAP_X_OWN(name)
#define SAP_X(type, name, value, range) SAP_X_##range(name)
      SAP_MATERIAL_FIELDS(SAP_X)
#undef SAP_X
#undef SAP_X_OWN
#undef SAP_X_NOT_NEGATIVE
#undef SAP_X_STIFFNESS
          .model = SAP_CONTACT_BY_MATERIAL};
}

const char* sap_contact_model_text(sap_contact_model model) {
  static const char* const texts[] = {
#define SAP_X(name, text) text,
      SAP_CONTACT_MODEL_LIST(SAP_X)
#undef SAP_X
  };
  const int index = (int)model;
  return index >= 0 && index < (int)SAP_CONTACT_MODEL_COUNT ? texts[index]
         : model == SAP_CONTACT_BY_MATERIAL                 ? "material"
                                                            : "unknown contact model";
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

static bool is_size(double value) {
  return value >= 0.0 && value <= DBL_MAX;
}

#define SAP_X_STIFFNESS(name)
#define SAP_X_OWN(name)
#define SAP_X(type, name, value, range) SAP_X_##range(name)

// Hot path: called for every contact.
static bool is_sound(const sap_material* m) {
#define SAP_X_NOT_NEGATIVE(name) &&is_size(m->name)
  return m->stiffness > 0.0 && (int)m->model >= 0 &&
         (int)m->model < (int)SAP_CONTACT_MODEL_COUNT SAP_MATERIAL_FIELDS(SAP_X);
#undef SAP_X_NOT_NEGATIVE
}

static sap_status check_material(const sap_material* m, sap_error* error) {
  if (is_sound(m)) {
    return SAP_STATUS_OK;
  }
  if (!(m->stiffness > 0.0)) {
    return sap_fail(error, isnan(m->stiffness) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT,
                    "stiffness = %g must be > 0 N/m", m->stiffness);
  }
#define SAP_X_NOT_NEGATIVE(name) SAP_TRY(check_number(#name, m->name, false, error));
  SAP_MATERIAL_FIELDS(SAP_X)
#undef SAP_X_NOT_NEGATIVE
  return sap_fail(error, SAP_STATUS_ARGUMENT, "model = %d is not a sap_contact_model",
                  (int)m->model);
}
#undef SAP_X
#undef SAP_X_OWN
#undef SAP_X_STIFFNESS

static double larger_of(double a, double b) {
  return a > b ? a : b;
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
  sap_material pair = {
      .friction = sap_friction_combine(a->friction, b->friction, rule),
      .model = a->model > b->model ? a->model : b->model,
      .stiction_tolerance = larger_of(a->stiction_tolerance, b->stiction_tolerance)};
  if (a->static_friction > a->friction || b->static_friction > b->friction) {
    pair.static_friction = sap_friction_combine(larger_of(a->static_friction, a->friction),
                                                larger_of(b->static_friction, b->friction), rule);
  }
  if (isinf(a->stiffness) || isinf(b->stiffness)) {
    const bool both = isinf(a->stiffness) && isinf(b->stiffness);
    const sap_material* soft = isinf(a->stiffness) ? b : a;
    pair.stiffness = soft->stiffness;
    pair.relaxation_time =
        both ? 0.5 * (a->relaxation_time + b->relaxation_time) : soft->relaxation_time;
    pair.dissipation = both ? 0.5 * (a->dissipation + b->dissipation) : soft->dissipation;
  } else {
    // weight of b's stiffness in the sum; 1/(1 + kA/kB) cannot overflow to NaN
    const double share_B = 1.0 / (1.0 + a->stiffness / b->stiffness);
    pair.stiffness = a->stiffness * share_B;
    if (a->stiffness > b->stiffness) {
      pair.stiffness = b->stiffness / (1.0 + b->stiffness / a->stiffness);
    }
    pair.relaxation_time = share_B * a->relaxation_time + (1.0 - share_B) * b->relaxation_time;
    pair.dissipation = share_B * a->dissipation + (1.0 - share_B) * b->dissipation;
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

// mu at a slip speed: the static one up to v_s, the other from 3 v_s on, a cubic between. What has
// no friction (condim 1) has none at rest either.
static double friction_at(double mu, double static_mu, double tolerance, double slip) {
  const double s = 0.5 * (slip / tolerance - 1.0);
  if (!(static_mu > mu) || !(mu > 0.0) || s >= 1.0) {
    return mu;
  }
  const double share = s <= 0.0 ? 0.0 : s * s * (3.0 - 2.0 * s);
  return static_mu + share * (mu - static_mu);
}

sap_status sap_contact_potential(const sap_material* pair, const sap_contact_start* start,
                                 sap_potential_law* law, sap_error* error) {
  sap_status status = check_material(pair, error);
  const double k = pair->stiffness, dt = start->dt, beta = start->regularization->beta;
  if (status == SAP_STATUS_OK) {
    status = check_number("w", start->w, true, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_number("beta", beta, false, error);
  }
  if (status == SAP_STATUS_OK && !isfinite(start->phi0)) {
    status = sap_fail(error, SAP_STATUS_NOT_FINITE, "phi0 = %g must be finite", start->phi0);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const double tolerance =
      pair->stiction_tolerance > 0.0 ? pair->stiction_tolerance : SAP_STICTION_TOLERANCE;
  const double Rn = larger_of(beta * beta / FOUR_PI_SQUARED * start->w, 1.0 / (dt * dt * k));
  const double v_hat = -start->phi0 / dt;
  if (!isfinite(Rn) || !isfinite(v_hat)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "contact: Rn = %g, v_hat = %g overflow (k = %g)",
                    Rn, v_hat, k);
  }
  if (!(Rn >= DBL_MIN)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact: Rn = %g must be > 0: beta = %g, stiffness = %g", Rn, beta, k);
  }
  // The law at the start: what the last step ended with where neither J nor Rn changed. Alone, the
  // contact would need no more than what stops v* at the speed where it ends.
  const double d = pair->dissipation;
  const double end = d * v_hat > 1.0 ? 1.0 / d : v_hat;
  const double impulse = larger_of(0.0, v_hat) * larger_of(0.0, 1.0 - d * start->normal_speed) / Rn;
  const double enough = larger_of(0.0, end - start->free_speed) / start->w;
  *law = (sap_potential_law){
      .Rn = Rn,
      .v_hat = v_hat,
      .friction = friction_at(start->friction, pair->static_friction, tolerance, start->slip),
      .slip_speed = tolerance,
      .new_impulse = impulse < enough ? impulse : enough};
  return SAP_STATUS_OK;
}
