// SPDX-License-Identifier: BSD-3-Clause
// The command line of `sapstep compare`.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/options.h"
#include "core/file.h"

// Tight enough that what is solved to 1e-8 can be told.
#define COMPARE_TOLERANCE 1e-9

enum {
  ID_SOLVERS = 1,
  ID_START,
  ID_SELF,
  ID_CLASSES,
  ID_DURATION,
  ID_EVERY,
  ID_REFERENCE,
  ID_REFERENCE_DT,
  ID_SET,
  ID_VARY,
  ID_FORCE,
  ID_PLOT,
  ID_EXACT,
  ID_SVG,
  ID_CONVERGENCE,
  ID_TIMINGS,
  ID_KEYFRAME,
  ID_FLOATING_BASE,
  ID_FLOOR,
  ID_LENIENT,
  ID_SUMMARY,
  ID_ROWS,
  ID_PROFILE,
  ID_PROFILE_TOLERANCE,
  ID_FORMAT,
};

const cli_option compare_option_list[] = {
    {"solvers", "NAME,...", ID_SOLVERS,
     "which, see 'sapstep solvers', with options of their own as in\nadmm-ncp:penalty=fixed (all)"},
    {"start", "cold|warm|both|file", ID_START,
     "cold: every problem anew; warm: from the impulses of the problem\nbefore (both of a scene, "
     "cold of files); file: from the first of an\nHDF5 file's /guesses, or its /solution"},
    {"self", NULL, ID_SELF, "every solver steps the scene itself"},
    {"classes", NULL, ID_CLASSES, "a row for each class of problems, by their constraints"},
    {"duration", "S", ID_DURATION, "of a scene: simulated time [s] (1)"},
    {"every", "N", ID_EVERY, "of a scene: the problem of every N-th step (1)"},
    {"reference", "NAME", ID_REFERENCE,
     "the solver that steps the scene (sap); with --self the one whose\nrun deviations are "
     "measured from, or own; of files: file, velocities\nare compared with those of its /solution"},
    {"reference-dt", "S", ID_REFERENCE_DT, "with --self: its time step [s] (the same)"},
    {"set", "NAME=VALUE,...", ID_SET,
     "of scenes: a number of the run (dt, contact_law, friction, ...), a\nstart (q/JOINT, "
     "v/JOINT[2]) or a value of the scene\n(geom/box/mass), as in studies of 'sapstep sweep'"},
    {"vary", "NAME=V1,V2,...", ID_VARY, "with --self: the same with each of these values"},
    {"force", "BODY/x=FORMULA", ID_FORCE,
     "of scenes: a force on the body's origin along x, y or z [N], a\nformula of the time t"},
    {"plot", "QUANTITY,...", ID_PLOT,
     "with --self, a panel of --svg for each: over time, over another one\n(Y@X), or over what "
     "varies: QUANTITY:max, mean, end or integral\n(max and integral of |x|)"},
    {"exact", "QUANTITY=FORMULA", ID_EXACT, "a line for it in its panel, a formula of t"},
    {"svg", "FILE.svg", ID_SVG, "the panels, and FILE.csv"},
    {"convergence", "FILE.svg", ID_CONVERGENCE,
     "how the natural map falls with iterations and time, and FILE.csv"},
    {"timings", "FILE.svg", ID_TIMINGS, "of scenes: median times, cold and warm, and FILE.csv"},
    {"keyframe", "NAME", ID_KEYFRAME, "of scenes: start from this keyframe, by name or index"},
    {"floating-base", NULL, ID_FLOATING_BASE, "the root link of a URDF moves freely"},
    {"floor", "Z", ID_FLOOR, "a floor at this height under a URDF [m]"},
    {"lenient", NULL, ID_LENIENT, "warn of what a scene asks and is not supported"},
    {"summary", NULL, ID_SUMMARY,
     "of files: a row per solver instead of one per problem and solver"},
    {"rows", "FILE.csv", ID_ROWS, "write a row per problem and solver as CSV"},
    {"profile", "FILE.svg", ID_PROFILE,
     "a performance profile (Dolan, More): the share of problems solved\nwithin tau times the "
     "time of the fastest, and FILE.csv"},
    {"profile-tolerance", "X", ID_PROFILE_TOLERANCE,
     "natural map that counts as solved there (1e-8)"},
    {"format", "table|csv|json", ID_FORMAT, "how to print (table)"},
    {NULL, NULL, 0, NULL},
};
const char* const compare_start_names[] = {"cold", "warm", "both", "file", NULL};

static const char* take_number(compare_options* o, int id, const char* text) {
  double value;
  if (id == ID_EVERY) {
    return cli_take_count(&o->every, text);
  }
  if (!cli_read_real(text, &value)) {
    return "a finite number";
  }
  if (id == ID_FLOOR) {
    o->floor = value;
    return fabs(value) <= 1e6 ? NULL : "between -1e6 and 1e6 m";
  }
  double* target = id == ID_DURATION       ? &o->duration
                   : id == ID_REFERENCE_DT ? &o->reference_dt
                                           : &o->profile_tolerance;
  *target = value;
  return value > 0.0 && value <= 1e9 ? NULL : "finite and > 0";
}

static const char* take_reference(compare_options* o, const char* argument) {
  o->reference = argument;
  return sap_solver_find(argument) != NULL || strcmp(argument, "own") == 0 ||
                 strcmp(argument, "file") == 0
             ? NULL
             : "own, file or a name that 'sapstep solvers' lists";
}

// What the argument must be, where it is not that; NULL: it was taken.
static const char* take(compare_options* o, int id, const char* argument) {
  switch (id) {
    case ID_SOLVERS:
      return compare_take_names(o, argument);
    case ID_START: {
      const int start = cli_read_choice(argument, compare_start_names);
      o->start = (compare_start)start;
      return start >= 0 ? NULL : "cold, warm, both or file";
    }
    case ID_REFERENCE:
      return take_reference(o, argument);
    case ID_SET:
      return compare_take_set(o, argument);
    case ID_VARY:
      return compare_take_vary(o, argument);
    case ID_FORCE:
      return compare_take_force(o, argument);
    case ID_PLOT:
      return compare_take_plot(o, argument);
    case ID_EXACT:
      return compare_take_exact(o, argument);
    case ID_KEYFRAME:
      o->keyframe = argument;
      return NULL;
    case ID_SVG:
      return cli_take_path(&o->svg, argument);
    case ID_CONVERGENCE:
      return cli_take_path(&o->convergence, argument);
    case ID_TIMINGS:
      return cli_take_path(&o->timings, argument);
    case ID_ROWS:
      return cli_take_path(&o->rows, argument);
    case ID_PROFILE:
      return cli_take_path(&o->profile, argument);
    case ID_FORMAT:
      return cli_take_format(argument, true, &o->format);
    default:
      return take_number(o, id, argument);
  }
}

static void take_flag(compare_options* o, int id) {
  bool* flags[] = {[ID_SELF] = &o->self,
                   [ID_CLASSES] = &o->classes,
                   [ID_FLOATING_BASE] = &o->floating_base,
                   [ID_LENIENT] = &o->lenient,
                   [ID_SUMMARY] = &o->summary};
  *flags[id] = true;
}

// Whether the file begins as XML does, in UTF-8 or UTF-16; false as well where it cannot be read.
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

// What only the whole command line can tell.
static int check(const cli_command* command, const bool* given, compare_options* o) {
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
    int id;
    const char* name;
    bool files, scenes, self;  // where it means something
  } rules[] = {
      {ID_SELF, "self", false, false, true},
      {ID_CLASSES, "classes", false, true, true},
      {ID_DURATION, "duration", false, true, true},
      {ID_EVERY, "every", false, true, false},
      {ID_REFERENCE, "reference", true, true, true},
      {ID_REFERENCE_DT, "reference-dt", false, false, true},
      {ID_SET, "set", false, true, true},
      {ID_VARY, "vary", false, false, true},
      {ID_FORCE, "force", false, true, true},
      {ID_PLOT, "plot", false, false, true},
      {ID_SVG, "svg", false, false, true},
      {ID_START, "start", true, true, false},
      {ID_CONVERGENCE, "convergence", true, true, false},
      {ID_TIMINGS, "timings", false, true, false},
      {ID_SUMMARY, "summary", true, false, false},
      {ID_ROWS, "rows", true, true, false},
      {ID_PROFILE, "profile", true, true, false},
      {ID_KEYFRAME, "keyframe", false, true, true},
      {ID_FLOATING_BASE, "floating-base", false, true, true},
      {ID_FLOOR, "floor", false, true, true},
      {ID_LENIENT, "lenient", false, true, true},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    const bool fits = !o->scenes ? rules[i].files : o->self ? rules[i].self : rules[i].scenes;
    if (given[rules[i].id] && !fits) {
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
  if (given[ID_SVG] != given[ID_PLOT]) {
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
  if (sap_solver_options_check(&o->setup.stepper.solver_options, &error) != SAP_STATUS_OK) {
    return cli_usage_error(command, "%s", error.message);
  }
  o->start = given[ID_START] ? o->start : o->scenes && !o->self ? COMPARE_BOTH : COMPARE_COLD;
  o->summary = o->summary || o->scenes;
  return CLI_OK;
}

bool compare_options_read(const cli_command* command, int argc, char** argv,
                          compare_options* options, int* exit_code) {
  *options = (compare_options){.duration = 1.0,
                               .every = 1,
                               .value_count = 1,
                               .floor = (double)NAN,
                               .profile_tolerance = 1e-8};
  sweep_setup_begin(&options->setup);
  // Problems are checked once for all solvers: none pays for it in its time.
  options->setup.stepper.solver_options.check_input = false;
  options->setup.stepper.solver_options.relative_tolerance = COMPARE_TOLERANCE;
  cli_parser parser;
  cli_parser_begin(&parser, command, &options->setup.stepper.solver_options, argc, argv);
  bool given[ID_FORMAT + 1] = {false};
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = NULL;
    const cli_option* option = compare_option_list;
    while (option->id != id) {
      ++option;
    }
    if (option->argument == NULL) {
      take_flag(options, id);
    } else {
      allowed = take(options, id, argument);
    }
    if (allowed != NULL) {
      *exit_code = cli_refuse_value(command, option->name, argument, allowed);
      return false;
    }
    given[id] = true;
  }
  options->operands = parser.operands;
  options->operand_count = parser.noperands;
  *exit_code = id == CLI_PARSE_LEAVE ? parser.exit_code : check(command, given, options);
  return id != CLI_PARSE_LEAVE && *exit_code == CLI_OK;
}
