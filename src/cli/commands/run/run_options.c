// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/run/run_options.h"

#include "cli/options.h"

enum {
  OPTION_DURATION = 1,
  OPTION_DT,
  OPTION_SCHEME,
  OPTION_THETA,
  OPTION_THETA_VQ,
  OPTION_CONTACT_STAGE,
  OPTION_CONTACT_LAW,
  OPTION_RESTITUTION,
  OPTION_BAUMGARTE,
  OPTION_SOLVER,
  OPTION_CONTROLS,
  OPTION_OUTPUT,
  OPTION_RECORD,
  OPTION_EVERY,
  OPTION_DUMP_PROBLEMS,
  OPTION_DUMP_EVERY,
  OPTION_COMPRESSION,
  OPTION_CHECKPOINT,
  OPTION_CHECKPOINT_EVERY,
  OPTION_RESUME,
  OPTION_DEADLINE,
  OPTION_STATS,
  OPTION_FORMAT,
  OPTION_COUNT,
};

const cli_option run_option_list[] = {
    {"duration", "S", OPTION_DURATION, "simulated time [s] (5)"},
    {"dt", "S", OPTION_DT, "time step [s] (the scene's)"},
    {"scheme", "NAME", OPTION_SCHEME,
     "explicit-euler, symplectic-euler, implicit-euler or\nmidpoint (implicit-euler)"},
    {"theta", "X", OPTION_THETA, "theta of any scheme, with --theta-vq: 0 to 1"},
    {"theta-vq", "X", OPTION_THETA_VQ, "theta of the velocity that moves the positions: 0 to 1"},
    {"contact-stage", "NAME", OPTION_CONTACT_STAGE,
     "where in the step contact acts: end, theta for the scheme's\ntheta point, or auto (auto: "
     "theta for midpoint)"},
    {"contact-law", "NAME", OPTION_CONTACT_LAW,
     "compliant, rigid (Moreau-Jean) or auto: the solver's, see 'sapstep\nsolvers' (auto)"},
    {"restitution", "E", OPTION_RESTITUTION, "of rigid contacts: 0 to 1 (0)"},
    {"baumgarte", "B", OPTION_BAUMGARTE,
     "part of a rigid constraint's error that a step removes: 0 to 1 (0.2)"},
    {"solver", "NAME", OPTION_SOLVER, "contact solver, see 'sapstep solvers' (sap)"},
    CLI_SCENE_START_ROWS,
    {"controls", "FILE", OPTION_CONTROLS,
     "CSV of controls over time, columns t_s and actuator names; a row holds\nuntil the next; or a "
     "keyframe whose controls are held (those of\n--keyframe)"},
    CLI_SCENE_CONTACT_ROWS,
    {"output", "FILE", OPTION_OUTPUT, "write the trajectory as CSV, also -o"},
    {"record", "FILE", OPTION_RECORD,
     "record states, poses, contacts, energies and the solver's report\nas HDF5"},
    {"every", "N", OPTION_EVERY, "a row of trajectory and recording every N steps (1)"},
    {"compression", "N", OPTION_COMPRESSION, "of the recording: 0 none, 1 to 9 deflate levels (1)"},
    {"checkpoint", "FILE", OPTION_CHECKPOINT,
     "write the state at the end, from which --resume goes on bit for bit"},
    {"checkpoint-every", "N", OPTION_CHECKPOINT_EVERY, "and every N steps, in the same file"},
    {"resume", "FILE", OPTION_RESUME, "go on from a checkpoint of the same scene and options"},
    {"deadline", "S", OPTION_DEADLINE,
     "wall-clock time of a step [s]: the contact solver ends when it is over,\nwith the best found "
     "(0: none)"},
    {"dump-problems", "FOLDER", OPTION_DUMP_PROBLEMS,
     "write the contact problems of steps as FOLDER/step_NNNNNN.hdf5\n(FCLIB), for solve and "
     "compare"},
    {"dump-every", "N", OPTION_DUMP_EVERY, "of every N-th step (1)"},
    CLI_SCENE_URDF_ROWS,
    CLI_SCENE_LENIENT_ROW,
    {"stats", NULL, OPTION_STATS, "tell where the time goes"},
    {"format", "NAME", OPTION_FORMAT, "table or json (table)"},
    {NULL, NULL, 0, NULL},
};

static bool set_scheme(run_options* options, const char* name) {
  sap_scheme scheme;
  return cli_read_scheme(name, &scheme) &&
         sap_stepper_options_set_scheme(&options->stepper, scheme, NULL) == SAP_STATUS_OK;
}

// What the option must be, where its argument is not that; NULL: it was taken.
static const char* take(run_options* o, int id, const char* argument) {
  const cli_number numbers[] = {
      {OPTION_DURATION, &o->duration, 0.0, 1e9, false, "between 0 and 1e9 s"},
      {OPTION_DT, &o->scene.dt, 0.0, 1e9, true, "finite and > 0 s, at most 1e9"},
      {OPTION_THETA, &o->stepper.theta, 0.0, 1.0, false, "between 0 and 1"},
      {OPTION_THETA_VQ, &o->stepper.theta_vq, 0.0, 1.0, false, "between 0 and 1"},
      {OPTION_RESTITUTION, &o->stepper.restitution, 0.0, 1.0, false, "between 0 and 1"},
      {OPTION_BAUMGARTE, &o->stepper.baumgarte, 0.0, 1.0, false, "between 0 and 1"},
      {OPTION_DEADLINE, &o->stepper.solver_options.time_limit, 0.0, 1e9, false, "between 0 and 1e9 s"},
  };
  bool known;
  const char* allowed =
      cli_take_number(numbers, sizeof numbers / sizeof *numbers, id, argument, &known);
  if (!known) {
    allowed = cli_scene_take(&o->scene, id, argument, &known);
  }
  if (known) {
    return allowed;
  }
  switch (id) {
    case OPTION_SCHEME:
      return set_scheme(o, argument)
                 ? NULL
                 : "explicit-euler, symplectic-euler, implicit-euler or midpoint";
    case OPTION_CONTACT_STAGE:
      return cli_read_stage(argument, &o->stepper.contact_stage) ? NULL : "auto, end or theta";
    case OPTION_CONTACT_LAW:
      return cli_read_law(argument, &o->stepper.contact_law) ? NULL : "auto, compliant or rigid";
    case OPTION_EVERY:
      return cli_take_count(&o->every, argument);
    case OPTION_COMPRESSION:
      return cli_take_compression(&o->recorder.compression, argument);
    case OPTION_DUMP_PROBLEMS:
      return cli_take_path(&o->dump, argument);
    case OPTION_DUMP_EVERY:
      return cli_take_count(&o->dump_every, argument);
    case OPTION_FORMAT:
      return cli_take_format(argument, false, &o->format);
    case OPTION_SOLVER:
      return cli_take_solver(&o->stepper.solver, argument);
    case OPTION_CONTROLS:
      return cli_take_path(&o->controls, argument);
    case OPTION_OUTPUT:
      return cli_take_path(&o->output, argument);
    case OPTION_RECORD:
      return cli_take_path(&o->record, argument);
    case OPTION_CHECKPOINT:
      return cli_take_path(&o->checkpoint, argument);
    case OPTION_CHECKPOINT_EVERY:
      return cli_take_count(&o->checkpoint_every, argument);
    case OPTION_RESUME:
      return cli_take_path(&o->resume, argument);
    default:
      o->stats = true;
      return NULL;
  }
}

static const char* option_name(int id) {
  const cli_option* option = run_option_list;
  while (option->id != id) {
    ++option;
  }
  return option->name;
}

// Rigid contact: of the law asked for, or of the solver. A usage error where the two exclude each
// other.
static int check_law(const cli_command* command, const bool* given, const run_options* options) {
  const sap_solver_info* info = sap_solver_find(options->stepper.solver);
  const sap_law law = options->stepper.contact_law;
  if (law == SAP_LAW_RIGID && info->needs_R) {
    return cli_usage_error(command, "--contact-law rigid has R = 0, solver '%s' needs R > 0",
                           info->name);
  }
  const bool rigid = law == SAP_LAW_RIGID || (law == SAP_LAW_AUTO && info->rigid);
  if (!rigid && (given[OPTION_RESTITUTION] || given[OPTION_BAUMGARTE])) {
    return cli_usage_error(
        command,
        "--%s is of rigid contact: --contact-law rigid, or a solver that steps by Moreau-Jean",
        given[OPTION_RESTITUTION] ? "restitution" : "baumgarte");
  }
  return CLI_OK;
}

// What only the whole command line can tell.
static int check(const cli_command* command, const cli_parser* parser, const bool* given,
                 run_options* options) {
  if (parser->noperands != 1) {
    return cli_usage_error(
        command, parser->noperands == 0 ? "a scene file is needed" : "one scene file at a time");
  }
  if (given[OPTION_SCHEME] && (given[OPTION_THETA] || given[OPTION_THETA_VQ])) {
    return cli_usage_error(command, "--scheme excludes --theta and --theta-vq");
  }
  if (given[OPTION_THETA] != given[OPTION_THETA_VQ]) {
    return cli_usage_error(command, "--theta and --theta-vq belong together");
  }
  if (options->stepper.contact_stage == SAP_STAGE_THETA &&
      !(options->stepper.theta >= 0.5 && options->stepper.theta_vq >= 0.5)) {
    return cli_usage_error(command, "--contact-stage theta needs theta and theta-vq >= 0.5");
  }
  if (given[OPTION_EVERY] && !given[OPTION_OUTPUT] && !given[OPTION_RECORD]) {
    return cli_usage_error(command, "--every needs --output or --record");
  }
  if (given[OPTION_COMPRESSION] && !given[OPTION_RECORD]) {
    return cli_usage_error(command, "--compression needs --record");
  }
  if (given[OPTION_CHECKPOINT_EVERY] && !given[OPTION_CHECKPOINT]) {
    return cli_usage_error(command, "--checkpoint-every needs --checkpoint");
  }
  if (given[OPTION_RESUME] && options->scene.keyframe != NULL) {
    return cli_usage_error(command, "--resume starts from the checkpoint, not from a --keyframe");
  }
  if (given[OPTION_DUMP_EVERY] && !given[OPTION_DUMP_PROBLEMS]) {
    return cli_usage_error(command, "--dump-every needs --dump-problems");
  }
  sap_error error;
  if (sap_solver_options_check(&options->stepper.solver_options, &error) != SAP_STATUS_OK) {
    return cli_usage_error(command, "%s", error.message);
  }
  options->scene.path = parser->operands[0];
  return check_law(command, given, options);
}

bool run_options_read(const cli_command* command, int argc, char** argv, run_options* options,
                      int* exit_code) {
  *options =
      (run_options){.duration = 5.0, .every = 1, .dump_every = 1, .scene = cli_scene_default()};
  options->stepper = sap_stepper_options_default();
  options->recorder = sap_recorder_options_default();
  cli_parser parser;
  cli_parser_begin(&parser, command, &options->stepper.solver_options, argc, argv);
  bool given[OPTION_COUNT] = {false};
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = take(options, id, argument);
    if (allowed != NULL) {
      *exit_code = cli_refuse_value(command, option_name(id), argument, allowed);
      return false;
    }
    if (id < OPTION_COUNT) {
      given[id] = true;
    }
  }
  *exit_code = id == CLI_PARSE_LEAVE ? parser.exit_code : check(command, &parser, given, options);
  return id != CLI_PARSE_LEAVE && *exit_code == CLI_OK;
}
