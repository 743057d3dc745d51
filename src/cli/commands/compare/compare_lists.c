// SPDX-License-Identifier: BSD-3-Clause
// Options of `sapstep compare` that are lists or have parts. Each returns what the argument must be
// where it is not that, NULL where it was taken.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/expression.h"
#include "cli/options.h"

// A copy that lives as long as the options; NULL without memory.
static char* keep(compare_options* options, const char* text) {
  if (options->text_count == COMPARE_TEXTS_MAX) {
    return NULL;
  }
  char* copy = malloc(strlen(text) + 1);
  if (copy != NULL) {
    strcpy(copy, text);
    options->texts[options->text_count++] = copy;
  }
  return copy;
}

void compare_options_clear(compare_options* options) {
  for (int i = 0; i < options->text_count; ++i) {
    free(options->texts[i]);
  }
  options->text_count = 0;
}

// The next word of a list "a,b,c", which is cut up; NULL: there is none left.
static char* next_word(char** rest) {
  char* word = *rest;
  if (word == NULL) {
    return NULL;
  }
  char* comma = strchr(word, ',');
  *rest = comma != NULL ? comma + 1 : NULL;
  if (comma != NULL) {
    *comma = '\0';
  }
  return word;
}

// Cuts "NAME=VALUE" after the name; NULL: there is no '='.
static char* cut_value(char* text) {
  char* equals = strchr(text, '=');
  if (equals == NULL || equals == text) {
    return NULL;
  }
  *equals = '\0';
  return equals + 1;
}

static bool set_option(sap_solver_options* options, char* text) {
  char* value = cut_value(text);
  for (char* c = text; *c != '\0'; ++c) {
    *c = *c == '_' ? '-' : *c;
  }
  for (int i = 0; value != NULL && i < cli_solver_option_count(); ++i) {
    char name[CLI_NAME_SIZE], allowed[CLI_ALLOWED_SIZE];
    cli_solver_option_name(i, name);
    if (strcmp(name, text) == 0) {
      return cli_set_solver_option(options, i, value, allowed) &&
             sap_solver_options_check(options, NULL) == SAP_STATUS_OK;
    }
  }
  return false;
}

const char* compare_read_solver(const char** text, compare_contender* contender) {
  static const char allowed[] =
      "names that 'sapstep solvers' lists, with options as in admm-ncp:penalty=fixed";
  char word[COMPARE_LABEL_SIZE];
  const size_t length = strcspn(*text, ",");
  if (length == 0 || length >= sizeof word) {
    return allowed;
  }
  (void)snprintf(word, sizeof word, "%.*s", (int)length, *text);
  strcpy(contender->name, word);
  *text += length + ((*text)[length] == ',' ? 1 : 0);
  char* option = strchr(word, ':');
  if (option != NULL) {
    *option++ = '\0';
  }
  contender->info = sap_solver_find(word);
  bool good = contender->info != NULL;
  while (good && option != NULL) {
    char* next = strchr(option, ':');
    if (next != NULL) {
      *next++ = '\0';
    }
    good = set_option(&contender->options, option);
    option = next;
  }
  return good ? NULL : allowed;
}

const char* compare_take_names(compare_options* o, const char* argument) {
  const char* at = argument;
  const char* wrong = argument[0] != '\0' ? NULL : "at least one name";
  o->names = argument;
  while (wrong == NULL && *at != '\0') {
    compare_contender ignored = {.options = sap_solver_options_default()};
    wrong = compare_read_solver(&at, &ignored);
  }
  return wrong;
}

// What is wrong with a value for sweep_setup_take, in words.
static const char* try_value(sweep_setup* setup, const char* name, const char* value) {
  static char text[1280];
  const char* wrong = sweep_setup_take(setup, name, value);
  if (wrong != NULL && wrong[0] == '\0') {
    size_t used = (size_t)snprintf(text, sizeof text, "of a name that there is: ");
    sweep_list_parameters(text + used, sizeof text - used);
    return text;
  }
  return wrong;
}

const char* compare_take_set(compare_options* o, const char* argument) {
  char* rest = keep(o, argument);
  for (char* word = next_word(&rest); word != NULL; word = next_word(&rest)) {
    const char* value = cut_value(word);
    if (value == NULL || o->setup.edit_count + o->setup.state_count >= SWEEP_PARAMETERS_MAX - 1) {
      return "NAME=VALUE, at most 63 of them";
    }
    const char* wrong = try_value(&o->setup, word, value);
    if (wrong != NULL) {
      return wrong;
    }
  }
  return NULL;
}

const char* compare_take_vary(compare_options* o, const char* argument) {
  char* name = keep(o, argument);
  char* rest = name != NULL ? cut_value(name) : NULL;
  o->value_count = 0;
  o->vary = name;
  for (char* value = next_word(&rest); value != NULL; value = next_word(&rest)) {
    sweep_setup setup = o->setup;
    const char* wrong = try_value(&setup, name, value);
    if (wrong != NULL || o->value_count == COMPARE_VALUES_MAX) {
      return wrong != NULL ? wrong : "NAME and at most 64 values";
    }
    o->values[o->value_count++] = value;
  }
  return o->value_count > 0 ? NULL : "NAME=VALUE,...";
}

const char* compare_take_force(compare_options* o, const char* argument) {
  static const char allowed[] = "BODY/x=FORMULA, BODY/y=... or BODY/z=... in the time t";
  char* text = keep(o, argument);
  const char* formula = text != NULL ? cut_value(text) : NULL;
  char* slash = formula != NULL ? strrchr(text, '/') : NULL;
  if (slash == NULL || slash[1] < 'x' || slash[1] > 'z' || slash[2] != '\0' ||
      o->force_count == COMPARE_FORCES_MAX) {
    return allowed;
  }
  const char* wrong;
  (void)expression_value(formula, 0.0, &wrong);
  *slash = '\0';
  o->forces[o->force_count++] =
      (compare_force){.body = text, .formula = formula, .axis = slash[1] - 'x'};
  return wrong == NULL ? NULL : allowed;
}

const char* compare_take_plot(compare_options* o, const char* argument) {
  char* rest = keep(o, argument);
  for (char* word = next_word(&rest); word != NULL; word = next_word(&rest)) {
    const char* wrong;
    if (!compare_quantity_add(o, word, &wrong)) {
      return wrong;
    }
  }
  return NULL;
}

const char* compare_take_exact(compare_options* o, const char* argument) {
  char* name = keep(o, argument);
  const char* formula = name != NULL ? cut_value(name) : NULL;
  const char* wrong = NULL;
  if (formula != NULL) {
    (void)expression_value(formula, 0.0, &wrong);
  }
  for (int i = 0; formula != NULL && wrong == NULL && i < o->quantity_count; ++i) {
    if (o->quantities[i].drawn && strcmp(o->quantities[i].name, name) == 0) {
      o->quantities[i].exact = formula;
      return NULL;
    }
  }
  return "QUANTITY=FORMULA in the time t, of a quantity that --plot named before";
}
