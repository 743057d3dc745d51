// SPDX-License-Identifier: BSD-3-Clause
// The command line of `sapstep compare`.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/files.h"
#include "cli/options.h"
#include "core/file.h"

// Tight enough to tell which problems are solved to 1e-8.
#define COMPARE_TOLERANCE 1e-9

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
  contender->info = cli_read_solver(word, &contender->options);
  return contender->info != NULL ? NULL : allowed;
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

const char* const compare_start_names[] = {"cold", "warm", "both", NULL};

#define AT(member) .offset = offsetof(compare_options, member)
const cli_option compare_option_list[] = {
    {"solvers", "NAME,...",
     "solvers, see 'sapstep solvers', with options of their own as in\nadmm-ncp:penalty=fixed "
     "(all)",
     CLI_CALL, .take = take_names},
    {"start", "cold|warm|both",
     "cold: every problem anew; warm: from the impulses of the previous\nproblem (default: both "
     "for "
     "a scene, cold for files)",
     CLI_WORD, AT(start), .words = compare_start_names},
    {"classes", NULL, "a row for each class of problems, by their constraints", CLI_FLAG,
     AT(classes)},
    {"duration", "S", "scenes: simulated time (1) [s]", CLI_POSITIVE, AT(duration), 0, 1e9},
    {"every", "N", "scenes: use the problem of every N-th step (1)", CLI_INTEGER, AT(every), 1,
     INT32_MAX},
    {"reference", "NAME", "the solver that steps the scene (sap)", CLI_SOLVER, AT(stepper.solver)},
    {"dt", "S", "scenes: time step (the scene's) [s]", CLI_POSITIVE, AT(stepper.dt), 0, 1e9},
    {"scheme", "NAME",
     "scenes: explicit-euler, symplectic-euler, implicit-euler or\nmidpoint (implicit-euler)",
     CLI_SCHEME, AT(stepper)},
    CLI_SCENE_CONTACT_ROWS(compare_options),
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

// True if an option means something for problem files: those of solvers, and some of the command's.
static bool is_of_files(const char* name) {
  static const char* const own[] = {"solvers", "start",  "convergence", "summary",
                                    "rows",    "format", NULL};
  sap_solver_options options = sap_solver_options_default();
  bool known = false;
  (void)cli_set_option(sap_solver_option_table(), &options, name, "", &known);
  return known || cli_read_choice(name, own) >= 0 || strcmp(name, "tolerance") == 0;
}

// Checks combinations of options.
static int check_options(const cli_command* command, const cli_parser* parser, compare_options* o) {
  sap_error error;
  if (o->operand_count == 0) {
    return cli_usage_error(command, "no FILE given");
  }
  for (int i = 0; i < o->operand_count; ++i) {
    if (strstr(o->operands[i], ".study") != NULL) {
      return cli_usage_error(command, "'%s' is a study: run it with 'sapstep sweep'",
                             o->operands[i]);
    }
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
  for (int i = 0; i < parser->count; ++i) {
    const bool of_scenes = !is_of_files(parser->names[i]);
    if (parser->given[i] && (o->scenes ? strcmp(parser->names[i], "summary") == 0 : of_scenes)) {
      return o->scenes ? cli_usage_error(command, "--summary has no meaning for scenes")
                       : cli_usage_error(command,
                                         "--%s has no meaning for problem files, and '%s' is no "
                                         "scene: it does not begin as XML does",
                                         parser->names[i], o->operands[0]);
    }
  }
  if (o->timings != NULL && o->classes) {
    return cli_usage_error(command, "--timings and --classes exclude each other");
  }
  o->start = cli_given(parser, "start") ? o->start : o->scenes ? COMPARE_BOTH : COMPARE_COLD;
  o->summary = o->summary || o->scenes;
  return CLI_OK;
}

static sap_stepper_options default_stepper(void) {
  sap_stepper_options options = cli_stepper_options();
  options.accepted_error = (double)INFINITY;  // comparisons tell how far solvers come
  // Problems are checked once for all solvers: none pays for it in its time.
  options.solver_options.check_input = false;
  options.solver_options.relative_tolerance = COMPARE_TOLERANCE;
  return options;
}

double compare_default(const sap_option* option) {
  const sap_stepper_options defaults = default_stepper();
  return sap_option_get(option, &defaults);
}

bool compare_options_read(const cli_command* command, int argc, char** argv,
                          compare_options* options, int* exit_code) {
  *options = (compare_options){
      .duration = 1.0, .every = 1, .scene = cli_scene_default(), .stepper = default_stepper()};
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
