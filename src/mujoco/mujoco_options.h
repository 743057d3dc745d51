// SPDX-License-Identifier: BSD-3-Clause
// The adapter's options as a table.
#pragma once

#include <sapstep/mujoco.h>

#include "solvers/solver_options.h"

#define SAP_X(name, text) text,
static const char* const sap_mj_model_words[] = {"material", SAP_CONTACT_MODEL_LIST(SAP_X)};
#undef SAP_X

// All options of sap_mj_options: its own, those of the regularization, those of the solver.
static inline sap_option_table sap_mj_option_table(void) {
#define SAP_OPTION_OWNER sap_mj_options
#define SAP_OPTION_KIND_contact_model SAP_OPTION_WORD
#define SAP_OPTION_WORDS_contact_model sap_mj_model_words
  static const sap_option ROWS[] = {SAP_ALL_ROWS(SAP_MJ_OPTIONS)};
#undef SAP_OPTION_WORDS_contact_model
#undef SAP_OPTION_KIND_contact_model
#undef SAP_OPTION_OWNER
  return SAP_OPTION_TABLE(ROWS);
}
