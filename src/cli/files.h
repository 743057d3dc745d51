// SPDX-License-Identifier: BSD-3-Clause
// Names of files: those derived from others, and outputs that would destroy inputs; text files.
#pragma once

#include <sapstep/base.h>

// Returns "runs/a.svg" for "runs/a.h5" and ".svg".
char* cli_sibling_path(const char* path, const char* extension);
// Returns the part after the last '/'.
const char* cli_base_name(const char* path);
// True if the path ends with one of the endings, a list ended by NULL.
bool cli_path_ends(const char* path, const char* const* endings);

// Fails with ARGUMENT if an output named after the input is the input itself.
sap_status cli_check_sibling(const char* output, const char* input, sap_error* error);
// Fails with IO if an input that is read more than once is a pipe or a device. An input that cannot
// be read at all is left to its reader.
sap_status cli_check_reread(const char* path, sap_error* error);

typedef enum cli_path_use {
  CLI_PATH_NONE,     // the option names no file
  CLI_PATH_READ,     // an input
  CLI_PATH_RESUMED,  // read at the start only: a checkpoint may replace it
  CLI_PATH_WRITTEN,  // an output
  CLI_PATH_KEPT,     // a checkpoint
} cli_path_use;

typedef struct cli_path {
  const char* option;  // without dashes, NULL: an operand
  const char* path;
  cli_path_use use;
} cli_path;

// Returns the use of an option's file, from the names of the option and its argument.
cli_path_use cli_path_use_of(const char* option, const char* argument);
// Fails with IO if an output cannot be written.
sap_status cli_check_writable(const cli_path* path, sap_error* error);
// True if one would be written over the other.
bool cli_paths_collide(const cli_path* a, const cli_path* b);
// Fails with ARGUMENT if two paths collide; `option` says in words what each is. Paths that are
// NULL are skipped.
sap_status cli_check_paths(const cli_path* paths, int count, sap_error* error);

// Reads a file or pipe, without a UTF-8 byte order mark, ended by '\0'. NULL: it cannot be read or
// holds a null byte.
char* cli_read_text(const char* path, sap_error* error);
// Says so if the path is a named pipe, which may be waited for without end.
void cli_announce_pipe(const char* path);
// Cuts off the next line, without its end; NULL: none is left.
char* cli_next_line(char** rest);
// Cuts a line into words separated by blanks, up to a comment that # begins; returns their number,
// -1 if there are more than `most`.
int cli_split_words(char* line, char** words, int most);

// A sap_file_function: continues the hash (uint64_t) with each file that a scene is read from,
// whatever its name.
void cli_hash_file(void* hash, const char* path, const void* bytes, size_t size);
