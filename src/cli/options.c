// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- values ---

const char cli_solver_allowed[] = "a solver of 'sapstep solvers'";
const char cli_scheme_allowed[] = "explicit-euler, symplectic-euler, implicit-euler or midpoint";
const char* const cli_formats[] = {"table", "json", "csv", NULL};
const char* const cli_formats_without_csv[] = {"table", "json", NULL};

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

int cli_read_choice(const char* text, const char* const* choices) {
  for (int i = 0; choices[i] != NULL; ++i) {
    if (strcmp(text, choices[i]) == 0) {
      return i;
    }
  }
  return -1;
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

const char* cli_near_solver(const char* text) {
  enum { NAMES = 64 };
  const char* names[NAMES];
  int count = 0;
  for (; count < sap_solver_count() && count < NAMES; ++count) {
    names[count] = sap_solver_get_info(count)->name;
  }
  char* rest = cli_copy(text);
  for (char* word; (word = strsep(&rest, ",")) != NULL;) {
    word[strcspn(word, ":")] = '\0';
    if (sap_solver_find(word) == NULL) {
      return cli_suggest(word, names, count);
    }
  }
  return NULL;
}

int64_t cli_step_count(double duration, double dt) {
  static const double most = 9007199254740992.0;
  return (int64_t)fmin(ceil(duration / dt * (1.0 - 1e-12)), most);
}

// --- options of the library ---

CLI_DEFINE_DEFAULT(cli_solver_default, sap_solver_options, sap_solver_options_default())

static bool read_boolean(const char* text, double* out) {
  static const char* const words[] = {"off", "on", "no", "yes", "false", "true", "0", "1", NULL};
  const int index = cli_read_choice(text, words);
  *out = index % 2;
  return index >= 0;
}

static bool read_option(const sap_option* o, const char* text, double* out) {
  int32_t integer = 0;
  switch (o->kind) {
    case SAP_OPTION_BOOLEAN:
      return read_boolean(text, out);
    case SAP_OPTION_INTEGER: {
      const bool read = cli_read_integer(text, &integer);
      *out = integer;
      return read;
    }
    case SAP_OPTION_WORD:
      for (int i = 0; i <= (int)(o->maximum - o->minimum); ++i) {
        if (strcmp(text, o->words[i]) == 0) {
          *out = o->minimum + i;
          return true;
        }
      }
      return false;
    default:
      if (isinf(o->maximum) && strcmp(text, "inf") == 0) {
        *out = o->maximum;
        return true;
      }
      return cli_read_real(text, out);
  }
}

// Stores a value; returns NULL or the values allowed.
static const char* set_option(const sap_option* o, void* options, const char* text) {
  static char allowed[SAP_OPTION_TEXT_SIZE + 16];
  char range[SAP_OPTION_TEXT_SIZE];
  double value;
  const bool read = read_option(o, text, &value);
  if (read && (o->kind == SAP_OPTION_POSITIVE ? value > o->minimum : value >= o->minimum) &&
      value <= o->maximum) {
    sap_option_set(o, options, value);
    return NULL;
  }
  sap_option_allowed(o, range);
  const bool number = o->kind == SAP_OPTION_REAL || o->kind == SAP_OPTION_POSITIVE;
  (void)snprintf(allowed, sizeof allowed, "%s%s",
                 o->kind == SAP_OPTION_INTEGER ? "an integer "
                 : !number || read             ? ""
                 : range[0] == 'i'             ? "a number "
                                               : "a number, ",
                 range);
  return allowed;
}

static void with_dashes(const char* name, char out[CLI_NAME_SIZE]) {
  (void)snprintf(out, CLI_NAME_SIZE, "%s", name);
  for (char* c = out; *c != '\0'; ++c) {
    *c = *c == '_' ? '-' : *c;
  }
}

bool cli_same_name(const char* a, const char* b) {
  while (*a != '\0' && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) {
    ++a;
    ++b;
  }
  return *a == *b;
}

const char* cli_set_option(sap_option_table table, void* options, const char* name,
                           const char* text, bool* known) {
  for (int32_t i = 0; i < table.count; ++i) {
    if (cli_same_name(name, table.options[i].name)) {
      *known = true;
      return set_option(&table.options[i], options, text);
    }
  }
  *known = false;
  return NULL;
}

const sap_solver_info* cli_read_solver(const char* text, sap_solver_options* options) {
  char* rest = cli_copy(text);
  const char* name = strsep(&rest, ":");
  for (char* option; (option = strsep(&rest, ":")) != NULL;) {
    char* value = strchr(option, '=');
    bool known = false;
    if (value == NULL) {
      return NULL;
    }
    *value++ = '\0';
    if (cli_set_option(sap_solver_option_table(), options, option, value, &known) != NULL ||
        !known) {
      return NULL;
    }
  }
  return sap_solver_find(name);
}

// --- one option of a command ---

// Returns the option as a row of a table: a number from low to high, or one of the words.
static sap_option row_of(const cli_option* o) {
  sap_option row = {.name = o->name,
                    .kind = o->kind == CLI_REAL       ? SAP_OPTION_REAL
                            : o->kind == CLI_POSITIVE ? SAP_OPTION_POSITIVE
                            : o->kind == CLI_INTEGER  ? SAP_OPTION_INTEGER
                                                      : SAP_OPTION_WORD,
                    .offset = o->offset,
                    .minimum = o->low,
                    .maximum = o->high >= INT32_MAX && o->kind == CLI_INTEGER ? HUGE_VAL : o->high,
                    .meaning = o->help,
                    .words = o->words};
  if (o->kind == CLI_WORD) {
    row.minimum = 0.0;
    for (row.maximum = 0.0; o->words[(int)row.maximum + 1] != NULL;) {
      row.maximum += 1.0;
    }
  }
  return row;
}

const char* cli_take_option(const cli_option* o, void* options, const char* text) {
  void* target = (char*)options + o->offset;
  switch (o->kind) {
    case CLI_FLAG:
      *(bool*)target = true;
      return NULL;
    case CLI_TEXT:
    case CLI_PATH:
      *(const char**)target = text;
      return o->kind == CLI_TEXT || text[0] != '\0' ? NULL : "a path";
    case CLI_REAL:
    case CLI_POSITIVE:
    case CLI_INTEGER:
    case CLI_WORD: {
      const sap_option row = row_of(o);
      return set_option(&row, options, text);
    }
    case CLI_SOLVER: {
      const sap_solver_info* solver = sap_solver_find(text);
      *(const char**)target = solver != NULL ? solver->name : text;
      return solver != NULL ? NULL : cli_solver_allowed;
    }
    case CLI_SCHEME: {
      sap_scheme scheme;
      return cli_read_scheme(text, &scheme) &&
                     sap_stepper_options_set_scheme(target, scheme, NULL) == SAP_STATUS_OK
                 ? NULL
                 : cli_scheme_allowed;
    }
    case CLI_PRESET:
      return sap_stepper_options_preset(text, target, NULL) == SAP_STATUS_OK
                 ? NULL
                 : "default, castro or drake";
    case CLI_CALL:
      return o->take(options, text);
  }
  return NULL;
}

// --- command line ---

// Values of getopt: indices of the command's options, then these; tables follow each other.
enum { ID_HELP = 10000, ID_TABLE = 20000, TABLE_SIZE = 1000 };

typedef struct getopt_list {
  struct option rows[CLI_OPTION_MAX + 1];
} getopt_list;

static void add_option(cli_parser* parser, getopt_list* list, const char* name, bool argument,
                       int id) {
  if (parser->count < CLI_OPTION_MAX) {
    char* copy = parser->names[parser->count];
    (void)snprintf(copy, CLI_NAME_SIZE, "%s", name);
    list->rows[parser->count++] = (struct option){
        .name = copy, .has_arg = argument ? required_argument : no_argument, .val = id};
  }
}

static const cli_option* find_option(const cli_command* command, const char* name) {
  const cli_option* option = command->options;
  while (option->name != NULL && strcmp(option->name, name) != 0) {
    ++option;
  }
  return option->name != NULL ? option : NULL;
}

// True if the command has option `name` of its tables, with dashes.
static bool offers(const cli_command* command, const char* name) {
  return find_option(command, name) == NULL &&
         (command->hidden == NULL || cli_read_choice(name, command->hidden) < 0);
}

static void list_options(cli_parser* parser, getopt_list* list) {
  const cli_command* command = parser->command;
  for (int i = 0; command->options[i].name != NULL; ++i) {
    add_option(parser, list, command->options[i].name, command->options[i].argument != NULL, i);
  }
  add_option(parser, list, "help", false, ID_HELP);
  for (int t = 0; t < CLI_TABLES && command->tables[t].table != NULL; ++t) {
    const sap_option_table table = command->tables[t].table();
    for (int32_t i = 0; i < table.count; ++i) {
      char name[CLI_NAME_SIZE];
      with_dashes(table.options[i].name, name);
      if (offers(command, name)) {
        add_option(parser, list, name, true, ID_TABLE + t * TABLE_SIZE + i);
      }
      if (strcmp(name, "relative-tolerance") == 0) {
        add_option(parser, list, "tolerance", true, ID_TABLE + t * TABLE_SIZE + i);
      }
    }
  }
}

// getopt leaves a refused option in argv[optind - 1], or its letter in optopt.
static int refuse_option(const cli_parser* parser, const getopt_list* list, int letter,
                         const char* text) {
  const cli_command* command = parser->command;
  SAP_RETURN_IF(text == NULL || strncmp(text, "--", 2) != 0,
                cli_usage_error(command, "unknown option '-%c'", letter));
  char word[CLI_NAME_SIZE];
  (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(text + 2, "="), text + 2);
  const char* names[CLI_OPTION_MAX];
  int matches = 0;
  for (int i = 0; i < parser->count; ++i) {
    names[i] = list->rows[i].name;
    SAP_RETURN_IF(strcmp(names[i], word) == 0,
                  cli_usage_error(command, "option '--%s' takes no argument", word));
    matches += strncmp(names[i], word, strlen(word)) == 0 ? 1 : 0;
  }
  SAP_RETURN_IF(matches > 1,
                cli_usage_error(command, "option '--%s' is ambiguous: %d options begin like it",
                                word, matches));
  const char* suggestion = cli_suggest(word, names, parser->count);
  SAP_RETURN_IF(
      suggestion != NULL,
      cli_usage_error(command, "unknown option '--%s', did you mean '--%s'?", word, suggestion));
  return cli_usage_error(command, "unknown option '--%s'", word);
}

// Prints "--option 'value' must be ALLOWED" with the closest solver name if it must be one, or
// "--option 'value': reason" for ": reason"; returns CLI_USAGE.
static int refuse_value(const cli_command* command, const char* option, const char* value,
                        const char* allowed) {
  SAP_RETURN_IF(allowed[0] == ':', cli_usage_error(command, "--%s '%s'%s", option, value, allowed));
  const char* near = strstr(allowed, "'sapstep solvers'") != NULL ? cli_near_solver(value) : NULL;
  return near != NULL ? cli_usage_error(command, "--%s '%s' must be %s; did you mean '%s'?", option,
                                        value, allowed, near)
                      : cli_usage_error(command, "--%s '%s' must be %s", option, value, allowed);
}

// Remembers the file that an option names; of an option given twice the last.
static void note_path(cli_parser* parser, const cli_option* row, const char* path) {
  const cli_path_use use = cli_path_use_of(row->name, row->argument);
  int i = 0;
  while (i < parser->path_count && strcmp(parser->paths[i].option, row->name) != 0) {
    ++i;
  }
  if (use != CLI_PATH_NONE && i < CLI_PATH_MAX) {
    parser->paths[i] = (cli_path){.option = row->name, .path = path, .use = use};
    parser->path_count += i == parser->path_count ? 1 : 0;
  }
}

// Requires an operand for each word of the command's, any number for "WORD...", none for "[WORD...]".
static int check_operands(const cli_parser* parser) {
  const char* words = parser->command->operands;
  const bool more = strstr(words, "...") != NULL;
  int least = 0;
  for (const char* at = words; *at != '\0' && *at != '['; at += strspn(at, " ")) {
    ++least;
    at += strcspn(at, " ");
  }
  SAP_RETURN_IF(
      words[0] == '\0' && parser->noperands > 0,
      cli_usage_error(parser->command, "takes no argument, found '%s'", parser->operands[0]));
  return parser->noperands == least || (more && parser->noperands > least)
             ? CLI_OK
             : cli_usage_error(parser->command, "the arguments must be %s, %d found", words,
                               parser->noperands);
}

// Refuses outputs that would overwrite an input or one another, or that cannot be written: before
// hours of work, not after.
static int check_paths(const cli_parser* parser) {
  for (int i = 0; i < parser->path_count; ++i) {
    const cli_path* p = &parser->paths[i];
    for (int j = 0; j < i; ++j) {
      SAP_RETURN_IF(cli_paths_collide(p, &parser->paths[j]),
                    cli_usage_error(parser->command, "--%s and --%s are the same file, '%s'",
                                    parser->paths[j].option, p->option, p->path));
    }
    for (int j = 0; j < parser->noperands; ++j) {
      const cli_path operand = {.path = parser->operands[j], .use = CLI_PATH_READ};
      SAP_RETURN_IF(cli_paths_collide(p, &operand),
                    cli_usage_error(parser->command, "--%s '%s' would overwrite an input",
                                    p->option, p->path));
    }
  }
  for (int i = 0; i < parser->path_count; ++i) {
    sap_error error;
    SAP_RETURN_IF(cli_check_writable(&parser->paths[i], &error) != SAP_STATUS_OK,
                  cli_report(&error));
  }
  return CLI_OK;
}

// Stores the option that getopt returned as `value`. CLI_OK: go on.
static int take_value(cli_parser* parser, const getopt_list* list, int value, int index) {
  const cli_command* command = parser->command;
  const char* allowed = NULL;
  char* options = parser->options;
  if (value < ID_TABLE) {
    const cli_option* row = &command->options[value];
    note_path(parser, row, optarg);
    allowed = options != NULL ? cli_take_option(row, options, optarg) : NULL;
  } else if (options != NULL) {
    const cli_table_options* t = &command->tables[(value - ID_TABLE) / TABLE_SIZE];
    const sap_option* option = &t->table().options[(value - ID_TABLE) % TABLE_SIZE];
    allowed = set_option(option, options + t->offset, optarg);
  }
  return allowed == NULL ? CLI_OK : refuse_value(command, list->rows[index].name, optarg, allowed);
}

static bool parse(cli_parser* parser, const cli_command* command, void* options, int argc,
                  char** argv) {
  getopt_list list = {0};
  *parser = (cli_parser){.command = command, .options = options};
  list_options(parser, &list);
  optind = 1;
  opterr = 0;
  for (bool presets = true;;) {  // first: all other options override them
    int index = -1;
    int value = getopt_long(argc, argv, ":ho:", list.rows, &index);
    if (value == -1 && presets) {
      presets = false;
      optind = 1;
      continue;
    }
    if (value == -1) {
      parser->operands = argv + optind;
      parser->noperands = argc - optind;
      return true;
    }
    const cli_option* output = value == 'o' ? find_option(command, "output") : NULL;
    if (output != NULL) {  // short for --output
      value = (int)(output - command->options);
      index = value;
    }
    if (value == ':') {
      parser->exit_code =
          cli_usage_error(command, "option '%s' needs an argument", argv[optind - 1]);
    } else if (value == '?') {
      parser->exit_code = refuse_option(parser, &list, optopt, argv[optind - 1]);
    } else if (value == 'o' && output == NULL) {
      parser->exit_code = refuse_option(parser, &list, value, NULL);
    } else if (index < 0 || value == ID_HELP) {
      cli_print_help(command);
      parser->exit_code = CLI_OK;
    } else if (presets == (value >= ID_HELP || command->options[value].kind != CLI_PRESET)) {
      continue;
    } else {
      parser->given[index] = true;
      parser->exit_code = take_value(parser, &list, value, index);
      if (parser->exit_code == CLI_OK) {
        continue;
      }
    }
    return false;
  }
}

bool cli_parse(cli_parser* parser, const cli_command* command, void* options, int argc,
               char** argv) {
  if (!parse(parser, command, options, argc, argv)) {
    return false;
  }
  parser->exit_code = check_operands(parser);
  if (parser->exit_code == CLI_OK) {
    parser->exit_code = check_paths(parser);
  }
  return parser->exit_code == CLI_OK;
}

bool cli_given(const cli_parser* parser, const char* name) {
  for (int i = 0; i < parser->count; ++i) {
    if (parser->given[i] && strcmp(parser->names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

int cli_check_adaptive(const cli_command* command, const cli_parser* parser,
                       const sap_adaptive_options* options) {
  const sap_option_table table = sap_adaptive_option_table();
  for (int32_t i = 0; i < table.count && options->accuracy <= 0.0; ++i) {
    char name[CLI_NAME_SIZE];
    with_dashes(table.options[i].name, name);
    SAP_RETURN_IF(cli_given(parser, name), cli_usage_error(command, "--%s needs --accuracy", name));
  }
  return CLI_OK;
}

// --- help ---

static void print_option(const char* left, const char* help) {
  for (const char* line = help; line != NULL;) {
    const int length = (int)strcspn(line, "\n");
    (void)printf("  %-30s %.*s\n", line == help ? left : "", length, line);
    line = line[length] == '\n' ? line + length + 1 : NULL;
  }
}

// Prints "meaning (default; low to high)" or "auto, end or theta: meaning (auto)".
static void print_table_option(const sap_option* o, double number, const char* name) {
  static const char* const arguments[] = {[SAP_OPTION_REAL] = "X",
                                          [SAP_OPTION_POSITIVE] = "X",
                                          [SAP_OPTION_INTEGER] = "N",
                                          [SAP_OPTION_BOOLEAN] = "on|off",
                                          [SAP_OPTION_WORD] = "NAME"};
  char left[CLI_NAME_SIZE + 16], value[SAP_OPTION_TEXT_SIZE], words[SAP_OPTION_TEXT_SIZE];
  (void)snprintf(left, sizeof left, "--%s %s", name, arguments[o->kind]);
  sap_option_text(o, number, value);
  sap_option_allowed(o, words);
  if (isnan(number)) {
    (void)printf("  %-30s %s (the model's)\n", left, o->meaning);
  } else if (o->kind == SAP_OPTION_BOOLEAN) {
    (void)printf("  %-30s %s (%s)\n", left, o->meaning, value);
  } else if (o->kind == SAP_OPTION_WORD) {
    (void)printf("  %-30s %s: %s (%s)\n", left, words, o->meaning, value);
  } else {
    (void)printf("  %-30s %s (%s; %g to %g)\n", left, o->meaning, value, o->minimum, o->maximum);
  }
}

static void print_table(const cli_command* command, const cli_table_options* t) {
  const sap_option_table table = t->table();
  (void)printf("\n%s (default; range):\n", t->title != NULL ? t->title : "Solver options");
  SAP_EACH(const sap_option, o, table.options, table.count) {
    char name[CLI_NAME_SIZE];
    with_dashes(o->name, name);
    if (offers(command, name)) {
      print_table_option(o, t->value != NULL ? t->value(o) : o->value, name);
    }
    if (strcmp(name, "relative-tolerance") == 0) {
      print_option("--tolerance X", "the same as --relative-tolerance");
    }
  }
}

void cli_print_help(const cli_command* command) {
  const char* examples = strstr(command->text, "\nExamples:\n");
  (void)printf("Usage: sapstep %s [OPTION...]%s%s\n\n%.*s\nOptions:\n", command->name,
               command->operands[0] != '\0' ? " " : "", command->operands,
               (int)(examples - command->text), command->text);
  for (const cli_option* option = command->options; option->name != NULL; ++option) {
    char left[2 * CLI_NAME_SIZE];
    (void)snprintf(left, sizeof left, "--%s %s", option->name,
                   option->argument != NULL ? option->argument : "");
    print_option(left, option->help);
  }
  print_option("-h, --help", "print this help");
  for (int t = 0; t < CLI_TABLES && command->tables[t].table != NULL; ++t) {
    print_table(command, &command->tables[t]);
  }
  (void)fputs(examples, stdout);
}
