// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.h"

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

// All that must be a solver's name says where they are listed.
int cli_refuse_value(const cli_command* command, const char* option, const char* value,
                     const char* allowed) {
  const char* near = strstr(allowed, "'sapstep solvers'") != NULL ? cli_near_solver(value) : NULL;
  return near != NULL ? cli_usage_error(command, "--%s '%s' must be %s; did you mean '%s'?", option,
                                        value, allowed, near)
                      : cli_usage_error(command, "--%s '%s' must be %s", option, value, allowed);
}

static int leave(cli_parser* parser, int exit_code) {
  parser->exit_code = exit_code;
  return CLI_PARSE_LEAVE;
}

static const cli_option* find_option(const cli_command* command, const char* name) {
  const cli_option* option = command->options;
  while (option->name != NULL && strcmp(option->name, name) != 0) {
    ++option;
  }
  return option->name != NULL ? option : NULL;
}

static void note_path(cli_parser* parser, const char* option, const char* path) {
  const cli_option* row = find_option(parser->command, option);
  const cli_path_use use =
      row != NULL ? cli_path_use_of(option, row->argument) : (cli_path_use)CLI_PATH_NONE;
  int i = 0;
  while (i < parser->path_count && strcmp(parser->paths[i].option, option) != 0) {
    ++i;
  }
  if (use != CLI_PATH_NONE && i < CLI_PATH_MAX) {
    parser->paths[i] = (cli_path){.option = option, .path = path, .use = use};
    parser->path_count += i == parser->path_count ? 1 : 0;
  }
}

// Found out before hours of work, not after.
static int check_writable(const cli_parser* parser) {
  sap_error error;
  for (int i = 0; i < parser->path_count; ++i) {
    if (cli_check_writable(&parser->paths[i], &error) != SAP_STATUS_OK) {
      return cli_report(&error);
    }
  }
  return CLI_OK;
}

// At the end of the options.
static int check_paths(const cli_parser* parser) {
  for (int i = 0; i < parser->path_count; ++i) {
    const cli_path* p = &parser->paths[i];
    if (cli_path_overwrites_itself(p)) {
      return cli_usage_error(parser->command, "--%s '%s' would be written over by its table",
                             p->option, p->path);
    }
    for (int j = 0; j < i; ++j) {
      if (cli_paths_collide(p, &parser->paths[j])) {
        return cli_usage_error(parser->command, "--%s and --%s are the same file, '%s'%s",
                               parser->paths[j].option, p->option, p->path,
                               p->use == CLI_PATH_CHART || parser->paths[j].use == CLI_PATH_CHART
                                   ? ", or have the same table beside them"
                                   : "");
      }
    }
    for (int j = 0; j < parser->noperands; ++j) {
      const cli_path operand = {.path = parser->operands[j], .use = CLI_PATH_READ};
      if (cli_paths_collide(p, &operand)) {
        return cli_usage_error(parser->command, "--%s '%s' would be written over what is read",
                               p->option, p->path);
      }
    }
  }
  return check_writable(parser);
}

int cli_parse_next(cli_parser* parser, const char** argument) {
  for (;;) {
    int index = -1;
    const int value = getopt_long(parser->argc, parser->argv, ":ho:", parser->list, &index);
    *argument = optarg;
    if (value == -1) {
      parser->operands = parser->argv + optind;
      parser->noperands = parser->argc - optind;
      const int code = check_paths(parser);
      return code == CLI_OK ? CLI_PARSE_END : leave(parser, code);
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
      const cli_option* output = find_option(parser->command, "output");
      note_path(parser, "output", optarg);
      return output != NULL ? output->id : leave(parser, refuse(parser, value, NULL));
    }
    if (value < ID_SOLVER) {
      note_path(parser, parser->list[index].name, optarg);
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
