// SPDX-License-Identifier: BSD-3-Clause
// Command lines: the options of a command, and one for each option of a library struct
// (relative_tolerance becomes --relative-tolerance). Both are tables; the parser stores the values.
#pragma once

#include "cli/command.h"
#include "cli/files.h"
#include "integrators/step_options.h"

enum { CLI_OPTION_MAX = 128, CLI_NAME_SIZE = 48, CLI_PATH_MAX = 16 };

typedef struct cli_parser {
  const cli_command* command;
  void* options;    // the command's struct
  char** operands;  // (noperands)
  int noperands;
  int exit_code;
  int count;                                  // options
  char names[CLI_OPTION_MAX][CLI_NAME_SIZE];  // with dashes
  bool given[CLI_OPTION_MAX];                 // present on the command line
  cli_path paths[CLI_PATH_MAX];               // files named by options               (path_count)
  int path_count;
} cli_parser;

// Reads a command line into `options`, which holds the defaults. False: return parser->exit_code;
// the help was printed or the command line is wrong. A command line whose operands do not fit the
// command's, or whose outputs would overwrite its inputs or one another, is refused. One command
// line at a time (getopt).
bool cli_parse(cli_parser* parser, const cli_command* command, void* options, int argc,
               char** argv);
// True if the option (with dashes) is on the command line.
bool cli_given(const cli_parser* parser, const char* name);
// Refuses options of error-controlled steps without --accuracy. CLI_OK: go on.
int cli_check_adaptive(const cli_command* command, const cli_parser* parser,
                       const sap_adaptive_options* options);
// Prints the help of a command to standard output.
void cli_print_help(const cli_command* command);

// Strict readers of arguments: the whole text is the value, decimal and finite. False: it is not.
bool cli_read_real(const char* text, double* out);
bool cli_read_integer(const char* text, int32_t* out);
// Returns the index of `text` in a list that ends with NULL; -1 if it is not there.
int cli_read_choice(const char* text, const char* const* choices);
bool cli_read_scheme(const char* text, sap_scheme* out);

// Rows that several commands have. `member` is in the command's struct.
#define CLI_DT_ROW(owner, member, help) \
  { "dt", "S", help " [s]", CLI_POSITIVE, .offset = offsetof(owner, member), .high = 1e9 }
#define CLI_SOLVER_ROW(owner, member)                                            \
  {                                                                              \
    "solver", "NAME", "contact solver, see 'sapstep solvers' (sap)", CLI_SOLVER, \
        .offset = offsetof(owner, member)                                        \
  }
#define CLI_FORMAT_ROW(owner, list, help) \
  { "format", "NAME", help, CLI_WORD, .offset = offsetof(owner, format), .words = list }
#define CLI_ACCURACY_ROW(owner, help) \
  { "accuracy", "M", help, CLI_POSITIVE, .offset = offsetof(owner, adaptive.accuracy), .high = 1e9 }
#define CLI_PRESET_ROW(owner)                                                         \
  {                                                                                   \
    "preset", "NAME",                                                                 \
        "default, castro (the paper's algorithm as printed) or drake, see\n'sapstep " \
        "solvers --presets'; all other options override it",                          \
        CLI_PRESET, .offset = offsetof(owner, stepper)                                \
  }

// Stores the argument of an option (NULL of a flag) at its place in `options`. Returns NULL, or
// what it must be.
const char* cli_take_option(const cli_option* option, void* options, const char* text);
// True if the names are the same but for dashes and underscores.
bool cli_same_name(const char* a, const char* b);
// Stores an option of a table; its name may have dashes or underscores. Returns NULL if done, else
// the values allowed (valid until the next call). *known is false if the table has no such name.
const char* cli_set_option(sap_option_table table, void* options, const char* name,
                           const char* text, bool* known);
// Returns the default of an option of sap_solver_options.
double cli_solver_default(const sap_option* option);

// Argument checks for cli_option.take and lists: NULL if `text` is taken, else what it must be.
extern const char cli_solver_allowed[];
extern const char cli_scheme_allowed[];
// Reads NAME[:OPTION=VALUE...] and stores the options; NULL: there is no such solver or option.
const sap_solver_info* cli_read_solver(const char* text, sap_solver_options* options);
// Returns the solver name closest to the first unknown name of a list; NULL: none is close.
const char* cli_near_solver(const char* text);

// Words of `cli_format`: with and without CSV.
extern const char* const cli_formats[];
extern const char* const cli_formats_without_csv[];

// Returns the number of steps of dt > 0 in `duration`, at most 2^53. A duration that is a multiple
// of dt up to round-off counts as that multiple.
int64_t cli_step_count(double duration, double dt);
