// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco of a build without MuJoCo.
#include "cli/options.h"

static const cli_option option_list[] = {{0}};

static int refuse(const cli_command* command, int argc, char** argv) {
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, NULL, argc, argv), parser.exit_code);
  cli_message("this build has no MuJoCo: install libmujoco-dev, or give -DMUJOCO_DIR= to cmake");
  return CLI_USAGE;
}

const cli_command cli_command_mujoco = {
    .name = "mujoco",
    .operands = "MODEL",
    .summary = "step a model with MuJoCo (not in this build)",
    .text = cli_text_no_mujoco,
    .options = option_list,
    .run = refuse,
};
