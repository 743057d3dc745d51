// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "cli/commands/converge/converge.h"
#include "cli/expression.h"
#include "cli/options.h"

enum {
  OPTION_DT = 1,
  OPTION_LEVELS,
  OPTION_DURATION,
  OPTION_SCHEMES,
  OPTION_STAGES,
  OPTION_SOLVERS,
  OPTION_EXACT,
  OPTION_RATIO,
  OPTION_JOBS,
  OPTION_SVG,
  OPTION_AGAINST,
  OPTION_JOURNAL,
  OPTION_START,
  OPTION_FORMAT,
};

const cli_option converge_option_list[] = {
    {"dt", "S", OPTION_DT, "largest time step [s] (the scene's)"},
    {"levels", "N", OPTION_LEVELS, "step sizes dt, dt/2, dt/4, ...: 2 to 20 (5)"},
    {"duration", "S", OPTION_DURATION, "simulated time [s], rounded up to a multiple of dt (1)"},
    {"scheme", "LIST", OPTION_SCHEMES,
     "schemes, separated by commas\n(symplectic-euler,implicit-euler,midpoint)"},
    {"contact-stage", "LIST", OPTION_STAGES,
     "auto, end and theta, separated by commas: where in the step\ncontact acts (auto)"},
    {"solver", "LIST", OPTION_SOLVERS, "contact solvers, separated by commas (sap)"},
    {"exact", "JOINT=F", OPTION_EXACT,
     "exact solution of a joint's coordinate, a formula of the time\n"
     "t; may be given for several joints; others are not compared\n"
     "(without: those that the scene names, see its reference)"},
    {"reference", "NAME", OPTION_AGAINST,
     "auto: exact solutions, or a run where there are none; run: the\n"
     "run in any case; richardson: two runs, extrapolated (auto)"},
    {"journal", "FILE", OPTION_JOURNAL,
     "keep finished runs there: after an interruption or a kill the\n"
     "same command goes on; removed at the end"},
    {"reference-ratio", "N", OPTION_RATIO,
     "without exact solutions the reference is midpoint with the\n"
     "smallest step divided by N: 2 to 4096 (16)"},
    {"jobs", "N", OPTION_JOBS, "threads: 1 to 64 (one per processor)"},
    {"svg", "FILE", OPTION_SVG, "write a chart of the errors"},
    CLI_SCENE_START_ROWS,
    {"start", "JOINT=X", OPTION_START,
     "start with this joint at X [m, rad]; may be given for several"},
    CLI_SCENE_CONTACT_ROWS,
    CLI_SCENE_URDF_ROWS,
    CLI_SCENE_LENIENT_ROW,
    {"format", "NAME", OPTION_FORMAT, "table, csv or json (table)"},
    {NULL, NULL, 0, NULL},
};

typedef struct count_option {
  int id;
  int32_t* target;
  int32_t low, high;
  const char* allowed;
} count_option;

// Calls `add` with each word of a list; false where one is refused or there are none.
static bool take_list(converge_options* o, const char* list,
                      bool (*add)(converge_options* o, const char* word)) {
  char word[64];
  for (;;) {
    const size_t length = strcspn(list, ",");
    if (length == 0 || length >= sizeof word) {
      return false;
    }
    memcpy(word, list, length);
    word[length] = '\0';
    if (!add(o, word)) {
      return false;
    }
    if (list[length] == '\0') {
      return true;
    }
    list += length + 1;
  }
}

static bool add_scheme(converge_options* o, const char* word) {
  if (o->nschemes >= (int)SAP_SCHEME_COUNT || !cli_read_scheme(word, &o->schemes[o->nschemes])) {
    return false;
  }
  ++o->nschemes;
  return true;
}

static bool add_stage(converge_options* o, const char* word) {
  if (o->nstages >= (int)SAP_STAGE_COUNT || !cli_read_stage(word, &o->stages[o->nstages])) {
    return false;
  }
  ++o->nstages;
  return true;
}

static bool add_solver(converge_options* o, const char* word) {
  const sap_solver_info* solver = sap_solver_find(word);
  if (solver == NULL || o->nsolvers >= CONVERGE_SOLVERS_MAX) {
    return false;
  }
  o->solvers[o->nsolvers++] = solver->name;
  return true;
}

// The name before the first '='; NULL: there is none, else what follows it.
static const char* take_joint(const char* text, char joint[128]) {
  const char* equals = strchr(text, '=');
  if (equals == NULL || equals == text || equals - text >= 128) {
    return NULL;
  }
  memcpy(joint, text, (size_t)(equals - text));
  joint[equals - text] = '\0';
  return equals + 1;
}

// JOINT=X; what is wrong, or NULL.
static const char* take_start(converge_options* o, const char* text) {
  if (o->nstart == CONVERGE_EXACT_MAX) {
    return "given 16 times at most";
  }
  converge_start* start = &o->start[o->nstart++];
  const char* value = take_joint(text, start->joint);
  return value != NULL && cli_read_real(value, &start->position) ? NULL : "JOINT=X, X in m or rad";
}

// JOINT=FORMULA; what is wrong, or NULL.
static const char* take_exact(converge_options* o, const char* text) {
  if (o->nexact == CONVERGE_EXACT_MAX) {
    return "it may be given 16 times at most";
  }
  converge_exact* exact = &o->exact[o->nexact++];
  exact->expression = take_joint(text, exact->joint);
  if (exact->expression == NULL) {
    return "it must be JOINT=FORMULA";
  }
  const char* error;
  (void)expression_value(exact->expression, 0.0, &error);
  return error == NULL ? NULL : error;
}

static const char* take_number(converge_options* o, int id, const char* text, bool* known) {
  const cli_number numbers[] = {
      {OPTION_DT, &o->scene.dt, 0.0, 1e9, true, "finite and > 0 s, at most 1e9"},
      {OPTION_DURATION, &o->duration, 0.0, 1e9, true, "finite and > 0 s, at most 1e9"},
  };
  const count_option counts[] = {
      {OPTION_LEVELS, &o->levels, 2, CONVERGE_LEVELS_MAX, "an integer from 2 to 20"},
      {OPTION_RATIO, &o->ratio, 2, 4096, "an integer from 2 to 4096"},
      {OPTION_JOBS, &o->jobs, 1, 64, "an integer from 1 to 64"},
  };
  const char* allowed = cli_take_number(numbers, sizeof numbers / sizeof *numbers, id, text, known);
  if (!*known) {
    allowed = cli_scene_take(&o->scene, id, text, known);
  }
  if (*known) {
    return allowed;
  }
  *known = true;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    if (counts[i].id == id) {
      const count_option* n = &counts[i];
      return cli_read_integer(text, n->target) && *n->target >= n->low && *n->target <= n->high
                 ? NULL
                 : n->allowed;
    }
  }
  *known = false;
  return NULL;
}

// What the argument must be, where it is not that; NULL: it was taken.
static const char* take(converge_options* o, int id, const char* argument) {
  bool known = true;
  const char* allowed = take_number(o, id, argument, &known);
  if (known) {
    return allowed;
  }
  switch (id) {
    case OPTION_SCHEMES:
      return take_list(o, argument, add_scheme)
                 ? NULL
                 : "one or more of explicit-euler, symplectic-euler, implicit-euler, midpoint, "
                   "separated by commas";
    case OPTION_STAGES:
      return take_list(o, argument, add_stage)
                 ? NULL
                 : "one or more of auto, end, theta, separated by commas";
    case OPTION_SOLVERS:
      return take_list(o, argument, add_solver)
                 ? NULL
                 : "one or more of those that 'sapstep solvers' lists, separated by commas";
    case OPTION_EXACT:
      return take_exact(o, argument);
    case OPTION_START:
      return take_start(o, argument);
    case OPTION_AGAINST: {
      static const char* const names[] = {"auto", "run", "richardson", NULL};
      const int against = cli_read_choice(argument, names);
      o->against = (converge_against)against;
      return against >= 0 ? NULL : "auto, run or richardson";
    }
    case OPTION_JOURNAL:
      return cli_take_path(&o->journal, argument);
    case OPTION_SVG:
      return cli_take_path(&o->svg, argument);
    default:
      return cli_take_format(argument, true, &o->format);
  }
}

static void set_defaults(converge_options* o) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  *o = (converge_options){.duration = 1.0,
                          .levels = 5,
                          .ratio = 16,
                          .jobs = processors >= 1 && processors <= 64 ? (int32_t)processors : 1,
                          .scene = cli_scene_default()};
  o->stepper = sap_stepper_options_default();
  // The error of the step is on trial, not that of the solver.
  o->stepper.solver_options.relative_tolerance = 1e-10;
}

// What only the whole command line can tell.
static int check(const cli_command* command, const cli_parser* parser, converge_options* o) {
  if (parser->noperands != 1) {
    return cli_usage_error(
        command, parser->noperands == 0 ? "a scene file is needed" : "one scene file at a time");
  }
  sap_error error;
  if (sap_solver_options_check(&o->stepper.solver_options, &error) != SAP_STATUS_OK) {
    return cli_usage_error(command, "%s", error.message);
  }
  if (o->nexact > 0 && o->against != CONVERGE_AUTO) {
    return cli_usage_error(command, "--exact and --reference exclude each other");
  }
  if (o->nschemes == 0) {
    (void)take_list(o, "symplectic-euler,implicit-euler,midpoint", add_scheme);
  }
  if (o->nstages == 0) {
    o->stages[o->nstages++] = SAP_STAGE_AUTO;
  }
  if (o->nsolvers == 0) {
    o->solvers[o->nsolvers++] = o->stepper.solver;
  }
  o->scene.path = parser->operands[0];
  return cli_check_reread(o->scene.path, &error) == SAP_STATUS_OK ? CLI_OK : cli_report(&error);
}

bool converge_options_read(const cli_command* command, int argc, char** argv,
                           converge_options* options, int* exit_code) {
  set_defaults(options);
  cli_parser parser;
  cli_parser_begin(&parser, command, &options->stepper.solver_options, argc, argv);
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = take(options, id, argument);
    if (allowed != NULL) {
      const cli_option* option = converge_option_list;
      while (option->id != id) {
        ++option;
      }
      *exit_code = id == OPTION_EXACT
                       ? cli_usage_error(command, "--%s '%s': %s", option->name, argument, allowed)
                       : cli_refuse_value(command, option->name, argument, allowed);
      return false;
    }
  }
  *exit_code = id == CLI_PARSE_LEAVE ? parser.exit_code : check(command, &parser, options);
  return id != CLI_PARSE_LEAVE && *exit_code == CLI_OK;
}
