// SPDX-License-Identifier: BSD-3-Clause
// The stepper's options: named (theta, theta_vq) pairs, defaults and the check.
#include <math.h>

#include <sapstep/stepper.h>

#include "core/error.h"

typedef struct scheme {
  const char* text;
  double theta, theta_vq;
} scheme;

static const scheme schemes[] = {
#define SAP_X(name, text, theta, theta_vq) {text, theta, theta_vq},
    SAP_SCHEME_LIST(SAP_X)
#undef SAP_X
};

static bool is_scheme(sap_scheme s) {
  return (int)s >= 0 && (int)s < (int)SAP_SCHEME_COUNT;
}

const char* sap_scheme_text(sap_scheme s) {
  return is_scheme(s) ? schemes[s].text : "unknown scheme";
}

static const char* const stages[] = {
#define SAP_X(name, text) text,
    SAP_STAGE_LIST(SAP_X)
#undef SAP_X
};

const char* sap_stage_text(sap_stage stage) {
  return (int)stage >= 0 && (int)stage < (int)SAP_STAGE_COUNT ? stages[stage] : "unknown stage";
}

static const char* const laws[] = {
#define SAP_X(name, text) text,
    SAP_LAW_LIST(SAP_X)
#undef SAP_X
};

const char* sap_law_text(sap_law law) {
  return (int)law >= 0 && (int)law < (int)SAP_LAW_COUNT ? laws[law] : "unknown law";
}

sap_stepper_options sap_stepper_options_default(void) {
  sap_stepper_options options = {
      .dt = 0.005,
      .theta = 1.0,
      .theta_vq = 1.0,
      .contact_stage = SAP_STAGE_AUTO,
      .contact_model = SAP_CONTACT_BY_MATERIAL,
      .contact_law = SAP_LAW_AUTO,
      .baumgarte = 0.2,
      .regularization = sap_regularization_default(),
      .balance_tolerance = 1e-3,
      .free_motion_max_iterations = 50,
      .solver = "sap",
      .remember = true,
      .solver_options = sap_solver_options_default(),
  };
  options.solver_options.check_input = false;
  return options;
}

sap_status sap_stepper_options_set_scheme(sap_stepper_options* options, sap_scheme s,
                                          sap_error* error) {
  if (options == NULL || !is_scheme(s)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "scheme = %d must be 0 to %d, options not NULL",
                    (int)s, (int)SAP_SCHEME_COUNT - 1);
  }
  options->theta = schemes[s].theta;
  options->theta_vq = schemes[s].theta_vq;
  return SAP_STATUS_OK;
}

// A real field and what is allowed: minimum (excluded when `open`) to maximum.
typedef struct real_range {
  const char* name;
  double value, minimum, maximum;
  bool open;
  const char* allowed;
} real_range;

sap_status sap_stepper_options_check(const sap_stepper_options* options, sap_error* error) {
  if (options == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "stepper options are NULL");
  }
  const real_range ranges[] = {
      {"dt", options->dt, 0.0, HUGE_VAL, true, "finite and > 0 s"},
      {"theta", options->theta, 0.0, 1.0, false, "in [0, 1]"},
      {"theta_vq", options->theta_vq, 0.0, 1.0, false, "in [0, 1]"},
      {"time_limit", options->time_limit, 0.0, 1e9, false, "in [0, 1e9] s"},
      {"restitution", options->restitution, 0.0, 1.0, false, "in [0, 1]"},
      {"baumgarte", options->baumgarte, 0.0, 1.0, false, "in [0, 1]"},
      {"regularization.beta", options->regularization.beta, 0.0, HUGE_VAL, false,
       "finite and >= 0"},
      {"regularization.sigma", options->regularization.sigma, 0.0, HUGE_VAL, true,
       "finite and > 0"},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i) {
    const real_range* r = &ranges[i];
    const bool above = r->open ? r->value > r->minimum : r->value >= r->minimum;
    if (!(isfinite(r->value) && above && r->value <= r->maximum)) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %g must be %s", r->name, r->value,
                      r->allowed);
    }
  }
  if (!(options->balance_tolerance >= 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "balance_tolerance = %g must be >= 0",
                    options->balance_tolerance);
  }
  if ((int)options->contact_stage < 0 || (int)options->contact_stage >= (int)SAP_STAGE_COUNT) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "contact_stage = %d must be auto, end or theta",
                    (int)options->contact_stage);
  }
  if ((int)options->contact_law < 0 || (int)options->contact_law >= (int)SAP_LAW_COUNT) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "contact_law = %d must be auto, compliant or rigid",
                    (int)options->contact_law);
  }
  if (options->contact_stage == SAP_STAGE_THETA &&
      !(options->theta >= 0.5 && options->theta_vq >= 0.5)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact_stage theta needs theta and theta_vq >= 0.5, not %g and %g",
                    options->theta, options->theta_vq);
  }
  const int model = (int)options->contact_model;
  if (model < (int)SAP_CONTACT_BY_MATERIAL || model >= (int)SAP_CONTACT_MODEL_COUNT) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact_model = %d must be sap, similar, lagged or material", model);
  }
  if (options->free_motion_max_iterations < 1) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "free_motion_max_iterations = %d must be >= 1",
                    options->free_motion_max_iterations);
  }
  if (options->solver == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "solver is NULL, must be a solver's name");
  }
  return sap_solver_options_check(&options->solver_options, error);
}
