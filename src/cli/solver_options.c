// SPDX-License-Identifier: BSD-3-Clause
// The options that SAP_SOLVER_OPTIONS lists, read from text and described for the help.
#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"

typedef enum field_kind {
  KIND_real,
  KIND_integer,
  KIND_boolean,
  KIND_newton_method,
  KIND_line_search,
  KIND_linear_solver,
  KIND_penalty,
} field_kind;

// Names in the order of the enums' values.
static const char* const newton_names[] = {"primal", "primal-dual", NULL};
static const char* const line_search_names[] = {"exact", "backtracking", NULL};
static const char* const linear_solver_names[] = {"auto", "dense", "block", "sparse", NULL};
static const char* const penalty_names[] = {"fixed", "linear", "spectral", NULL};
_Static_assert(SAP_PENALTY_FIXED == 0 && SAP_PENALTY_LINEAR == 1 && SAP_PENALTY_SPECTRAL == 2,
               "names");
_Static_assert(SAP_NEWTON_PRIMAL == 0 && SAP_NEWTON_PRIMAL_DUAL == 1, "names");
_Static_assert(SAP_LINE_SEARCH_EXACT == 0 && SAP_LINE_SEARCH_BACKTRACKING == 1, "names");
_Static_assert(SAP_LINEAR_AUTO == 0 && SAP_LINEAR_DENSE == 1 && SAP_LINEAR_BLOCK == 2 &&
                   SAP_LINEAR_SPARSE == 3,
               "names");

typedef struct field {
  const char* name;
  field_kind kind;
  size_t offset;
  double value, low, high;
  const char* meaning;
} field;

static const field fields[] = {
#define SAP_X(type, name, value, low, high, meaning)                      \
  {                                                                       \
      #name,           KIND_##type,   offsetof(sap_solver_options, name), \
      (double)(value), (double)(low), (double)(high),                     \
      meaning},
    SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
};

int cli_solver_option_count(void) {
  return (int)(sizeof fields / sizeof fields[0]);
}

void cli_solver_option_name(int index, char name[CLI_NAME_SIZE]) {
  (void)snprintf(name, CLI_NAME_SIZE, "%s", fields[index].name);
  for (char* c = name; *c != '\0'; ++c) {
    *c = *c == '_' ? '-' : *c;
  }
}

static const char* const* choices_of(field_kind kind) {
  switch (kind) {
    case KIND_newton_method:
      return newton_names;
    case KIND_line_search:
      return line_search_names;
    case KIND_linear_solver:
      return linear_solver_names;
    case KIND_penalty:
      return penalty_names;
    default:
      return NULL;
  }
}

static void list_choices(const char* const* choices, char out[CLI_ALLOWED_SIZE]) {
  size_t length = 0;
  out[0] = '\0';
  for (int i = 0; choices[i] != NULL && length < CLI_ALLOWED_SIZE; ++i) {
    const char* separator = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
    const int n = snprintf(out + length, CLI_ALLOWED_SIZE - length, "%s%s", separator, choices[i]);
    length += n > 0 ? (size_t)n : 0;
  }
}

bool cli_set_solver_option(sap_solver_options* options, int index, const char* text,
                           char allowed[CLI_ALLOWED_SIZE]) {
  const field* f = &fields[index];
  void* target = (char*)options + f->offset;
  switch (f->kind) {
    case KIND_real:
      (void)snprintf(allowed, CLI_ALLOWED_SIZE, "a number");
      return cli_read_real(text, target);
    case KIND_integer:
      (void)snprintf(allowed, CLI_ALLOWED_SIZE, "an integer");
      return cli_read_integer(text, target);
    case KIND_boolean:
      (void)snprintf(allowed, CLI_ALLOWED_SIZE, "on or off");
      return cli_read_boolean(text, target);
    case KIND_newton_method: {
      const int choice = cli_read_choice(text, newton_names);
      list_choices(newton_names, allowed);
      if (choice >= 0) {
        *(sap_newton_method*)target = (sap_newton_method)choice;
      }
      return choice >= 0;
    }
    case KIND_line_search: {
      const int choice = cli_read_choice(text, line_search_names);
      list_choices(line_search_names, allowed);
      if (choice >= 0) {
        *(sap_line_search*)target = (sap_line_search)choice;
      }
      return choice >= 0;
    }
    case KIND_linear_solver: {
      const int choice = cli_read_choice(text, linear_solver_names);
      list_choices(linear_solver_names, allowed);
      if (choice >= 0) {
        *(sap_linear_solver*)target = (sap_linear_solver)choice;
      }
      return choice >= 0;
    }
    case KIND_penalty: {
      const int choice = cli_read_choice(text, penalty_names);
      list_choices(penalty_names, allowed);
      if (choice >= 0) {
        *(sap_penalty*)target = (sap_penalty)choice;
      }
      return choice >= 0;
    }
  }
  return false;
}

static void print_default(const field* f) {
  const char* const* choices = choices_of(f->kind);
  if (choices != NULL) {
    (void)printf(" (%s)\n", choices[(int)f->value]);
  } else if (f->kind == KIND_boolean) {
    (void)printf(" (%s)\n", f->value > 0.5 ? "on" : "off");
  } else {
    (void)printf(" (%g; %g to %g)\n", f->value, f->low, f->high);
  }
}

void cli_print_solver_options(void) {
  static const char* const arguments[] = {
      [KIND_real] = "X",           [KIND_integer] = "N",
      [KIND_boolean] = "on|off",   [KIND_newton_method] = "NAME",
      [KIND_line_search] = "NAME", [KIND_linear_solver] = "NAME",
      [KIND_penalty] = "NAME",
  };
  (void)printf("\nSolver options (default; range):\n");
  for (int i = 0; i < cli_solver_option_count(); ++i) {
    char name[CLI_NAME_SIZE];
    char left[CLI_NAME_SIZE + 16];
    cli_solver_option_name(i, name);
    (void)snprintf(left, sizeof left, "--%s %s", name, arguments[fields[i].kind]);
    (void)printf("  %-30s %s", left, fields[i].meaning);
    print_default(&fields[i]);
  }
  (void)printf("  %-30s %s\n", "--tolerance X", "the same as --relative-tolerance");
}
