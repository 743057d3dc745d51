// SPDX-License-Identifier: BSD-3-Clause
// The command line of `sapstep compare`.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/expression.h"
#include "cli/files.h"
#include "cli/options.h"
#include "core/file.h"

// Tight enough to tell which problems are solved to 1e-8.
#define COMPARE_TOLERANCE 1e-9

// --- arguments that are lists or have parts ---

// A copy that lives as long as the options; NULL without memory.
static char* keep_text(compare_options* options, const char* text) {
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
  const char* value = cut_value(text);
  bool known = false;
  return value != NULL &&
         cli_set_option(sap_solver_option_table(), options, text, value, &known) == NULL && known;
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

static const char* take_names(void* options, const char* argument) {
  compare_options* o = options;
  const char* at = argument;
  const char* wrong = argument[0] != '\0' ? NULL : "at least one name";
  o->names = argument;
  while (wrong == NULL && *at != '\0') {
    compare_contender ignored = {.options = sap_solver_options_default()};
    wrong = compare_read_solver(&at, &ignored);
  }
  return wrong;
}

// Sets a value as study_setup_take does, with a message for an unknown name.
static const char* try_value(study_setup* setup, const char* name, const char* value) {
  static char text[1280];
  const char* wrong = study_setup_take(setup, name, value);
  if (wrong != NULL && wrong[0] == '\0') {
    size_t used = (size_t)snprintf(text, sizeof text, ": unknown name; available: ");
    study_list_parameters(text + used, sizeof text - used);
    return text;
  }
  return wrong;
}

static const char* take_set(void* options, const char* argument) {
  compare_options* o = options;
  char* rest = keep_text(o, argument);
  for (char* word = next_word(&rest); word != NULL; word = next_word(&rest)) {
    const char* value = cut_value(word);
    if (value == NULL || o->setup.edit_count + o->setup.state_count >= STUDY_PARAMETERS_MAX - 1) {
      return "NAME=VALUE, at most 63 of them";
    }
    const char* wrong = try_value(&o->setup, word, value);
    if (wrong != NULL) {
      return wrong;
    }
  }
  return NULL;
}

static const char* take_vary(void* options, const char* argument) {
  compare_options* o = options;
  char* name = keep_text(o, argument);
  char* rest = name != NULL ? cut_value(name) : NULL;
  o->value_count = 0;
  o->vary = name;
  for (char* value = next_word(&rest); value != NULL; value = next_word(&rest)) {
    study_setup setup = o->setup;
    const char* wrong = try_value(&setup, name, value);
    if (wrong != NULL || o->value_count == COMPARE_VALUES_MAX) {
      return wrong != NULL ? wrong : "NAME and at most 64 values";
    }
    o->values[o->value_count++] = value;
  }
  return o->value_count > 0 ? NULL : "NAME=VALUE,...";
}

static const char* take_force(void* options, const char* argument) {
  compare_options* o = options;
  static const char allowed[] = "BODY/x=FORMULA, BODY/y=... or BODY/z=... in the time t";
  char* text = keep_text(o, argument);
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

static const char* take_plot(void* options, const char* argument) {
  compare_options* o = options;
  char* rest = keep_text(o, argument);
  for (char* word = next_word(&rest); word != NULL; word = next_word(&rest)) {
    const char* wrong;
    if (!compare_quantity_add(o, word, &wrong)) {
      return wrong;
    }
  }
  return NULL;
}

static const char* take_exact(void* options, const char* argument) {
  compare_options* o = options;
  char* name = keep_text(o, argument);
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

// --- options ---

static const char* take_reference(void* options, const char* argument) {
  ((compare_options*)options)->reference = argument;
  return sap_solver_find(argument) != NULL || strcmp(argument, "own") == 0 ||
                 strcmp(argument, "file") == 0
             ? NULL
             : "own, file or a solver of 'sapstep solvers'";
}

const char* const compare_start_names[] = {"cold", "warm", "both", "file", NULL};

#define AT(member) .offset = offsetof(compare_options, member)
const cli_option compare_option_list[] = {
    {"solvers", "NAME,...",
     "solvers, see 'sapstep solvers', with options of their own as in\nadmm-ncp:penalty=fixed "
     "(all)",
     CLI_CALL, .take = take_names},
    {"start", "cold|warm|both|file",
     "cold: every problem anew; warm: from the impulses of the previous\nproblem (default: both "
     "for "
     "a scene, cold for files); file: from the\nfirst of an HDF5 file's /guesses, or its /solution",
     CLI_WORD, AT(start), .words = compare_start_names},
    {"self", NULL, "every solver steps the scene itself", CLI_FLAG, AT(self)},
    {"classes", NULL, "a row for each class of problems, by their constraints", CLI_FLAG,
     AT(classes)},
    {"duration", "S", "scenes: simulated time (1) [s]", CLI_POSITIVE, AT(duration), 0, 1e9},
    {"every", "N", "scenes: use the problem of every N-th step (1)", CLI_INTEGER, AT(every), 1,
     INT32_MAX},
    {"reference", "NAME",
     "the solver that steps the scene (sap); with --self the one whose\nrun deviations are "
     "measured from, or own; for files: file compares\nvelocities with those of its /solution",
     CLI_CALL, .take = take_reference},
    {"reference-dt", "S", "with --self: time step of the reference (the same) [s]", CLI_POSITIVE,
     AT(reference_dt), 0, 1e9},
    {"set", "NAME=VALUE,...",
     "scenes: a number of the run (dt, contact_law, friction, ...), a\nstart (q/JOINT, "
     "v/JOINT[2]) or a value of the scene\n(geom/box/mass), as in studies of 'sapstep sweep'",
     CLI_CALL, .take = take_set},
    {"vary", "NAME=V1,V2,...", "with --self: the same with each of these values", CLI_CALL,
     .take = take_vary},
    {"force", "BODY/x=FORMULA",
     "scenes: a force on the body's origin along x, y or z [N], a\nformula of the time t", CLI_CALL,
     .take = take_force},
    {"plot", "QUANTITY,...",
     "with --self, a panel of --svg for each: over time, over another one\n(Y@X), or over the "
     "varied value: QUANTITY:max, mean, end or integral\n(max and integral of |x|)",
     CLI_CALL, .take = take_plot},
    {"exact", "QUANTITY=FORMULA", "a line for it in its panel, a formula of t", CLI_CALL,
     .take = take_exact},
    {"svg", "FILE.svg", "write the panels, and FILE.csv", CLI_PATH, AT(svg)},
    {"convergence", "FILE.svg",
     "write how the natural map falls with iterations and time, and\nFILE.csv", CLI_PATH,
     AT(convergence)},
    {"timings", "FILE.svg", "scenes: write median times, cold and warm, and FILE.csv", CLI_PATH,
     AT(timings)},
    CLI_SCENE_KEYFRAME_ROW(compare_options),
    CLI_SCENE_URDF_ROWS(compare_options),
    CLI_SCENE_LENIENT_ROW(compare_options),
    {"summary", NULL, "files: a row per solver instead of one per problem and solver", CLI_FLAG,
     AT(summary)},
    {"rows", "FILE.csv", "write a row per problem and solver as CSV", CLI_PATH, AT(rows)},
    {"profile", "FILE.svg",
     "write a performance profile (Dolan, More): the share of problems\nsolved within tau times "
     "the "
     "time of the fastest, and FILE.csv",
     CLI_PATH, AT(profile)},
    {"profile-tolerance", "X", "natural map that counts as solved there (1e-8)", CLI_POSITIVE,
     AT(profile_tolerance), 0, 1e9},
    {"format", "table|csv|json", "output format (table)", CLI_WORD, AT(format),
     .words = cli_formats},
    {0},
};
#undef AT

// True if the file begins as XML does, in UTF-8 or UTF-16; false also if it cannot be read.
static bool is_scene(const char* path) {
  char text[256];
  FILE* file = fopen(path, "rb");
  const size_t count = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file != NULL) {
    (void)fclose(file);
  }
  text[count] = '\0';
  const char* at = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
  return at[strspn(at, " \t\r\n")] == '<' || strncmp(text, "\xff\xfe", 2) == 0 ||
         strncmp(text, "\xfe\xff", 2) == 0;
}

// Checks combinations of options.
static int check_options(const cli_command* command, const cli_parser* parser, compare_options* o) {
  sap_error error;
  if (o->operand_count == 0) {
    return cli_usage_error(command, "no FILE given");
  }
  for (int i = 0; i < o->operand_count; ++i) {
    if (sap_file_regular(o->operands[i], &error) != SAP_STATUS_OK) {
      return cli_report(&error);
    }
  }
  o->scenes = is_scene(o->operands[0]);
  for (int i = 1; i < o->operand_count; ++i) {
    if (is_scene(o->operands[i]) != o->scenes) {
      return cli_usage_error(command, "'%s' is %s, '%s' is not: one kind at a time", o->operands[0],
                             o->scenes ? "a scene" : "no scene", o->operands[i]);
    }
  }
  static const struct {
    const char* name;
    bool files, scenes, self;  // where it means something
  } rules[] = {
      {"self", false, false, true},         {"classes", false, true, true},
      {"duration", false, true, true},      {"every", false, true, false},
      {"reference", true, true, true},      {"reference-dt", false, false, true},
      {"set", false, true, true},           {"vary", false, false, true},
      {"force", false, true, true},         {"plot", false, false, true},
      {"svg", false, false, true},          {"start", true, true, false},
      {"convergence", true, true, false},   {"timings", false, true, false},
      {"summary", true, false, false},      {"rows", true, true, false},
      {"profile", true, true, false},       {"keyframe", false, true, true},
      {"floating-base", false, true, true}, {"floor", false, true, true},
      {"lenient", false, true, true},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    const bool fits = !o->scenes ? rules[i].files : o->self ? rules[i].self : rules[i].scenes;
    if (cli_given(parser, rules[i].name) && !fits) {
      return !o->scenes
                 ? cli_usage_error(command,
                                   "--%s has no meaning for problem files, and '%s' is no scene: "
                                   "it does not begin as XML does",
                                   rules[i].name, o->operands[0])
                 : cli_usage_error(command, "--%s has no meaning for %s", rules[i].name,
                                   o->self ? "--self" : "problems of a scene without --self");
    }
  }
  if (o->timings != NULL && o->classes) {
    return cli_usage_error(command, "--timings and --classes exclude each other");
  }
  if (cli_given(parser, "svg") != cli_given(parser, "plot")) {
    return cli_usage_error(command, "--plot and --svg belong together");
  }
  if (o->reference != NULL && !o->self && strcmp(o->reference, "own") == 0) {
    return cli_usage_error(command, "--reference own needs --self");
  }
  if (o->reference != NULL && o->scenes == (strcmp(o->reference, "file") == 0)) {
    return cli_usage_error(command, "--reference of %s must be %s",
                           o->scenes ? "a scene" : "problem files",
                           o->scenes ? "own or a solver" : "file");
  }
  if (o->scenes && o->start == COMPARE_FILE) {
    return cli_usage_error(command, "--start file has no meaning for a scene");
  }
  o->start = cli_given(parser, "start") ? o->start
             : o->scenes && !o->self    ? COMPARE_BOTH
                                        : COMPARE_COLD;
  o->summary = o->summary || o->scenes;
  return CLI_OK;
}

bool compare_options_read(const cli_command* command, int argc, char** argv,
                          compare_options* options, int* exit_code) {
  *options = (compare_options){.duration = 1.0,
                               .every = 1,
                               .value_count = 1,
                               .scene = cli_scene_default(),
                               .profile_tolerance = 1e-8};
  study_setup_begin(&options->setup);
  // Problems are checked once for all solvers: none pays for it in its time.
  options->setup.stepper.solver_options.check_input = false;
  options->setup.stepper.solver_options.relative_tolerance = COMPARE_TOLERANCE;
  cli_parser parser;
  if (!cli_parse(&parser, command, options, argc, argv)) {
    *exit_code = parser.exit_code;
    return false;
  }
  options->operands = parser.operands;
  options->operand_count = parser.noperands;
  *exit_code = check_options(command, &parser, options);
  return *exit_code == CLI_OK;
}

// --- studies ---
//
// A study: the command line of `sapstep compare`, an option per line without its dashes, words
// after it joined by commas, # begins a comment; `scene FILE` is an operand, relative to the study.
//   scene    ../scenes/cube.xml
//   self
//   solvers  pgs-ncp admm-ccp
//   vary     dt=0.01 0.005 0.002
// Options after the study on the command line override its own.

enum { LINE_SIZE = 4096, WORD_SIZE = LINE_SIZE + 8, LINES_MAX = 256 };

typedef struct study_text {
  compare_arguments* out;
  const char* path;
  int owned, operands;
  char** scenes;  // (LINES_MAX)
  sap_error* error;
} study_text;

static bool fail(const study_text* s, sap_status status, int line, const char* text) {
  (void)sap_fail(s->error, status, "%.200s:%d: %s", s->path, line, text);
  return false;
}

static char* keep_argument(study_text* s, const char* a, size_t length, const char* b) {
  char* text = malloc(length + strlen(b) + 1);
  if (text != NULL) {
    memcpy(text, a, length);
    strcpy(text + length, b);
    s->out->owned[s->owned++] = text;
  }
  return text;
}

static bool read_study_line(study_text* s, int number, char* line) {
  char *words[LINE_SIZE], rest[LINE_SIZE] = "";
  const int count = cli_split_words(line, words, LINE_SIZE);
  if (count == 0) {
    return true;
  }
  if (number > LINES_MAX || !isalpha((unsigned char)words[0][0])) {
    return fail(s, SAP_STATUS_SYNTAX, number,
                number > LINES_MAX ? "too many lines" : "a line begins with the name of an option");
  }
  for (int i = 1; i < count; ++i) {  // fits: the line is no shorter
    (void)strcat(strcat(rest, i > 1 ? "," : ""), words[i]);
  }
  char* text;
  if (strcmp(words[0], "scene") == 0) {
    const char* slash = rest[0] == '/' ? NULL : strrchr(s->path, '/');
    text = keep_argument(s, s->path, slash != NULL ? (size_t)(slash + 1 - s->path) : 0, rest);
    s->scenes[s->operands++] = text;
  } else {
    char option[WORD_SIZE] = "--";
    (void)strncat(option, words[0], WORD_SIZE - 4);
    text = keep_argument(s, option, strlen(option), "");
    s->out->argv[s->out->argc++] = text;
    if (text != NULL && rest[0] != '\0') {
      text = keep_argument(s, rest, strlen(rest), "");
      s->out->argv[s->out->argc++] = text;
    }
  }
  return text != NULL || fail(s, SAP_STATUS_MEMORY, number, "out of memory");
}

static bool read_study_lines(study_text* s, char* text) {
  int number = 0;
  for (char* line = cli_next_line(&text); line != NULL; line = cli_next_line(&text)) {
    ++number;
    if (strlen(line) >= LINE_SIZE) {
      return fail(s, SAP_STATUS_SYNTAX, number, "the line is too long");
    }
    if (!read_study_line(s, number, line)) {
      return false;
    }
  }
  return true;
}

// argv has its options before its operands; operands[0] is the study.
static bool expand(const cli_parser* parser, compare_arguments* out, sap_error* error) {
  char* scenes[LINES_MAX];
  const char* path = parser->operands[0];
  study_text s = {.out = out, .path = path, .scenes = scenes, .error = error};
  out->owned = calloc(3 * LINES_MAX, sizeof *out->owned);
  out->argv = calloc((size_t)parser->argc + (size_t)3 * LINES_MAX, sizeof *out->argv);
  if (out->owned == NULL || out->argv == NULL) {
    (void)cli_no_memory(error);
    return false;
  }
  char* text = cli_read_text(path, error);
  if (text == NULL) {
    return false;
  }
  out->argv[out->argc++] = parser->argv[0];
  const bool good = read_study_lines(&s, text);
  free(text);
  for (int i = 1; i < parser->argc - parser->noperands; ++i) {
    out->argv[out->argc++] = parser->argv[i];
  }
  for (int i = 0; good && i < s.operands && parser->noperands == 1; ++i) {
    out->argv[out->argc++] = scenes[i];
  }
  for (int i = 1; i < parser->noperands;
       ++i) {  // scenes of the command line replace those of the study
    out->argv[out->argc++] = parser->operands[i];
  }
  return good;
}

bool compare_study_expand(const cli_command* command, int argc, char** argv, compare_arguments* out,
                          int* exit_code) {
  cli_parser parser;
  *out = (compare_arguments){.argc = argc, .argv = argv};
  if (!cli_parse_operands(&parser, command, argc, argv)) {
    *exit_code = parser.exit_code;
    return false;
  }
  const char* ending = parser.noperands > 0 ? strrchr(parser.operands[0], '.') : NULL;
  if (ending == NULL || strcmp(ending, ".study") != 0) {
    return true;
  }
  sap_error error = {0};
  *out = (compare_arguments){0};
  if (!expand(&parser, out, &error)) {
    *exit_code = cli_report(&error);
    return false;
  }
  return true;
}

void compare_arguments_clear(compare_arguments* arguments) {
  for (int i = 0; arguments->owned != NULL && arguments->owned[i] != NULL; ++i) {
    free(arguments->owned[i]);
  }
  if (arguments->owned != NULL) {
    free(arguments->argv);
  }
  free(arguments->owned);
  *arguments = (compare_arguments){0};
}
