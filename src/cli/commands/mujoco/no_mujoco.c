// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco of a build without MuJoCo.
#include <stddef.h>

#include "cli/command.h"
#include "cli/options.h"

static const cli_option option_list[] = {{NULL, NULL, 0, NULL}};

static int refuse(const cli_command* command, int argc, char** argv) {
  cli_parser parser;
  const char* argument;
  cli_parser_begin(&parser, command, NULL, argc, argv);
  if (cli_parse_next(&parser, &argument) == CLI_PARSE_LEAVE) {
    return parser.exit_code;
  }
  cli_message("this build has no MuJoCo: install libmujoco-dev, or give -DMUJOCO_DIR= to cmake");
  return CLI_USAGE;
}

const cli_command cli_command_mujoco = {
    .name = "mujoco",
    .operands = "MODEL",
    .summary = "step a model with MuJoCo (this build has none)",
    .description = "Needs a build that found MuJoCo (libmujoco-dev, or cmake -DMUJOCO_DIR=).",
    .examples = "  sapstep mujoco humanoid.xml\n",
    .options = option_list,
    .solver_options = false,
    .run = refuse,
};
