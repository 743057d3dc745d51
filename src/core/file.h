// SPDX-License-Identifier: BSD-3-Clause
// A file that appears whole or not at all: text is collected in a temporary file beside the path
// and put in its place by commit. Where the path is no regular file (a pipe, a terminal,
// /dev/full) the text is copied to it by commit.
#ifndef SAP_CORE_FILE_H
#define SAP_CORE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"

typedef struct sap_file sap_file;

// Fails (IO) when `path` could not be written: a missing or unwritable folder, a folder itself, a
// write-protected file. A symbolic link is followed. A file that exists stays as it is until
// commit.
sap_status sap_file_create(const char* path, sap_file** out, sap_error* error);
// Where to print. Write errors are kept until sap_file_check or sap_file_commit reports them.
FILE* sap_file_stream(sap_file* file);
// IO when something printed so far could not be written; to be called now and then while writing.
sap_status sap_file_check(sap_file* file, sap_error* error);
// Puts the text in place, with the permissions of the file that it replaces. On failure `path` is
// as it was. The file must still be closed.
sap_status sap_file_commit(sap_file* file, sap_error* error);
// After an error puts the whole lines that could be written in place. False: there are none, there
// was no error, or an earlier file stands there, which stays.
bool sap_file_keep_lines(sap_file* file);
// Without a successful commit no trace is left. NULL allowed.
void sap_file_close(sap_file* file);

// IO where sap_file_create would fail, as far as can be told without a trace; for what takes long
// before it writes.
sap_status sap_file_writable(const char* path, sap_error* error);
// IO where the file cannot be read: missing, forbidden, a folder.
sap_status sap_file_readable(const char* path, sap_error* error);
// IO as well where it cannot be read twice or from any place: a pipe, a terminal.
sap_status sap_file_regular(const char* path, sap_error* error);

// "cannot <verb> '<path>': <text of the error number>", with IO, or MEMORY where that is lacking.
sap_status sap_fail_io(sap_error* error, int error_number, const char* verb, const char* path);

#endif
