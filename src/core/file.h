// SPDX-License-Identifier: BSD-3-Clause
// Writes a file whole or not at all: text is collected in a temporary file beside the path, and
// commit moves it to the path. If the path is not a regular file (a pipe, a terminal, /dev/full),
// commit copies the text to it.
#ifndef SAP_CORE_FILE_H
#define SAP_CORE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"

typedef struct sap_file sap_file;

// Opens the temporary file. fails: IO if `path` cannot be written: a missing or unwritable folder,
// a folder itself, a write-protected file. Follows a symbolic link. An existing file is unchanged
// until commit.
sap_status sap_file_create(const char* path, sap_file** out, sap_error* error);
// Returns the stream to print to. sap_file_check and sap_file_commit report its write errors.
FILE* sap_file_stream(sap_file* file);
// fails: IO if text printed so far could not be written. Call it now and then while writing.
sap_status sap_file_check(sap_file* file, sap_error* error);
// Puts the text in place, with the permissions of the file that it replaces. fails: IO; `path` is
// unchanged then. The file must still be closed.
sap_status sap_file_commit(sap_file* file, sap_error* error);
// After an error, puts the complete lines that could be written in place. Returns false if there
// are none, if there was no error, or if `path` exists already; it is then unchanged.
bool sap_file_keep_lines(sap_file* file);
// Closes the file; without a successful commit, no trace is left. NULL allowed.
void sap_file_close(sap_file* file);

// fails: IO if sap_file_create would fail, as far as can be checked without a trace. For long runs
// that write late.
sap_status sap_file_writable(const char* path, sap_error* error);
// fails: IO if the file cannot be read: missing, forbidden, a folder.
sap_status sap_file_readable(const char* path, sap_error* error);
// fails: IO also if the file cannot be read twice or at any offset: a pipe, a terminal.
sap_status sap_file_regular(const char* path, sap_error* error);

// Fails with IO, or MEMORY if the error number says so: "cannot <verb> '<path>': <text of the error
// number>".
sap_status sap_fail_io(sap_error* error, int error_number, const char* verb, const char* path);

#endif
