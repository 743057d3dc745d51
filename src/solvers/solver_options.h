// SPDX-License-Identifier: BSD-3-Clause
// SAP_SOLVER_OPTIONS as a table, and rows for tables of structs with solver options inside. Tables
// are inline: the program and the MuJoCo adapter cannot link hidden functions of a shared library.
#pragma once

#include <math.h>

#include <sapstep/solver.h>

#include "core/options.h"

#define SAP_X(name, text) text,
static const char* const sap_newton_words[] = {SAP_NEWTON_LIST(SAP_X)};
static const char* const sap_line_search_words[] = {SAP_LINE_SEARCH_LIST(SAP_X)};
static const char* const sap_linear_words[] = {SAP_LINEAR_LIST(SAP_X)};
static const char* const sap_penalty_words[] = {SAP_PENALTY_LIST(SAP_X)};
static const char* const sap_model_words[] = {"material", SAP_CONTACT_MODEL_LIST(SAP_X)};
#undef SAP_X

#define SAP_OPTION_KIND_newton_method SAP_OPTION_WORD
#define SAP_OPTION_KIND_line_search SAP_OPTION_WORD
#define SAP_OPTION_KIND_linear_solver SAP_OPTION_WORD
#define SAP_OPTION_KIND_penalty SAP_OPTION_WORD
#define SAP_OPTION_KIND_contact_model SAP_OPTION_WORD
#define SAP_OPTION_WORDS_newton_method sap_newton_words
#define SAP_OPTION_WORDS_line_search sap_line_search_words
#define SAP_OPTION_WORDS_linear_solver sap_linear_words
#define SAP_OPTION_WORDS_penalty sap_penalty_words
#define SAP_OPTION_WORDS_contact_model sap_model_words

// Defines NAME_option_table for a struct of options, whose type is `owner` in the rows.
#define SAP_DEFINE_OPTION_TABLE(name, type, ...)             \
  static inline sap_option_table name##_option_table(void) { \
    typedef type owner;                                      \
    static const sap_option ROWS[] = {__VA_ARGS__};          \
    return SAP_OPTION_TABLE(ROWS);                           \
  }
// Rows of the owner: its own, those of its regularization, of its solver_options.
#define SAP_OWN_ROW(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(owner, name, type, name, value, low, high, meaning)
#define SAP_REGULARIZATION_ROW(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(owner, regularization.name, type, name, value, low, high, meaning)
#define SAP_SOLVER_ROW(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(owner, solver_options.name, type, name, value, low, high, meaning)
#define SAP_ALL_ROWS(OWN)                            \
  OWN(SAP_OWN_ROW)                                   \
  SAP_REGULARIZATION_OPTIONS(SAP_REGULARIZATION_ROW) \
  SAP_SOLVER_OPTIONS(SAP_SOLVER_ROW)

// All options of sap_solver_options, in the order of the list.
SAP_DEFINE_OPTION_TABLE(sap_solver, sap_solver_options, SAP_SOLVER_OPTIONS(SAP_OWN_ROW))
