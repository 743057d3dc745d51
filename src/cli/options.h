// SPDX-License-Identifier: BSD-3-Clause
// Command-line options: those of a command, and one for each field of sap_solver_options
// (relative_tolerance becomes --relative-tolerance).
#ifndef SAP_CLI_OPTIONS_H
#define SAP_CLI_OPTIONS_H

#include <getopt.h>

#include <sapstep/solver.h>
#include <sapstep/stepper.h>

#include "cli/command.h"
#include "cli/path.h"

enum {
  CLI_OPTION_MAX = 64,
  CLI_NAME_SIZE = 48,
  CLI_PATH_MAX = 16,
  CLI_PARSE_END = 0,    // operands follow
  CLI_PARSE_LEAVE = -1  // return parser.exit_code: help was printed, or the command line is wrong
};

typedef struct cli_parser {
  const cli_command* command;
  sap_solver_options* solver;  // filled by the solver options; NULL if there are none
  int argc;
  char** argv;
  char** operands;  // after CLI_PARSE_END: what is no option       (noperands)
  int noperands;
  int exit_code;
  struct option list[CLI_OPTION_MAX + 1];
  char names[CLI_OPTION_MAX][CLI_NAME_SIZE];
  int count;
  cli_path paths[CLI_PATH_MAX];  // of files that options name; the last of an option  (path_count)
  int path_count;
} cli_parser;

// `solver` holds the defaults already. One command line is parsed at a time (getopt).
void cli_parser_begin(cli_parser* parser, const cli_command* command, sap_solver_options* solver,
                      int argc, char** argv);
// The id of the next option of the command and its argument (NULL without one), or CLI_PARSE_END or
// CLI_PARSE_LEAVE. Solver options and --help are dealt with inside, and a command line whose
// outputs would be written over its inputs or over one another is refused.
int cli_parse_next(cli_parser* parser, const char** argument);
// "--option 'value' must be ...", with the nearest solver where it must be one; returns CLI_USAGE.
int cli_refuse_value(const cli_command* command, const char* option, const char* value,
                     const char* allowed);

// Prints the help of a command to standard output.
void cli_print_help(const cli_command* command);
// Prints the options of the X-macro list for the help.
void cli_print_solver_options(void);

// Strict readers of arguments: all of the text is the value, decimal and finite; false: it is not.
bool cli_read_real(const char* text, double* out);
bool cli_read_integer(const char* text, int32_t* out);
bool cli_read_boolean(const char* text, bool* out);  // on off, yes no, true false, 1 0
// The index of `text` in a list that ends with NULL; -1: not there.
int cli_read_choice(const char* text, const char* const* choices);

// A number that an option sets: between low and high, low itself not if `open`.
typedef struct cli_number {
  int id;
  double* target;
  double low, high;
  bool open;
  const char* allowed;  // in words
} cli_number;
// Takes option `id`. NULL: it was taken, or *known is false: it is none of these; else what it must
// be.
const char* cli_take_number(const cli_number* numbers, size_t count, int id, const char* text,
                            bool* known);

// A path, and an integer >= 1; what each must be, or NULL as above.
const char* cli_take_path(const char** target, const char* text);
const char* cli_take_count(int32_t* target, const char* text);
// Of deflate, 0 to 9.
const char* cli_take_compression(int32_t* target, const char* text);

// A solver's name; what it must be, or NULL as above.
const char* cli_take_solver(const char** target, const char* text);
// The solver that the first unknown name of a list is most likely a misspelling of; NULL: none.
const char* cli_near_solver(const char* text);

// Names as the library prints them; false, and *out as before: there is none such.
bool cli_read_contact_model(const char* text, sap_contact_model* out);
bool cli_read_scheme(const char* text, sap_scheme* out);
bool cli_read_stage(const char* text, sap_stage* out);
bool cli_read_law(const char* text, sap_law* out);

// Sets field `index` of SAP_SOLVER_OPTIONS from text; false: `allowed` says what it must be.
enum { CLI_ALLOWED_SIZE = 80 };
bool cli_set_solver_option(sap_solver_options* options, int index, const char* text,
                           char allowed[CLI_ALLOWED_SIZE]);
int cli_solver_option_count(void);
// Writes the option's name, with dashes.
void cli_solver_option_name(int index, char name[CLI_NAME_SIZE]);

// Steps of dt > 0 that `duration` takes; one that is a multiple of dt up to round-off takes that
// many. At most 2^53.
int64_t cli_step_count(double duration, double dt);

#endif
