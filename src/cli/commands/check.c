// SPDX-License-Identifier: BSD-3-Clause
// sapstep check: starts the Python package's report about a scene.
#include "cli/options.h"

typedef struct check_request {
  const char *output, *floor;
  double duration, dt;
  bool lenient, floating_base;
} check_request;

#define AT(member) .offset = offsetof(check_request, member)
static const cli_option check_options[] = {
    {"output", "FILE", "the report, also -o (the model's name with .check.html)", CLI_TEXT,
     AT(output)},
    {"duration", "S", "simulated time [s] (1)", CLI_POSITIVE, AT(duration), .high = 1e6},
    CLI_DT_ROW(check_request, dt, "time step (the scene's)"),
    {"lenient", NULL, "warn about unsupported features instead of failing", CLI_FLAG, AT(lenient)},
    {"floating-base", NULL, "let the root link of a URDF move freely", CLI_FLAG, AT(floating_base)},
    {"floor", "Z", "add a floor at this height to a URDF [m]", CLI_TEXT, AT(floor)},
    {0},
};

// The arguments are checked here and passed on as they are.
static int run_check(const cli_command* command, int argc, char** argv) {
  check_request r = {0};
  cli_parser parser;
  char** copy = cli_new((size_t)argc + 1, sizeof *copy);
  char** arguments = cli_new((size_t)argc + 4, sizeof *arguments);
  for (int i = 0; i < argc; ++i) {
    copy[i] = arguments[3 + i] = argv[i];
  }
  SAP_RETURN_IF(!cli_parse(&parser, command, &r, argc, copy), parser.exit_code);
  arguments[1] = "-c";
  arguments[2] = (char*)cli_package_script;
  return cli_start_python(arguments, "check needs Python with the package sapstep");
}

const cli_command cli_command_check = {
    .name = "check",
    .operands = "SCENE",
    .summary = "report what a run of a scene conserves and how it converges",
    .text = cli_text_check,
    .options = check_options,
    .run = run_check,
};
