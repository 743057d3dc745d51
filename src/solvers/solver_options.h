// SPDX-License-Identifier: BSD-3-Clause
// SAP_SOLVER_OPTIONS as a table. The words of its enums are in this header for every file that
// makes a table of a struct with solver options inside.
#ifndef SAP_SOLVERS_SOLVER_OPTIONS_H
#define SAP_SOLVERS_SOLVER_OPTIONS_H

#include <sapstep/solver.h>

#include "core/options.h"

#define SAP_X(name, text) text,
static const char* const sap_newton_words[] = {SAP_NEWTON_LIST(SAP_X)};
static const char* const sap_line_search_words[] = {SAP_LINE_SEARCH_LIST(SAP_X)};
static const char* const sap_linear_words[] = {SAP_LINEAR_LIST(SAP_X)};
static const char* const sap_penalty_words[] = {SAP_PENALTY_LIST(SAP_X)};
#undef SAP_X

#define SAP_OPTION_KIND_newton_method SAP_OPTION_WORD
#define SAP_OPTION_KIND_line_search SAP_OPTION_WORD
#define SAP_OPTION_KIND_linear_solver SAP_OPTION_WORD
#define SAP_OPTION_KIND_penalty SAP_OPTION_WORD
#define SAP_OPTION_WORDS_newton_method sap_newton_words
#define SAP_OPTION_WORDS_line_search sap_line_search_words
#define SAP_OPTION_WORDS_linear_solver sap_linear_words
#define SAP_OPTION_WORDS_penalty sap_penalty_words

// All options of sap_solver_options, in the order of the list.
sap_option_table sap_solver_option_table(void);

#endif
