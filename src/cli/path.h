// SPDX-License-Identifier: BSD-3-Clause
// Names of files: those made from others, and outputs that would destroy inputs.
#ifndef SAP_CLI_PATH_H
#define SAP_CLI_PATH_H

#include <sapstep/base.h>

// "runs/a.h5" and ".svg" make "runs/a.svg"; to be freed, NULL without memory.
char* cli_sibling_path(const char* path, const char* extension);
// Whether the name says HDF5: .hdf5 or .h5.
bool cli_is_hdf5(const char* path);
// Whether both names lead to one regular file, or are the same name of none.
bool cli_same_file(const char* a, const char* b);

// ARGUMENT where an output that takes its name from the input has the input's own.
sap_status cli_check_sibling(const char* output, const char* input, sap_error* error);

// IO where an input is a pipe or a device, but is read more than once. What cannot be read at all
// is left to its reader.
sap_status cli_check_reread(const char* path, sap_error* error);

typedef enum cli_path_use {
  CLI_PATH_NONE,     // the option names no file
  CLI_PATH_READ,     // an operand, or what an option names
  CLI_PATH_RESUMED,  // read at the start only: a checkpoint may take its place
  CLI_PATH_WRITTEN,  // an output
  CLI_PATH_CHART,    // an output with a table beside it, of the same name but .csv
  CLI_PATH_KEPT,     // a checkpoint
} cli_path_use;

typedef struct cli_path {
  const char* option;  // without dashes, NULL: an operand
  const char* path;
  cli_path_use use;
} cli_path;

// Of an option of any command, by its name and that of its argument in the help (see cli_option).
cli_path_use cli_path_use_of(const char* option, const char* argument);
// IO where it is an output, or has a table beside it, that cannot be written.
sap_status cli_check_writable(const cli_path* path, sap_error* error);
// Is the table beside a chart the chart?
bool cli_path_overwrites_itself(const cli_path* path);
// Would one be written over the other?
bool cli_paths_collide(const cli_path* a, const cli_path* b);
// ARGUMENT where outputs of a command that takes their names from its inputs would be written over
// one another or over an input; `option`: what each is, in words. Paths that are NULL are left out.
sap_status cli_check_paths(const cli_path* paths, int count, sap_error* error);

#endif
