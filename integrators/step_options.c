// SPDX-License-Identifier: BSD-3-Clause
// The stepper's options: named (theta, theta_vq) pairs, defaults, presets and the check.
#include "integrators/step_options.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char* text;
  double theta, theta_vq;
} schemes[] = {
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

const char* sap_stage_text(sap_stage stage) {
  return SAP_TEXT_OF(SAP_STAGE_LIST, SAP_STAGE_COUNT, stage, "unknown stage");
}

const char* sap_law_text(sap_law law) {
  return SAP_TEXT_OF(SAP_LAW_LIST, SAP_LAW_COUNT, law, "unknown law");
}

sap_stepper_options sap_stepper_options_default(void) {
  sap_stepper_options options = {
      .cookie = SAP_COOKIE, .solver = "sap", .solver_options = sap_solver_options_default()};
  sap_options_reset(sap_stepper_option_table(), &options);
  options.solver_options.check_input = false;
  return options;
}

// Sets an option of the table from "name=value".
static void take_setting(const char* text, sap_stepper_options* options) {
  const sap_option_table table = sap_stepper_option_table();
  const size_t length = strcspn(text, "=");
  SAP_EACH(const sap_option, o, table.options, table.count) {
    if (strlen(o->name) != length || strncmp(o->name, text, length) != 0) {
      continue;
    }
    const char* value = text + length + 1;
    int word = 0;
    while (o->words != NULL && strncmp(o->words[word], value, strcspn(value, " ")) != 0) {
      ++word;
    }
    sap_option_set(o, options, o->words != NULL ? o->minimum + word : strtod(value, NULL));
  }
}

sap_status sap_stepper_options_preset(const char* name, sap_stepper_options* options,
                                      sap_error* error) {
#define SAP_X(preset, source, settings) {preset, settings},
  static const char* const presets[][2] = {SAP_PRESET_LIST(SAP_X)};
#undef SAP_X
  SAP_NOT_NULL(error, name, options);
  size_t p = 0;
  while (p < sizeof presets / sizeof *presets && strcmp(name, presets[p][0]) != 0) {
    ++p;
  }
  SAP_FAIL_IF(p == sizeof presets / sizeof *presets, error, SAP_STATUS_ARGUMENT,
              "unknown preset '%.60s'; available: default, castro, drake", name);
  for (const char* at = presets[p][1]; *at != '\0'; at += strspn(at, " ")) {
    options->solver = "sap";
    take_setting(at, options);
    at += strcspn(at, " ");
  }
  return SAP_STATUS_OK;
}

sap_status sap_stepper_options_set_scheme(sap_stepper_options* options, sap_scheme s,
                                          sap_error* error) {
  SAP_FAIL_IF(options == NULL || !is_scheme(s), error, SAP_STATUS_ARGUMENT,
              "scheme = %d must be 0 to %d, options not NULL", (int)s, (int)SAP_SCHEME_COUNT - 1);
  options->theta = schemes[s].theta;
  options->theta_vq = schemes[s].theta_vq;
  return SAP_STATUS_OK;
}

sap_status sap_stepper_options_check(const sap_stepper_options* options, sap_error* error) {
  SAP_TRY(
      sap_check_cookie("sap_stepper_options", options != NULL ? &options->cookie : NULL, error));
  SAP_TRY(sap_check_cookie("sap_solver_options", &options->solver_options.cookie, error));
  SAP_TRY(sap_options_check(sap_stepper_option_table(), options, error));
  SAP_FAIL_IF(options->contact_stage == SAP_STAGE_THETA &&
                  !(options->theta >= 0.5 && options->theta_vq >= 0.5),
              error, SAP_STATUS_ARGUMENT,
              "contact_stage theta needs theta and theta_vq >= 0.5, not %g and %g", options->theta,
              options->theta_vq);
  SAP_FAIL_IF(options->solver == NULL, error, SAP_STATUS_ARGUMENT,
              "solver is NULL, must be a solver's name");
  return SAP_STATUS_OK;
}
