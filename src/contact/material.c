// SPDX-License-Identifier: BSD-3-Clause
// Physical parameters of surfaces: defaults, checks, and how two surfaces make a pair.
#include "contact/material.h"

#include <math.h>

#include "contact/contact_law.h"
#include "math/scalar.h"

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
  return model == SAP_CONTACT_BY_MATERIAL
             ? "material"
             : SAP_TEXT_OF(SAP_CONTACT_MODEL_LIST, SAP_CONTACT_MODEL_COUNT, model,
                           "unknown contact model");
}

sap_regularization sap_regularization_default(void) {
  return (sap_regularization){.beta = 1.0, .sigma = 1e-3, .impact_speed = 5.0};
}

sap_status sap_contact_fail_number(const char* name, double value, bool positive,
                                   sap_error* error) {
  return sap_fail(error, isfinite(value) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                  "%s = %g must be %s", name, value,
                  positive ? "finite and > 0" : "finite and >= 0");
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

sap_status sap_material_check(const sap_material* m, sap_error* error) {
  if (is_sound(m)) {
    return SAP_STATUS_OK;
  }
  SAP_FAIL_IF(!(m->stiffness > 0.0), error,
              isnan(m->stiffness) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT,
              "stiffness = %g must be > 0 N/m", m->stiffness);
#define SAP_X_NOT_NEGATIVE(name) SAP_TRY(sap_contact_check_number(#name, m->name, false, error));
  SAP_MATERIAL_FIELDS(SAP_X)
#undef SAP_X_NOT_NEGATIVE
  return sap_fail(error, SAP_STATUS_ARGUMENT, "model = %d is not a sap_contact_model",
                  (int)m->model);
}
#undef SAP_X
#undef SAP_X_OWN
#undef SAP_X_STIFFNESS

double sap_friction_combine(double a, double b, sap_friction_rule rule) {
  if (rule == SAP_FRICTION_MAXIMUM) {
    return a > b ? a : b;
  }
  // 2 a b/(a + b) without overflow: both divided by the larger first
  const double larger = a > b ? a : b;
  const double smaller = a > b ? b : a;
  return larger > 0.0 ? smaller / (0.5 + 0.5 * (smaller / larger)) : 0.0;
}

void sap_material_mix(const sap_material* a, const sap_material* b, sap_friction_rule rule,
                      sap_material* out) {
  sap_material pair = {.friction = sap_friction_combine(a->friction, b->friction, rule),
                       .model = a->model > b->model ? a->model : b->model,
                       .stiction_tolerance = sap_most(a->stiction_tolerance, b->stiction_tolerance),
                       .modulus = sap_most(a->modulus, b->modulus),
                       .field_depth = sap_most(a->field_depth, b->field_depth)};
  if (a->static_friction > a->friction || b->static_friction > b->friction) {
    pair.static_friction = sap_friction_combine(sap_most(a->static_friction, a->friction),
                                                sap_most(b->static_friction, b->friction), rule);
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
}

sap_status sap_material_combine(const sap_material* a, const sap_material* b,
                                sap_friction_rule rule, sap_material* out, sap_error* error) {
  SAP_NOT_NULL(error, a, b, out);
  SAP_FAIL_IF(rule != SAP_FRICTION_HARMONIC && rule != SAP_FRICTION_MAXIMUM, error,
              SAP_STATUS_ARGUMENT, "rule = %d is not a sap_friction_rule", (int)rule);
  SAP_TRY(sap_material_check(a, error));
  SAP_TRY(sap_material_check(b, error));
  sap_material_mix(a, b, rule, out);
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
  SAP_NOT_NULL(error, pair, regularization, R, v_hat);
  const sap_contact_scheme scheme = sap_contact_scheme_default();
  const sap_law_settings settings = {dt, &scheme, regularization};
  const sap_compliant_row normal = {.stiffness = pair->stiffness,
                                    .relaxation_time = pair->relaxation_time,
                                    .g0 = phi0,
                                    .w = w,
                                    .unilateral = true};
  SAP_TRY(sap_material_check(pair, error));
  SAP_TRY(sap_law_row(&settings, &normal, &R[2], &v_hat[2], error));
  R[0] = R[1] = regularization->sigma * w;
  v_hat[0] = v_hat[1] = 0.0;
  return SAP_STATUS_OK;
}
