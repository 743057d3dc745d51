// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// getopt's values: ids of a command come first, then these.
enum { ID_HELP = 10000, ID_SOLVER = 20000 };

static void add(cli_parser* parser, const char* name, bool argument, int id) {
  if (parser->count < CLI_OPTION_MAX) {
    char* copy = parser->names[parser->count];
    (void)snprintf(copy, CLI_NAME_SIZE, "%s", name);
    parser->list[parser->count++] = (struct option){
        .name = copy, .has_arg = argument ? required_argument : no_argument, .val = id};
  }
}

void cli_parser_begin(cli_parser* parser, const cli_command* command, sap_solver_options* solver,
                      int argc, char** argv) {
  *parser = (cli_parser){.command = command, .solver = solver, .argc = argc, .argv = argv};
  for (const cli_option* option = command->options; option->name != NULL; ++option) {
    add(parser, option->name, option->argument != NULL, option->id);
  }
  add(parser, "help", false, ID_HELP);
  if (solver != NULL) {
    for (int i = 0; i < cli_solver_option_count(); ++i) {
      char name[CLI_NAME_SIZE];
      cli_solver_option_name(i, name);
      add(parser, name, true, ID_SOLVER + i);
      if (strcmp(name, "relative-tolerance") == 0) {
        add(parser, "tolerance", true, ID_SOLVER + i);
      }
    }
  }
  optind = 1;
  opterr = 0;
}

int cli_usage_error(const cli_command* command, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)fprintf(stderr, "sapstep %s: ", command->name);
  (void)vfprintf(stderr, format, arguments);
  (void)fprintf(stderr, "\nTry 'sapstep %s --help'.\n", command->name);
  va_end(arguments);
  return CLI_USAGE;
}

// What getopt refused stands in argv[optind - 1], or in optopt for a letter.
static int refuse(cli_parser* parser, int refused_letter, const char* text) {
  const cli_command* command = parser->command;
  if (text == NULL || strncmp(text, "--", 2) != 0) {
    return cli_usage_error(command, "unknown option '-%c'", refused_letter);
  }
  char word[CLI_NAME_SIZE];
  (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(text + 2, "="), text + 2);
  const char* names[CLI_OPTION_MAX];
  int matches = 0;
  for (int i = 0; i < parser->count; ++i) {
    names[i] = parser->list[i].name;
    if (strcmp(names[i], word) == 0) {
      return cli_usage_error(command, "option '--%s' takes no argument", word);
    }
    matches += strncmp(names[i], word, strlen(word)) == 0 ? 1 : 0;
  }
  if (matches > 1) {
    return cli_usage_error(command, "option '--%s' could be any of %d", word, matches);
  }
  const char* suggestion = cli_suggest(word, names, parser->count);
  if (suggestion != NULL) {
    return cli_usage_error(command, "unknown option '--%s', did you mean '--%s'?", word,
                           suggestion);
  }
  return cli_usage_error(command, "unknown option '--%s'", word);
}

static int leave(cli_parser* parser, int exit_code) {
  parser->exit_code = exit_code;
  return CLI_PARSE_LEAVE;
}

static int option_id(const cli_command* command, const char* name) {
  const cli_option* option = command->options;
  while (option->name != NULL && strcmp(option->name, name) != 0) {
    ++option;
  }
  return option->name != NULL ? option->id : 0;
}

int cli_parse_next(cli_parser* parser, const char** argument) {
  for (;;) {
    int index = -1;
    const int value = getopt_long(parser->argc, parser->argv, ":ho:", parser->list, &index);
    *argument = optarg;
    if (value == -1) {
      parser->operands = parser->argv + optind;
      parser->noperands = parser->argc - optind;
      return CLI_PARSE_END;
    }
    if (value == ':') {
      return leave(parser, cli_usage_error(parser->command, "option '%s' needs an argument",
                                           parser->argv[optind - 1]));
    }
    if (value == '?') {
      return leave(parser, refuse(parser, optopt, parser->argv[optind - 1]));
    }
    if (value == 'h' || value == ID_HELP) {
      cli_print_help(parser->command);
      return leave(parser, CLI_OK);
    }
    if (value == 'o') {  // short for --output, where there is one
      const int id = option_id(parser->command, "output");
      return id > 0 ? id : leave(parser, refuse(parser, value, NULL));
    }
    if (value < ID_SOLVER) {
      return value;
    }
    char allowed[CLI_ALLOWED_SIZE];
    if (!cli_set_solver_option(parser->solver, value - ID_SOLVER, optarg, allowed)) {
      return leave(parser, cli_usage_error(parser->command, "--%s '%s' must be %s",
                                           parser->list[index].name, optarg, allowed));
    }
  }
}

static void print_options(const cli_option* options) {
  for (const cli_option* option = options; option->name != NULL; ++option) {
    char left[2 * CLI_NAME_SIZE];
    (void)snprintf(left, sizeof left, "--%s %s", option->name,
                   option->argument != NULL ? option->argument : "");
    const char* line = option->help;
    while (line != NULL) {
      const int length = (int)strcspn(line, "\n");
      (void)printf("  %-30s %.*s\n", line == option->help ? left : "", length, line);
      line = line[length] == '\n' ? line + length + 1 : NULL;
    }
  }
  (void)printf("  %-30s %s\n", "-h, --help", "print this help");
}

void cli_print_help(const cli_command* command) {
  (void)printf("Usage: sapstep %s [OPTION...]%s%s\n\n%s\n\nOptions:\n", command->name,
               command->operands[0] != '\0' ? " " : "", command->operands, command->description);
  print_options(command->options);
  if (command->solver_options) {
    cli_print_solver_options();
  }
  (void)printf("\nExamples:\n%s", command->examples);
}

bool cli_read_real(const char* text, double* out) {
  if (text[0] == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) {
    return false;
  }
  char* end = NULL;
  const double value = strtod(text, &end);
  if (*end != '\0' || !isfinite(value)) {
    return false;
  }
  *out = value;
  return true;
}

bool cli_read_integer(const char* text, int32_t* out) {
  if (text[0] == '\0' || strspn(text, "0123456789+-") != strlen(text)) {
    return false;
  }
  errno = 0;
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (*end != '\0' || errno != 0 || value < INT32_MIN || value > INT32_MAX) {
    return false;
  }
  *out = (int32_t)value;
  return true;
}

bool cli_read_boolean(const char* text, bool* out) {
  static const char* const words[] = {"off", "on", "no", "yes", "false", "true", "0", "1", NULL};
  const int index = cli_read_choice(text, words);
  if (index >= 0) {
    *out = index % 2 == 1;
  }
  return index >= 0;
}

int cli_read_choice(const char* text, const char* const* choices) {
  for (int i = 0; choices[i] != NULL; ++i) {
    if (strcmp(text, choices[i]) == 0) {
      return i;
    }
  }
  return -1;
}

const char* cli_take_number(const cli_number* numbers, size_t count, int id, const char* text,
                            bool* known) {
  *known = false;
  for (size_t i = 0; i < count; ++i) {
    const cli_number* n = &numbers[i];
    if (n->id == id) {
      double value;
      *known = true;
      if (!cli_read_real(text, &value) || !(value <= n->high) ||
          !(n->open ? value > n->low : value >= n->low)) {
        return n->allowed;
      }
      *n->target = value;
      return NULL;
    }
  }
  return NULL;
}

const char* cli_take_path(const char** target, const char* text) {
  *target = text;
  return text[0] != '\0' ? NULL : "a path";
}

const char* cli_take_count(int32_t* target, const char* text) {
  int32_t value;
  if (!cli_read_integer(text, &value) || value < 1) {
    return "an integer >= 1";
  }
  *target = value;
  return NULL;
}

bool cli_read_contact_model(const char* text, sap_contact_model* out) {
  for (int i = 0; i < (int)SAP_CONTACT_MODEL_COUNT; ++i) {
    if (strcmp(text, sap_contact_model_text((sap_contact_model)i)) == 0) {
      *out = (sap_contact_model)i;
      return true;
    }
  }
  return false;
}

bool cli_read_scheme(const char* text, sap_scheme* out) {
  for (int i = 0; i < (int)SAP_SCHEME_COUNT; ++i) {
    if (strcmp(text, sap_scheme_text((sap_scheme)i)) == 0) {
      *out = (sap_scheme)i;
      return true;
    }
  }
  return false;
}

const char* cli_take_compression(int32_t* out, const char* argument) {
  return cli_read_integer(argument, out) && *out >= 0 && *out <= 9 ? NULL : "an integer 0 to 9";
}

bool cli_read_stage(const char* text, sap_stage* out) {
  for (int i = 0; i < (int)SAP_STAGE_COUNT; ++i) {
    if (strcmp(text, sap_stage_text((sap_stage)i)) == 0) {
      *out = (sap_stage)i;
      return true;
    }
  }
  return false;
}

bool cli_read_law(const char* text, sap_law* out) {
  for (int i = 0; i < (int)SAP_LAW_COUNT; ++i) {
    if (strcmp(text, sap_law_text((sap_law)i)) == 0) {
      *out = (sap_law)i;
      return true;
    }
  }
  return false;
}

int64_t cli_step_count(double duration, double dt) {
  static const double most = 9007199254740992.0;
  return (int64_t)fmin(ceil(duration / dt * (1.0 - 1e-12)), most);
}
