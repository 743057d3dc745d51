// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/mujoco/mujoco_options.h"

#include <math.h>

#include "cli/options.h"

enum {
  OPTION_DURATION = 1,
  OPTION_DT,
  OPTION_SOLVER,
  OPTION_KEYFRAME,
  OPTION_CONTACT_MODEL,
  OPTION_STIFFNESS,
  OPTION_RELAXATION_TIME,
  OPTION_SIGMA,
  OPTION_BETA,
  OPTION_OUTPUT,
  OPTION_RECORD,
  OPTION_EVERY,
  OPTION_COMPRESSION,
  OPTION_STATS,
  OPTION_FORMAT,
  OPTION_PLUGINS,
  OPTION_DEADLINE,
  OPTION_CHECKPOINT,
  OPTION_CHECKPOINT_EVERY,
  OPTION_RESUME,
};

const cli_option mujoco_option_list[] = {
    {"duration", "S", OPTION_DURATION, "simulated time [s] (5)"},
    {"dt", "S", OPTION_DT, "time step [s] (the model's)"},
    {"solver", "NAME", OPTION_SOLVER, "contact solver, see 'sapstep solvers' (sap)"},
    {"keyframe", "NAME", OPTION_KEYFRAME, "start from this keyframe, by name or index"},
    {"contact-model", "NAME", OPTION_CONTACT_MODEL, "sap, similar or lagged (sap)"},
    {"stiffness", "K", OPTION_STIFFNESS, "contact stiffness of every geom [N/m]"},
    {"relaxation-time", "S", OPTION_RELAXATION_TIME, "relaxation time of every geom [s]"},
    {"sigma", "X", OPTION_SIGMA, "slip parameter of the regularization (the model's, or 1e-3)"},
    {"beta", "X", OPTION_BETA, "near-rigid parameter (the model's, or 1)"},
    {"plugins", "DIR", OPTION_PLUGINS, "folder of MuJoCo's plugin libraries that the model wants"},
    {"output", "FILE", OPTION_OUTPUT, "write the trajectory as CSV, also -o"},
    {"record", "FILE", OPTION_RECORD,
     "record states, poses, contacts, energies and the solver's report\nas HDF5, for plot, export "
     "and view"},
    {"every", "N", OPTION_EVERY, "a row of trajectory and recording every N steps (1)"},
    {"compression", "N", OPTION_COMPRESSION, "deflate level of the recording, 0 (none) to 9 (1)"},
    {"checkpoint", "FILE", OPTION_CHECKPOINT,
     "write where the run has come to, at its end, for --resume"},
    {"checkpoint-every", "N", OPTION_CHECKPOINT_EVERY, "and every N steps, in the same file"},
    {"resume", "FILE", OPTION_RESUME, "go on from a checkpoint of the same model and options"},
    {"deadline", "S", OPTION_DEADLINE,
     "wall-clock time of a step [s]: the contact solver ends when it is over,\nwith the best found "
     "(0: none)"},
    {"stats", NULL, OPTION_STATS, "tell where the time goes"},
    {"format", "NAME", OPTION_FORMAT, "table or json (table)"},
    {NULL, NULL, 0, NULL},
};

static void print_warning(void* context, const char* message) {
  (void)context;
  cli_message("warning: MuJoCo: %s", message);
}

// What the option must be, where its argument is not that; NULL: it was taken.
static const char* take(mujoco_options* r, int id, const char* argument) {
  switch (id) {
    case OPTION_DURATION:
      return cli_read_real(argument, &r->duration) && r->duration >= 0.0 && r->duration <= 1e9
                 ? NULL
                 : "between 0 and 1e9 s";
    case OPTION_DT:
      return cli_read_real(argument, &r->dt) && r->dt > 0.0 ? NULL : "finite and > 0 s";
    case OPTION_SOLVER:
      return cli_take_solver(&r->adapter.solver, argument);
    case OPTION_KEYFRAME:
      r->keyframe = argument;
      return NULL;
    case OPTION_CONTACT_MODEL:
      return cli_read_contact_model(argument, &r->adapter.contact_model) ? NULL
                                                                         : "sap, similar or lagged";
    case OPTION_STIFFNESS:
      return cli_read_real(argument, &r->stiffness) && r->stiffness > 0.0 ? NULL
                                                                          : "finite and > 0 N/m";
    case OPTION_RELAXATION_TIME:
      return cli_read_real(argument, &r->relaxation_time) && r->relaxation_time >= 0.0
                 ? NULL
                 : "finite and >= 0 s";
    case OPTION_SIGMA:
      return cli_read_real(argument, &r->adapter.regularization.sigma) &&
                     r->adapter.regularization.sigma > 0.0
                 ? NULL
                 : "finite and > 0";
    case OPTION_BETA:
      return cli_read_real(argument, &r->adapter.regularization.beta) &&
                     r->adapter.regularization.beta >= 0.0
                 ? NULL
                 : "finite and >= 0";
    case OPTION_DEADLINE:
      return cli_read_real(argument, &r->adapter.solver_options.time_limit) && r->adapter.solver_options.time_limit >= 0.0 &&
                     r->adapter.solver_options.time_limit <= 1e9
                 ? NULL
                 : "between 0 and 1e9 s";
    case OPTION_CHECKPOINT:
      return cli_take_path(&r->checkpoint, argument);
    case OPTION_CHECKPOINT_EVERY:
      return cli_take_count(&r->checkpoint_every, argument);
    case OPTION_RESUME:
      return cli_take_path(&r->resume, argument);
    case OPTION_OUTPUT:
      return cli_take_path(&r->output, argument);
    case OPTION_RECORD:
      return cli_take_path(&r->record, argument);
    case OPTION_COMPRESSION:
      return cli_take_compression(&r->recorder.compression, argument);
    case OPTION_PLUGINS:
      r->plugins = argument;
      return argument[0] != '\0' ? NULL : "a folder";
    case OPTION_EVERY:
      return cli_take_count(&r->every, argument);
    case OPTION_FORMAT:
      return cli_take_format(argument, false, &r->format);
    default:
      r->stats = true;
      return NULL;
  }
}

bool mujoco_options_read(const cli_command* command, int argc, char** argv, mujoco_options* r,
                         int* exit_code) {
  const double nan = (double)NAN;
  *r = (mujoco_options){.duration = 5.0,
                        .dt = nan,
                        .stiffness = nan,
                        .relaxation_time = nan,
                        .every = 1,
                        .adapter = sap_mj_options_default(),
                        .recorder = sap_recorder_options_default()};
  r->adapter.warning = print_warning;
  cli_parser parser;
  cli_parser_begin(&parser, command, &r->adapter.solver_options, argc, argv);
  bool has_every = false, has_compression = false;
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = take(r, id, argument);
    if (allowed != NULL) {
      const cli_option* option = mujoco_option_list;
      while (option->id != id) {
        ++option;
      }
      *exit_code = cli_refuse_value(command, option->name, argument, allowed);
      return false;
    }
    has_every = has_every || id == OPTION_EVERY;
    has_compression = has_compression || id == OPTION_COMPRESSION;
  }
  sap_error error;
  if (id == CLI_PARSE_LEAVE) {
    *exit_code = parser.exit_code;
  } else if (parser.noperands != 1) {
    *exit_code = cli_usage_error(
        command, parser.noperands == 0 ? "a model file is needed" : "one model file at a time");
  } else if (has_every && r->output == NULL && r->record == NULL) {
    *exit_code = cli_usage_error(command, "--every needs --output or --record");
  } else if (has_compression && r->record == NULL) {
    *exit_code = cli_usage_error(command, "--compression needs --record");
  } else if (r->checkpoint_every > 0 && r->checkpoint == NULL) {
    *exit_code = cli_usage_error(command, "--checkpoint-every needs --checkpoint");
  } else if (r->resume != NULL && r->keyframe != NULL) {
    *exit_code =
        cli_usage_error(command, "--resume starts from the checkpoint, not from a --keyframe");
  } else if (sap_solver_options_check(&r->adapter.solver_options, &error) != SAP_STATUS_OK) {
    *exit_code = cli_usage_error(command, "%s", error.message);
  } else {
    r->path = parser.operands[0];
    return true;
  }
  return false;
}
