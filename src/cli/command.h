// SPDX-License-Identifier: BSD-3-Clause
// What a command of the program is, and what all commands share. Results go to standard output,
// messages to standard error.
#ifndef SAP_CLI_COMMAND_H
#define SAP_CLI_COMMAND_H

#include <sapstep/base.h>

#include "core/error.h"

// Exit codes of the program.
enum {
  CLI_OK = 0,
  CLI_UNCONVERGED = 1,  // it ran, but did not converge or a check failed
  CLI_USAGE = 2,        // command line
  CLI_FILE = 3,         // an input file, or writing an output
  CLI_INTERNAL = 4,     // out of memory, a fault of the program
};

// One option; help and parser are made from the same list.
typedef struct cli_option {
  const char* name;      // without the dashes
  const char* argument;  // its name in the help, NULL: the option takes none; FILE, FILE.svg and
                         // FILE.csv are kept from being written over inputs, see cli/path.h
  int id;                // > 0, what cli_parse_next returns
  const char* help;      // lines after the first are separated by '\n'
} cli_option;

typedef struct cli_command cli_command;
struct cli_command {
  const char* name;
  const char* operands;       // "FILE..."; "" for none
  const char* summary;        // a line for the list of commands
  const char* description;    // a paragraph, lines separated by '\n'
  const char* examples;       // lines
  const cli_option* options;  // ended by a name NULL
  bool solver_options;        // takes an option for each of SAP_SOLVER_OPTIONS
  int (*run)(const cli_command* command, int argc, char** argv);  // argv[0]: the command's name
};

// A command is a constant in a file of its own and a row of the table in main.c.
extern const cli_command cli_command_bench;
extern const cli_command cli_command_compare;
extern const cli_command cli_command_converge;
extern const cli_command cli_command_export;
extern const cli_command cli_command_convert;
extern const cli_command cli_command_info;
extern const cli_command cli_command_mujoco;
extern const cli_command cli_command_plot;
extern const cli_command cli_command_run;
extern const cli_command cli_command_solve;
extern const cli_command cli_command_solvers;
extern const cli_command cli_command_sweep;
extern const cli_command cli_command_view;

// "sapstep: message" on standard error.
void cli_message(const char* format, ...) SAP_PRINTF(1, 2);
// The same of a command, "sapstep run: message", and a hint at its help; returns CLI_USAGE.
int cli_usage_error(const cli_command* command, const char* format, ...) SAP_PRINTF(2, 3);
// The exit code that a status stands for.
int cli_exit_code(sap_status status);
// Prints the error's message and returns the exit code of its status.
int cli_report(const sap_error* error);
// Fails with MEMORY, "out of memory".
sap_status cli_no_memory(sap_error* error);
// Says so, and returns the exit code.
int cli_out_of_memory(void);
// Flushes standard output: CLI_FILE and a message when something could not be written.
int cli_flush(void);
// The candidate that `word` is most likely a misspelling of; NULL: none is near.
const char* cli_suggest(const char* word, const char* const* candidates, int count);

#endif
