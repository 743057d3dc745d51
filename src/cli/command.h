// SPDX-License-Identifier: BSD-3-Clause
// Commands of the program, and the messages they share. Results go to standard output, messages to
// standard error.
#pragma once

#include <sapstep/base.h>

#include "core/error.h"
#include "core/options.h"

// Exit codes of the program.
enum {
  CLI_OK = 0,
  CLI_UNCONVERGED = 1,  // it ran, but did not converge or a check failed
  CLI_USAGE = 2,        // command line
  CLI_FILE = 3,         // an input file, or writing an output
  CLI_INTERNAL = 4,     // out of memory, a fault of the program
};

typedef enum cli_kind {
  CLI_FLAG,      // bool, set by an option without argument
  CLI_TEXT,      // const char*
  CLI_PATH,      // const char*, not empty
  CLI_REAL,      // double, low to high
  CLI_POSITIVE,  // the same without low itself
  CLI_INTEGER,   // int32_t, low to high
  CLI_WORD,      // an enum: the index in `words`
  CLI_SOLVER,    // const char*, a name that 'sapstep solvers' lists
  CLI_SCHEME,    // sap_stepper_options, whose theta and theta_vq it sets
  CLI_PRESET,    // sap_stepper_options; all other options override it, wherever it is
  CLI_CALL,      // `take` stores it
} cli_kind;

// One option; help and parser are made from the same list.
typedef struct cli_option {
  const char* name;      // without the dashes
  const char* argument;  // its name in the help, NULL: the option takes none. A FILE is never
                         // written over inputs, see cli/files.h
  const char* help;      // lines after the first are separated by '\n'; "[unit]" of a number
  cli_kind kind;
  size_t offset;  // in the command's struct of options [bytes]
  double low, high;
  const char* const* words;  // ended by NULL
  // Returns NULL if the text is taken, else what it must be, or ": reason".
  const char* (*take)(void* options, const char* text);
} cli_option;

// A struct of options of the library, at `offset` of the command's struct. Each option of its table
// is one of the command; a row of the command's own list hides that of the same name.
typedef struct cli_table_options {
  sap_option_table (*table)(void);            // NULL: none
  size_t offset;                              // [bytes]
  double (*value)(const sap_option* option);  // its default; NULL: the table's
  const char* title;                          // in the help; NULL: "Solver options"
} cli_table_options;
enum { CLI_TABLES = 2 };
#define CLI_TABLE(rows, owner, member, default) \
  { .table = rows, .offset = offsetof(owner, member), .value = default }

// Defines a function for `value`.
#define CLI_DEFINE_DEFAULT(name, type, defaults) \
  double name(const sap_option* option) {        \
    const type values = defaults;                \
    return sap_option_get(option, &values);      \
  }

typedef struct cli_command cli_command;
struct cli_command {
  const char* name;
  const char* operands;       // "FILE...", "[FILE...]"; "" for none; checked by cli_parse
  const char* summary;        // a line for the list of commands
  const char* text;           // help/NAME.txt: a paragraph, then "Examples:" and lines
  const cli_option* options;  // ended by a name NULL
  cli_table_options tables[CLI_TABLES];
  const char* const*
      hidden;  // names with dashes that this command lacks, ended by NULL; NULL: none
  int (*run)(const cli_command* command, int argc, char** argv);  // argv[0]: the command's name
};

// A command is a constant in a file of its own, a text in help/ and a row of the table in main.c.
extern const cli_command cli_command_bench;
extern const cli_command cli_command_check;
extern const cli_command cli_command_compare;
extern const cli_command cli_command_converge;
extern const cli_command cli_command_export;
extern const cli_command cli_command_info;
extern const cli_command cli_command_mujoco;
extern const cli_command cli_command_plot;
extern const cli_command cli_command_run;
extern const cli_command cli_command_solve;
extern const cli_command cli_command_solvers;
extern const cli_command cli_command_sweep;
extern const cli_command cli_command_view;

// Texts of help/, which the build turns into arrays.
extern const char cli_text_bench[], cli_text_check[], cli_text_compare[], cli_text_converge[],
    cli_text_export[], cli_text_info[], cli_text_mujoco[], cli_text_no_mujoco[], cli_text_plot[],
    cli_text_run[], cli_text_solve[], cli_text_solvers[], cli_text_sweep[], cli_text_usage[],
    cli_text_view[], cli_text_frames[];

// Prints "sapstep: message" to standard error.
void cli_message(const char* format, ...) SAP_PRINTF(1, 2);
// Prints "sapstep run: message" and a hint at the help; returns CLI_USAGE.
int cli_usage_error(const cli_command* command, const char* format, ...) SAP_PRINTF(2, 3);
// Returns the exit code of a status.
int cli_exit_code(sap_status status);
// Prints the error's message and returns the exit code of its status.
int cli_report(const sap_error* error);
// Returns zeroed memory of the command, which lives until the program ends. Where there is none,
// the program says so and ends with CLI_INTERNAL.
void* cli_new(size_t count, size_t size);
// The same, to be freed with free(): for what a long run needs again and again.
void* cli_allocate(size_t count, size_t size);
// Returns a copy of a text, which lives until the program ends.
char* cli_copy(const char* text);
// Makes room for `needed` elements in an array of cli_new, or NULL; `array` is the address of its
// pointer. The contents stay, new elements are zero.
void cli_grow(void* array, int32_t* room, int64_t needed, size_t size);
#define CLI_GROW(array, room, needed) cli_grow((array), (room), (needed), sizeof(**(array)))
// Flushes standard output; CLI_FILE and a message if something could not be written.
int cli_flush(void);
// Replaces the program by Python: the python3 of the path, or the one that SAPSTEP_PYTHON names.
// arguments[0] is set here; SAPSTEP_PROGRAM names the program to it. Returns an exit code only if
// Python cannot be started, with a message that ends with `needed`.
int cli_start_python(char** arguments, const char* needed);
// A script that runs a command of the Python package: python3 -c cli_package_script check ...
extern const char cli_package_script[];
// Returns the candidate closest to `word`; NULL: none is close.
const char* cli_suggest(const char* word, const char* const* candidates, int count);
