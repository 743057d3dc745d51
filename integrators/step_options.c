// SPDX-License-Identifier: BSD-3-Clause
// The stepper's options: named (theta, theta_vq) pairs, defaults and the check.
#include "integrators/step_options.h"

#include <math.h>

#include "solvers/solver_options.h"

static const struct {
  const char* text;
  double theta, theta_vq;
} schemes[] = {
#define SAP_X(name, text, theta, theta_vq) {text, theta, theta_vq},
    SAP_SCHEME_LIST(SAP_X)
#undef SAP_X
};

#define SAP_X(name, text) text,
static const char* const stage_words[] = {SAP_STAGE_LIST(SAP_X)};
static const char* const law_words[] = {SAP_LAW_LIST(SAP_X)};
static const char* const model_words[] = {"material", SAP_CONTACT_MODEL_LIST(SAP_X)};
#undef SAP_X

#define SAP_OPTION_KIND_stage SAP_OPTION_WORD
#define SAP_OPTION_KIND_law SAP_OPTION_WORD
#define SAP_OPTION_KIND_contact_model SAP_OPTION_WORD
#define SAP_OPTION_WORDS_stage stage_words
#define SAP_OPTION_WORDS_law law_words
#define SAP_OPTION_WORDS_contact_model model_words

sap_option_table sap_stepper_option_table(void) {
  static const sap_option OPTIONS[] = {
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_stepper_options, name, type, name, value, low, high, meaning)
      SAP_STEPPER_OPTIONS(SAP_X)
#undef SAP_X
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_stepper_options, regularization.name, type, name, value, low, high, meaning)
          SAP_REGULARIZATION_OPTIONS(SAP_X)
#undef SAP_X
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_stepper_options, solver_options.name, type, name, value, low, high, meaning)
              SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
  };
  return (sap_option_table){OPTIONS, (int32_t)(sizeof OPTIONS / sizeof OPTIONS[0])};
}

static bool is_scheme(sap_scheme s) {
  return (int)s >= 0 && (int)s < (int)SAP_SCHEME_COUNT;
}

const char* sap_scheme_text(sap_scheme s) {
  return is_scheme(s) ? schemes[s].text : "unknown scheme";
}

const char* sap_stage_text(sap_stage stage) {
  return (int)stage >= 0 && (int)stage < (int)SAP_STAGE_COUNT ? stage_words[stage]
                                                              : "unknown stage";
}

const char* sap_law_text(sap_law law) {
  return (int)law >= 0 && (int)law < (int)SAP_LAW_COUNT ? law_words[law] : "unknown law";
}

sap_stepper_options sap_stepper_options_default(void) {
  sap_stepper_options options = {.cookie = SAP_OPTIONS_COOKIE,
                                 .solver = "sap",
                                 .solver_options = sap_solver_options_default()};
  sap_options_reset(sap_stepper_option_table(), &options);
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

sap_status sap_stepper_options_check(const sap_stepper_options* options, sap_error* error) {
  SAP_TRY(sap_options_check_cookie("sap_stepper_options", options != NULL ? &options->cookie : NULL,
                                   error));
  SAP_TRY(sap_options_check_cookie("sap_solver_options", &options->solver_options.cookie, error));
  SAP_TRY(sap_options_check(sap_stepper_option_table(), options, error));
  if (options->contact_stage == SAP_STAGE_THETA &&
      !(options->theta >= 0.5 && options->theta_vq >= 0.5)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "contact_stage theta needs theta and theta_vq >= 0.5, not %g and %g",
                    options->theta, options->theta_vq);
  }
  if (options->solver == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "solver is NULL, must be a solver's name");
  }
  return SAP_STATUS_OK;
}
