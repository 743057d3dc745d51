// SPDX-License-Identifier: BSD-3-Clause
// The options of the stepper and of its error control as tables.
#pragma once

#include <sapstep/adaptive.h>
#include <sapstep/stepper.h>

#include "solvers/solver_options.h"

#define SAP_X(name, text) text,
static const char* const sap_stage_words[] = {SAP_STAGE_LIST(SAP_X)};
static const char* const sap_law_words[] = {SAP_LAW_LIST(SAP_X)};
#undef SAP_X

#define SAP_OPTION_KIND_stage SAP_OPTION_WORD
#define SAP_OPTION_KIND_law SAP_OPTION_WORD
#define SAP_OPTION_WORDS_stage sap_stage_words
#define SAP_OPTION_WORDS_law sap_law_words

// All options of sap_stepper_options: its own, those of the regularization, those of the solver.
SAP_DEFINE_OPTION_TABLE(sap_stepper, sap_stepper_options, SAP_ALL_ROWS(SAP_STEPPER_OPTIONS))
SAP_DEFINE_OPTION_TABLE(sap_adaptive, sap_adaptive_options, SAP_ADAPTIVE_OPTIONS(SAP_OWN_ROW))
