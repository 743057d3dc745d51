// SPDX-License-Identifier: BSD-3-Clause
// sapstep solvers: the table of contact solvers.
#include <stdio.h>

#include <sapstep/solver.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/table.h"

enum { ID_FORMAT = 1 };

static const cli_option options[] = {
    {"format", "table|csv|json", ID_FORMAT, "how to print (table)"},
    {0},
};

static int run(const cli_command* command, int argc, char** argv) {
  cli_format format = CLI_FORMAT_TABLE;
  cli_parser parser;
  cli_parser_begin(&parser, command, NULL, argc, argv);
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = cli_take_format(argument, true, &format);
    if (allowed != NULL) {
      return cli_refuse_value(command, "format", argument, allowed);
    }
  }
  if (id == CLI_PARSE_LEAVE) {
    return parser.exit_code;
  }
  if (parser.noperands > 0) {
    return cli_usage_error(command, "takes no argument, found '%s'", parser.operands[0]);
  }
  static const cli_column columns[] = {
      {"name", CLI_CELL_TEXT, 0},       {"model", CLI_CELL_TEXT, 0},
      {"principles", CLI_CELL_TEXT, 0}, {"blocks", CLI_CELL_TEXT, 0},
      {"stepping", CLI_CELL_TEXT, 0},   {"reference", CLI_CELL_TEXT, 0}};
  cli_table* table = cli_table_create(columns, 6);
  bool printed = table != NULL;
  for (int32_t i = 0; i < sap_solver_count() && printed; ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    cli_table_text(table, info->name);
    cli_table_text(table, info->model);
    cli_table_text(table, info->principles);
    char blocks[96];
    (void)snprintf(blocks, sizeof blocks, "%s%s", info->blocks, info->needs_R ? "; R > 0" : "");
    cli_table_text(table, blocks);
    cli_table_text(table, info->rigid ? "Moreau-Jean" : "semi-implicit");
    cli_table_text(table, info->reference);
  }
  printed = printed && cli_table_print(table, format, stdout);
  cli_table_destroy(table);
  if (!printed) {
    return cli_out_of_memory();
  }
  return CLI_OK;
}

const cli_command cli_command_solvers = {
    .name = "solvers",
    .operands = "",
    .summary = "list the contact solvers",
    .description =
        "Lists the solvers that 'solve --solver' takes: the contact model of each, which\n"
        "principles of rigid contact it keeps, the blocks that it accepts, how 'run' steps\n"
        "with it (semi-implicit: compliant contact; Moreau-Jean: rigid contact at the level of\n"
        "velocities) and where it was published.",
    .examples =
        "  sapstep solvers\n"
        "  sapstep solvers --format json\n",
    .options = options,
    .run = run,
};
