// SPDX-License-Identifier: BSD-3-Clause
// Options of `sapstep converge` and the notes of its scene.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/converge/converge.h"
#include "cli/expression.h"
#include "cli/options.h"

// Calls `add` with each word of a list; false if a word is refused.
static bool take_list(converge_options* o, const char* list,
                      bool (*add)(converge_options* o, const char* word)) {
  char *rest = cli_copy(list), *word;
  bool good = true;
  while (good && (word = strsep(&rest, ",")) != NULL) {
    good = add(o, word);
  }
  return good;
}

static bool add_scheme(converge_options* o, const char* word) {
  if (o->nschemes >= (int)SAP_SCHEME_COUNT || !cli_read_scheme(word, &o->schemes[o->nschemes])) {
    return false;
  }
  ++o->nschemes;
  return true;
}

static bool add_stage(converge_options* o, const char* word) {
  for (int i = 0; i < (int)SAP_STAGE_COUNT && o->nstages < (int)SAP_STAGE_COUNT; ++i) {
    if (strcmp(word, sap_stage_text((sap_stage)i)) == 0) {
      o->stages[o->nstages++] = (sap_stage)i;
      return true;
    }
  }
  return false;
}

static bool add_solver(converge_options* o, const char* word) {
  const sap_solver_info* solver = sap_solver_find(word);
  if (solver == NULL || o->nsolvers >= CONVERGE_SOLVERS_MAX) {
    return false;
  }
  o->solvers[o->nsolvers++] = solver->name;
  return true;
}

// Copies the name before the first '='; returns the text after it, NULL without '='.
static const char* take_joint(const char* text, char joint[128]) {
  const char* equals = strchr(text, '=');
  if (equals == NULL || equals == text || equals - text >= 128) {
    return NULL;
  }
  memcpy(joint, text, (size_t)(equals - text));
  joint[equals - text] = '\0';
  return equals + 1;
}

// Takes JOINT=X.
static const char* take_start(void* options, const char* text) {
  converge_options* o = options;
  if (o->nstart == CONVERGE_EXACT_MAX) {
    return "given at most 16 times";
  }
  converge_start* start = &o->start[o->nstart++];
  const char* value = take_joint(text, start->joint);
  return value != NULL && cli_read_real(value, &start->position) ? NULL : "JOINT=X, X in m or rad";
}

// Takes JOINT=FORMULA.
static const char* take_exact(void* options, const char* text) {
  converge_options* o = options;
  if (o->nexact == CONVERGE_EXACT_MAX) {
    return "given at most 16 times";
  }
  converge_exact* exact = &o->exact[o->nexact++];
  exact->expression = take_joint(text, exact->joint);
  if (exact->expression == NULL) {
    return "JOINT=FORMULA";
  }
  const char* error;
  (void)expression_value(exact->expression, 0.0, &error);
  static char reason[160];
  (void)snprintf(reason, sizeof reason, ": %s", error != NULL ? error : "");
  return error == NULL ? NULL : reason;
}

static const char* take_peer(void* options, const char* text) {
  converge_options* o = options;
  if (o->npeers == CONVERGE_PEERS_MAX) {
    return "given at most 8 times";
  }
  o->peers[o->npeers++] = text;
  return NULL;
}

#define TAKE_LIST(name, add, allowed)                        \
  static const char* name(void* options, const char* text) { \
    return take_list(options, text, add) ? NULL : allowed;   \
  }
TAKE_LIST(take_schemes, add_scheme,
          "one or more of explicit-euler, symplectic-euler, implicit-euler, midpoint, separated by "
          "commas")
TAKE_LIST(take_stages, add_stage, "one or more of auto, end, theta, separated by commas")
TAKE_LIST(take_solvers, add_solver, "one or more of 'sapstep solvers', separated by commas")

static const char* const references[] = {"auto", "run", "richardson", NULL};
#define AT(member) .offset = offsetof(converge_options, member)
const cli_option converge_option_list[] = {
    CLI_DT_ROW(converge_options, stepper.dt, "largest time step (the scene's)"),
    {"levels", "N", "number of step sizes dt, dt/2, dt/4, ...: 2 to 20 (5)", CLI_INTEGER,
     AT(levels), 2, CONVERGE_LEVELS_MAX},
    CLI_ACCURACY_ROW(
        converge_options,
        "also error-controlled steps, 'adaptive': of this accuracy [m] and, level\nby "
        "level, a tenth of it. They end at multiples of dt, which should be large,\nas "
        "0.1; their dt_s is the time of a solve"),
    {"duration", "S", "simulated time, rounded up to a multiple of dt (1) [s]", CLI_POSITIVE,
     AT(duration), 0, 1e9},
    {"scheme", "LIST", "schemes, separated by commas\n(symplectic-euler,implicit-euler,midpoint)",
     CLI_CALL, .take = take_schemes},
    {"contact-stage", "LIST",
     "auto, end and theta, separated by commas: where in the step\ncontact acts (auto)", CLI_CALL,
     .take = take_stages},
    {"solver", "LIST", "contact solvers, separated by commas (sap)", CLI_CALL,
     .take = take_solvers},
    {"exact", "JOINT=F",
     "exact solution of a joint's coordinate, a formula of the time\n"
     "t; may be given for several joints; others are not compared\n"
     "(without: the solutions in the scene, see the reference)",
     CLI_CALL, .take = take_exact},
    {"reference", "NAME",
     "auto, run or richardson: auto uses exact solutions, or a run if\n"
     "there are none; run always a run; richardson two runs,\nextrapolated (auto)",
     CLI_WORD, AT(against), .words = references},
    {"reference-ratio", "N",
     "without exact solutions the reference is midpoint with the\n"
     "smallest step divided by N: 2 to 4096 (16)",
     CLI_INTEGER, AT(ratio), 2, 4096},
    {"peer", "CMD",
     "also the errors and times that a program measures of another engine:\nCMD 'SCENE' DURATION "
     "DT "
     "prints lines NAME,SETTING,SECONDS,SOLVES,ERROR;\nmay be given for several "
     "(tests/bench/peers/work_peer.py)",
     CLI_CALL, .take = take_peer},
    {"jobs", "N", "threads: 1 to 64 (one per processor)", CLI_INTEGER, AT(jobs), 1, 64},
    {"svg", "FILE", "write a chart of the errors", CLI_PATH, AT(svg)},
    CLI_SCENE_KEYFRAME_ROW(converge_options),
    {"start", "JOINT=X", "start with this joint at X [m, rad]; may be given for several", CLI_CALL,
     .take = take_start},
    CLI_PRESET_ROW(converge_options),
    CLI_SCENE_CONTACT_ROWS(converge_options),
    CLI_SCENE_URDF_ROWS(converge_options),
    CLI_SCENE_LENIENT_ROW(converge_options),
    CLI_FORMAT_ROW(converge_options, cli_formats, "table, json or csv (table)"),
    {0},
};
const char* const converge_hidden[] = {"theta", "theta-vq", NULL};  // those of the schemes

static void set_defaults(converge_options* o) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  *o = (converge_options){.duration = 1.0,
                          .levels = 5,
                          .ratio = 16,
                          .jobs = processors >= 1 && processors <= 64 ? (int32_t)processors : 1,
                          .scene = cli_scene_default(),
                          .adaptive = cli_adaptive_options()};
  o->stepper = cli_stepper_options();
  // The study measures the error of the step, not that of the solver.
  o->stepper.solver_options.relative_tolerance = 1e-10;
}

// Checks combinations of options.
static int check_command(const cli_command* command, const cli_parser* parser,
                         converge_options* o) {
  sap_error error;
  SAP_RETURN_IF(sap_solver_options_check(&o->stepper.solver_options, &error) != SAP_STATUS_OK,
                cli_usage_error(command, "%s", error.message));
  SAP_RETURN_IF(o->nexact > 0 && o->against != CONVERGE_AUTO,
                cli_usage_error(command, "--exact and --reference exclude each other"));
  if (o->nschemes == 0) {
    (void)take_list(o, "symplectic-euler,implicit-euler,midpoint", add_scheme);
  }
  if (o->nstages == 0) {
    o->stages[o->nstages++] = o->stepper.contact_stage;
  }
  if (o->nsolvers == 0) {
    o->solvers[o->nsolvers++] = o->stepper.solver;
  }
  o->scene.path = parser->operands[0];
  const int code = cli_check_adaptive(command, parser, &o->adaptive);
  return code != CLI_OK                                             ? code
         : cli_check_reread(o->scene.path, &error) == SAP_STATUS_OK ? CLI_OK
                                                                    : cli_report(&error);
}

bool converge_options_read(const cli_command* command, int argc, char** argv,
                           converge_options* options, int* exit_code) {
  cli_parser parser;
  set_defaults(options);
  *exit_code = cli_parse(&parser, command, options, argc, argv)
                   ? check_command(command, &parser, options)
                   : parser.exit_code;
  return parser.operands != NULL && *exit_code == CLI_OK;
}

// --- the scene: its start, its step and its exact solutions ---
//
//   <text name="sapstep:exact:JOINT" data="formula of t"/>            from the default pose
//   <text name="sapstep:exact:JOINT@KEYFRAME" data="formula of t"/>   from that keyframe
// Exact solutions are valid only for the scene's own materials and start.

// Finds the coordinates of a hinge or slide.
static sap_status find_joint(const converge_study* s, const char* name, int32_t* q, int32_t* v,
                             sap_error* error) {
  const int32_t joint = sap_model_find(s->model, SAP_ELEMENT_JOINT, name);
  sap_joint_type type;
  SAP_FAIL_IF(joint < 0, error, SAP_STATUS_ARGUMENT, "%.200s has no joint '%.128s'",
              s->options.scene.path, name);
  SAP_TRY(sap_model_joint_address(s->model, joint, &type, NULL, q, v, error));
  SAP_FAIL_IF(type != SAP_JOINT_HINGE && type != SAP_JOINT_SLIDE, error, SAP_STATUS_ARGUMENT,
              "%.200s: joint '%.128s' is neither a hinge nor a slide", s->options.scene.path, name);
  return SAP_STATUS_OK;
}

// Sets the start of all runs and finds the coordinates with exact solutions.
static sap_status set_start(converge_study* s, sap_error* error) {
  SAP_TRY(cli_scene_start(&s->options.scene, s->model, &s->start, NULL, error));
  for (int i = 0; i < s->options.nstart; ++i) {
    int32_t q, v;
    SAP_TRY(find_joint(s, s->options.start[i].joint, &q, &v, error));
    s->start.q[q] = s->options.start[i].position;
  }
  SAP_EACH(converge_exact, exact, s->options.exact, s->options.nexact) {
    SAP_TRY(find_joint(s, exact->joint, &exact->q, &exact->v, error));
  }
  return SAP_STATUS_OK;
}

static bool is_changed(const converge_options* o) {
  const sap_material* m = &o->scene.override;
  return o->nstart > 0 || !isnan(m->stiffness) || !isnan(m->relaxation_time) || !isnan(m->friction);
}

// Keeps an exact solution if it is for the start of this study.
static void take_note(void* context, const char* name, const char* text) {
  static const char exact[] = "exact:";
  converge_options* o = &((converge_study*)context)->options;
  const char* keyframe = o->scene.keyframe;
  const char* joint = name + strlen(exact);
  const char* at = strrchr(joint, '@');
  const size_t length = at != NULL ? (size_t)(at - joint) : strlen(joint);
  const bool holds =
      at == NULL ? keyframe == NULL : keyframe != NULL && strcmp(at + 1, keyframe) == 0;
  if (strncmp(name, exact, strlen(exact)) != 0 || !holds || is_changed(o) ||
      o->against != CONVERGE_AUTO || o->nexact == CONVERGE_EXACT_MAX ||
      length >= sizeof o->exact[0].joint || (o->nexact > 0 && o->exact[0].owned == NULL)) {
    return;
  }
  converge_exact* e = &o->exact[o->nexact];
  memcpy(e->joint, joint, length);
  e->joint[length] = '\0';
  e->expression = e->owned = cli_copy(text);
  ++o->nexact;
}

static sap_status check_notes(const converge_study* s, sap_error* error) {
  for (int i = 0; i < s->options.nexact; ++i) {
    const char* wrong;
    (void)expression_value(s->options.exact[i].expression, 0.0, &wrong);
    SAP_FAIL_IF(wrong != NULL, error, SAP_STATUS_ARGUMENT, "%.200s: sapstep:exact: %.200s",
                s->options.scene.path, wrong);
  }
  return SAP_STATUS_OK;
}

sap_status converge_scene_read(converge_study* s, sap_error* error) {
  const bool given = s->options.nexact > 0;
  s->options.scene.reading.note = take_note;
  s->options.scene.reading.note_context = s;
  SAP_TRY(cli_scene_read(&s->options.scene, NULL, NULL, &s->model, error));
  if (!given) {
    SAP_TRY(check_notes(s, error));
  }
  SAP_TRY(set_start(s, error));
  cli_scene_stepper(s->model, &s->options.stepper);
  s->options.dt = s->options.stepper.dt;
  s->samples = cli_step_count(s->options.duration, s->options.dt);
  return SAP_STATUS_OK;
}
